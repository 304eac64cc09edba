//! Stacks with their weights, for flame graphs: Python stacks of a recording with how often each was seen; else what a
//! trace's threads did, each stack with the time in which it was the innermost, in whole nanoseconds.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::json;
use whyidle_analysis::facts::Facts;
use whyidle_analysis::tree::NONE;
use whyidle_model::{HostId, Samples, Trace};

use super::frame_text;

/// What weights count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// How often a stack was seen.
    Samples,
    /// Time, ns.
    Nanoseconds,
}

/// The stacks of several threads.
pub struct Stacks {
    unit: Unit,
    /// Texts of frames, and their number by text.
    frames: Vec<String>,
    known: FxHashMap<String, u32>,
    /// Nodes of all trees: the node around, the frame, the weight of the stack that ends here.
    nodes: Vec<(u32, u32, i64)>,
    /// Node by the node around it and its frame.
    children: FxHashMap<(u32, u32), u32>,
    /// Threads: what they are called, and their root.
    threads: Vec<(String, u32)>,
}

/// A node of the trees of all threads, for a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node around it, by its place in the list; `None` for a thread.
    pub around: Option<usize>,
    /// Its frame, or the name of the thread.
    pub text: String,
    /// Weight of the stacks that go through it or end in it.
    pub weight: i64,
}

/// No node.
const ROOT: u32 = u32::MAX;

/// What a mark of a step begins with: its number would give every step a stack of its own.
const STEP: &str = "ProfilerStep#";

impl Stacks {
    /// No stacks yet.
    #[must_use]
    pub fn new(unit: Unit) -> Self {
        Self {
            unit,
            frames: Vec::new(),
            known: FxHashMap::default(),
            nodes: Vec::new(),
            children: FxHashMap::default(),
            threads: Vec::new(),
        }
    }

    /// The Python stacks of a recording.
    #[must_use]
    pub fn of_samples(samples: &Samples) -> Self {
        let mut all = Self::new(Unit::Samples);
        let mut roots: FxHashMap<String, u32> = FxHashMap::default();
        let stacks = &samples.stacks;
        let leaves: Vec<u32> = stacks
            .stacks
            .iter()
            .map(|stack| {
                let processes: Vec<String> =
                    stack.parents.iter().chain([&stack.pid]).map(|pid| format!("process {pid}")).collect();
                let thread = clean(stacks.names.get(stack.thread));
                let name = format!("{};thread (0): {thread}", processes.join(";"));
                let root = *roots.entry(name.clone()).or_insert_with(|| all.thread(name));
                stack
                    .frames
                    .iter()
                    .fold(root, |node, frame| all.child(node, &frame_text(&stacks.names, *frame)))
            })
            .collect();
        for seen in &stacks.seen {
            all.nodes[leaves[seen.stack] as usize].2 += i64::from(seen.count);
        }
        all
    }

