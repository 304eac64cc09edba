//! What to change: the best findings with what they would bring.

use super::canvas::{Canvas, Role};
use crate::Catalog;
use fluent_bundle::FluentValue;
use unicode_width::UnicodeWidthStr;
use whyidle_diagnosis::{Finding, Gain, Rung, Verdict};

/// Findings on the first screen.
const SHOWN: usize = 3;
/// Findings that neither gain nor cost this share of the step wait for `-v`.
const WORTH_SHOWING: f64 = 0.01;
/// A remedy that gains nothing by itself is shown all the same if its cause costs this much.
const COSTLY: f64 = 0.10;
/// Column where a finding's text starts.
const TEXT: usize = 5;

/// A finding in words.
struct Entry<'a> {
    /// Whose summary and grounds follow.
    finding: Option<&'a Finding>,
    proposal: String,
    step: String,
    saved: String,
    how: String,
}

/// First the ladder, each step on top of those before it; then what is worth it by itself. With `-v` every finding by
/// itself, and the ladder below them.
pub(super) fn write(canvas: &mut Canvas, catalog: &Catalog, verdict: &Verdict, verbose: bool) {
    let step_ns = verdict.step.unprofiled.ns;
    let worth = |finding: &&Finding| {
        verbose
            || finding.saved_ns(step_ns) as f64 >= WORTH_SHOWING * step_ns as f64
            || finding.share >= if finding.gain.is_some() { COSTLY } else { WORTH_SHOWING }
    };
    let rungs: &[Rung] = if verbose { &[] } else { &verdict.ladder };
    let mut entries = if verbose { Vec::new() } else { self::rungs(catalog, verdict) };
    let shown = if verbose { usize::MAX } else { SHOWN };
    let on_ladder = |finding: &&Finding| rungs.iter().any(|rung| rung.cause == finding.cause);
    let others = verdict.findings.iter().filter(|finding| !on_ladder(finding)).filter(worth);
    let room = shown.saturating_sub(entries.len());
    let on_its_own = rungs.len() > 1;
    entries.extend(others.take(room).map(|finding| {
        let mut entry = entry(catalog, verdict, finding);
        if on_its_own && finding.gain.is_some() {
            let what = [("what", FluentValue::from(std::mem::take(&mut entry.proposal)))];
            entry.proposal = catalog.format("report-instead", &what);
        }
        entry
    }));
    if !entries.is_empty() {
        write_entries(canvas, catalog, "report-what-to-change", &entries, verbose);
    }
    if verbose && verdict.ladder.len() > 1 {
        let mut rungs = self::rungs(catalog, verdict);
        rungs.iter_mut().for_each(|rung| rung.finding = None);
        write_entries(canvas, catalog, "report-in-this-order", &rungs, false);
    }
    let shown = entries.iter().filter(|entry| entry.finding.is_some()).count();
    let hidden = verdict.findings.len() - shown;
    if hidden > 0 {
        let hidden = [("count", FluentValue::from(hidden as f64))];
        canvas.to(2).flow(Role::Faint, &catalog.format("report-more-findings", &hidden));
    }
}

/// Each step of the ladder, on top of those before it. One that is no finding by itself has nothing below it.
fn rungs<'a>(catalog: &Catalog, verdict: &'a Verdict) -> Vec<Entry<'a>> {
    let entry = |(at, rung): (usize, &'a Rung)| {
        let finding = verdict.findings.iter().find(|finding| finding.cause == rung.cause);
        gain_entry(catalog, verdict, finding, &rung.gain, catalog.rung(verdict, rung, at == 0))
    };
    // No advice for its own sake.
    let ladder = if verdict.findings.is_empty() { &[][..] } else { &verdict.ladder };
    ladder.iter().enumerate().map(entry).collect()
}

fn entry<'a>(catalog: &Catalog, verdict: &Verdict, finding: &'a Finding) -> Entry<'a> {
    let proposal = catalog.proposal(finding, verdict.subject.ranks);
    match &finding.gain {
        Some(gain) => gain_entry(catalog, verdict, Some(finding), gain, proposal),
        None => Entry {
            finding: Some(finding),
            proposal,
            step: String::new(),
            saved: String::new(),
            how: catalog.cost(finding),
        },
    }
}

