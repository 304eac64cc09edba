//! What a training run will need before anything runs: memory per GPU, communication, pipeline
//! bubbles, floating-point work – and which strategy suits. Pure arithmetic: no files, no GPU.
//! A measured step can calibrate it: [`observe`] reads the setup off a trace.
//!
//! * [`Model`] – the shape of a network and its exact parameter count; from a preset, from a
//!   Hugging Face `config.json`, or from figures.
//! * [`Setup`] – how it is trained; [`memory()`] – what one GPU then holds, moment by moment.
//! * [`traffic`], [`Schedule`], [`work`] – communication, bubbles, FLOPs and step time.
//! * [`search()`] – the strategies that fit, and why the others lose.
//!
//! All sizes are bytes, all times seconds, unless a name says otherwise.

mod advice;
mod bubble;
mod calibrate;
mod error;
mod flags;
mod gpu;
mod memory;
mod model;
mod observed;
mod savers;
mod search;
mod setup;
mod traffic;
mod untested;
mod work;

pub use advice::{Rule, rules};
pub use bubble::Schedule;
pub use calibrate::{Calibration, Measured, Range, WithoutAgain};
pub use error::{PlanError, Value};
pub use flags::{Framework, flags};
pub use gpu::{Gpu, Link, by_product, gpu, gpus, link, parse_gpus};
pub use memory::{Item, Memory, Moment, MomentId, memory, memory_of};
pub use model::{
    Act, Attention, Family, Head, Mla, Model, Moe, Part, Pattern, Role, Tensor, from_config, preset,
    shared_width,
};
pub use observed::{Observed, Said, Unknown, Unseen, observe};
pub use savers::{Larger, Saver, SaverId, larger_batch, savers};
pub use search::{Candidate, Rates, Request, Search, search};
pub use setup::{
    AttentionKernel, Checkpointing, Code, Lora, Loss, Offload, Optimizer, OptimizerLoop, Parallel, Precision,
    Setup, Sharding,
};
pub use traffic::{Flow, LinkScope, traffic};
pub use untested::untested;
pub use work::{Cost, Estimate, Work, estimate, work};
