//! The verdict as Markdown, for pull requests and issues: the sentence as heading, the
//! ledger and the findings as tables, and everything else folded away.

mod asked;
mod folded;
mod set;

use crate::{
    Catalog, ledger, run,
    text::{head::subject, tail::quality_text},
};
use fluent_bundle::FluentValue;
use set::{code_block, html, prose, table};
use whyidle_diagnosis::{Confidence, Finding, QualityNote, Refusal, Verdict};
use whyidle_model::Severity;

/// A verdict as Markdown.
#[must_use]
pub fn render_markdown(verdict: &Verdict, catalog: &Catalog) -> String {
    let mut page = Vec::new();
    let mut sentences = verdict.ruling.sentence.iter();
    if let Some(first) = sentences.next() {
        page.push(format!("### {}", prose(&catalog.message(first))));
    }
    let rest: Vec<_> = sentences.cloned().collect();
    if !rest.is_empty() {
        page.push(prose(&catalog.sentences(&rest)));
    }
    page.push(format!("_{}_", prose(&subject(catalog, verdict).join(" · "))));
    page.push(ledger_table(verdict, catalog));
    page.push(prose(&catalog.basis(&verdict.step)));
    page.extend(run_table(verdict, catalog));
    if !verdict.findings.is_empty() {
        page.push(findings_table(verdict, catalog));
        page.extend(asked::ladder(verdict, catalog));
    }
    page.extend(asked::what_if(verdict, catalog));
    page.extend(asked::critical_path(verdict, catalog));
    page.extend(trust(verdict, catalog));
    if !verdict.next.is_empty() {
        page.push(format!("**{}**", catalog.word("report-key-next")));
        page.push(code_block("sh", &verdict.next));
    }
    page.push(folded::details(verdict, catalog));
    page.retain(|block| !block.is_empty());
    page.join("\n\n") + "\n"
}

/// Why there is no verdict, as Markdown.
#[must_use]
pub fn refusal_markdown(refusal: &Refusal, catalog: &Catalog) -> String {
    let mut page = vec![
        format!("### {}", prose(&catalog.word("report-no-verdict"))),
        prose(&catalog.message(&refusal.reason)),
        format!("**{}** {}", catalog.word("report-key-hint"), prose(&catalog.message(&refusal.hint))),
    ];
    page.push(quality_list(&refusal.quality, catalog, Severity::Info));
    page.push(folded::inputs(&refusal.inputs, catalog));
    page.retain(|block| !block.is_empty());
    page.join("\n\n") + "\n"
}

fn ledger_table(verdict: &Verdict, catalog: &Catalog) -> String {
    let heads = [
        (catalog.word(crate::text::ledger_title(verdict)), false),
        (catalog.word("report-column-share"), true),
        (catalog.time(verdict.step.unprofiled.ns), true),
        (catalog.word("report-column-detail"), false),
    ];
    let rows: Vec<Vec<String>> = ledger::folded(catalog, &verdict.ledger, verdict.step.unprofiled.ns)
        .iter()
        .map(|row| {
            vec![
                row.label.clone(),
                catalog.share_in_column(row.share),
                catalog.time_like(row.ns, verdict.step.unprofiled.ns),
                prose(&row.details.join(" · ")),
            ]
        })
        .collect();
    table(&heads, &rows)
}

/// Where the watched time goes, where the step's table does not say it all.
fn run_table(verdict: &Verdict, catalog: &Catalog) -> Option<String> {
    let ledger = run::shown(verdict, false)?;
    let heads = [
        (run::title(ledger, catalog), false),
        (catalog.word("report-column-share"), true),
        (catalog.word("report-column-time"), true),
        (catalog.word("report-column-detail"), false),
    ];
    let row = |row: run::Row| {
        let share = catalog.share_in_column(row.share);
        vec![row.label, share, catalog.time_like(row.ns, ledger.watched_ns), prose(&row.details.join(" · "))]
    };
    let rows: Vec<Vec<String>> = run::rows(ledger, catalog, false).into_iter().map(row).collect();
    Some(table(&heads, &rows))
}

fn findings_table(verdict: &Verdict, catalog: &Catalog) -> String {
    let heads = [
        (catalog.word("report-what-to-change"), false),
        (catalog.word("report-step"), true),
        (catalog.word("report-saved"), true),
        (catalog.word("report-column-how"), false),
        (catalog.word("report-column-why"), false),
    ];
    let rows: Vec<Vec<String>> =
        verdict.findings.iter().map(|finding| finding_row(finding, verdict, catalog)).collect();
    table(&heads, &rows)
}

fn finding_row(finding: &Finding, verdict: &Verdict, catalog: &Catalog) -> Vec<String> {
    let (step, saved, how) = match &finding.gain {
        Some(gain) => (
            catalog.step_after(gain),
            catalog.saved(gain, verdict.step.unprofiled.ns),
            catalog.method_and_range(gain),
        ),
        None => (String::new(), String::new(), catalog.cost(finding)),
    };
    let proposal = prose(&catalog.proposal(finding, verdict.subject.ranks));
    vec![proposal, step, saved, how, prose(&catalog.message(&finding.remedy.summary))]
}

/// Confidence where it is not high, and what was wrong with the evidence.
fn trust(verdict: &Verdict, catalog: &Catalog) -> Vec<String> {
    let mut blocks = Vec::new();
    if verdict.ruling.confidence != Confidence::High {
        let confidence = prose(&catalog.confidence_and_doubts(&verdict.ruling));
        blocks.push(format!("**{}** {confidence}", catalog.word("report-key-confidence")));
    }
    blocks.push(quality_list(&verdict.quality, catalog, Severity::Suspect));
    blocks
}

fn quality_list(notes: &[QualityNote], catalog: &Catalog, from: Severity) -> String {
    let items: Vec<_> = notes
        .iter()
        .filter(|note| note.severity >= from)
        .map(|note| format!("- {}", prose(&quality_text(catalog, note))))
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!("**{}**\n\n{}", catalog.word("report-key-evidence"), items.join("\n"))
}

/// A part that is folded away until it is wanted.
pub(super) fn fold(title: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!("<details><summary>{}</summary>\n\n{body}\n\n</details>", html(title))
}

/// `$count` for a catalogue entry.
pub(super) fn count(count: usize) -> [(&'static str, FluentValue<'static>); 1] {
    [("count", FluentValue::from(count as f64))]
}
