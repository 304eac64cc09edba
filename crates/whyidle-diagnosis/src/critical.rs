//! The critical path of the unprofiled step: what its length consists of.

use std::collections::BTreeMap;

use whyidle_analysis::kernelclass::Work;
use whyidle_analysis::ledger::Line;
use whyidle_replay::critical::critical_path;

use crate::case::Case;
use crate::edit::limit_of;
use crate::verdict::{CriticalPath, PathName, PathPart};

/// Names that are listed.
const LISTED: usize = 12;

/// The path of the fitted replay; `None` where the replay is not usable.
pub(crate) fn critical(case: &Case<'_>) -> Option<CriticalPath> {
    let replayed = case.replay.as_ref().filter(|replayed| replayed.is_usable())?;
    let program = &replayed.program;
    let path = critical_path(program, &replayed.lengths, replayed.steps.clone());
    let mut parts: BTreeMap<&'static str, i64> = BTreeMap::new();
    let mut names: BTreeMap<(String, &'static str), (u64, i64)> = BTreeMap::new();
    let mut add = |part: &'static str, name: Option<String>, ns: i64| {
        *parts.entry(part).or_default() += ns;
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let total = names.entry((name, part)).or_default();
            *total = (total.0 + 1, total.1 + ns);
        }
    };
    for (node, &ns) in program.gpu.iter().zip(&path.gpu).filter(|(_, ns)| **ns > 0) {
        let part = match case.facts.works[node.activity.index()] {
            Work::Collective => "communication",
            Work::HostCopy => "copy",
            _ => "gpu",
        };
        let name = case.trace.names.get(case.trace.gpu.name[node.activity.index()]);
        add(part, Some(name.to_owned()), ns);
    }
    for (node, &ns) in program.host.iter().zip(&path.host).filter(|(_, ns)| **ns > 0) {
        let limit = limit_of(node.context);
        let part = if limit == Line::DataWorkers.id() || limit == Line::DataInProcess.id() {
            "loader"
        } else {
            "host"
        };
        add(part, Some(case.describe(node.leaf)), ns);
    }
    add("launch", None, path.latency_ns);
    add("pause", None, path.pause_ns);
    let mut parts: Vec<PathPart> = parts
        .into_iter()
        .filter(|&(_, ns)| ns > 0)
        .map(|(id, ns)| PathPart { id, ns: ns / path.steps })
        .collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.ns), part.id));
    let mut names: Vec<PathName> = names
        .into_iter()
        .map(|((name, part), (count, ns))| PathName { name, part, nodes: count, ns: ns / path.steps })
        .collect();
    names.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
    names.truncate(LISTED);
    Some(CriticalPath { length_ns: path.total_ns / path.steps, parts, names })
}
