//! This machine.

use std::time::Instant;

use whyidle_observe::clock;
use whyidle_observe::node::{Node, Round};

use super::{Moment, Own, Source};

/// This machine, sampled.
pub struct Live {
    node: Node,
    began: Instant,
}

impl Default for Live {
    fn default() -> Self {
        Self { node: Node::default(), began: Instant::now() }
    }
}

impl Source for Live {
    fn now(&self) -> Moment {
        Moment { steady: self.began.elapsed(), unix_ns: clock::now_ns() }
    }

    fn round(&mut self) -> Round {
        self.node.round()
    }

    fn focus(&mut self, pid: Option<u32>, closely: bool) {
        self.node.focus(pid, closely);
    }

    fn rest(&mut self) {
        std::thread::sleep(self.node.pause());
    }

    fn own(&self) -> Own {
        Own { cpu: clock::process_cpu(), resident: clock::resident_bytes() }
    }
}
