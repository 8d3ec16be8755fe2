//! `spikelet-dev kernel compile`

use super::file;
use super::usage::{self, KernelUse};
use serde_json::{Value, json};
use spikelet::files;
use spikelet::human::bytes;
use spikelet::log::Console;
use spikelet_cli::args::capability;
use spikelet_cli::command::{examples, path_text, same_file, say_table};
use spikelet_cli::failure::Failure;
use spikelet_cli::table::Table;
use spikelet_cuda::{CompileError, Compiled, Compiler, Message};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compile a CUDA C++ file and list the resources of its kernels
///
/// NVRTC compiles the file with the options of the engine's own kernels: IEEE operations without
/// contraction. Its messages are shown with the source lines. No GPU is needed. The names of
/// kernels without `extern "C"` are mangled. Exit code 1 if the file does not compile.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev kernel compile mine.cu" => "check that a file compiles, and list the registers of its kernels",
    "spikelet-dev kernel compile mine.cu --arch 80 --out mine.cubin" => "machine code for an A100",
    "spikelet-dev kernel compile mine.cu --name scale --json" => "one required kernel, as JSON",
])]
pub struct Compile {
    /// CUDA C++ file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Compute capability of the GPU
    #[arg(long, value_name = "ARCH", default_value = "90", value_parser = capability)]
    arch: (i32, i32),

    /// Output file of the machine code
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// A required kernel; the others are not shown
    #[arg(long, value_name = "KERNEL")]
    name: Option<String>,
}

impl Compile {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let name = self.file.display().to_string();
        let source = String::from_utf8(files::read(&self.file).map_err(spikelet::Error::from)?)
            .map_err(|error| {
                let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .count();
                Failure::other(
                    format!("{name} is not text: line {line} is not UTF-8"),
                    "give the source, saved as UTF-8",
                )
            })?;
        if let Some(out) = &self.out
            && same_file(&self.file, out)
        {
            return Err(Failure::argument(
                format!("--out {} is the source itself", out.display()),
                "give another file for the machine code",
            ));
        }
        let folder = (self.file.parent())
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let made = file::compile(&source, &name, folder, self.arch)
            .map_err(|error| self.failure(console, &name, error))?;
        let (log, all) = usage::of(&made.log);
        let kernels = self.kernels(&name, &all)?;
        if let Some(out) = &self.out {
            files::write_atomically(out, &made.code).map_err(spikelet::Error::from)?;
        }
        let mut object = self.object(&name, true, &log);
        let nvrtc = Compiler::get()?.version();
        object["nvrtc"] = json!(nvrtc);
        object["bytes"] = json!(made.code.len());
        object["out"] = json!(self.out.as_deref().map(path_text));
        object["kernels"] = kernels.iter().map(|kernel| kernel_json(kernel)).collect();
        console.say_json(&object);
        if !log.is_empty() {
            console.say(format!("{log}\n"));
        }
        self.say(console, (&name, nvrtc), &made, &kernels);
        Ok(ExitCode::SUCCESS)
    }

    /// The kernels to show.
    fn kernels<'a>(&self, file: &str, all: &'a [KernelUse]) -> Result<Vec<&'a KernelUse>, Failure> {
        let shown = |kernel: &&KernelUse| self.name.as_ref().is_none_or(|n| kernel.name == *n);
        let shown: Vec<&KernelUse> = all.iter().filter(shown).collect();
        if let Some(name) = &self.name
            && shown.is_empty()
        {
            let names: Vec<&str> = all.iter().map(|k| k.name.as_str()).collect();
            let help = if names.is_empty() {
                "it has none; write `extern \"C\" __global__ void …`".to_string()
            } else {
                format!("it has: {}", names.join(", "))
            };
            return Err(Failure::argument(
                format!("{file} has no kernel `{name}`"),
                help,
            ));
        }
        Ok(shown)
    }

    fn say(
        &self,
        console: &Console,
        (file, nvrtc): (&str, &str),
        made: &Compiled,
        kernels: &[&KernelUse],
    ) {
        console.say(format!(
            "{file} for compute capability {} by NVRTC {}: {}",
            dotted(self.arch),
            nvrtc,
            bytes(made.code.len() as u64)
        ));
        let head = ["kernel", "registers", "shared", "stack", "spilled"];
        let mut table = Table::new(&head).right(&[1, 2, 3, 4]);
        for kernel in kernels {
            table.row([
                kernel.name.clone(),
                kernel.registers.to_string(),
                bytes(kernel.shared as u64),
                bytes(kernel.stack as u64),
                bytes(kernel.spilled.iter().sum::<usize>() as u64),
            ]);
        }
        if kernels.is_empty() {
            console.say("it defines no kernel");
        } else {
            say_table(console, &table);
        }
        if let Some(out) = &self.out {
            console.say(format!("\nwritten: {}", out.display()));
        }
    }

    fn failure(&self, console: &Console, file: &str, error: CompileError) -> Failure {
        match error {
            CompileError::Source { log, excerpt, .. } => {
                let log = usage::of(&log).0;
                console.say_json(&self.object(file, false, &log));
                let help = if excerpt.is_empty() {
                    "correct what the compiler names"
                } else {
                    "correct the lines marked with `>`"
                };
                let text = format!("{}\n{excerpt}", log.trim_end());
                Failure::other(
                    format!(
                        "{file} does not compile for compute capability {}:\n{}",
                        dotted(self.arch),
                        text.trim_end()
                    ),
                    help,
                )
            }
            CompileError::Architecture { .. } => Failure::argument(
                error.to_string(),
                "give --arch one of these, such as --arch 90",
            ),
            other => other.into(),
        }
    }

    fn object(&self, file: &str, compiled: bool, log: &str) -> Value {
        let messages = Message::all(log).into_iter().map(|message| {
            json!({
                "file": message.file, "line": message.line, "kind": message.severity.name(),
                "text": message.text,
            })
        });
        json!({
            "file": file, "capability": self.arch, "compiled": compiled,
            "messages": messages.collect::<Vec<_>>(),
        })
    }
}

fn kernel_json(kernel: &KernelUse) -> Value {
    json!({
        "name": kernel.name, "registers": kernel.registers, "shared_bytes": kernel.shared,
        "stack_bytes": kernel.stack, "spill_store_bytes": kernel.spilled[0],
        "spill_load_bytes": kernel.spilled[1],
    })
}

fn dotted((major, minor): (i32, i32)) -> String {
    format!("{major}.{minor}")
}
