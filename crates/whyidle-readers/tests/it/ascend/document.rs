//! Writes small documents by the documented form of `torch_npu`'s `trace_view.json`. Also used by the tests of the
//! diagnosis.

use std::fmt::Write as _;

/// Unix time at which made traces begin, ns: more digits than a float has.
pub(crate) const BASE: i64 = 1_704_161_511_420_306_491;
/// The main thread, by the system's number.
pub(crate) const MAIN: i64 = 437_675;
/// The thread that takes operators out of `torch_npu`'s queue.
pub(crate) const QUEUE: i64 = 437_702;
/// Length of a made step, ns.
pub(crate) const STEP: i64 = 1_000_000;

/// Made-up process numbers: process · 2¹⁰ + place · 2⁵ + device 3.
const fn made_up(place: i64) -> i64 {
    (MAIN << 10) | (place << 5) | 3
}

pub(crate) const PYTHON: i64 = MAIN;
pub(crate) const CANN: i64 = made_up(1);
pub(crate) const HARDWARE: i64 = made_up(13);
pub(crate) const COMMUNICATION: i64 = made_up(14);
pub(crate) const OVERLAP: i64 = made_up(15);
pub(crate) const COLLECTOR: i64 = made_up(2);

/// Microseconds of `BASE` and `ns` as the file writes them: text with three decimals.
pub(crate) fn us(ns: i64) -> String {
    let at = BASE + ns;
    format!("\"{}.{:03}\"", at / 1_000, at % 1_000)
}

/// Which parts a made document has.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) communication: &'static str,
    /// Names of processes behind the events, as exports have them.
    pub(crate) lanes_last: bool,
    /// Flows from CANN's calls.
    pub(crate) host_to_device: bool,
    /// Flows from operators.
    pub(crate) async_npu: bool,
    /// `connection_id` on calls and tasks.
    pub(crate) connections: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            communication: "Communication",
            lanes_last: true,
            host_to_device: true,
            async_npu: true,
            connections: true,
        }
    }
}

/// A document, event by event.
pub(crate) struct Document {
    form: Form,
    events: Vec<String>,
    connection: i64,
}

impl Document {
    pub(crate) fn new(form: Form) -> Self {
        let mut document = Self { form, events: Vec::new(), connection: 0 };
        if !form.lanes_last {
            document.lanes();
        }
        document
    }

    fn lanes(&mut self) {
        for (pid, name) in [
            (PYTHON, "Python"),
            (COLLECTOR, "Python GC"),
            (CANN, "CANN"),
            (HARDWARE, "Ascend Hardware"),
            (COMMUNICATION, self.form.communication),
            (OVERLAP, "Overlap Analysis"),
        ] {
            self.events.push(format!(
                r#"{{"name":"process_name","pid":{pid},"tid":0,"ph":"M","args":{{"name":"{name}"}}}}"#
            ));
        }
        self.events.push(format!(
            r#"{{"name":"thread_name","pid":{HARDWARE},"tid":2,"ph":"M","args":{{"name":"Stream 2"}}}}"#
        ));
    }

    /// Any event, as text.
    pub(crate) fn raw(&mut self, event: String) {
        self.events.push(event);
    }

    /// A slice of the framework's lane.
    pub(crate) fn python(&mut self, cat: &str, name: &str, tid: i64, start: i64, dur: i64) {
        let (ts, dur) = (us(start), dur as f64 / 1e3);
        self.events.push(format!(
            r#"{{"ph":"X","name":"{name}","pid":{PYTHON},"tid":{tid},"ts":{ts},"dur":{dur},"cat":"{cat}","args":{{"Sequence number":-1,"Fwd thread id":0,"correlation_id":7}}}}"#
        ));
    }

