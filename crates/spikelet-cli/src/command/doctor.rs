//! `spikelet doctor`

use super::examples;
use crate::args::{DATA_VARIABLE, variable};
use crate::failure::Failure;
use crate::machine;
use serde_json::json;
use spikelet::log::Console;
use spikelet::log::console::bytes;
use spikelet_cpu::Cpu;
use spikelet_cpu::gemm::{GEMM_VARIABLE, GemmLibrary};
use std::io::IsTerminal;
use std::process::ExitCode;

/// Say what this machine offers: processor, matrix library, devices, folders
///
/// Exit code 1 if something that is needed cannot be used.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet doctor" => "for people; send this along with a question",
    "spikelet doctor --json" => "for machines",
    "SPIKELET_GEMM=gemm spikelet doctor" => "with the built-in matrix library",
])]
pub struct Doctor {}

impl Doctor {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let gemm = GemmLibrary::get();
        let threads = Cpu::new(0).map(|cpu| cpu.threads());
        console.say_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "machine": machine::description(),
            "instructions": Cpu::instructions(),
            "threads": threads.as_ref().ok(),
            "gemm": match &gemm {
                Ok(library) => json!({
                    "name": library.name(), "path": library.path(), "version": library.version(),
                }),
                Err(error) => json!({"error": error.to_string()}),
            },
            "gemm_variable": variable(GEMM_VARIABLE),
            "devices": ["cpu"],
            "data_folder": variable(DATA_VARIABLE),
            "terminal": {"stdout": std::io::stdout().is_terminal(), "stderr": std::io::stderr().is_terminal()},
        }));

        let line = |name: &str, text: String| {
            console.say(format!("{}{text}", console.bold(format!("{name:<12}"))))
        };
        line(
            "spikelet",
            format!(
                "{} for {} on {}",
                env!("CARGO_PKG_VERSION"),
                std::env::consts::OS,
                std::env::consts::ARCH
            ),
        );
        line(
            "processor",
            machine::processor().unwrap_or_else(|| "the system does not tell".to_string()),
        );
        let features: Vec<String> = machine::features()
            .into_iter()
            .map(|(name, has)| {
                if has {
                    name.to_string()
                } else {
                    console.dim(format!("no {name}"))
                }
            })
            .collect();
        if !features.is_empty() {
            line("", features.join(", "));
        }
        let threads = threads.map_or("–".to_string(), |n| n.to_string());
        line(
            "kernels",
            format!(
                "{}, {threads} threads on {} cores",
                Cpu::instructions(),
                machine::cores()
            ),
        );
        let memory = machine::memory()
            .map_or("the system does not tell".to_string(), |(total, free)| {
                format!("{}, {} available", bytes(total), bytes(free))
            });
        line("memory", memory);
        let choice = variable(GEMM_VARIABLE).map_or(format!("{GEMM_VARIABLE} is not set"), |v| {
            format!("{GEMM_VARIABLE}={v}")
        });
        match &gemm {
            Ok(library) => {
                line("matrices", describe(library));
                line(
                    "",
                    console.dim(format!(
                        "{choice}; it may be auto, mkl, openblas or gemm (built in)"
                    )),
                );
            }
            Err(error) => line("matrices", console.red(error)),
        }
        line("devices", "cpu".to_string());
        line("", console.dim("this version has no GPU backend"));
        line(
            "data",
            variable(DATA_VARIABLE).unwrap_or_else(|| {
                format!("{DATA_VARIABLE} is not set: data sets are looked for in ./data")
            }),
        );
        line("terminal", terminal());
        Ok(if gemm.is_ok() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

fn describe(library: &GemmLibrary) -> String {
    let version = library
        .version()
        .map(|v| format!(", {v}"))
        .unwrap_or_default();
    match library.path() {
        Some(path) => format!("{}{version}\n{:<12}{}", library.name(), "", path.display()),
        None => format!("{} (built in)", library.name()),
    }
}

fn terminal() -> String {
    let is = |terminal: bool| {
        if terminal {
            "a terminal"
        } else {
            "not a terminal"
        }
    };
    let colour = match variable("NO_COLOR") {
        Some(_) => ", NO_COLOR is set",
        None => "",
    };
    format!(
        "standard output is {}, standard error is {}{colour}",
        is(std::io::stdout().is_terminal()),
        is(std::io::stderr().is_terminal()),
    )
}
