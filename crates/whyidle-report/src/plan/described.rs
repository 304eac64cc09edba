//! The page of a plan: blocks of wording and figures, free of how they are set.

use fluent_bundle::FluentValue;
use whyidle_diagnosis::Arg;
use whyidle_planner::{Candidate, Framework, Range, Rule, flags, rules, untested};

use super::{Paced, PlanReport, calibrated, words};
use crate::page::Block;
use crate::{Catalog, quantity};

pub(super) struct Writer<'a> {
    pub(super) catalog: &'a Catalog,
}

impl Writer<'_> {
    pub(super) fn bytes(&self, bytes: f64) -> String {
        self.catalog.arg(&Arg::Bytes(bytes.round() as i64))
    }

    /// Bytes with their sign.
    pub(super) fn more(&self, bytes: f64) -> String {
        if bytes > 0.0 { format!("+{}", self.bytes(bytes)) } else { self.bytes(bytes) }
    }

    pub(super) fn byte_range(&self, range: &Range) -> String {
        self.catalog.quantity(&quantity::byte_range(range.low as i64, range.high as i64))
    }

    pub(super) fn time_range(&self, low_ns: i64, high_ns: i64) -> String {
        self.catalog.time_range(low_ns, high_ns)
    }

    pub(super) fn count(&self, count: u64) -> String {
        self.catalog.arg(&Arg::Count(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    pub(super) fn time(&self, seconds: f64) -> String {
        self.catalog.arg(&Arg::Time((seconds * 1e9) as i64))
    }

    pub(super) fn share(&self, share: f64) -> String {
        self.catalog.share(share)
    }

    pub(super) fn say(&self, key: &str, args: &[(&str, String)]) -> String {
        let args: Vec<_> =
            args.iter().map(|(name, value)| (*name, FluentValue::from(value.clone()))).collect();
        self.catalog.format(key, &args)
    }
}

pub(crate) fn blocks(plan: &PlanReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let w = Writer { catalog };
    let mut page = vec![Block::Head(head(plan, catalog))];
    page.push(Block::Sentence(answer(plan, &w)));
    if let Some(search) = &plan.search
        && !search.best.is_empty()
    {
        page.push(Block::Note(w.say(words::limit(search.limit), &[])));
    }
    if let Some(measured) = &plan.calibrated {
        page.extend(calibrated::blocks(plan, measured, &w));
    }
    page.push(Block::Title(
        w.say("plan-memory-title", &[("moment", catalog.word(words::moment(plan.memory.peak.id())))]),
    ));
    page.push(Block::Table(bill(plan, &w)));
    let unmeasured: Vec<String> =
        untested(&plan.setup).into_iter().map(|id| catalog.word(words::untested(id))).collect();
    if !unmeasured.is_empty() {
        page.push(Block::Note(w.say("plan-untested", &[("what", catalog.list(&unmeasured))])));
    } else if plan.calibrated.is_none() {
        page.push(Block::Note(catalog.word("plan-tested")));
    }
    if verbose {
        page.push(Block::Title(catalog.word("plan-moments-title")));
        let rows = plan
            .memory
            .moments
            .iter()
            .map(|moment| vec![catalog.word(words::moment(moment.id.id())), w.bytes(moment.bytes())]);
        page.push(Block::Table(rows.collect()));
    }
    page.push(Block::Title(w.say("plan-step-title", &[("step", w.time(plan.estimate.step))])));
    page.push(Block::Table(step(plan, &w)));
    page.push(Block::Note(match plan.calibrated.as_ref().map(|calibrated| calibrated.step) {
        Some(Paced::Measured(range)) => calibrated::step_note(plan, &range, &w),
        Some(Paced::Stated | Paced::Unlike) | None => {
            w.say("plan-efficiency", &[("share", w.share(plan.efficiency))])
        }
    }));
    page.extend(budget(plan, &w));
    if let Some(search) = &plan.search {
        let title = catalog.format(
            "plan-strategies-title",
            &[("judged", (search.judged as i64).into()), ("fitting", (search.fitting as i64).into())],
        );
        page.push(Block::Title(title));
        page.extend(calibrated::search_note(plan, &w).map(Block::Note));
        let rows = search.best.iter().chain(&search.too_big).map(|c| row(c, &w));
        page.push(Block::Table(rows.collect()));
    }
    if (verbose || plan.search.is_some()) && plan.missing() == 0.0 {
        page.extend(Framework::ALL.into_iter().flat_map(|framework| lines_of(framework, plan, &w)));
    }
    // Of a measured run the rules are no news.
    if verbose || !plan.calibrated.as_ref().is_some_and(|measured| measured.same) {
        page.push(Block::Title(catalog.word("plan-rules-title")));
        let rules = rules(&plan.setup, &plan.gpu, &plan.memory);
        page.extend(rules.iter().map(|r| Block::Rule(r.holds, rule(r, &w))));
    }
    page
}

/// A strategy in a framework's words: the plan's own, or the fastest that the framework can do.
fn lines_of(framework: Framework, plan: &PlanReport, w: &Writer<'_>) -> Vec<Block> {
    let name = ("framework", framework.id().to_owned());
    if let Some(lines) = flags(&plan.setup, framework) {
        return vec![Block::Title(w.say("plan-flags-title", &[name])), Block::Code(lines)];
    }
    let found = plan.search.as_ref().map_or(&[][..], |search| &search.by_framework);
    let Some((_, other)) = found.iter().find(|(each, _)| *each == framework) else { return Vec::new() };
    let title = w.say(
        "plan-flags-other-title",
        &[
            name,
            ("strategy", words::strategy(w.catalog, &other.setup, other.schedule)),
            ("step", w.time(other.estimate.step)),
        ],
    );
    vec![Block::Title(title), Block::Code(flags(&other.setup, framework).unwrap_or_default())]
}

fn head(plan: &PlanReport, catalog: &Catalog) -> String {
    let setup = &plan.setup;
    let count = catalog.large(setup.model.parameters() as f64);
    let parts = [
        setup.model.name.clone(),
        catalog.format("plan-parameters", &[("count", count.into())]),
        format!("{} × {}", plan.gpus, plan.gpu.name),
        catalog.format("plan-sequence", &[("seq", (setup.seq as i64).into())]),
        catalog.format("plan-samples", &[("count", (setup.global_batch() as i64).into())]),
        words::precision(setup.precision).to_owned(),
        words::optimizer(setup.optimizer).to_owned(),
    ];
    parts.join(" · ")
}

fn answer(plan: &PlanReport, w: &Writer<'_>) -> String {
    let strategy = words::strategy(w.catalog, &plan.setup, plan.schedule);
    let args = [
        ("strategy", strategy),
        ("need", w.bytes(plan.memory.needed())),
        ("have", w.bytes(plan.gpu.memory)),
        ("missing", w.bytes(plan.missing())),
        ("free", w.share(plan.free)),
        ("step", w.time(plan.estimate.step)),
    ];
    if let Some(measured) = plan.calibrated.as_ref().filter(|measured| measured.same) {
        let known = measured.calibration.measured.peak.is_some();
        return w.say(if known { "plan-measured" } else { "plan-traced" }, &args);
    }
    let nowhere = plan.search.as_ref().is_some_and(|search| search.best.is_empty());
    let key = match (plan.missing() > 0.0, nowhere) {
        (true, true) => "plan-fits-nowhere",
        (true, false) => "plan-does-not-fit",
        (false, _) => "plan-fits",
    };
    w.say(key, &args)
}

fn bill(plan: &PlanReport, w: &Writer<'_>) -> Vec<Vec<String>> {
    let memory = &plan.memory;
    let mut rows: Vec<Vec<String>> = memory
        .peak_items()
        .iter()
        .map(|item| {
            vec![
                w.catalog.word(words::item(item.id)),
                w.bytes(item.bytes),
                w.share(item.bytes / memory.allocated),
            ]
        })
        .collect();
    let mut line =
        |key: &str, bytes: f64| rows.push(vec![w.catalog.word(key), w.bytes(bytes), String::new()]);
    line("plan-allocated", memory.allocated);
    if memory.first_steps > memory.allocated {
        line("plan-first-steps", memory.first_steps);
    }
    let segments = memory.reserved.max(memory.first_steps) - memory.first_steps;
    if segments > 0.0 {
        line("plan-segments", segments);
    }
    line("plan-context", memory.context);
    line("plan-needed", memory.needed());
    rows
}

fn step(plan: &PlanReport, w: &Writer<'_>) -> Vec<Vec<String>> {
    let e = &plan.estimate;
    let mut rows = Vec::new();
    for (key, seconds) in [
        ("plan-compute", e.compute),
        ("plan-bubble", e.bubble),
        ("plan-exposed", e.exposed),
        ("plan-optimizer", e.optimizer),
        ("plan-waiting", e.waiting),
    ] {
        if seconds > 0.0 {
            rows.push(vec![w.catalog.word(key), w.time(seconds), w.share(seconds / e.step)]);
        }
    }
    for (flow, seconds, exposed) in &e.flows {
        let says = w.say("plan-flow", &[("time", w.time(*seconds)), ("exposed", w.time(*exposed))]);
        rows.push(vec![w.catalog.word(words::flow(flow.id)), w.bytes(flow.bytes), says]);
    }
    rows
}

fn budget(plan: &PlanReport, w: &Writer<'_>) -> Vec<Block> {
    let e = &plan.estimate;
    let per_second = w.catalog.arg(&Arg::Count(e.tokens_per_second as i64));
    let mut notes = vec![Block::Note(w.say("plan-rate", &[("rate", per_second), ("mfu", w.share(e.mfu))]))];
    if let Some(tokens) = plan.tokens {
        let cost = e.cost(tokens, plan.gpus);
        let hours = w.catalog.arg(&Arg::Count(cost.gpu_hours.round() as i64));
        let days = format!("{:.1}", cost.days);
        notes.push(Block::Note(
            w.say("plan-budget", &[("tokens", w.catalog.large(tokens)), ("days", days), ("hours", hours)]),
        ));
        if let Some(price) = plan.price {
            let total = w.catalog.arg(&Arg::Count((cost.gpu_hours * price).round() as i64));
            notes.push(Block::Note(w.say("plan-price", &[("price", format!("{price}")), ("total", total)])));
        }
    }
    notes
}

fn row(c: &Candidate, w: &Writer<'_>) -> Vec<String> {
    let why = if c.missing > 0.0 {
        w.say("plan-loses-memory", &[("missing", w.bytes(c.missing))])
    } else {
        w.say(words::loses(c.loses), &[("slower", w.time(c.slower))])
    };
    vec![
        words::strategy(w.catalog, &c.setup, c.schedule),
        w.bytes(c.memory.needed()),
        w.time(c.estimate.step),
        why,
    ]
}

fn rule(rule: &Rule, w: &Writer<'_>) -> String {
    let mut args: Vec<(&str, String)> = Vec::new();
    args.extend(rule.bytes.iter().map(|(name, bytes)| (*name, w.bytes(*bytes))));
    args.extend(rule.shares.iter().map(|(name, share)| (*name, w.share(*share))));
    args.extend(rule.seconds.iter().map(|(name, seconds)| (*name, w.time(*seconds))));
    w.say(words::rule(rule.id), &args)
}
