//! A history of an earlier version becomes one of this version, and loses nothing, also where that is interrupted.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use whyidle_experiment::history::{Entry, History};
use whyidle_experiment::result::Run;

const VERSION_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/history_version_1.db");

fn copied(dir: &Path) -> PathBuf {
    let path = dir.join("history.db");
    fs::copy(VERSION_1, &path).unwrap();
    path
}

/// Every column and body of version 1, by number.
fn content(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let query = "SELECT id || '|' || ifnull(parent, '') || kind || ifnull(label, '') || began || command || \
        ifnull(revision, '') || ifnull(step_ns, '') || ifnull(effect, '') || ifnull(answer, '') || ifnull(ended, '') \
        || body FROM entries JOIN bodies USING (id) ORDER BY id";
    let mut statement = connection.prepare(query).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

fn version(path: &Path) -> i64 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// It holds what it held, and serves.
fn serves(path: &Path, before: &[String]) {
    let mut history = History::open(path).unwrap().of(Some("4711".to_owned()));
    assert_eq!((content(path), version(path)), (before.to_vec(), 2));
    assert!(matches!(history.entry(1).unwrap(), Some(Entry::Run(_))));
    assert!(matches!(history.entry(2).unwrap(), Some(Entry::Comparison(_))));
    assert_eq!(history.list(Some(2), 100).unwrap().len(), 12);
    assert_eq!(history.list(None, 100).unwrap()[0].job, None);
    let id = history.add_run(&Run::default(), None).unwrap();
    assert_eq!(history.of_job("4711", 9).unwrap().iter().map(|row| row.id).collect::<Vec<_>>(), [id]);
}

#[test]
fn a_history_of_version_1_keeps_all_that_it_held() {
    let dir = tempfile::tempdir().unwrap();
    let path = copied(dir.path());
    let before = content(&path);
    assert_eq!((before.len(), version(&path)), (14, 1));
    serves(&path, &before);
}

/// Whoever is killed before the commit leaves what it did in the log, where the next one finds no commit.
#[test]
fn a_migration_that_is_cut_off_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = copied(dir.path());
    let before = content(&path);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).unwrap();
    // Small enough a cache that pages go to the log before the commit.
    connection.pragma_update(None, "cache_size", 1).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE; ALTER TABLE entries ADD COLUMN job TEXT; \
        ALTER TABLE entries ADD COLUMN busy REAL; UPDATE bodies SET body = body || ' '; PRAGMA user_version = 2;").unwrap();
    let cut_off = dir.path().join("cut");
    fs::create_dir(&cut_off).unwrap();
    // As the disk is at that moment: what a machine that loses its power finds.
    for file in
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        // The index of the log does not survive.
        if !file.to_string_lossy().ends_with("-shm") {
            fs::copy(&file, cut_off.join(file.file_name().unwrap())).unwrap();
        }
    }
    drop(connection);
    serves(&cut_off.join("history.db"), &before);
    serves(&path, &before);
}

#[test]
fn two_that_open_it_at_once_both_find_it_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = copied(dir.path());
    let before = content(&path);
    std::thread::scope(|scope| {
        let opened: Vec<_> = (0..4).map(|_| scope.spawn(|| History::open(&path).map(|_| ()))).collect();
        for one in opened {
            one.join().unwrap().unwrap();
        }
    });
    serves(&path, &before);
}
