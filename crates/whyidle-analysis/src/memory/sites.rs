//! Who asked for memory: a stack as one place of the program and one operator, so that stacks that differ in detail alone
//! count together.
//!
//! The place is the innermost Python frame of the user's own code, the operator the innermost of PyTorch's that does more
//! than allocate (`aten::linear`); in autograd's threads, where Python is not, the node of the graph (`AddmmBackward0`).

use rustc_hash::FxHashMap;
use whyidle_model::{Frame, MemorySnapshot};

use crate::hostclass::is_user_frame;

/// Which part of a step asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A module's forward.
    Forward,
    /// Autograd's engine.
    Backward,
    /// An optimizer of PyTorch.
    Optimizer,
    /// Something else, or the stack does not say.
    Other,
}

/// A place that asks for memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// Function, file and line of the innermost frame of the user's own.
    pub place: Option<(String, String, u32)>,
    /// Operator, node of autograd's graph, or innermost function of a library.
    pub operator: Option<String>,
    /// Part of a step.
    pub phase: Phase,
}

impl Site {
    /// Nothing is known of it.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.place.is_none() && self.operator.is_none()
    }
}

/// The sites of a snapshot's stacks.
pub struct Sites {
    /// Distinct sites; the first is the unknown one.
    pub sites: Vec<Site>,
    /// Of each stack.
    pub of_stack: Vec<u32>,
}

/// What a frame says.
#[derive(Clone, PartialEq)]
enum Says {
    Nothing,
    User,
    /// A Python function of a library, and whether that is an optimizer, or a module's forward.
    Library {
        optimizer: bool,
        forward: bool,
    },
    Operator(String),
    Node(String),
    Engine,
}

impl Sites {
    /// The sites of a snapshot.
    #[must_use]
    pub fn new(snapshot: &MemorySnapshot) -> Self {
        let stacks = &snapshot.stacks;
        let says: Vec<Says> = stacks.frames.iter().map(|frame| says(snapshot, frame)).collect();
        let unknown = Site { place: None, operator: None, phase: Phase::Other };
        let mut known: FxHashMap<(u32, u32, Phase), u32> = FxHashMap::default();
        let mut sites = vec![unknown];
        let mut of_stack = Vec::with_capacity(stacks.len());
        let mut from = 0;
        for &end in &stacks.ends {
            let members = &stacks.members[from as usize..end as usize];
            from = end;
            let key @ (place, operator, phase) = read(members, &says);
            if place == NONE && operator == NONE {
                of_stack.push(0);
                continue;
            }
            let next = sites.len() as u32;
            let site = *known.entry(key).or_insert(next);
            if site == next {
                let frame = |at: u32| stacks.frames.get(at as usize);
                let text = |sym| snapshot.names.get(sym).to_owned();
                sites.push(Site {
                    place: frame(place).map(|f| (text(f.function), text(f.file), f.line)),
                    operator: frame(operator).map(|f| match &says[operator as usize] {
                        Says::Operator(name) | Says::Node(name) => name.clone(),
                        _ => text(f.function),
                    }),
                    phase,
                });
            }
            of_stack.push(site);
        }
        Self { sites, of_stack }
    }

    /// The site of a stack.
    #[must_use]
    pub fn of(&self, stack: u32) -> u32 {
        self.of_stack.get(stack as usize).copied().unwrap_or(0)
    }
}

const NONE: u32 = u32::MAX;

/// The frames that name a stack's place and operator, and its phase.
fn read(members: &[u32], says: &[Says]) -> (u32, u32, Phase) {
    let (mut place, mut operator, mut node, mut library) = (NONE, NONE, NONE, NONE);
    let (mut optimizer, mut forward, mut engine) = (false, false, false);
    for &frame in members {
        match &says[frame as usize] {
            Says::Nothing => {}
            Says::User if place == NONE => place = frame,
            Says::User => {}
            Says::Library { optimizer: is_optimizer, forward: is_forward } => {
                optimizer |= is_optimizer;
                forward |= is_forward;
                if library == NONE && place == NONE {
                    library = frame;
                }
            }
            Says::Operator(_) if operator == NONE => operator = frame,
            Says::Operator(_) => {}
            Says::Node(_) if node == NONE => node = frame,
            Says::Node(_) => {}
            Says::Engine => engine = true,
        }
    }
    let phase = match () {
        () if engine || node != NONE => Phase::Backward,
        () if optimizer => Phase::Optimizer,
        () if forward => Phase::Forward,
        () => Phase::Other,
    };
    let operator = [node, operator, library].into_iter().find(|&frame| frame != NONE).unwrap_or(NONE);
    (place, operator, phase)
}

fn says(snapshot: &MemorySnapshot, frame: &Frame) -> Says {
    let (function, file) = (snapshot.names.get(frame.function), snapshot.names.get(frame.file));
    if file.ends_with(".py") || file.ends_with(".ipynb") || file.starts_with("<ipython") {
        let file = file.replace('\\', "/");
        if is_user_frame(&format!("{file}({}): {function}", frame.line)) {
            return Says::User;
        }
        return Says::Library {
            optimizer: file.contains("torch/optim/") && function.contains("step"),
            forward: file.ends_with("nn/modules/module.py") && function.ends_with("_call_impl"),
        };
    }
    if let Some(rest) = function.strip_prefix("at::_ops::") {
        let name = rest.split("::").next().unwrap_or_default();
        return if allocates_only(name) {
            Says::Nothing
        } else {
            Says::Operator(format!("aten::{}", bare(name)))
        };
    }
    if let Some(rest) = function.strip_prefix("torch::autograd::generated::")
        && let Some((name, _)) = rest.split_once("::apply(")
    {
        return Says::Node(name.to_owned());
    }
    if function.starts_with("torch::autograd::Engine::") {
        return Says::Engine;
    }
    Says::Nothing
}

/// An operator without its overload: `to_dtype` is `to`.
fn bare(name: &str) -> &str {
    for overload in ["_Tensor", "_Scalar", "_dtype", "_dtype_layout", "_device", "_out", "_int", "_dim"] {
        if let Some(bare) = name.strip_suffix(overload).filter(|bare| !bare.is_empty()) {
            return bare;
        }
    }
    name
}

/// Operators that do nothing but make room for others.
fn allocates_only(name: &str) -> bool {
    name.starts_with("empty") || name.starts_with("new_empty") || name.starts_with("resize")
}
