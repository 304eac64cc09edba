//! Traces of `torch_npu`'s profiler for Ascend: `trace_view.json`, by its documented form.
//!
//! Not tried on a file of a real device: every trace says so ([`NoteCode::UntestedDevice`](whyidle_model::NoteCode)).
//! The form, by CANN's "Profile Data File References" and the public tests of the tools that read it:
//!
//! * A bare list of Chrome trace events, of the framework first and of CANN and the device after them, so that what says
//!   whose they are (`process_name`) may stand at the end. An export that was interrupted lacks its closing bracket.
//! * `ts` is text: decimal microseconds since 1970.
//! * Processes are lanes: `Python`, `Python GC`, `CANN`, `Ascend Hardware`, `Communication` (formerly `HCCL`),
//!   `Overlap Analysis` and counters. Their numbers are made up (process · 2¹⁰ + place · 2⁵ + device); threads of `Python`
//!   and `CANN` are those of the system, threads of `Ascend Hardware` are streams.
//! * Tasks of the device carry `Task Type`; some only wait for an event or record one.
//! * Flows join them: `HostToDevice` from a call of CANN to a task or collective, `async_npu` from an operator to a task.
//!   They name their ends by process, thread and time; their ids are text, or integers of 80 bits and more.
//!
//! A bare list is any profiler's, and only its lanes tell: the reader of Kineto's traces keeps what it has no use for in
//! [`Lanes`], until the end of the list says whether it was Ascend's.
//!
//! * `lanes` – what is kept; `tasks` – what a task of the device is; `assemble` – columns.

mod assemble;
mod lanes;
mod tasks;

pub(crate) use assemble::assemble;
pub(crate) use lanes::Lanes;
