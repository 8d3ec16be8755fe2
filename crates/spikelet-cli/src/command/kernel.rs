//! `spikelet kernel …`: a command of the developers' program.

use super::examples;
use crate::failure::Failure;
use crate::program;
use std::env::{consts::EXE_SUFFIX, current_exe};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{self, ExitCode};

/// Print CUDA kernels, with the developers' program (no GPU needed)
///
/// Starts `spikelet-dev` with the same arguments: the one in the folder of this program, otherwise the one on PATH.
/// `spikelet kernel show --help` prints the options.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet kernel show --neuron lif --pass bptt" => "a neuron's backward kernel",
    "spikelet kernel show --neuron plif --style fused --dtype bf16" => "the kernel that training runs",
])]
pub struct Kernel {
    /// Arguments of `spikelet-dev kernel`
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl Kernel {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let name = format!("spikelet-dev{EXE_SUFFIX}");
        let beside = current_exe().map(|own| own.with_file_name(&name));
        let beside = beside.ok().filter(|file| file.is_file());
        let status = process::Command::new(beside.unwrap_or(PathBuf::from(name)))
            .args(program::arguments())
            .status()
            .map_err(|error| {
                Failure::other(
                    format!("`spikelet kernel` needs the program spikelet-dev, which cannot be started: {error}"),
                    format!(
                        "install it beside this program or on PATH: cargo install --git {} spikelet-dev",
                        env!("CARGO_PKG_REPOSITORY")
                    ),
                )
            })?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(1)))
    }
}
