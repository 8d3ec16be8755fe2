//! The command line as users run it: output, exit codes, error messages.

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_spikelet");

mod ann;
mod bench;
mod common;
mod config;
mod convolution;
mod data_parallel;
mod diff;
mod domains;
mod event_training;
mod events;
mod given_files;
mod help;
mod image_folder;
mod json;
mod json_page;
mod kernel;
mod network_file;
mod neuron;
mod output;
mod pipeline;
mod plan;
mod predict;
mod record;
mod run_folder;
mod runs;
mod seeds;
mod shell;
#[cfg(unix)]
mod signals;
mod simulate;
mod small;
mod sweep;
mod train;
mod trained_graph;
#[cfg(feature = "watch")]
mod watch;
mod weights;
mod wrong_input;
