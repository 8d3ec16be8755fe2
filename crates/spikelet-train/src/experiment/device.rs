//! The devices of a run.

use spikelet_core::{Error, Result};
use spikelet_schema::Schema;

/// The devices of an experiment. They do not change what is trained.
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
#[schema(check = Self::check_name)]
#[non_exhaustive]
pub struct DeviceSettings {
    /// Where it runs: "auto", "cpu", "cuda" or "cuda:N".
    #[schema(table = "device", default = AUTO.to_string())]
    pub name: String,
    /// Threads on the CPU; 0 is one a core.
    #[schema(table = "device", from = 0, to = MOST)]
    pub threads: usize,
    /// Processes that train together, each on a device of its own.
    #[schema(table = "device", default = 1, from = 1, to = MOST)]
    pub data_parallel: usize,
    /// The devices of the stages of a pipeline, such as \["0", "1"\]; empty without one.
    #[schema(table = "device")]
    pub pipeline: Vec<String>,
    /// Samples that are in a stage of the pipeline at a time.
    #[schema(table = "device", none = "auto", from = 1, to = u32::MAX)]
    pub split_size: Option<usize>,
}

/// The name for a device that the program chooses.
const AUTO: &str = "auto";

/// The largest number of threads or processes.
const MOST: usize = 4096;

impl DeviceSettings {
    fn check_name(&self) -> Result<()> {
        let (kind, number) = self.name.split_once(':').unwrap_or((&self.name, "0"));
        match self.name == AUTO
            || ["cpu", "cuda"].contains(&kind) && number.parse::<usize>().is_ok()
        {
            true => Ok(()),
            false => Err(Error::invalid(
                "the device",
                format!("`name` is \"{}\"", self.name),
                "write \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"",
            )),
        }
    }
}
