//! What is folded away below the tables: the grounds of each finding, the kernels and
//! operators, the inputs.

use super::{
    count, fold,
    set::{code, code_block, prose, table},
};
use crate::{Catalog, instruments};
use fluent_bundle::FluentValue;
use whyidle_diagnosis::{Finding, Input, Instruments, Total, Verdict};

/// Rows of a table.
const ROWS: usize = 12;

pub(super) fn details(verdict: &Verdict, catalog: &Catalog) -> String {
    let steps = verdict.step.count.max(1) as i64;
    let details = &verdict.details;
    let mut parts: Vec<String> =
        verdict.findings.iter().map(|finding| grounds(finding, verdict, catalog)).collect();
    for (title, totals, per) in [
        ("report-kernels", &details.kernels, steps),
        ("report-operators", &details.operators, steps),
        ("report-modules", &details.modules, steps),
        ("report-gaps", &details.gaps, 1),
    ] {
        parts.push(fold(&catalog.word(title), &totals_table(totals, per, catalog)));
    }
    parts.extend(details.instruments.as_ref().map(|found| instruments_table(found, catalog)));
    let figures: Vec<_> =
        details.statistics.iter().map(|figure| format!("- {}", prose(&catalog.message(figure)))).collect();
    parts.push(fold(&catalog.word("report-statistics"), &figures.join("\n")));
    parts.push(inputs(&verdict.inputs, catalog));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// What each instrument says; below, where they disagree.
fn instruments_table(found: &Instruments, catalog: &Catalog) -> String {
    let [name, value, counts] = instruments::heads(catalog);
    let rows: Vec<Vec<String>> = instruments::rows(found, catalog)
        .iter()
        .map(|row| row.iter().map(|cell| prose(cell)).collect())
        .collect();
    let mut body = table(&[(name, false), (value, true), (counts, false)], &rows);
    let sentences: Vec<_> = found
        .disagreements
        .iter()
        .map(|sentence| format!("- {}", prose(&catalog.message(sentence))))
        .collect();
    if !sentences.is_empty() {
        body = format!("{body}\n\n{}", sentences.join("\n"));
    }
    fold(&instruments::title(found, catalog), &body)
}

pub(super) fn inputs(inputs: &[Input], catalog: &Catalog) -> String {
    let items: Vec<_> = inputs
        .iter()
        .map(|input| {
            let [count] = count(usize::try_from(input.events).unwrap_or(usize::MAX));
            let args = [("path", FluentValue::from(code(&input.path))), count];
            format!("- {}", catalog.format("report-input", &args))
        })
        .collect();
    fold(&catalog.word("report-input-title"), &items.join("\n"))
}

/// Why a finding is believed, how to mend it, and what limits the step afterwards.
fn grounds(finding: &Finding, verdict: &Verdict, catalog: &Catalog) -> String {
    let mut items: Vec<String> =
        finding.evidence.iter().map(|evidence| format!("- {}", prose(&catalog.evidence(evidence)))).collect();
    items.extend(finding.remedy.steps.iter().map(|step| format!("- {}", prose(&catalog.message(step)))));
    if let Some(gain) = &finding.gain {
        items.push(format!("- {}", catalog.next_limit(gain)));
    }
    let mut body = items.join("\n");
    if !finding.remedy.code.is_empty() {
        body = format!("{body}\n\n{}", code_block("python", &finding.remedy.code));
    }
    fold(&format!("{} · {}", catalog.proposal(finding, verdict.subject.ranks), finding.cause), &body)
}

fn totals_table(totals: &[Total], steps: i64, catalog: &Catalog) -> String {
    if totals.is_empty() {
        return String::new();
    }
    let heads = [
        (catalog.word("report-column-time"), true),
        (catalog.word("report-column-count"), true),
        (catalog.word("report-column-longest"), true),
        (catalog.word("report-column-kind"), false),
        (catalog.word("report-column-name"), false),
    ];
    let rows: Vec<Vec<String>> = totals
        .iter()
        .take(ROWS)
        .map(|total| {
            let [time, count, longest, kind] = catalog.total(total, steps);
            vec![time, count, longest, kind, code(&total.name)]
        })
        .collect();
    let mut set = table(&heads, &rows);
    if totals.len() > ROWS {
        set.push_str(&format!("\n\n{}", catalog.format("report-more-rows", &count(totals.len() - ROWS))));
    }
    set
}
