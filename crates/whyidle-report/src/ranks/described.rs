//! The page: the answer, the stacks behind it, then groups, mismatches, rates and paths, each at most a few rows.

use whyidle_analysis::flight::{FlightFacts, GroupFacts, HangKind, Operation, Pace};
use whyidle_diagnosis::{Message, slow_path, why_slow};

use super::{RanksReport, words};
use crate::Catalog;
use crate::draft::Draft;
use crate::page::Block;

/// Rows even with `-v`; JSON holds all.
const MOST_ROWS: usize = 64;
/// Frames of a stack before `-v` shows more.
const FRAMES: usize = 8;

struct Page<'a> {
    report: &'a RanksReport,
    page: Draft<'a>,
}

pub(crate) fn blocks(report: &RanksReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let mut page = Page { report, page: Draft::new(catalog, verbose, MOST_ROWS) };
    page.head();
    page.page.answer(&words::answer(report));
    if let Some(facts) = &report.flight {
        page.hang(facts);
        page.mismatches(facts);
        page.groups(facts);
        page.rates(facts);
    }
    page.links();
    page.page.doubts("ranks-title-evidence", &report.quality);
    page.page.blocks()
}

impl Page<'_> {
    fn table(&mut self, rows: Vec<Vec<String>>) {
        self.page.table(rows, Message::new("ranks-more"));
    }

    fn head(&mut self) {
        let mut parts = Vec::new();
        if !self.report.dumps.is_empty() {
            let present: Vec<u32> = self.report.dumps.iter().map(|dump| dump.rank).collect();
            let entries: usize = self.report.dumps.iter().map(|dump| dump.dump.entries.len()).sum();
            let dumps = Message::new("ranks-head-dumps")
                .count("count", present.len())
                .message("ranks", words::ranks(&present))
                .count("entries", entries);
            parts.push(self.page.say(&dumps));
        }
        let version = self.report.dumps.iter().map(|dump| dump.dump.library.as_str());
        let version =
            version.chain(self.report.nccl.iter().map(|log| log.version.as_str())).find(|v| !v.is_empty());
        if let Some(version) = version {
            parts.push(self.page.say(&Message::new("ranks-head-nccl").name("version", version)));
        }
        if let Some(log) = &self.report.nccl {
            parts.push(self.page.say(&Message::new("ranks-head-log").count("count", log.lines)));
        }
        self.page.push(Block::Head(parts.join(" · ")));
    }

    fn hang(&mut self, facts: &FlightFacts) {
        let Some(hang) = &facts.hang else { return };
        if hang.may_be_under_way() && hang.kind != HangKind::Mismatched {
            self.page.push(Block::Doubt(self.page.catalog.word("ranks-under-way")));
        }
        if matches!(hang.kind, HangKind::NeverEntered | HangKind::NoMessage) {
            let text =
                self.page.say(&Message::new("ranks-next-stack").message("rank", words::ranks(&hang.guilty)));
            self.page.push(Block::Note(text));
        }
        let mut shown: Vec<(&'static str, &Operation)> = Vec::new();
        match (&hang.mismatch, hang.kind) {
            (Some(found), _) => {
                shown.extend([("ranks-stack-asks", &found.usual), ("ranks-stack-asks", &found.other)]);
            }
            (None, HangKind::Circle) => {
                shown.extend(
                    hang.waits.iter().take(2).map(|waiting| ("ranks-stack-waits", &waiting.operation)),
                );
            }
            (None, _) => {
                shown.extend(hang.last.iter().take(1).map(|last| ("ranks-stack-last", last)));
                shown.push(("ranks-stack-waits", &hang.operation));
            }
        }
        for (id, operation) in shown {
            let title = Message::new(id)
                .message("rank", words::ranks(&[operation.rank]))
                .message("operation", words::operation(operation));
            self.page.push(Block::Title(self.page.say(&title)));
            self.stack(operation);
        }
    }

    fn stack(&mut self, operation: &Operation) {
        let most = if self.page.verbose { operation.stack.len() } else { FRAMES };
        if operation.stack.is_empty() {
            let text = Message::new("ranks-no-stack").name("thread", &operation.thread);
            self.page.push(Block::Note(self.page.say(&text)));
            return;
        }
        let line = |(function, file, line): &(String, String, u32)| {
            if self.page.verbose {
                format!("{function} ({file}:{line})")
            } else {
                words::place(function, file, *line)
            }
        };
        self.page.push(Block::Code(operation.stack.iter().take(most).map(line).collect()));
    }

    fn mismatches(&mut self, facts: &FlightFacts) {
        if facts.mismatches.is_empty() {
            return;
        }
        self.page.title("ranks-title-mismatches");
        let rows = facts
            .mismatches
            .iter()
            .map(|found| vec![self.page.say(&words::mismatch(facts, found))])
            .collect();
        self.table(rows);
    }

    fn groups(&mut self, facts: &FlightFacts) {
        self.page.title("ranks-title-groups");
        let hung = facts.hang.as_ref().map(|hang| hang.group);
        let mut order: Vec<usize> = (0..facts.groups.len()).collect();
        // Worst first.
        order.sort_by_key(|&at| {
            let group = &facts.groups[at];
            (hung != Some(at), group.mismatched == 0, group.group.missing.is_empty())
        });
        let rows = order.into_iter().map(|at| self.group(&facts.groups[at])).collect();
        self.table(rows);
    }

    fn group(&self, facts: &GroupFacts) -> Vec<String> {
        let group = &facts.group;
        let name = format!("{} ({})", group.label(), words::runs(&group.ranks));
        let members = Message::new("ranks-group-dumps")
            .count("count", group.dumps.len())
            .count("all", group.ranks.len());
        let matched = Message::new("ranks-group-matched").count("count", facts.matched);
        let mut remarks = Vec::new();
        if let (Some(first), Some(last)) = (facts.entered.first(), facts.entered.last())
            && first.1 < last.1
        {
            remarks.push(
                Message::new("ranks-group-behind")
                    .message("rank", words::ranks(&[first.0]))
                    .name("seq", first.1.to_string())
                    .message("other", words::ranks(&[last.0]))
                    .name("other_seq", last.1.to_string()),
            );
        }
        if facts.mismatched > 0 {
            remarks.push(Message::new("ranks-group-mismatched").count("count", facts.mismatched));
        }
        if !group.missing.is_empty() {
            remarks.push(Message::new("ranks-group-missing").message("ranks", words::ranks(&group.missing)));
        }
        if group.ranks_seen_only {
            remarks.push(Message::new("ranks-group-seen-only"));
        }
        vec![name, self.page.say(&members), self.page.say(&matched), self.page.catalog.sentences(&remarks)]
    }

    fn rates(&mut self, facts: &FlightFacts) {
        let mut rows = Vec::new();
        let mut without = Vec::new();
        for (dump, pace) in self.report.dumps.iter().zip(&facts.paces) {
            match pace {
                Pace::Steps { median, low, high, count, operations, .. } => {
                    let name = self.page.say(&words::ranks(&[dump.rank]));
                    let range = Message::new("ranks-step-range").time("low", *low).time("high", *high);
                    let of =
                        Message::new("ranks-step-of").count("count", *count).count("operations", *operations);
                    rows.push((
                        *median,
                        vec![
                            name,
                            self.page.catalog.time(*median),
                            self.page.say(&range),
                            self.page.say(&of),
                        ],
                    ));
                }
                other => without.push(other),
            }
        }
        // Ranks of one job step together: the slowest, and how far the fastest is from it, say it all.
        rows.sort_by_key(|(median, _)| std::cmp::Reverse(*median));
        if !rows.is_empty() {
            self.page.title("ranks-title-steps");
            self.table(rows.into_iter().map(|(_, row)| row).collect());
            self.page.push(Block::Note(self.page.catalog.word("ranks-step-note")));
        } else if let Some(pace) = without.first() {
            let id = match pace {
                Pace::TooShort => "ranks-pace-short",
                Pace::Alike => "ranks-pace-alike",
                Pace::Profiled => "ranks-pace-profiled",
                _ => "ranks-pace-irregular",
            };
            self.page.title("ranks-title-steps");
            self.page.push(Block::Note(self.page.catalog.word(id)));
        }
        self.lateness(facts);
        self.transfers(facts);
    }

    fn lateness(&mut self, facts: &FlightFacts) {
        let late = facts.groups.iter().find(|group| group.lateness.len() > 1);
        let Some(late) = late else { return };
        self.page.title("ranks-title-lateness");
        let row = |row: &whyidle_analysis::flight::Lateness| {
            let last = Message::new("ranks-late-last").count("count", row.last).count("all", row.steps);
            vec![
                self.page.say(&words::ranks(&[row.rank])),
                self.page.catalog.time(row.median),
                self.page.say(&last),
            ]
        };
        let rows = late.lateness.iter().map(row).collect();
        self.table(rows);
        self.page.push(Block::Note(self.page.catalog.word("ranks-late-note")));
    }

    fn transfers(&mut self, facts: &FlightFacts) {
        let rows: Vec<_> = facts
            .groups
            .iter()
            .flat_map(|group| group.transfers.iter().map(move |transfer| (group, transfer)))
            .map(|(group, transfer)| {
                let bytes = transfer.bytes.map_or_else(String::new, |bytes| {
                    self.page.catalog.quantity(&crate::quantity::bytes(bytes))
                });
                let name = format!("{} {bytes} · {}", transfer.name, group.group.label());
                let waits = Message::new("ranks-transfer-waits").time("time", transfer.waiting);
                let last = transfer.last.map_or_else(String::new, |(rank, count)| {
                    let last = Message::new("ranks-transfer-last")
                        .message("rank", words::ranks(&[rank]))
                        .count("count", count)
                        .count("all", transfer.count);
                    self.page.say(&last)
                });
                vec![name, self.page.catalog.time(transfer.transfer), self.page.say(&waits), last]
            })
            .collect();
        if !rows.is_empty() {
            self.page.title("ranks-title-transfers");
            self.table(rows);
        }
    }

    fn links(&mut self) {
        let Some(log) = &self.report.nccl else { return };
        if !self.report.pairs.is_empty() {
            self.page.title("ranks-title-links");
            let rows: Vec<_> = self
                .report
                .pairs
                .iter()
                .map(|pair| {
                    let channels = Message::new("ranks-link-channels").count("count", pair.channels);
                    let mut said: Vec<Message> = pair.slow.map(slow_path).into_iter().collect();
                    said.extend(pair.why.iter().map(why_slow));
                    let name = format!("{} ↔ {}", pair.ranks.0, pair.ranks.1);
                    vec![
                        name,
                        pair.text.clone(),
                        self.page.say(&channels),
                        self.page.catalog.sentences(&said),
                    ]
                })
                .collect();
            self.table(rows);
        }
        let mut notes = Vec::new();
        if let Some((inside, between)) = &log.found {
            notes.push(Message::new("ranks-links-found").name("inside", inside).name("between", between));
        }
        if !log.cards.is_empty() {
            notes.push(Message::new("ranks-links-cards").name("cards", log.cards.join(", ")));
        } else if !log.network.is_empty() {
            notes.push(Message::new("ranks-links-network").name("network", &log.network));
        }
        if self.page.verbose {
            let settings: Vec<String> =
                log.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if !settings.is_empty() {
                notes.push(Message::new("ranks-links-settings").name("settings", settings.join(" ")));
            }
        }
        let said: Vec<Block> = notes.iter().map(|note| Block::Note(self.page.say(note))).collect();
        self.page.extend(said);
        if !log.warnings.is_empty() {
            self.page.title("ranks-title-warnings");
            let rows = log
                .warnings
                .iter()
                .map(|warning| {
                    vec![
                        format!("{}: {}", warning.host, warning.text),
                        String::new(),
                        format!("× {}", warning.count),
                    ]
                })
                .collect();
            self.table(rows);
        }
    }
}
