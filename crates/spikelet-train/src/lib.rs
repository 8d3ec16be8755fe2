//! Training: settings, the compiled step, optimizers, the training loop, checkpoints.

mod callbacks;
mod checkpoint;
pub mod conversion;
pub mod device;
mod draws;
mod engine;
mod error;
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
mod loaders;
mod memory;
pub mod metric;
mod monitored_metric;
mod network_settings;
mod normalization;
mod operations;
pub mod optim;
mod parameter_group;
pub mod penalty;
#[cfg(feature = "plots")]
mod picture;
pub mod prelude;
mod probe;
mod ranks;
mod recording;
mod run;
mod run_info;
mod scaling;
mod settings;
#[cfg(feature = "plots")]
mod show;
mod step;
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

pub use checkpoint::{
    Checkpoint, CheckpointError, CheckpointInfo, CheckpointProblem, DatasetId, Difference,
    EpochRecord, Progress, RunDefinition, StepDefinition,
};
pub use draws::Draws;
pub use engine::{BatchProbe, BuildEngine, Engine, EvalEngine, EvalEngines, Programs};
pub use error::{NotFinite, Origin, TrainError};
pub use evaluation::{Evaluation, evaluate};
pub use folder::{RunFolderError, SeriesFolder, checkpoint_file, latest_run};
pub use forward::batches;
pub use given_inputs::given_inputs;
pub use in_flight::InFlight;
pub use loaders::{Loaders, TrainingData};
pub use memory::{RunMemory, RunPlans, Task};
pub use normalization::{Normalization, ParseNormalizationError};
pub use operations::count_operations;
pub use optim::{
    feed_scalars, feed_scalars_of, scalar_inputs, scalar_inputs_of, update, update_with_prefix,
};
pub use parameter_group::ParameterGroup;
pub use penalty::Penalty;
pub use recording::{RecordedFile, Recording, RecordingError, record};
pub use run_info::{FoundRuns, RunInfo, RunState, Setting, SkippedFolder, find_runs};
pub use scaling::{LOSS_SCALE, LossScale, UpdateGuard, count_not_finite};
pub use settings::Settings;
#[cfg(feature = "plots")]
pub use show::{show_activity, show_examples};
pub use spikelet_report::Goal;
pub use step::{
    BatchShape, EpochMetrics, EvalPlan, EvalStep, InputValues, Inputs, LeftOut, LoadReport,
    MetricSet, Monitor, NamedMetric, Outputs, PendingMetrics, RankInfo, Recorded, SampleBatch,
    SampleShape, Step, StepError, StepMetrics, StepPlan, TrainStep, TypeDifference, is_scaled,
};
pub use trainer::{FitReport, Start, Trainer};
