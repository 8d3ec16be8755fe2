//! `spikelet doctor`

use super::examples;
use crate::args::{DATA_VARIABLE, variable};
use crate::failure::Failure;
use crate::machine;
use serde_json::{Value, json};
use spikelet::human::bytes;
use spikelet::log::Console;
use spikelet_cpu::Cpu;
use spikelet_cpu::gemm::{GEMM_VARIABLE, GemmLibrary};
use spikelet_cuda::KernelCache;
use spikelet_cuda::library::{self, Found, Gpu, GpuError, Library, Missing};
use std::io::IsTerminal;
use std::process::ExitCode;

/// Check this machine: processor, matrix library, devices, folders
///
/// Exit code 1 if a required component cannot be used.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet doctor" => "as text; include it in a bug report",
    "spikelet doctor --json" => "as JSON",
    "SPIKELET_GEMM=gemm spikelet doctor" => "with the built-in matrix library",
])]
pub struct Doctor {}

impl Doctor {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let gemm = GemmLibrary::get();
        let threads = Cpu::new(0).map(|cpu| cpu.threads());
        let nvidia = Nvidia::look();
        let gpus = nvidia.gpus.iter().flatten();
        let gpus = gpus.map(|gpu| format!("cuda:{}", gpu.index));
        let devices: Vec<String> = std::iter::once("cpu".to_string()).chain(gpus).collect();
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
            "devices": devices,
            "cuda": nvidia.to_json(),
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
            machine::processor().unwrap_or_else(|| "unknown".to_string()),
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
        let memory = machine::memory().map_or("unknown".to_string(), |(total, free)| {
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
                        "{choice}; it may be auto, mkl, openblas, gemm (built in) or ordered"
                    )),
                );
            }
            Err(error) => line("matrices", console.red(error)),
        }
        line("devices", devices.join(", "));
        for (name, text) in nvidia.lines(console) {
            line(name, text);
        }
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

/// NVIDIA driver, GPUs and libraries of this machine.
struct Nvidia {
    gpus: Result<Vec<Gpu>, GpuError>,
    libraries: Vec<(Library, Result<Found, Missing>)>,
    cache: KernelCache,
}

impl Nvidia {
    fn look() -> Self {
        Nvidia {
            libraries: library::survey(),
            gpus: library::gpus(),
            cache: spikelet_cuda::kernel_cache(),
        }
    }

    fn to_json(&self) -> Value {
        let libraries: Vec<Value> = self
            .libraries
            .iter()
            .map(|(library, answer)| match answer {
                Ok(found) => json!({
                    "name": library.name(),
                    "optional": library.is_optional(),
                    "version": found.version,
                    "path": found.path,
                    "source": found.source.to_string(),
                }),
                Err(missing) => json!({
                    "name": library.name(),
                    "optional": library.is_optional(),
                    "error": missing.to_string(),
                    "remedy": missing.remedy,
                }),
            })
            .collect();
        json!({
            "driver": driver_release(),
            "gpus": match &self.gpus {
                Ok(gpus) => gpus.iter().map(|gpu| json!({
                    "index": gpu.index,
                    "name": gpu.name,
                    "memory_bytes": gpu.memory,
                    "capability": [gpu.capability.0, gpu.capability.1],
                })).collect(),
                Err(error) => json!({"error": error.to_string()}),
            },
            "libraries": libraries,
            "kernel_cache": {
                "folder": self.cache.folder,
                "kernels": self.cache.kernels,
                "bytes": self.cache.bytes,
                "limit_bytes": self.cache.limit,
                "problem": self.cache.problem,
            },
        })
    }

