//! What is written comes back; what is no history is refused.

use crate::comparison::Comparison;
use crate::sweep::Sweep;

use super::*;

#[test]
fn entries_come_back_as_they_were_written() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("deep/history.db");
    let mut history = History::open(&path)?;
    let command = vec!["python".to_owned(), "train.py".to_owned()];
    let run = Run { began: 5, command, losses: vec![(1.0, 2.5)], ..Run::default() };
    let first = history.add_run(&run, None)?;
    let comparison = Comparison { began: 6, ..Comparison::default() };
    let second = history.begin(Kind::Comparison, comparison.began, comparison.shown(), &comparison)?;
    let inside = history.add_run(&run, Some((second, "A1")))?;
    drop(history);
    let mut history = History::open(&path)?;
    assert_eq!(history.entry(first)?, Some(Entry::Run(Box::new(run))));
    assert_eq!(history.entry(99)?, None);
    let listed = history.list(None, 10)?;
    assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [second, first]);
    assert_eq!((listed[1].command.as_str(), listed[0].ended.as_deref()), ("python train.py", None));
    assert_eq!(history.list(Some(second), 10)?.first().map(|row| row.id), Some(inside));
    assert_eq!(history.list(None, 1)?.len(), 1);
    let ended = Comparison { ended: Some(Finish::Interrupted), ..comparison };
    history.go_on(second, &ended.come_to(), &ended)?;
    assert_eq!(history.list(None, 1)?[0].ended.as_deref(), Some("interrupted"));
    assert_eq!(history.entry(second)?, Some(Entry::Comparison(Box::new(ended))));
    let sweep = Sweep { began: 7, rungs: vec![Default::default()], ..Sweep::default() };
    let third = history.begin(Kind::Sweep, sweep.began, sweep.shown(), &sweep)?;
    assert_eq!(history.entry(third)?, Some(Entry::Sweep(Box::new(sweep.clone()))), "also before its end");
    let ended = Sweep { ended: Some(Finish::Done), ..sweep };
    history.go_on(third, &ended.come_to(), &ended)?;
    let row = &history.list(None, 1)?[0];
    assert_eq!((row.kind.as_str(), row.ended.as_deref()), ("sweep", Some("done")));
    assert_eq!(history.entry(third)?, Some(Entry::Sweep(Box::new(ended))));
    Ok(())
}

#[test]
fn a_loss_that_is_no_number_survives() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let mut history = History::open(&dir.path().join("history.db"))?;
    let id = history.add_run(&Run { losses: vec![(1.0, f64::NAN)], ..Run::default() }, None)?;
    let Some(Entry::Run(run)) = history.entry(id)? else { panic!("the run") };
    assert!(run.losses[0].1.is_nan());
    Ok(())
}

#[test]
fn what_is_no_history_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let text = dir.path().join("text");
    std::fs::write(&text, "no database, and longer than a header has to be ".repeat(20))?;
    assert!(matches!(History::open(&text), Err(HistoryError::Database { .. })));
    let foreign = dir.path().join("foreign");
    Connection::open(&foreign)?.execute_batch("CREATE TABLE own (x INTEGER)")?;
    let before = std::fs::read(&foreign)?;
    assert!(matches!(History::open(&foreign), Err(HistoryError::Foreign { .. })));
    assert_eq!(std::fs::read(&foreign)?, before, "another program's database stays as it is");
    let newer = dir.path().join("newer");
    Connection::open(&newer)?.pragma_update(None, "user_version", 9)?;
    assert!(matches!(History::open(&newer), Err(HistoryError::Newer { .. })));
    Ok(())
}

#[test]
fn a_history_that_may_not_be_written_is_looked_at_as_it_is() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    // What SQLite would take for options, and what is no URI as it stands.
    let path = dir.path().join("a?mode=rw#b %41.db");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/history_version_1.db"), &path)?;
    let before = std::fs::read(&path)?;
    let history = History::as_it_is(&path)?;
    assert_eq!(history.list(None, 10)?.iter().map(|row| row.id).collect::<Vec<_>>(), [2, 1]);
    assert!(matches!(history.entry(1)?, Some(Entry::Run(_))) && history.of_job("x", 9)?.is_empty());
    let mut history = history;
    assert!(history.add_run(&Run::default(), None).is_err());
    drop(history);
    assert_eq!(std::fs::read(&path)?, before);
    assert_eq!(std::fs::read_dir(dir.path())?.count(), 1, "nothing was made beside it");
    Ok(())
}

#[test]
fn the_folder_follows_the_environment() {
    let with = |pairs: &'static [(&str, &str)]| {
        data_folder(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(with(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")]), Some("/d/whyidle".into()));
    assert_eq!(with(&[("XDG_DATA_HOME", ""), ("HOME", "/h")]), Some("/h/.local/share/whyidle".into()));
    assert_eq!(with(&[]), None);
}
