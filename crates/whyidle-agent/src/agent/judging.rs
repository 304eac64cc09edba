//! What the agent says of runs: of the one in focus at the end of its slot, of all at the end of a window.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use whyidle_diagnosis::Message;
use whyidle_observe::clock::seconds;

use super::{Agent, CLOSE_SLOTS, MOST_CHANGES, News, OLD};
use crate::facts::{Facts, differences};
use crate::judge;
use crate::ring::{CHANGED, Segment};
use crate::source::{Moment, Source};
use crate::state::MOST_FACTS;

impl<S: Source> Agent<S> {
    /// The run that was in focus is judged; the next one comes into focus.
    pub(super) fn end_slot(&mut self, now: Moment) {
        let mut again = 0;
        if let Some((key, since, close)) = self.focus.take() {
            let changed = self.judge_focus(key, since, now);
            again = if changed { CLOSE_SLOTS } else { close.saturating_sub(1) };
            if again > 0 && self.state.runs.contains_key(&key) {
                self.source.focus(Some(key.0), true);
                self.focus = Some((key, now, again));
                return;
            }
        }
        let last = self.focused_last;
        let next = |key: &&(u32, u64)| last.is_none_or(|last| **key > last);
        let keys = || self.state.runs.keys();
        let Some(key) = keys().find(next).or_else(|| keys().next()).copied() else {
            self.source.focus(None, false);
            return;
        };
        self.focused_last = Some(key);
        self.source.focus(Some(key.0), false);
        self.focus = Some((key, now, again));
    }

    /// Estimates the step time of the run that was in focus since `since`. True where it changed.
    fn judge_focus(&mut self, key: (u32, u64), since: Moment, now: Moment) -> bool {
        let (Some(segment), Some(one)) = (self.segment.as_ref(), self.state.runs.get(&key)) else {
            return false;
        };
        let samples = segment.samples().between(since.unix_ns, now.unix_ns);
        let signals = judge::signals(&samples, &one.run, None);
        let own: Vec<u32> = one.run.gpus.iter().map(|(gpu, _)| *gpu).collect();
        let on_own = |gpu: &u32| self.state.holders(*gpu).into_iter().map(|(pid, _)| pid);
        let others: BTreeSet<u32> = own.iter().flat_map(on_own).filter(|pid| *pid != key.0).collect();
        let facts = judge::facts(&samples, &signals, others);
        let found = judge::step(&samples, &signals);
        let Some(one) = self.state.runs.get_mut(&key) else { return false };
        one.facts.push_back(facts);
        while one.facts.len() > MOST_FACTS {
            one.facts.pop_front();
        }
        let Some((step_ns, error)) = found else { return false };
        one.step = Some((step_ns, now.steady));
        let Some(change) = one.detector.next(step_ns, error) else { return false };
        one.changes += 1;
        let border = one.facts.len().saturating_sub(change.values.min(MOST_FACTS / 2));
        let (before, after): (Vec<&Facts>, Vec<&Facts>) =
            (one.facts.iter().take(border).collect(), one.facts.iter().skip(border).collect());
        let mut what = differences(before.into_iter(), after.into_iter());
        if what.is_empty() {
            what.push(Message::new("agent-change-nothing"));
        }
        let ms = |ns: i64| (ns as f64 / 1e4).round() / 1e2;
        let told = json!({
            "t": seconds(now.unix_ns).parse::<f64>().ok(),
            "pid": key.0,
            "job": one.job,
            "before_ms": ms(change.before_ns),
            "after_ms": ms(change.after_ns),
            "what": what,
        });
        let news = News::Changed { job: one.job.clone(), pid: key.0, change, what };
        if self.changes.len() < MOST_CHANGES {
            self.changes.push(told);
        }
        self.news.push(news);
        if let Some(dir) = self.segment.as_ref().and_then(Segment::dir) {
            // That it cannot be marked costs it its place at the end of the queue, nothing else.
            let _ = std::fs::write(dir.join(CHANGED), "");
        }
        self.describe(now);
        true
    }

    /// Every run is judged by the window that ends now.
    pub(super) fn end_window(&mut self, now: Moment) {
        let began = self.window.replace(now);
        let (Some(segment), Some(began)) = (self.segment.as_mut(), began) else { return };
        segment.forget_before(began.unix_ns);
        let samples = segment.samples();
        for (index, card) in &mut self.state.cards {
            card.throttled = judge::throttled(&samples.gpu, *index);
        }
        for one in self.state.runs.values_mut() {
            let (held, idle) = std::mem::take(&mut one.uncharged);
            one.busy = (held > 0.0).then(|| (1.0 - idle / held).clamp(0.0, 1.0));
            let signals = judge::signals(samples, &one.run, one.busy);
            let waited = judge::waited(&signals);
            one.waiting = waited.shares;
            if idle > 0.0 {
                for (cause, part) in waited.parts {
                    *one.idle_s.entry(cause).or_default() += part * idle;
                }
            }
            if one.step.is_some_and(|(_, at)| now.steady.saturating_sub(at) > OLD) {
                one.step = None;
            }
        }
        self.compare_ranks();
        self.describe(now);
    }

    /// How far each rank is behind the median of its job.
    fn compare_ranks(&mut self) {
        let mut jobs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for one in self.state.runs.values().filter(|one| one.run.place.rank.is_some()) {
            jobs.entry(one.job.clone()).or_default().extend(one.busy);
        }
        for one in self.state.runs.values_mut() {
            one.behind = None;
            let Some(all) = jobs.get_mut(&one.job).filter(|all| all.len() > 1) else { continue };
            all.sort_by(f64::total_cmp);
            let middle = all.len() / 2;
            let median =
                if all.len() % 2 == 1 { all[middle] } else { f64::midpoint(all[middle - 1], all[middle]) };
            if let Some(busy) = one.busy.filter(|_| median > 0.0 && one.run.place.rank.is_some()) {
                one.behind = Some(((median - busy) / median).max(0.0));
            }
        }
    }
}
