//! How far a training program has come, as it says itself or as the start-up hook writes it: times of steps, batch
//! sizes, losses.
//!
//! * [`steps`] – the files that the start-up hook of `whyidle-observe` writes, one line a step.
//! * [`tries`] – what the hook changed in the program, where that was asked.
//! * [`losses`] – losses in files: TensorBoard, JSON, CSV, logs.
//! * [`printed`] – what a line of a program's output says.

pub mod losses;
pub mod printed;
pub mod steps;
pub mod tries;
