//! The ladder, the answers to what-ifs, and the critical path, as tables.

use super::set::{code, prose, table};
use crate::Catalog;
use whyidle_diagnosis::{Answer, Verdict};

/// The best order of changes; nothing where there is but one.
pub(super) fn ladder(verdict: &Verdict, catalog: &Catalog) -> Option<String> {
    if verdict.ladder.len() < 2 {
        return None;
    }
    let heads = [
        (catalog.word("report-in-this-order"), false),
        (catalog.word("report-step"), true),
        (catalog.word("report-saved"), true),
        (catalog.word("report-column-how"), false),
    ];
    let rows: Vec<Vec<String>> = verdict
        .ladder
        .iter()
        .enumerate()
        .map(|(at, rung)| {
            vec![
                prose(&catalog.rung(verdict, rung, at == 0)),
                catalog.step_after(&rung.gain),
                catalog.saved(&rung.gain, verdict.step.unprofiled.ns),
                catalog.method_and_range(&rung.gain),
            ]
        })
        .collect();
    Some(table(&heads, &rows))
}

/// The answers to what was asked.
pub(super) fn what_if(verdict: &Verdict, catalog: &Catalog) -> Option<String> {
    if verdict.what_if.is_empty() {
        return None;
    }
    let heads = [
        (catalog.word("report-what-if"), false),
        (catalog.word("report-step"), true),
        (catalog.word("report-saved"), true),
        (catalog.word("report-column-how"), false),
        (catalog.word("report-column-detail"), false),
    ];
    let rows: Vec<Vec<String>> =
        verdict.what_if.iter().map(|answer| answer_row(answer, verdict, catalog)).collect();
    Some(table(&heads, &rows))
}

fn answer_row(answer: &Answer, verdict: &Verdict, catalog: &Catalog) -> Vec<String> {
    let mut remarks: Vec<String> = answer.gain.iter().map(|gain| catalog.next_limit(gain)).collect();
    remarks.extend(answer.notes.iter().map(|note| prose(&catalog.message(note))));
    let cell = |of: &dyn Fn(&whyidle_diagnosis::Gain) -> String| {
        answer.gain.as_ref().map_or_else(|| "–".to_owned(), of)
    };
    vec![
        code(&answer.asked),
        cell(&|gain| catalog.step_after(gain)),
        cell(&|gain| catalog.saved(gain, verdict.step.unprofiled.ns)),
        cell(&|gain| catalog.method_and_range(gain)),
        remarks.join(" "),
    ]
}

/// The critical path: its parts, then what lies on it.
pub(super) fn critical_path(verdict: &Verdict, catalog: &Catalog) -> Option<String> {
    let path = verdict.critical_path.as_ref()?;
    let heads = [
        (catalog.word("report-critical-path"), false),
        (catalog.word("report-column-share"), true),
        (catalog.time(path.length_ns), true),
    ];
    let row = |name: String, ns: i64| {
        let share = ns as f64 / path.length_ns.max(1) as f64;
        vec![name, catalog.share_in_column(share), catalog.time_like(ns, path.length_ns)]
    };
    let parts = path.parts.iter().map(|part| row(catalog.path_part(part.id), part.ns));
    let names = path.names.iter().map(|name| row(code(&name.name), name.ns));
    let mut heads_of_names = heads.clone();
    heads_of_names[0].0 = catalog.word("report-critical-names");
    let (parts, names) = (parts.collect::<Vec<_>>(), names.collect::<Vec<_>>());
    Some(format!("{}\n\n{}", table(&heads, &parts), table(&heads_of_names, &names)))
}
