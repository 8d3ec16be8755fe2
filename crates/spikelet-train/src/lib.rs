//! Training: settings, the compiled step, optimizers, the training loop, checkpoints.

mod callbacks;
pub mod checkpoint;
pub mod conversion;
pub mod device;
mod draws;
pub mod engine;
pub mod error;
mod evaluation;
pub mod experiment;
mod failed_step;
mod fit;
mod folder;
mod forward;
mod free_memory;
mod given_inputs;
pub mod health;
mod hexadecimal;
#[cfg(feature = "plots")]
mod html_report;
mod in_flight;
mod interrupt;
pub mod loaders;
pub mod memory;
pub mod metric;
mod monitored_metric;
mod network_settings;
pub mod normalization;
mod operations;
pub mod optim;
mod parameter_group;
pub mod penalty;
#[cfg(feature = "plots")]
mod picture;
pub mod prelude;
mod probe;
mod ranks;
pub mod recording;
pub mod run;
mod run_info;
pub mod scaling;
mod settings;
#[cfg(feature = "plots")]
mod show;
pub mod step;
#[cfg(feature = "plots")]
mod test_pass;
pub mod timing;
mod trained;
mod trainer;
mod trainer_calls;
mod weight_tensors;
pub mod weights;
mod without_workspaces;
mod writer;

pub use checkpoint::{Checkpoint, EpochRecord};
pub use error::TrainError;
pub use evaluation::{Evaluation, evaluate};
pub use given_inputs::given_inputs;
pub use loaders::Loaders;
pub use normalization::Normalization;
pub use operations::count_operations;
pub use parameter_group::ParameterGroup;
pub use recording::{Recording, record};
pub use settings::Settings;
#[cfg(feature = "plots")]
pub use show::show_activity;
pub use spikelet_report::Goal;
pub use step::{
    BatchShape, EvalStep, Inputs, Monitor, Outputs, Recorded, SampleShape, Step, StepError,
    StepMetrics, TrainStep,
};
pub use trainer::{FitReport, Start, Trainer};

#[cfg(test)]
mod tests {
    #[test]
    fn the_root_exports_at_most_30_names() {
        let exports = include_str!("lib.rs").split("\npub use ").skip(1);
        let exports = exports.flat_map(|rest| rest.split(';').next());
        let lists = exports.flat_map(|export| export.rsplit("::").next());
        let words = lists.flat_map(|list| list.split(|c: char| !c.is_alphanumeric() && c != '_'));
        let names = words.filter(|word| !word.is_empty()).count();
        assert!((20..=30).contains(&names), "{names}");
    }
}
