//! The page: the answer, the three layers, what limits, then the kernels, longest first.

use whyidle_analysis::ncu::KernelFacts;
use whyidle_diagnosis::Message;
use whyidle_model::{NcuStall, Severity};

use super::{NcuReport, words};
use crate::Catalog;
use crate::draft::Draft;
use crate::page::Block;
use crate::text::tail::quality_text;

/// Kernels before `-v` shows more.
const ROWS: usize = 6;
/// Kernels even with `-v`; JSON holds all.
const MOST_ROWS: usize = 64;
/// Reasons of waiting that are named of a kernel.
const REASONS: usize = 2;
/// So much of a warning, before `-v` shows all of it.
const WARNING: usize = 120;
/// Reasons below this share of warps' time are not worth a word.
const TOLD: f64 = 0.1;

struct Page<'a> {
    report: &'a NcuReport,
    page: Draft<'a>,
}

pub(crate) fn blocks(report: &NcuReport, catalog: &Catalog, verbose: bool) -> Vec<Block> {
    let mut page = Page { report, page: Draft::new(catalog, verbose, MOST_ROWS) };
    page.head();
    page.page.answer(&words::answer(report));
    page.beside();
    page.layers();
    page.bounds();
    page.kernels();
    page.missing();
    page.evidence();
    page.page.blocks()
}

