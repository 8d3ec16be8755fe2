//! Devices on the command line.

use crate::failure::Failure;
use spikelet::graph::Backend;
use spikelet::schema::UnknownName;
use spikelet::train::experiment::DeviceSettings;
use spikelet::{Error, device};
use std::sync::Arc;

/// A device and its threads.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Device")]
pub struct DeviceArgs {
    /// Device: auto, cpu, cuda or cuda:1 [default: auto]
    ///
    /// auto is a GPU if one is available, cuda:1 the second GPU.
    #[arg(long, value_name = "NAME")]
    device: Option<String>,

    /// Number of CPU threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub threads: usize,
}

/// A GPU if one is available.
const AUTO: &str = "auto";

/// The largest number of threads; more of them only wait for each other.
fn most_threads() -> usize {
    (4 * crate::machine::cores()).max(16)
}

fn threads(text: &str) -> Result<usize, String> {
    let most = most_threads();
    match text.parse() {
        Ok(n) if n <= most => Ok(n),
        _ => Err(format!(
            "give an integer up to {most}; this machine has {} cores",
            crate::machine::cores()
        )),
    }
}

/// The device of this name.
///
/// # Errors
/// When it is not known, which is a wrong argument, or cannot be used.
pub fn open_device(name: &str, threads: usize) -> Result<Arc<dyn Backend>, Failure> {
    device::find(name, threads).map_err(|error| match error {
        Error::Invalid { .. } => Failure::wrong(&error),
        error if error.downcast_ref::<UnknownName>().is_some() => Failure::wrong(&error),
        error => error.into(),
    })
}

impl DeviceArgs {
    /// The device.
    ///
    /// # Errors
    /// When it is not known or cannot be used.
    pub fn open(&self) -> Result<Arc<dyn Backend>, Failure> {
        open_device(self.name(), self.threads)
    }

    /// The name of the device.
    pub fn name(&self) -> &str {
        self.device.as_deref().unwrap_or(AUTO)
    }

    /// The arguments, and the values of an experiment where they are not given.
    pub fn over(mut self, experiment: &DeviceSettings) -> Self {
        self.device.get_or_insert_with(|| experiment.name.clone());
        if self.threads == 0 {
            self.threads = experiment.threads;
        }
        self
    }

    /// Sets the device and its threads in an experiment.
    pub fn put(&self, experiment: &mut DeviceSettings) {
        let own = self.clone().over(experiment);
        experiment.name = own.name().to_string();
        experiment.threads = own.threads;
    }

    /// The arguments of a rank: its device, and its share of the cores unless --threads is given.
    pub fn of_rank(mut self, device: String, ranks_on_host: usize) -> Self {
        self.device = Some(device);
        if self.threads == 0 {
            self.threads = (self.thread_count() / ranks_on_host).max(1);
        }
        self
    }

    /// The device with its threads and vector instructions: `cpu, 2 threads, AVX-512`.
    pub fn describe(&self, backend: &dyn Backend) -> String {
        match backend.name().as_str() {
            "cpu" => format!(
                "cpu, {} thread{}, {}",
                self.thread_count(),
                if self.thread_count() == 1 { "" } else { "s" },
                spikelet_cpu::Cpu::instructions()
            ),
            other => other.to_string(),
        }
    }

    /// The number of threads.
    pub fn thread_count(&self) -> usize {
        let asked = super::variable("RAYON_NUM_THREADS").and_then(|n| n.parse().ok());
        let automatic = || {
            asked
                .filter(|&n| n > 0)
                .unwrap_or_else(crate::machine::cores)
        };
        if self.threads == 0 {
            automatic()
        } else {
            self.threads
        }
    }
}
