//! The developers' command line: files, exit codes, error messages.

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_spikelet-dev");

mod bench;
mod case;
#[path = "../../../spikelet-cli/tests/cli/common.rs"]
mod common;
mod conversion;
mod eventprop;
mod events;
mod golden;
#[path = "../../../spikelet-cli/tests/cli/json_page.rs"]
mod json_page;
mod kernel_compile;
mod kernel_show;
mod learning;
mod models;
mod neuron;
mod recurrent;
mod reference;
mod weights;
mod wrong_case;
