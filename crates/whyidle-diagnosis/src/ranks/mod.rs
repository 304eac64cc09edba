//! The verdict on several ranks of one job, from their digests.
//!
//! * [`Digest`] – what one rank says to the others.
//! * [`Ranks`] – the digests of a job, in whatever order they came.
//! * [`judge_ranks`] – the verdict: the one of the rank that the others wait for, with what only all together tell.

mod digest;
mod findings;
mod ledger;
mod link;
mod replay;
mod set;
mod straggler;
mod table;

use whyidle_analysis::ranks::bandwidth::{Speed, speeds};
use whyidle_analysis::ranks::clock::{Offset, offsets};
use whyidle_analysis::ranks::matching::{How, Matched, matched};
use whyidle_analysis::ranks::pipeline::{Pipeline, pipelines};
use whyidle_analysis::ranks::split::{Waits, waits};

pub use digest::Digest;
pub use link::{slow_path, why_slow};
pub use set::{NotOneJob, Ranks};
pub use table::{Clock, Group, Together as TogetherFacts, Transfer};

use crate::causes::cause;
use crate::ids::Id;
use crate::message::{Arg, Message};
use crate::ruling::{self, Standing, decide, near_threshold, weight};
use crate::verdict::{Confidence, Finding, Line, QualityNote, RankVerdict, Ruling, Rung, Verdict};
use straggler::Straggler;
use whyidle_model::Severity;

/// Causes that only several ranks show: id, what is waited for, what limits the step then.
const CAUSES: [(Id, Id, Id); 2] = [
    ("rank.straggler", "because-rank.straggler", "limit-rank.straggler"),
    ("comm.link", "because-comm.link", "limit-comm.link"),
];

/// Ids of the causes that only several ranks show.
pub const ACROSS_RANKS: [Id; 2] = [CAUSES[0].0, CAUSES[1].0];
/// Ids of the lines that a collective's line is split into.
pub const SPLIT_LINES: [Id; 2] = [ledger::TRANSFER, ledger::WAIT];

/// How a cause is worded: what is waited for, and what limits the step.
pub(crate) fn words(id: &str) -> Option<(Id, Id)> {
    let several =
        CAUSES.iter().find(|(known, ..)| *known == id).map(|(_, because, limit)| (*because, *limit));
    several.or_else(|| cause(id).map(|cause| (cause.because, cause.limit)))
}

/// Collectives of fewer than this share matched: what is said rests on too little.
const MATCHED: f64 = 0.9;

/// Everything that is known of the ranks together.
struct Seen<'a> {
    ranks: &'a Ranks,
    matched: Matched,
    waits: Waits,
    speeds: Vec<Speed>,
    clocks: Vec<Option<Offset>>,
    pipelines: Vec<Pipeline>,
    paces: straggler::Paces,
    late: Option<Straggler>,
}

/// Why ranks get no verdict together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJudged {
    /// The rank that was asked for is not there.
    NoSuchRank,
    /// All collectives say between whom they are, and none is the same on two ranks.
    NothingInCommon,
}

/// The verdict on ranks. `rank` is the one to show, where one was asked for.
///
/// # Errors
/// Where that is not there, or the ranks have nothing to do with each other.
pub fn judge_ranks(ranks: &Ranks, rank: Option<u32>) -> Result<Verdict, NotJudged> {
    let matched = matched(&ranks.facts);
    let all_known = matched.unknown.iter().all(|&unknown| unknown == 0);
    let all_talk = ranks.facts.iter().all(|facts| !facts.rows.is_empty());
    if ranks.len() > 1 && all_known && all_talk && matched.met.iter().all(|met| met.rows.len() < 2) {
        return Err(NotJudged::NothingInCommon);
    }
    let waits = waits(&ranks.facts, &matched);
    let together = replay::Together::new(ranks, &matched, &waits);
    let paces = straggler::paces(ranks, &waits, &together);
    let pipelines = pipelines(&ranks.facts, &matched);
    // Stages of a pipeline differ by design; what that costs is the pipeline's.
    let late = if pipelines.is_empty() { straggler::straggler(ranks, &waits, &paces) } else { None };
    let seen = Seen {
        speeds: speeds(&ranks.facts, &matched, &waits),
        clocks: offsets(&ranks.facts, &matched, &waits),
        ranks,
        matched,
        waits,
        pipelines,
        paces,
        late,
    };
    let shown = match rank {
        Some(rank) => {
            let position = ranks.facts.iter().position(|facts| facts.rank == rank);
            position.ok_or(NotJudged::NoSuchRank)?
        }
        None => seen.shown(),
    };
    Ok(seen.verdict(shown, &together))
}