    /// Lines with their names; a line without a name continues the previous one.
    fn lines(&self, console: &Console) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        match &self.gpus {
            Ok(gpus) if gpus.is_empty() => lines.push(("GPUs", "none".to_string())),
            Ok(gpus) => {
                let name = |gpu: &Gpu| if gpu.index == 0 { "GPUs" } else { "" };
                lines.extend(gpus.iter().map(|gpu| (name(gpu), of_gpu(gpu))));
            }
            // The list of libraries names the package of the driver.
            Err(GpuError::Missing(missing)) => {
                let problem = match missing.refused.first() {
                    None => "there is no NVIDIA driver".to_string(),
                    Some(file) => {
                        let reason = format!("{}: {}", file.target, file.reason);
                        format!("the NVIDIA driver cannot be used: {}", console.red(reason))
                    }
                };
                lines.push(("GPUs", format!("none: {problem}")));
            }
            Err(error @ GpuError::Driver { .. }) => lines.push(("GPUs", console.red(error))),
        }
        for (i, (library, answer)) in self.libraries.iter().enumerate() {
            let name = if i == 0 { "NVIDIA" } else { "" };
            lines.push((name, of_library(*library, answer, console)));
        }
        lines.push(("kernels at", self.of_cache(console)));
        lines
    }

    fn of_cache(&self, console: &Console) -> String {
        let cache = &self.cache;
        let folder = match &cache.folder {
            Some(folder) => format!(
                "{} ({} kernels, {} of at most {})",
                folder.display(),
                cache.kernels,
                bytes(cache.bytes),
                bytes(cache.limit),
            ),
            None => "nowhere".to_string(),
        };
        match &cache.problem {
            Some(problem) => {
                let problem = format!("compiled anew in each run: {problem}");
                format!("{folder}\n{:<12}{}", "", console.red(problem))
            }
            None => folder,
        }
    }
}

fn of_gpu(gpu: &Gpu) -> String {
    format!(
        "{}: {}, {}, compute capability {}.{}",
        gpu.index,
        gpu.name,
        bytes(gpu.memory),
        gpu.capability.0,
        gpu.capability.1,
    )
}

fn of_library(library: Library, answer: &Result<Found, Missing>, console: &Console) -> String {
    match answer {
        Ok(found) => {
            let version = found.version.as_deref().unwrap_or("of unknown version");
            let version = match (library, driver_release()) {
                (Library::Driver, Some(release)) => format!("{release} for CUDA {version}"),
                (Library::Driver, None) => format!("for CUDA {version}"),
                _ => version.to_string(),
            };
            let place = format!("{} ({})", found.path.display(), found.source);
            format!("{library} {version}\n{:<12}{}", "", console.dim(place))
        }
        Err(missing) => {
            let optional = if library.is_optional() {
                " (optional)"
            } else {
                ""
            };
            let mut text = format!("no {library}{optional}: {}", missing.remedy);
            for refused in &missing.refused {
                let reason = format!("{} cannot be used: {}", refused.target, refused.reason);
                text.push_str(&format!("\n{:<12}{}", "", console.red(reason)));
            }
            text
        }
    }
}

/// The release of the driver's kernel module, such as `580.95.05`.
fn driver_release() -> Option<String> {
    let text = std::fs::read_to_string("/sys/module/nvidia/version").ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

fn terminal() -> String {
    let is = |terminal: bool| {
        if terminal {
            "a terminal"
        } else {
            "not a terminal"
        }
    };
    let color = match variable("NO_COLOR") {
        Some(_) => ", NO_COLOR is set",
        None => "",
    };
    format!(
        "standard output is {}, standard error is {}{color}",
        is(std::io::stdout().is_terminal()),
        is(std::io::stderr().is_terminal()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet::log::Output;
    use spikelet_cuda::library::{LibraryFile, Refused};

    #[test]
    fn a_driver_that_lacks_a_function_is_not_called_missing() {
        let lines = |refused| {
            let missing = Missing {
                library: Library::Driver,
                looked: vec![],
                refused,
                remedy: "install the driver".to_string(),
            };
            let nvidia = Nvidia {
                gpus: Err(GpuError::Missing(missing)),
                libraries: vec![],
                cache: spikelet_cuda::kernel_cache(),
            };
            nvidia.lines(&Console::new(Output::Text))[0].1.clone()
        };
        assert!(lines(vec![]).contains("there is no NVIDIA driver"));
        let old = lines(vec![Refused {
            target: LibraryFile::Name("libcuda.so.1".to_string()),
            reason: "function cuNew is missing; a driver for CUDA 11.4 or later has it".to_string(),
        }]);
        assert!(
            old.contains("libcuda.so.1: function cuNew is missing"),
            "{old}"
        );
        assert!(
            old.contains("CUDA 11.4") && !old.contains("no NVIDIA driver"),
            "{old}"
        );
    }
}
