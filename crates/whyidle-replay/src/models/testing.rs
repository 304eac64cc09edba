//! Small synthetic traces for the tests of the models: a few steps of operators, one kernel each.

use whyidle_analysis::facts::Facts;
use whyidle_model::{DeviceProperties, GpuActivity, GpuKind, HostEvent, HostKind, StreamId, ThreadId, Trace};

use super::{Context, KernelChange};

pub(crate) const BF16_2: &str = r#"["c10::BFloat16","c10::BFloat16"]"#;
pub(crate) const F32_2: &str = r#"["float","float"]"#;
pub(crate) const BF16_F32: &str = r#"["c10::BFloat16","float"]"#;

type Model = fn(&Trace, &Facts, &Context) -> Option<KernelChange>;

/// A program under the profiler, written operator by operator.
pub(crate) struct Program {
    trace: Trace,
    main: ThreadId,
    autograd: ThreadId,
    stream: StreamId,
    now: i64,
    gpu: i64,
    calls: u32,
}

impl Program {
    pub(crate) fn on(product: &str) -> Self {
        let mut trace = Trace::default();
        let properties = DeviceProperties { name: product.into(), ..DeviceProperties::default() };
        trace.meta.devices.push(properties);
        let (main, autograd) = (trace.thread(1, 1), trace.thread(1, 2));
        let stream = trace.stream(0, 7);
        Self { trace, main, autograd, stream, now: 0, gpu: 0, calls: 0 }
    }

    /// Four steps of the same body.
    pub(crate) fn steps(mut self, mut body: impl FnMut(&mut Self, i64)) -> Self {
        for number in 0..4 {
            let start = self.now;
            self.now += 10;
            body(&mut self, number);
            self.now += 10;
            let name = format!("ProfilerStep#{number}");
            self.host(start, self.now, &name, HostKind::Annotation, self.main, 0, "", "", -1, 0);
        }
        self
    }

    /// A forward operator with one kernel of `ns`.
    pub(crate) fn op(&mut self, name: &str, dims: &str, types: &str, kernel: &str, ns: i64) {
        let (start, main) = (self.now, self.main);
        self.launch(main, kernel, ns);
        self.host(start, self.now, name, HostKind::Op, main, 0, dims, types, -1, 0);
    }

    /// The same in backward, in a node of its own; `tracked` if gradients are being tracked: a forward run again.
    pub(crate) fn backward(
        &mut self,
        name: &str,
        dims: &str,
        types: &str,
        kernel: &str,
        ns: i64,
        tracked: bool,
    ) {
        let (start, thread) = (self.now, self.autograd);
        self.now += 2;
        let inner = self.now;
        self.launch(thread, kernel, ns);
        let sequence = if tracked { 7 } else { -1 };
        self.host(inner, self.now, name, HostKind::Op, thread, 0, dims, types, sequence, 0);
        self.now += 2;
        let node = "autograd::engine::evaluate_function: SomeBackward0";
        self.host(start, self.now, node, HostKind::Op, thread, 0, "", "", 3, 1);
    }

    fn launch(&mut self, thread: ThreadId, kernel: &str, ns: i64) {
        self.calls += 1;
        let start = self.now + 2;
        self.now += 8;
        self.host(start, start + 4, "cudaLaunchKernel", HostKind::Runtime, thread, self.calls, "", "", -1, 0);
        self.gpu = self.gpu.max(self.now);
        let name = self.trace.names.intern(kernel);
        self.trace.gpu.push(GpuActivity {
            start: self.gpu,
            dur: ns,
            name,
            kind: GpuKind::Kernel,
            stream: self.stream,
            correlation: self.calls,
            external: 0,
            bytes: 0,
            blocks: 1,
            threads: 1,
        });
        self.gpu += ns;
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a host event")]
    fn host(
        &mut self,
        start: i64,
        end: i64,
        name: &str,
        kind: HostKind,
        thread: ThreadId,
        link: u32,
        dims: &str,
        types: &str,
        sequence: i32,
        forward_thread: u32,
    ) {
        let names = &mut self.trace.names;
        let (name, dims, types) = (names.intern(name), names.intern(dims), names.intern(types));
        let dur = end - start;
        self.trace.host.push(HostEvent {
            start,
            dur,
            name,
            kind,
            thread,
            link,
            dims,
            types,
            sequence,
            forward_thread,
        });
    }

    /// What a model makes of it.
    pub(crate) fn change(&self, model: Model) -> Option<KernelChange> {
        let facts = Facts::new(&self.trace);
        let device = facts.device(&self.trace, 0, |_| true);
        let context = Context::new(&self.trace, &facts, &device);
        model(&self.trace, &facts, &context)
    }

    /// Anything else.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&Trace, &Facts, &Context) -> T) -> T {
        let facts = Facts::new(&self.trace);
        let device = facts.device(&self.trace, 0, |_| true);
        let context = Context::new(&self.trace, &facts, &device);
        look(&self.trace, &facts, &context)
    }
}