    /// Adds what the threads of a trace did. `label` stands before their names.
    pub fn add_trace(&mut self, trace: &Trace, facts: &Facts, label: &str) {
        let mut nodes = vec![ROOT; trace.host.len()];
        for (number, rows) in facts.tree.threads().iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            let thread = trace.threads[number];
            let name = clean(trace.names.get(thread.name));
            let root = self.thread(format!("{label}process {};thread ({}): {name}", thread.pid, thread.tid));
            // Rows come outermost first, so what is around a row has its node already.
            for &row in rows {
                let around = facts.tree.parent(HostId(row)).map_or(root, |parent| nodes[parent.index()]);
                let name = trace.names.get(trace.host.name[HostId(row).index()]);
                let name = if name.starts_with(STEP) { STEP.trim_end_matches('#') } else { name };
                nodes[HostId(row).index()] = self.child(around, name);
            }
            for segment in facts.tree.segments(trace, number).filter(|segment| segment.leaf != NONE) {
                self.nodes[nodes[HostId(segment.leaf).index()] as usize].2 += segment.end - segment.start;
            }
        }
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.iter().all(|&(_, _, weight)| weight == 0)
    }

    fn thread(&mut self, name: String) -> u32 {
        let root = self.node(ROOT, 0);
        self.threads.push((name, root));
        root
    }

    fn node(&mut self, around: u32, frame: u32) -> u32 {
        self.nodes.push((around, frame, 0));
        u32::try_from(self.nodes.len() - 1).unwrap_or(ROOT)
    }

    fn child(&mut self, around: u32, text: &str) -> u32 {
        let frame = match self.known.get(text) {
            Some(&frame) => frame,
            None => {
                let frame = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
                self.frames.push(text.to_owned());
                self.known.insert(text.to_owned(), frame);
                frame
            }
        };
        if let Some(&node) = self.children.get(&(around, frame)) {
            return node;
        }
        let node = self.node(around, frame);
        self.children.insert((around, frame), node);
        node
    }

    /// The frames of a node, outermost first.
    fn path(&self, node: u32) -> Vec<u32> {
        let (mut path, mut at) = (Vec::new(), node);
        while self.nodes[at as usize].0 != ROOT {
            path.push(self.nodes[at as usize].1);
            at = self.nodes[at as usize].0;
        }
        path.reverse();
        path
    }

    /// Nodes with a weight, and the number of their thread.
    fn weighted_nodes(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        // A node is made after the one around it, so its thread is known by then.
        let mut threads: Vec<usize> = Vec::with_capacity(self.nodes.len());
        let roots: FxHashMap<u32, usize> =
            self.threads.iter().enumerate().map(|(at, &(_, root))| (root, at)).collect();
        for (node, &(around, _, _)) in (0_u32..).zip(&self.nodes) {
            let thread = if around == ROOT { roots[&node] } else { threads[around as usize] };
            threads.push(thread);
        }
        let nodes = (0_u32..).zip(&self.nodes).zip(threads);
        nodes.filter(|((_, (_, _, weight)), _)| *weight > 0).map(|((node, _), thread)| (node, thread))
    }

    /// The trees of all threads, each node after the one around it and largest first, without nodes below the share
    /// `least` of all weights; of more than `most` nodes the largest.
    #[must_use]
    pub fn tree(&self, least: f64, most: usize) -> Vec<Node> {
        let mut weights: Vec<i64> = self.nodes.iter().map(|&(_, _, weight)| weight).collect();
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for node in (0..self.nodes.len()).rev() {
            let around = self.nodes[node].0;
            if around != ROOT {
                weights[around as usize] += weights[node];
                below[around as usize].extend(u32::try_from(node).ok());
            }
        }
        let whole: i64 = self.threads.iter().map(|&(_, root)| weights[root as usize]).sum();
        let mut sorted = weights.clone();
        sorted.sort_unstable_by_key(|&weight| std::cmp::Reverse(weight));
        let from = ((whole as f64 * least).ceil() as i64).max(1).max(sorted.get(most).map_or(0, |&w| w + 1));
        let by_weight = |nodes: &mut Vec<u32>| {
            nodes.retain(|&node| weights[node as usize] >= from);
            // What is taken from the end comes first.
            nodes.sort_by_key(|&node| (weights[node as usize], std::cmp::Reverse(node)));
        };
        let mut open: Vec<u32> = self.threads.iter().map(|&(_, root)| root).collect();
        by_weight(&mut open);
        let mut open: Vec<(u32, Option<usize>)> = open.into_iter().map(|root| (root, None)).collect();
        let names: FxHashMap<u32, &String> = self.threads.iter().map(|(name, root)| (*root, name)).collect();
        let mut tree: Vec<Node> = Vec::new();
        while let Some((node, around)) = open.pop() {
            let text = match names.get(&node) {
                Some(name) => name.replace(';', " "),
                None => self.frames[self.nodes[node as usize].1 as usize].clone(),
            };
            tree.push(Node { around, text, weight: weights[node as usize] });
            let mut inner = std::mem::take(&mut below[node as usize]);
            by_weight(&mut inner);
            open.extend(inner.into_iter().map(|inner| (inner, Some(tree.len() - 1))));
        }
        tree
    }

    /// Folded lines: `process 7;thread (7): MainThread;outer;inner 12`. whyidle reads those of a recording back.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn folded(&self, out: &mut dyn Write) -> io::Result<()> {
        for (node, thread) in self.weighted_nodes() {
            out.write_all(self.threads[thread].0.as_bytes())?;
            for frame in self.path(node) {
                write!(out, ";{}", clean(&self.frames[frame as usize]))?;
            }
            writeln!(out, " {}", self.nodes[node as usize].2)?;
        }
        out.flush()
    }

    /// A file of speedscope: a sampled profile per thread.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn speedscope(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        let unit = match self.unit {
            Unit::Samples => "none",
            Unit::Nanoseconds => "nanoseconds",
        };
        let mut of_threads: Vec<Vec<u32>> = vec![Vec::new(); self.threads.len()];
        for (node, thread) in self.weighted_nodes() {
            of_threads[thread].push(node);
        }
        let head = json!({
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": format!("whyidle {}", env!("CARGO_PKG_VERSION")),
            "name": name,
            "shared": { "frames": self.frames.iter().map(|text| frame(text)).collect::<Vec<_>>() },
        });
        // Profiles are written as they are made: together their stacks are far larger than the tree.
        let head = head.to_string();
        let open = head.strip_suffix('}').unwrap_or(&head);
        write!(out, "{open},\"profiles\":[")?;
        let mut any = false;
        for (nodes, (name, _)) in of_threads.iter().zip(&self.threads).filter(|(nodes, _)| !nodes.is_empty())
        {
            let weight = |node: u32| self.nodes[node as usize].2;
            let sum: i64 = nodes.iter().map(|&node| weight(node)).sum();
            let name = serde_json::Value::from(name.replace(';', " "));
            write!(
                out,
                "{}{{\"type\":\"sampled\",\"name\":{name},\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{sum},",
                if any { "," } else { "" }
            )?;
            any = true;
            // A thread that runs no Python has a stack without frames, which speedscope shows as nothing.
            list(out, "samples", nodes.iter().map(|&node| json!(self.path(node))))?;
            out.write_all(b",")?;
            list(out, "weights", nodes.iter().map(|&node| json!(weight(node))))?;
            out.write_all(b"}")?;
        }
        out.write_all(b"]}\n")?;
        out.flush()
    }
}

