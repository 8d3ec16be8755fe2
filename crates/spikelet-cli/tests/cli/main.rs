//! The program as a user meets it: what it prints, what it exits with, what it says of mistakes.

mod common;
mod convolution;
mod data_parallel;
mod domains;
mod help;
mod kernel;
mod neuron;
mod output;
mod pipeline;
#[cfg(unix)]
mod signals;
mod train;
mod wrong_input;
