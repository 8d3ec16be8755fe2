//! The diagnosis of runs: networks that are made sick on purpose, and healthy ones.
//!
//! The thresholds were chosen on fully connected networks of 2 to 11 layers of `Lif` neurons, with the synthetic digits of
//! seed 1. These are other networks, neurons, optimizers, sizes and seeds.

mod healthy;
mod sick;
mod support;