    fn connected(&self, connection: i64) -> String {
        if self.form.connections && connection != 0 {
            format!(r#","connection_id":{connection}"#)
        } else {
            String::new()
        }
    }

    /// A call of CANN.
    pub(crate) fn cann(&mut self, name: &str, tid: i64, start: i64, dur: i64, connection: i64) {
        let (ts, dur, connected) = (us(start), dur as f64 / 1e3, self.connected(connection));
        self.events.push(format!(
            r#"{{"name":"{name}","pid":{CANN},"tid":{tid},"ts":{ts},"dur":{dur},"ph":"X","args":{{"Thread Id":{tid},"level":"node","id":"0"{connected}}}}}"#
        ));
    }

    /// A task of the device.
    pub(crate) fn task(
        &mut self,
        name: &str,
        task: &str,
        stream: i64,
        start: i64,
        dur: i64,
        connection: i64,
    ) {
        let (ts, dur, connected) = (us(start), dur as f64 / 1e3, self.connected(connection));
        self.events.push(format!(
            r#"{{"name":"{name}","pid":{HARDWARE},"tid":{stream},"ts":{ts},"dur":{dur},"ph":"X","args":{{"Model Id":4294967295,"Task Type":"{task}","Physic Stream Id":{stream},"Task Id":33573,"Batch Id":23{connected}}}}}"#
        ));
    }

    /// Something on the lane of collectives.
    pub(crate) fn communication(&mut self, name: &str, group: i64, start: i64, dur: i64, connection: i64) {
        let (ts, dur, connected) = (us(start), dur as f64 / 1e3, self.connected(connection));
        self.events.push(format!(
            r#"{{"name":"{name}","pid":{COMMUNICATION},"tid":{group},"ts":{ts},"dur":{dur},"ph":"X","args":{{"model id":4294967295{connected}}}}}"#
        ));
    }

    /// A flow from a place to another: process, thread, start.
    pub(crate) fn flow(&mut self, cat: &str, id: &str, from: (i64, i64, i64), to: (i64, i64, i64)) {
        for (phase, (pid, tid, start)) in [("s", from), ("f", to)] {
            self.events.push(format!(
                r#"{{"name":"{cat}{id}","ph":"{phase}","bp":"e","cat":"{cat}","id":{id},"pid":{pid},"tid":{tid},"ts":{}}}"#,
                us(start)
            ));
        }
    }

    /// An operator on the main thread that is handed to the queue, taken out of it, and launches `task` on stream 2.
    pub(crate) fn queued(
        &mut self,
        (operator, function): (&str, &str),
        at: i64,
        taken: i64,
        (name, kind): (&str, &str),
        start: i64,
        dur: i64,
    ) {
        self.connection += 1;
        let connection = self.connection;
        self.python("cpu_op", operator, MAIN, at, 20_000);
        self.python("enqueue", "Enqueue", MAIN, at + 5_000, 4_000);
        self.python("dequeue", &format!("Dequeue@{function}"), QUEUE, taken, 30_000);
        self.cann(&format!("AscendCL@{function}"), QUEUE, taken + 5_000, 20_000, connection);
        self.cann("Node@launch", QUEUE, taken + 10_000, 10_000, connection);
        self.task(name, kind, 2, start, dur, connection);
        let task = (HARDWARE, 2, start);
        if self.form.host_to_device {
            // 80 bits: device, stream, task, batch, context.
            let id = format!(
                "\"{}\"",
                (2_u128 << 64) + (u128::from(connection.unsigned_abs()) << 48) + 4_294_967_295
            );
            self.flow("HostToDevice", &id, (CANN, QUEUE, taken + 10_000), task);
        }
        if self.form.async_npu {
            self.flow("async_npu", &(BASE + start).to_string(), (PYTHON, MAIN, at), task);
        }
    }

    /// A step: a product, a collective, an addition, and a value that is read back.
    ///
    /// Resident are 300 + 200 + 50 + 20 µs of its millisecond, without what only waits.
    pub(crate) fn step(&mut self, number: i64) {
        let t = number * STEP;
        self.python("cpu_op", &format!("ProfilerStep#{number}"), MAIN, t, STEP - 1_000);
        self.queued(
            ("aten::mm", "aclnnMatmul"),
            t + 10_000,
            t + 40_000,
            ("MatMulV2", "AI_CORE"),
            t + 100_000,
            300_000,
        );
        self.task("EVENT_RECORD", "EVENT_RECORD", 2, t + 400_000, 2_000, 0);
        self.task("EVENT_WAIT", "EVENT_WAIT", 2, t + 402_000, 248_000, 0);
        // The collective, and what it is made of.
        self.connection += 1;
        let connection = self.connection;
        self.cann("Node@launch", QUEUE, t + 80_000, 10_000, connection);
        self.communication(&format!("hcom_allReduce__428_{number}_1"), 0, t + 450_000, 200_000, connection);
        self.communication("Notify_Wait", 1, t + 450_000, 10_000, connection);
        self.communication("Memcpy", 1, t + 460_000, 180_000, connection);
        self.task("NOTIFY_WAIT", "NOTIFY_WAIT_SQE", 9, t + 450_000, 10_000, connection);
        self.task("SDMA", "SDMA", 9, t + 460_000, 180_000, connection);
        if self.form.host_to_device {
            let id = (u128::from(connection.unsigned_abs()) << 70).to_string();
            let to = (COMMUNICATION, 0, t + 450_000);
            self.flow("HostToDevice", &id, (CANN, QUEUE, t + 80_000), to);
        }
        let add = ("Add", "AI_VECTOR_CORE");
        self.queued(("aten::add", "aclnnAdd"), t + 200_000, t + 230_000, add, t + 650_000, 50_000);
        // Read back: a copy that only the operator's flow joins, and the wait for it.
        self.python("cpu_op", "aten::item", MAIN, t + 300_000, 500_000);
        self.python("cpu_op", "acl_memcpy_device_to_host", MAIN, t + 302_000, 6_000);
        self.cann("AscendCL@aclrtSynchronizeStream", MAIN, t + 310_000, 480_000, 0);
        self.task("MEMCPY_ASYNC", "MEMCPY_ASYNC", 2, t + 720_000, 20_000, 0);
        if self.form.async_npu {
            let id = (BASE + t + 720_000).to_string();
            self.flow("async_npu", &id, (PYTHON, MAIN, t + 302_000), (HARDWARE, 2, t + 720_000));
        }
        // What is computed from the rest, and counters.
        for (name, start, dur) in [("Computing", 100_000, 300_000), ("Free", 700_000, 300_000)] {
            let (ts, dur) = (us(t + start), dur as f64 / 1e3);
            self.events.push(format!(
                r#"{{"name":"{name}","pid":{OVERLAP},"tid":1,"ts":{ts},"dur":{dur},"ph":"X","args":{{}}}}"#
            ));
        }
        self.events.push(format!(
            r#"{{"name":"AI Core Freq","processName":"AI Core Freq","pid":{},"tid":0,"ts":{},"ph":"C","args":{{"MHz":1650}}}}"#,
            made_up(20),
            us(t)
        ));
    }

    /// The whole, closed.
    pub(crate) fn text(mut self) -> String {
        if self.form.lanes_last {
            self.lanes();
        }
        let mut text = String::from("[");
        let _ = write!(text, "{}]", self.events.join(", "));
        text
    }
}

/// `count` steps in this form.
pub(crate) fn steps(form: Form, count: i64) -> String {
    let mut document = Document::new(form);
    (0..count).for_each(|number| document.step(number));
    document.text()
}
