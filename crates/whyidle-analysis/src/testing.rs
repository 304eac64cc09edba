//! Small traces made by hand, for tests.

use whyidle_model::{GpuActivity, GpuKind, HostEvent, HostKind, Sym, ThreadId, Trace};

use crate::facts::{DeviceFacts, Facts};

/// Builds a trace event by event. Times are µs.
pub(crate) struct Made {
    pub(crate) trace: Trace,
    correlation: u32,
}

const US: i64 = 1_000;

impl Made {
    pub(crate) fn new() -> Self {
        let mut trace = Trace::default();
        trace.thread(1, 1);
        trace.stream(0, 7);
        Self { trace, correlation: 0 }
    }

    fn event(&mut self, kind: HostKind, name: &str, tid: i64, start: i64, dur: i64, link: u32) {
        let (name, thread) = (self.trace.names.intern(name), self.trace.thread(1, tid));
        self.push(kind, name, thread, start * US, dur * US, link);
    }

    fn push(&mut self, kind: HostKind, name: Sym, thread: ThreadId, start: i64, dur: i64, link: u32) {
        self.trace.host.push(HostEvent {
            start,
            dur,
            name,
            kind,
            thread,
            link,
            dims: Sym::EMPTY,
            types: Sym::EMPTY,
            sequence: -1,
            forward_thread: 0,
        });
    }

    /// An annotation of the main thread.
    pub(crate) fn range(mut self, name: &str, start: i64, dur: i64) -> Self {
        self.event(HostKind::Annotation, name, 1, start, dur, 0);
        self
    }

    /// An operator.
    pub(crate) fn op(mut self, name: &str, tid: i64, start: i64, dur: i64) -> Self {
        self.event(HostKind::Op, name, tid, start, dur, 0);
        self
    }

    /// A Python frame of the main thread.
    pub(crate) fn frame(mut self, name: &str, start: i64, dur: i64) -> Self {
        self.event(HostKind::Python, name, 1, start, dur, 0);
        self
    }

    /// A runtime call that launches nothing.
    pub(crate) fn call(mut self, name: &str, start: i64, dur: i64) -> Self {
        self.event(HostKind::Runtime, name, 1, start, dur, 0);
        self
    }

    /// A kernel on stream 7 with its launch.
    pub(crate) fn kernel(self, name: &str, launched: i64, start: i64, dur: i64) -> Self {
        self.launch("cudaLaunchKernel", launched, 5, GpuKind::Kernel, name, 7, start, dur, 0)
    }

    /// A kernel without a launch.
    pub(crate) fn orphan(mut self, name: &str, start: i64, dur: i64) -> Self {
        self.activity(GpuKind::Kernel, name, 7, start, dur, 0, 0);
        self
    }

    /// Any activity with its launching call.
    #[expect(clippy::too_many_arguments, reason = "a call and its activity, field by field")]
    pub(crate) fn launch(
        mut self,
        call: &str,
        launched: i64,
        call_dur: i64,
        kind: GpuKind,
        name: &str,
        stream: i64,
        start: i64,
        dur: i64,
        bytes: u64,
    ) -> Self {
        self.correlation += 1;
        let correlation = self.correlation;
        self.event(HostKind::Runtime, call, 1, launched, call_dur, correlation);
        self.activity(kind, name, stream, start, dur, correlation, bytes);
        self
    }

    #[expect(clippy::too_many_arguments, reason = "an activity, field by field")]
    fn activity(
        &mut self,
        kind: GpuKind,
        name: &str,
        stream: i64,
        start: i64,
        dur: i64,
        correlation: u32,
        bytes: u64,
    ) {
        let (name, stream) = (self.trace.names.intern(name), self.trace.stream(0, stream));
        self.trace.gpu.push(GpuActivity {
            start: start * US,
            dur: dur * US,
            name,
            kind,
            stream,
            correlation,
            external: 0,
            bytes,
            blocks: 0,
            threads: 0,
        });
    }

    /// Facts of device 0.
    pub(crate) fn facts(&self) -> (Facts, DeviceFacts) {
        let facts = Facts::new(&self.trace);
        let device = facts.device(&self.trace, 0, |_| true);
        (facts, device)
    }
}
