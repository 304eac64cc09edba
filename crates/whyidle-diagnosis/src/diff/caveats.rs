//! Why two pieces of evidence are not of one measure.

use super::Side;
use crate::verdict::Basis;

/// Something that differs beside what is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// The step times come from different sources.
    Basis(Basis, Basis),
    /// Steps were found in different ways: they may not be the same stretch of the program.
    FoundBy(&'static str, &'static str),
    /// The GPUs differ.
    Gpu(String, String),
    /// The numbers of ranks differ.
    Ranks(u32, u32),
    /// The ranks shown differ.
    RankShown(u32, u32),
    /// The versions of a part differ: its name and both.
    Version(String, String, String),
    /// Only one side has a trace; the second one, if true.
    OneTrace(bool),
    /// Only one trace has Python frames; the second one, if true.
    OneFrames(bool),
    /// A side has a single step: how far steps differ there is not known; the second one, if true.
    OneStep(bool),
}

impl Caveat {
    /// Stable id.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::Basis(..) => "basis",
            Self::FoundBy(..) => "found-by",
            Self::Gpu(..) => "gpu",
            Self::Ranks(..) => "ranks",
            Self::RankShown(..) => "rank-shown",
            Self::Version(..) => "version",
            Self::OneTrace(_) => "one-trace",
            Self::OneFrames(_) => "one-frames",
            Self::OneStep(_) => "one-step",
        }
    }
}

/// Versions whose difference is worth saying.
const VERSIONS: [&str; 3] = ["torch", "cuda", "cuda_driver_version"];

pub(super) fn caveats(a: &Side, b: &Side) -> Vec<Caveat> {
    let (from, to) = (&a.verdict, &b.verdict);
    let mut caveats = Vec::new();
    if from.step.basis != to.step.basis {
        caveats.push(Caveat::Basis(from.step.basis, to.step.basis));
    }
    if from.step.found_by != to.step.found_by {
        caveats.push(Caveat::FoundBy(from.step.found_by, to.step.found_by));
    }
    if let (Some(x), Some(y)) = (&from.subject.gpu, &to.subject.gpu)
        && x != y
    {
        caveats.push(Caveat::Gpu(x.clone(), y.clone()));
    }
    let ranks = |side: &Side| {
        let subject = &side.verdict.subject;
        subject.world_size.unwrap_or(u32::try_from(subject.ranks).unwrap_or(1)).max(1)
    };
    if ranks(a) != ranks(b) {
        caveats.push(Caveat::Ranks(ranks(a), ranks(b)));
    } else if let (Some(x), Some(y)) = (from.subject.rank_shown, to.subject.rank_shown)
        && x != y
    {
        caveats.push(Caveat::RankShown(x, y));
    }
    let version = |side: &Side, wanted: &str| {
        let versions = &side.verdict.subject.versions;
        versions.iter().find(|(name, _)| name == wanted).map(|(_, version)| version.clone())
    };
    for name in VERSIONS {
        if let (Some(x), Some(y)) = (version(a, name), version(b, name))
            && x != y
        {
            caveats.push(Caveat::Version(name.to_owned(), x, y));
        }
    }
    if a.has_trace() != b.has_trace() {
        caveats.push(Caveat::OneTrace(b.has_trace()));
    }
    if let (Some(x), Some(y)) = (&a.names, &b.names)
        && x.has_frames != y.has_frames
    {
        caveats.push(Caveat::OneFrames(y.has_frames));
    }
    for (side, is_second) in [(a, false), (b, true)] {
        if side.has_trace() && side.verdict.step.count == 1 {
            caveats.push(Caveat::OneStep(is_second));
        }
    }
    caveats
}
