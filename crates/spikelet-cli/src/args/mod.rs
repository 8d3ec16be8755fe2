//! Arguments that several commands share.

mod arch;
mod augment;
mod data;
mod device;
mod names;
mod network;
mod neuron;
mod parallel;
mod pipeline;
mod precision;
mod propagation;
mod schedule;
mod settings;
mod tutorial;
pub mod value;

pub use arch::capability;
pub use augment::AugmentArgs;
pub use data::{DATA_VARIABLE, DataArgs, DataName};
pub use device::DeviceArgs;
pub use names::{neuron_names, surrogate_names};
pub use network::NetworkArgs;
pub use neuron::{NeuronArgs, overlay};
pub use parallel::ParallelArgs;
pub use pipeline::PipelineArgs;
pub use precision::precisions;
pub use propagation::propagations;
pub use schedule::ScheduleArgs;
pub use settings::{SettingsArgs, described, not_negative, positive};
pub use tutorial::TutorialArgs;
pub use value::Setting;

/// A variable of the environment, if it is set to something.
pub fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.to_string_lossy().into_owned()).filter(|v| !v.is_empty())
}

/// A number of things of which there must be at least one.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("use at least 1".to_string()),
        Ok(n) if u32::try_from(n).is_ok() => Ok(n),
        _ => Err("give a whole number".to_string()),
    }
}
