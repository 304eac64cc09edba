//! The triage by symptom of a recording.

use std::path::Path;

use whyidle_analysis::levels::levels;
use whyidle_diagnosis::Message;
use whyidle_diagnosis::triage::{Next, Observed, Symptom, triage};
use whyidle_readers::{ReadError, recording, samples};
use whyidle_report::{Item, Mark};

use crate::{diagnose, trace};

/// What was looked for and the command to type next; `None` where nothing was sampled.
pub(crate) struct Triage {
    pub(crate) items: Vec<Item>,
    /// The command for the first symptom that is there.
    pub(crate) next: Option<String>,
    /// The description of the recording makes no sense.
    pub(crate) undescribed: bool,
}

/// What the symptoms' commands are about.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'a> {
    Process(u32),
    Recording(&'a Path),
}

/// Looks for symptoms in what was recorded in `dir`.
pub(crate) fn look(dir: &Path, subject: Subject<'_>) -> Result<Option<Triage>, ReadError> {
    let (recorded, undescribed) = recording::read_if_sound(dir, None)?;
    let recorded = recorded.unwrap_or_default();
    let samples = samples::read(dir)?.samples;
    if samples.is_empty() {
        return Ok(None);
    }
    let world = recorded.world.unwrap_or(1);
    let (signals, _) = diagnose::the_one_waited_for(&samples, &recorded);
    let gpus = signals.gpu.iter().chain(&signals.other_gpus);
    let drives = |index: u32| recorded.drivers.iter().find(|driver| driver.gpu == Some(index));
    // Without a better word, ranks of one host drive its cards in order; a card without memory in use has none.
    let unnamed = world > 1 && recorded.drivers.iter().all(|driver| driver.gpu.is_none());
    let in_use = |memory: Option<(f64, f64)>| memory.is_some_and(|(used, all)| used > 0.01 * all);
    let mut ranks: Vec<(u32, f64)> = gpus
        .filter_map(|gpu| match drives(gpu.index) {
            Some(driver) => Some((driver.rank.unwrap_or(gpu.index), gpu.resident)),
            None => (unnamed && in_use(gpu.memory)).then_some((gpu.index, gpu.resident)),
        })
        .collect();
    ranks.sort_by_key(|(rank, _)| *rank);
    let observed = Observed {
        signals: &signals,
        levels: signals.gpu.as_ref().and_then(levels),
        cores: trace::known(Some(&recorded), None).cpus,
        ranks: &ranks,
    };
    let symptoms = triage(&observed);
    let command = recorded.command.join(" ");
    let next = symptoms
        .iter()
        .find(|symptom| symptom.seen == Some(true))
        .map(|symptom| typed(symptom.next, subject, &command));
    let items = symptoms.into_iter().map(|symptom| item(symptom, subject, &command)).collect();
    Ok(Some(Triage { items, next, undescribed }))
}

fn item(symptom: Symptom, subject: Subject<'_>, command: &str) -> Item {
    let name = Message::new(symptom.id);
    let (mark, id) = match symptom.seen {
        Some(true) => (Mark::Suspect, "symptom-seen"),
        Some(false) => (Mark::Ok, "symptom-not"),
        None => (Mark::Unknown, "symptom-not-measured"),
    };
    let mut text = Message::new(id).message("name", name).message("measured", symptom.measured);
    if symptom.seen == Some(true) {
        text = text.message("points", symptom.points).name("next", typed(symptom.next, subject, command));
    }
    Item { mark, text }
}

fn typed(next: Next, subject: Subject<'_>, command: &str) -> String {
    match (next, subject) {
        (Next::Explain(cause), _) => format!("whyidle explain {cause}"),
        (Next::Trace, _) if command.is_empty() => "whyidle run -- COMMAND".to_owned(),
        (Next::Trace, _) => format!("whyidle run -- {command}"),
        (Next::Verdict, Subject::Process(pid)) => format!("whyidle attach {pid}"),
        (Next::Verdict, Subject::Recording(dir)) => format!("whyidle diagnose {}", dir.display()),
        (Next::Watch, Subject::Process(pid)) => format!("whyidle top {pid}"),
        (Next::Watch, Subject::Recording(dir)) => format!("whyidle top --replay {}", dir.display()),
    }
}
