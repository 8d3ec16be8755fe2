//! Measurements of time and peak memory, in separate processes.

use crate::failure::Failure;
use crate::machine;
use crate::program;
use serde_json::{Value, json};
use spikelet::timing::Timing;
use std::process::{Command, Stdio};

/// The result of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The name.
    pub name: String,
    /// Median wall-clock time.
    pub median_ms: f64,
    /// The maximum resident set size of the process, where the system reports it.
    pub peak_mib: Option<f64>,
    /// Groups of runs that were timed.
    pub repeats: u32,
    /// Runs in a group.
    pub runs: u32,
}

/// The number of repetitions of a measurement.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Measurement")]
pub struct Repeats {
    /// Number of timed groups of runs, whose median is reported; reduced to 3 or more if they take
    /// long
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,

    /// Number of untimed runs before them
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 3)]
    pub warm_up: u32,

    /// One measurement, in this process
    #[arg(long, value_name = "NAME", hide = true)]
    pub only: Option<String>,
}

impl Repeats {
    /// The median time of groups of runs. `wait` returns when the device is idle.
    ///
    /// # Errors
    /// Those of `run` and `wait`.
    pub fn measure(
        &self,
        name: &str,
        wait: impl Fn() -> Result<(), Failure>,
        run: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Measurement, Failure> {
        let timing = Timing {
            repeats: self.repeats,
            warm_up: self.warm_up,
        };
        let found = timing.measure(wait, run)?;
        Ok(Measurement {
            name: name.to_string(),
            repeats: found.repeats,
            runs: found.runs,
            median_ms: 1e3 * found.median.as_secs_f64(),
            peak_mib: machine::peak_resident().map(|bytes| bytes as f64 / 1024.0 / 1024.0),
        })
    }
}

impl Measurement {
    /// The JSON line of a measuring process.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name, "median_ms": self.median_ms, "peak_mib": self.peak_mib,
            "repeats": self.repeats, "runs": self.runs,
        })
    }

    fn read(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        Some(Self {
            name: value["name"].as_str()?.to_string(),
            median_ms: value["median_ms"].as_f64()?,
            peak_mib: value["peak_mib"].as_f64(),
            repeats: u32::try_from(value["repeats"].as_u64()?).ok()?,
            runs: u32::try_from(value["runs"].as_u64()?).ok()?,
        })
    }

    /// Bytes per second, for this number of bytes per run.
    pub fn speed(&self, bytes: u64) -> f64 {
        bytes as f64 / (self.median_ms / 1e3)
    }

    /// Starts this program again with the same arguments for one measurement alone.
    ///
    /// # Errors
    /// When the process cannot be started, or fails; it has printed the reason.
    pub fn in_own_process(name: &str) -> Result<Self, Failure> {
        let failed = |problem: String| {
            Failure::other(
                format!("the measurement `{name}` {problem}"),
                "run it again with less work",
            )
        };
        let started = program::start();
        let (program, words) = started.map_err(|e| failed(format!("cannot start: {e}")))?;
        let output =
            |word: &std::ffi::OsString| ["-q", "--quiet", "--json"].iter().any(|w| word == w);
        let done = Command::new(program)
            .args(words)
            .args(program::arguments().iter().filter(|word| !output(word)))
            .args(["--json", "--only", name])
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| failed(format!("cannot start: {e}")))?;
        if !done.status.success() {
            return Err(failed(format!("ended with {}", done.status)));
        }
        let text = String::from_utf8_lossy(&done.stdout);
        text.lines()
            .find_map(Self::read)
            .ok_or_else(|| failed("printed no result".to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_read_as_it_was_printed() {
        let given = Measurement {
            name: "copy".to_string(),
            median_ms: 1.5,
            peak_mib: None,
            repeats: 20,
            runs: 4,
        };
        assert_eq!(Measurement::read(&given.json().to_string()), Some(given));
        assert_eq!(Measurement::read("compiling"), None);
    }
}
