//! The options of the two networks: those of both, and those of one alone.

use super::super::simulate::{Float, Steps};
use crate::failure::Failure;
use clap::ValueEnum;
use spikelet::graph::{Backend, DType};
use std::sync::Arc;

/// How a network runs.
#[derive(clap::Args, Clone, Debug)]
pub struct SideOptions {
    /// Type of all computations; f64 runs on the CPU
    #[arg(long, value_name = "TYPE", default_value = "f32", value_enum)]
    pub(super) dtype: Float,

    /// Device: cpu, cuda or cuda:1
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: String,

    #[command(flatten)]
    pub(super) steps: Steps,
}

impl SideOptions {
    /// These options with those of one network alone.
    pub fn with(&self, only: &[Assignment]) -> Result<Self, Failure> {
        let mut options = self.clone();
        for Assignment { name, value } in only {
            let set = match name.as_str() {
                "dtype" => Float::from_str(value, true)
                    .map(|dtype| options.dtype = dtype)
                    .map_err(|_| "use f32 or f64".to_string()),
                "device" => {
                    options.device.clone_from(value);
                    Ok(())
                }
                name => options.steps.set(name, value),
            };
            set.map_err(|problem| {
                Failure::argument(
                    format!("the option `{name}={value}` of one network: {problem}"),
                    "write OPTION=VALUE, such as --b dt=1e-4 or --b reset=subtract",
                )
            })?;
        }
        Ok(options)
    }

    /// These options with the time steps of the network itself.
    pub fn without_steps(&self) -> Self {
        Self {
            steps: Steps::default(),
            ..self.clone()
        }
    }

    /// The length of a time step.
    pub fn dt(&self) -> Option<f64> {
        self.steps.dt
    }

    /// The device; f64 is for the CPU.
    pub fn open_device(&self) -> Result<Arc<dyn Backend>, Failure> {
        if self.dtype.dtype() == DType::F64 && self.device != "cpu" {
            return Err(Failure::argument(
                format!(
                    "f64 on {}: programs in f64 run on the CPU only",
                    self.device
                ),
                "use the device cpu, or f32",
            ));
        }
        crate::args::open_device(&self.device, 0)
    }
}

/// An option of one network.
#[derive(Clone, Debug)]
pub struct Assignment {
    name: String,
    value: String,
}

/// `OPTION=VALUE`
pub fn assignment(text: &str) -> Result<Assignment, String> {
    let (name, value) = pair(text)?;
    Ok(Assignment { name, value })
}

/// `A=B`
pub fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text
        .split_once('=')
        .filter(|(a, b)| !a.is_empty() && !b.is_empty());
    let (a, b) = parts.ok_or("write two names with = between them")?;
    Ok((a.to_string(), b.to_string()))
}