fn gain_entry<'a>(
    catalog: &Catalog,
    verdict: &Verdict,
    finding: Option<&'a Finding>,
    gain: &Gain,
    proposal: String,
) -> Entry<'a> {
    Entry {
        finding,
        proposal,
        step: catalog.step_after(gain),
        saved: catalog.saved(gain, verdict.step.unprofiled.ns),
        how: catalog.method_and_range(gain),
    }
}

fn write_entries(canvas: &mut Canvas, catalog: &Catalog, title: &str, entries: &[Entry<'_>], verbose: bool) {
    let (step_word, saved_word) = (catalog.word("report-step"), catalog.word("report-saved"));
    let widest = |width: fn(&Entry<'_>) -> usize| entries.iter().map(width).max().unwrap_or(0);
    let step = widest(|entry| entry.step.width()).max(step_word.width());
    let saved = widest(|entry| entry.saved.width()).max(saved_word.width());
    let how = widest(|entry| entry.how.width());
    let title = catalog.word(title);
    let proposal = widest(|entry| entry.proposal.width()).max(title.width().saturating_sub(TEXT - 2));

    let step_end = TEXT + proposal + 3 + step;
    let saved_end = step_end + 2 + saved;
    let is_table = saved_end + 2 + how <= canvas.width;

    canvas.to(2).put(Role::Strong, &title);
    if is_table {
        canvas.right(Role::Faint, &step_word, step_end).right(Role::Faint, &saved_word, saved_end);
    }
    canvas.end();
    for (i, entry) in entries.iter().enumerate() {
        canvas.to(2).put(Role::Strong, &(i + 1).to_string()).to(TEXT);
        if is_table {
            canvas.put(Role::Strong, &entry.proposal).right(Role::Gain, &entry.step, step_end);
            canvas
                .right(Role::Gain, &entry.saved, saved_end)
                .put(Role::Plain, "  ")
                .put(Role::Faint, &entry.how)
                .end();
        } else {
            canvas.flow(Role::Strong, &entry.proposal);
            canvas.to(TEXT).flow(Role::Gain, &in_one_line(catalog, entry));
        }
        let Some(finding) = entry.finding else { continue };
        canvas.to(TEXT).flow(Role::Plain, &catalog.message(&finding.remedy.summary));
        if verbose {
            write_grounds(canvas, catalog, finding);
        }
    }
}

/// `step 57 ms · saves 70 % · replay, 55–61 ms`, where the table is too wide.
fn in_one_line(catalog: &Catalog, entry: &Entry<'_>) -> String {
    if entry.step.is_empty() {
        return entry.how.clone();
    }
    let args = [
        ("step", FluentValue::from(entry.step.as_str())),
        ("saved", FluentValue::from(entry.saved.as_str())),
        ("how", FluentValue::from(entry.how.as_str())),
    ];
    catalog.format("report-finding-line", &args)
}

/// With `-v`: why it is believed, how to do it, what limits the step afterwards.
fn write_grounds(canvas: &mut Canvas, catalog: &Catalog, finding: &Finding) {
    canvas.to(TEXT).put(Role::Faint, finding.cause).end();
    for evidence in &finding.evidence {
        bullet(canvas, Role::Faint, &catalog.evidence(evidence));
    }
    for step in &finding.remedy.steps {
        bullet(canvas, Role::Plain, &catalog.message(step));
    }
    if let Some(gain) = &finding.gain {
        bullet(canvas, Role::Plain, &catalog.next_limit(gain));
    }
    if !finding.remedy.code.is_empty() {
        canvas.blank();
        for line in finding.remedy.code.lines() {
            canvas.to(TEXT + 2).put(Role::Code, line).end();
        }
    }
    canvas.blank();
}

fn bullet(canvas: &mut Canvas, role: Role, text: &str) {
    canvas.to(TEXT).put(Role::Faint, "- ").flow(role, text);
}
