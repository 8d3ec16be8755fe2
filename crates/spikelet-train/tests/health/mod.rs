//! The diagnosis of runs: networks that are made sick on purpose, and healthy ones.
//!
//! The thresholds were chosen on fully connected networks of 2 to 11 layers of `Lif` neurons, with the synthetic digits of
//! seed 1. These are other networks, neurons, optimizers, sizes and seeds. Three thresholds were then adjusted on `sick`
//! and `healthy`; the networks of `unseen_…` and their data were chosen for these three before the diagnosis saw them.

mod changed_images;
mod healthy;
mod patterns;
mod sick;
mod support;
mod unseen_labels;
mod unseen_learning_rate;
mod unseen_overfitting;
mod unseen_right_labels;