impl Seen<'_> {
    /// The rank that the others wait for: the late one, the slowest stage, else the one whose lateness cost the others
    /// most.
    fn shown(&self) -> usize {
        if let Some(late) = &self.late {
            return late.rank;
        }
        let slowest =
            self.pipelines.iter().map(|one| (one.span(one.micro), one.stages[one.slowest()] as usize));
        if let Some((_, stage)) = slowest.max_by_key(|&(span, stage)| (span, std::cmp::Reverse(stage))) {
            return stage;
        }
        let caused = |rank: usize| self.waits.late[rank].caused;
        (0..self.ranks.len()).max_by_key(|&rank| (caused(rank), std::cmp::Reverse(rank))).unwrap_or(0)
    }

    fn verdict(&self, shown: usize, together: &replay::Together<'_>) -> Verdict {
        let ranks = self.ranks;
        let own = &ranks.own[shown].verdict;
        let step = own.step.unprofiled;
        let mut ledgers: Vec<Vec<Line>> =
            (0..ranks.len()).map(|rank| ledger::split(ranks, rank, &self.waits.exposed[rank])).collect();
        let lateness = table::lateness(self, &ledgers);
        let lines = ledgers[shown].clone();
        let mut found = findings::adjusted(ranks, shown, together, &lines, step);
        if let Some(late) = &self.late {
            let waited = lateness[late.rank].caused_ns;
            let finding =
                straggler::finding(ranks, &self.waits, together, late, step, waited, self.paces.replayed);
            // The remedy of its own cause is the same one, with the same gain.
            if let straggler::Why::Wait(cause) = late.why
                && shown == late.rank
                && let Some(own) = found.iter_mut().find(|finding| finding.cause == cause)
                && let (Some(gain), Some(whole)) = (&mut own.gain, &finding.gain)
            {
                gain.step_after = whole.step_after;
            }
            found.push(finding);
        }
        if let Some(pipeline) = self.pipelines.iter().find(|one| one.stages.contains(&(shown as u32))) {
            let bubble = findings::pipeline(ranks, shown, pipeline, &lines, step);
            found.retain(|finding| finding.cause != bubble.cause);
            if bubble.share >= WORTH_BUBBLE {
                found.push(bubble);
            }
        }
        found.extend(link::link(ranks, shown, &self.matched, &self.speeds, together, &lines, step));
        found.sort_by_key(|finding| {
            let saved = std::cmp::Reverse(weight(finding, step.ns));
            // A late rank comes before its own cause: it says whose the cause is.
            (finding.cause != "rank.straggler", saved, std::cmp::Reverse(finding.cost.ns), finding.cause)
        });
        link::before_its_symptom(&mut found);
        let ruling = self.ruling(own, &Standing { step, ledger: &lines }, &found);
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        // Worst first: who the others wait for most.
        order.sort_by_key(|&rank| (rank != shown, std::cmp::Reverse(lateness[rank].caused_ns), rank));
        let mut rank_lines = |rank: usize| RankVerdict {
            rank: ranks.facts[rank].rank,
            step: ranks.own[rank].verdict.step.clone(),
            working_share: ranks.own[rank].verdict.working_share,
            ledger: std::mem::take(&mut ledgers[rank]),
            lateness: Some(lateness[rank]),
        };
        let mut subject = own.subject.clone();
        subject.ranks = ranks.len();
        subject.gpus = ranks.own.iter().map(|own| own.verdict.subject.gpus).sum();
        Verdict {
            inputs: ranks.own.iter().flat_map(|own| own.verdict.inputs.iter().cloned()).collect(),
            subject,
            step: own.step.clone(),
            working_share: own.working_share,
            resident_share: own.resident_share,
            ledger: lines,
            run: own.run.clone(),
            ranks: order.into_iter().map(&mut rank_lines).collect(),
            next: self.next(own, ruling.primary),
            ladder: ladder(own, &found, &ruling),
            ruling,
            findings: found,
            what_if: own.what_if.clone(),
            critical_path: own.critical_path.clone(),
            replay: own.replay,
            together: Some(table::together(self, together, shown)),
            quality: self.quality(own, shown),
            details: own.details.clone(),
        }
    }

    fn next(&self, own: &Verdict, primary: Id) -> String {
        if own.next.starts_with("whyidle explain") {
            format!("whyidle explain {primary}")
        } else {
            own.next.clone()
        }
    }

    fn ruling(&self, own: &Verdict, standing: &Standing<'_>, findings: &[Finding]) -> Ruling {
        let decided = decide(standing, findings);
        let (mut primary, healthy) = (decided.primary, decided.healthy);
        if let Some(first) = findings.first().filter(|first| first.cause == "rank.straggler" && !healthy) {
            primary = first.cause;
        }
        let efficient = if decided.inefficient { Some(false) } else { own.ruling.efficient.map(|_| true) };
        let mut confidence = Confidence::High;
        let mut doubts: Vec<Message> = Vec::new();
        let split = self.matched.share(&self.ranks.facts) >= MATCHED && self.ranks.missing() == 0;
        for doubt in &own.ruling.doubts {
            let gone = doubt.id == "doubt-near-threshold" || split && doubt.id == "doubt-one-rank";
            if !gone {
                // What one rank doubted, all together doubt no more than that.
                confidence = confidence.min(own.ruling.confidence);
                doubts.push(doubt.clone());
            }
        }
        if let Some(near) = near_threshold(standing) {
            confidence = Confidence::Low;
            doubts.push(near);
        }
        let matched = self.matched.share(&self.ranks.facts);
        if matched < MATCHED {
            confidence = Confidence::Low;
            doubts.push(Message::new("doubt-unmatched").share("share", matched));
        }
        if self.ranks.missing() > 0 {
            confidence = confidence.min(Confidence::Medium);
            doubts.push(Message::new("doubt-ranks-missing").count("count", self.ranks.missing()));
        }
        if let Some((least, most)) = self.steps_apart() {
            confidence = Confidence::Low;
            doubts.push(Message::new("doubt-ranks-apart").time("least", least).time("most", most));
        }
        let finding = findings.iter().find(|finding| finding.cause == primary);
        let mut sentence = ruling::sentence(standing, healthy, finding);
        if let Some(finding) = finding.filter(|finding| finding.cause == "rank.straggler") {
            sentence[0] = self.say_late(standing, finding);
        }
        Ruling { primary, healthy, efficient, confidence, doubts, sentence }
    }

    /// Who is late, how long the others wait, and for what it itself waits.
    fn say_late(&self, standing: &Standing<'_>, finding: &Finding) -> Message {
        let rank = finding.rank.map(|rank| rank.to_string()).unwrap_or_default();
        let why = self.late.as_ref().map(|late| match late.why {
            straggler::Why::Wait(cause) => {
                let because = words(cause).map_or("because-unknown", |(because, _)| because);
                Message::new("late-waits").message("because", Message::new(because))
            }
            straggler::Why::Work(factor) => Message::new("late-works").with("factor", Arg::Number(factor, 1)),
            straggler::Why::Slower => Message::new("late-slower"),
            straggler::Why::Host => Message::new("late-host"),
        });
        Message::new("say-late")
            .name("rank", rank)
            .time("step", standing.step.ns)
            .time("waiting", finding.cost.ns)
            .message("why", why.unwrap_or(Message::new("late-host")))
    }

    /// The shortest and the longest traced step of the ranks, where they are too different for ranks that wait for each
    /// other in every step: traces of different runs, or of different steps.
    fn steps_apart(&self) -> Option<(i64, i64)> {
        const APART: f64 = 1.25;
        let steps = self.ranks.own.iter().map(|own| own.verdict.step.traced_ns);
        let (least, most) = steps.fold((i64::MAX, 0), |(least, most), ns| (least.min(ns), most.max(ns)));
        (most as f64 > APART * least as f64).then_some((least, most))
    }

    /// A rank whose clock seems to be half a step off or more, where nothing but places in a step matched it: it may
    /// have recorded other steps than the rest.
    fn windows(&self, step: i64) -> Option<QualityNote> {
        if self.matched.how.iter().all(|&how| how == How::Sequence) {
            return None;
        }
        let off = self.clocks.iter().flatten().filter(|clock| 2 * clock.ahead.abs() > step);
        let (count, first) = (off.clone().count(), off.max_by_key(|clock| clock.ahead.abs())?);
        let text = Message::new("note-windows-apart")
            .count("count", count)
            .name("rank", self.ranks.facts[first.rank as usize].rank.to_string())
            .time("time", first.ahead.abs())
            .time("step", step);
        let (code, severity) = ("windows-apart", Severity::Suspect);
        Some(QualityNote { code, severity, count: count as u64, text })
    }

    fn quality(&self, own: &Verdict, shown: usize) -> Vec<QualityNote> {
        let mut quality = own.quality.clone();
        quality.extend(self.ranks.notes.iter().cloned());
        quality.extend(self.windows(own.step.traced_ns));
        let mut note = |code, severity, count: u64, text: Message| {
            quality.push(QualityNote { code, severity, count, text });
        };
        if self.matched.how.contains(&How::Order) {
            note("matched-by-order", Severity::Suspect, 1, Message::new("note-matched-by-order"));
        }
        let mismatches = self.matched.mismatches.len() as u64;
        if mismatches > 0 {
            let text = Message::new("note-collectives-differ").count("count", mismatches);
            note("collectives-differ", Severity::Loss, mismatches, text);
        }
        let unmatched: u64 = self.matched.unknown.iter().sum();
        if unmatched > 0 {
            let text = Message::new("note-collectives-unknown").count("count", unmatched);
            note("collectives-unknown", Severity::Info, unmatched, text);
        }
        // Waiting without anybody being late is what a reader stumbles over.
        if self.late.is_none() && self.pipelines.is_empty() && self.paces.replayed {
            let waited = |rank: usize| {
                let traced: i64 = self.ranks.facts[rank].steps.iter().map(|step| step.end - step.start).sum();
                self.waits.exposed[rank].waited() as f64 / traced.max(1) as f64
            };
            let most = (0..self.ranks.len()).max_by(|&a, &b| waited(a).total_cmp(&waited(b)));
            if let Some(rank) = most.filter(|&rank| waited(rank) > 0.05 && rank != shown)
                && let (Some(own), Some(other)) = (self.paces.own[shown], self.paces.own[rank])
            {
                let text = Message::new("note-no-straggler")
                    .name("rank", self.ranks.facts[rank].rank.to_string())
                    .name("shown", self.ranks.facts[shown].rank.to_string())
                    .share("share", waited(rank))
                    .time("own", own)
                    .time("other", other);
                note("no-straggler", Severity::Info, 1, text);
            }
        }
        quality
    }
}

/// Waits of a pipeline below this share of the step are no cause.
const WORTH_BUBBLE: f64 = 0.05;

/// The ladder of the rank shown, with the first gain as all ranks have it; what comes on top of it holds only where
/// that is the same.
fn ladder(own: &Verdict, findings: &[Finding], ruling: &Ruling) -> Vec<Rung> {
    let step = own.step.unprofiled.ns;
    let Some(first) = findings.iter().find(|finding| finding.cause == ruling.primary) else {
        return Vec::new();
    };
    let Some(gain) = &first.gain else { return Vec::new() };
    if ((step - gain.step_after.ns) as f64) < ruling::CLEAR * step as f64 {
        return Vec::new();
    }
    let mut rungs = vec![Rung { cause: first.cause, gain: gain.clone() }];
    let same = own.ladder.first().is_some_and(|rung| {
        let close =
            (rung.gain.step_after.ns - gain.step_after.ns).abs() as f64 <= ruling::CLEAR * step as f64;
        close && (rung.cause == first.cause || first.cause == "rank.straggler")
    });
    if same {
        rungs.extend(own.ladder.iter().skip(1).cloned());
    }
    rungs
}