/// A member that is a list, item by item.
fn list(out: &mut dyn Write, key: &str, items: impl Iterator<Item = serde_json::Value>) -> io::Result<()> {
    write!(out, "\"{key}\":[")?;
    for (at, item) in items.enumerate() {
        write!(out, "{}{item}", if at > 0 { "," } else { "" })?;
    }
    out.write_all(b"]")
}

/// A frame with its place, where its text names one: `main (train.py:41)`, or `train.py(41): main` as profilers write it.
fn frame(text: &str) -> serde_json::Value {
    let sampled = || {
        let (name, place) = text.strip_suffix(')')?.rsplit_once(" (")?;
        let (file, line) = place.rsplit_once(':')?;
        Some((name, file, line.parse::<u32>().ok()?))
    };
    let profiled = || {
        let (place, name) = text.split_once("): ")?;
        let (file, line) = place.rsplit_once('(')?;
        Some((name, file, line.parse::<u32>().ok()?))
    };
    match sampled().or_else(profiled) {
        Some((name, file, line)) => json!({ "name": name, "file": file, "line": line }),
        None => json!({ "name": text }),
    }
}

/// Text without what has a meaning in folded lines.
fn clean(text: &str) -> String {
    let plain = |c: char| match c {
        ';' => ',',
        '"' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_keeps_what_weighs_and_each_node_after_the_one_around_it() {
        let mut stacks = Stacks::new(Unit::Samples);
        let root = stacks.thread("process 7;thread (0): main".to_owned());
        let main = stacks.child(root, "main");
        let (load, train) = (stacks.child(main, "load"), stacks.child(main, "train"));
        stacks.nodes[load as usize].2 = 70;
        stacks.nodes[train as usize].2 = 29;
        let rare = stacks.child(main, "rare");
        stacks.nodes[rare as usize].2 = 1;
        let tree = stacks.tree(0.02, 100);
        let rows: Vec<_> = tree.iter().map(|node| (node.around, node.text.as_str(), node.weight)).collect();
        let thread = (None, "process 7 thread (0): main", 100);
        assert_eq!(rows, [thread, (Some(0), "main", 100), (Some(1), "load", 70), (Some(1), "train", 29)]);
        assert_eq!(stacks.tree(0.0, 3).len(), 3);
        assert_eq!(Stacks::new(Unit::Samples).tree(0.0, 3), []);
    }

    #[test]
    fn frames_of_either_form_have_their_place() {
        let place = |text| frame(text);
        assert_eq!(place("main (train.py:41)"), json!({ "name": "main", "file": "train.py", "line": 41 }));
        assert_eq!(place("train.py(41): main"), json!({ "name": "main", "file": "train.py", "line": 41 }));
        assert_eq!(place("aten::mm"), json!({ "name": "aten::mm" }));
        assert_eq!(
            place("<built-in method f of (x): y>"),
            json!({ "name": "<built-in method f of (x): y>" })
        );
    }
}
