//! The developers' program: what it writes, what it exits with, what it says of mistakes.

mod bench;
mod case;
mod common;
mod golden;
mod kernel;
mod neuron;
mod wrong_case;