impl Page<'_> {
    fn head(&mut self) {
        let counts = Message::new("ncu-head")
            .count("launches", self.report.launches)
            .count("kernels", self.report.kernels.len());
        let mut parts = vec![self.report.gpu.clone(), self.page.say(&counts)];
        parts.retain(|part| !part.is_empty());
        self.page.push(Block::Head(parts.join(" · ")));
    }

    fn beside(&mut self) {
        match &self.report.coverage {
            Some((path, coverage)) if coverage.found > 0 => self.page.note(&words::covers(path, coverage)),
            _ => self
                .page
                .note(&Message::new("ncu-weighted-by-length").time("time", self.report.together.weight_ns)),
        }
    }

    fn layers(&mut self) {
        let together = &self.report.together;
        let mut rows = Vec::new();
        let figure = |share: Option<f64>| {
            share
                .map_or_else(|| self.page.catalog.word("ncu-unknown"), |share| self.page.catalog.share(share))
        };
        let (resident, whose) = match &self.report.coverage {
            Some((_, coverage)) => (
                Some(words::share(coverage.working_ns, coverage.step_ns).min(1.0)),
                "ncu-layer-resident-remark",
            ),
            None => (None, "ncu-layer-resident-none"),
        };
        let row = |name: &'static str, share: Option<f64>, remark: String| {
            vec![self.page.catalog.word(name), figure(share), String::new(), remark]
        };
        rows.push(row("ncu-layer-resident", resident, self.page.catalog.word(whose)));
        rows.push(row(
            "ncu-layer-filled",
            together.filled,
            self.page.say(&Message::new("ncu-layer-filled-remark")),
        ));
        let mut computing = vec![Message::new("ncu-layer-computing-remark")];
        let told = together
            .stalls
            .iter()
            .filter(|(stall, share)| *stall != NcuStall::NotSelected && *share >= TOLD)
            .take(REASONS + 1);
        let waits: Vec<Message> = told
            .map(|(stall, share)| {
                Message::new("ncu-waits").share("share", *share).message("stall", words::stall(*stall))
            })
            .collect();
        if !waits.is_empty() {
            computing.push(Message::new("ncu-warps-time").with("waits", list(waits)));
        }
        rows.push(row("ncu-layer-computing", together.computing, self.page.catalog.sentences(&computing)));
        self.page.title("ncu-title-layers");
        self.page.push(Block::Table(rows));
    }

    fn bounds(&mut self) {
        let together = &self.report.together;
        if together.bounds.is_empty() {
            return;
        }
        let rows = together.bounds.iter().filter(|(_, time)| *time > 0).map(|(bound, time)| {
            let share = self.page.catalog.share(words::share(*time, together.weight_ns));
            vec![self.page.say(&words::bound(Some(*bound))), share, self.page.catalog.time(*time)]
        });
        let rows: Vec<_> = rows.collect();
        self.page.title("ncu-title-bounds");
        self.page.push(Block::Table(rows));
        self.page.push(Block::Note(self.page.catalog.word("ncu-bounds-note")));
    }

    fn kernels(&mut self) {
        // A trace says which of them a program launches: the others stay in the JSON.
        let is_told = |kernel: &&KernelFacts| self.report.together.weight_ns == 0 || kernel.weight_ns > 0;
        let mut kernels: Vec<&KernelFacts> = self.report.kernels.iter().filter(is_told).collect();
        kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.weight_ns));
        let most = if self.page.verbose { MOST_ROWS } else { ROWS };
        let rows: Vec<_> = kernels.iter().take(most).map(|kernel| self.kernel(kernel)).collect();
        self.page.title("ncu-title-kernels");
        self.page.push(Block::Table(rows));
        if kernels.len() > most {
            self.page.note(&Message::new("ncu-more").count("count", kernels.len() - most));
        }
    }

    fn kernel(&self, kernel: &KernelFacts) -> Vec<String> {
        let name = if self.page.verbose { &kernel.name } else { &kernel.short };
        // A name of a kernel has no place to break; the shape tells launches of one function apart.
        let name = crate::text::shortened(name, if self.page.verbose { 200 } else { 60 });
        let mut said = Vec::new();
        if let (Some(sm), Some(memory)) = (kernel.sm, kernel.memory) {
            let at = Message::new("ncu-kernel-throughput").share("sm", sm).share("memory", memory);
            said.push(match kernel.dram {
                Some(dram) => at.message("dram", Message::new("ncu-kernel-dram").share("dram", dram)),
                None => at.name("dram", ""),
            });
        }
        if let Some(waves) = kernel.waves {
            let waves =
                Message::new("ncu-kernel-waves").with("waves", whyidle_diagnosis::Arg::Number(waves, 2));
            said.push(waves.share("empty", kernel.empty.unwrap_or(0.0)));
        }
        if let (Some(held), Some(most)) = (kernel.occupancy, kernel.occupancy_limit) {
            let warps = |id| Message::new(id).share("held", held).share("most", most);
            said.push(if kernel.limiters.is_empty() {
                warps("ncu-kernel-warps")
            } else {
                let limiters = kernel.limiters.iter().map(|&limiter| words::limiter(limiter)).collect();
                warps("ncu-kernel-warps-limited").with("limiters", list(limiters))
            });
        }
        if let Some(tensor) = kernel.tensor.filter(|tensor| *tensor >= TOLD) {
            said.push(Message::new("ncu-kernel-tensor").share("tensor", tensor));
        }
        let told = kernel.stalls.iter().filter(|(_, share)| *share >= TOLD).take(REASONS);
        let waits: Vec<Message> = told
            .map(|(stall, share)| {
                Message::new("ncu-waits").share("share", *share).message("stall", words::stall(*stall))
            })
            .collect();
        if !waits.is_empty() {
            said.push(Message::new("ncu-warps-time").with("waits", list(waits)));
        }
        let time = self.page.catalog.time(kernel.weight_ns);
        vec![
            format!("{name}{}", shape(kernel)),
            time,
            self.page.say(&words::bound(kernel.bound)),
            self.page.catalog.sentences(&said),
        ]
    }

    fn missing(&mut self) {
        let Some((_, coverage)) = &self.report.coverage else { return };
        let most = if self.page.verbose { coverage.missing.len() } else { 3 };
        let rows: Vec<_> = coverage
            .missing
            .iter()
            .take(most)
            .map(|(name, time)| {
                vec![
                    crate::text::shortened(&whyidle_analysis::ncu::short(name), 60),
                    self.page.catalog.time(*time),
                ]
            })
            .collect();
        if !rows.is_empty() {
            self.page.title("ncu-title-missing");
            self.page.push(Block::Table(rows));
        }
    }

    fn evidence(&mut self) {
        if self.report.warnings.is_empty() && self.report.quality.is_empty() {
            return;
        }
        self.page.title("ncu-title-evidence");
        for warning in &self.report.warnings {
            let warning =
                if self.page.verbose { warning.clone() } else { crate::text::shortened(warning, WARNING) };
            let text = self.page.say(&Message::new("ncu-warned").name("text", warning));
            self.page.push(Block::Note(text));
        }
        for note in &self.report.quality {
            let text = quality_text(self.page.catalog, note);
            self.page.push(if note.severity == Severity::Info {
                Block::Note(text)
            } else {
                Block::Doubt(text)
            });
        }
    }
}

fn list(messages: Vec<Message>) -> whyidle_diagnosis::Arg {
    whyidle_diagnosis::Arg::List(
        messages.into_iter().map(|message| whyidle_diagnosis::Arg::Message(Box::new(message))).collect(),
    )
}

/// ` (2, 66, 1) × 384`: blocks and threads.
fn shape(kernel: &KernelFacts) -> String {
    if kernel.grid.contains(&0) || kernel.block.contains(&0) {
        return String::new();
    }
    let product = |sides: [u32; 3]| sides.iter().map(|&side| u64::from(side)).product::<u64>();
    format!(" {} × {}", product(kernel.grid), product(kernel.block))
}
