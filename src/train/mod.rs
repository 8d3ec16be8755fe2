//! Training: settings, the compiled step, checkpoints, the loop.

mod checkpoint;
mod diagnosis;
mod draws;
mod engine;
mod eval_step;
mod evaluation;
mod folder;
mod in_flight;
mod interrupt;
mod memory;
mod picture;
mod run;
mod scaling;
mod settings;
mod show;
mod step;
mod together;
mod trainer;
mod writer;

pub use checkpoint::{
    Checkpoint, CheckpointError, CheckpointProblem, DatasetId, Difference, EpochRecord, Progress,
};
pub(crate) use draws::Draws;
pub use engine::{Engine, PipelineOptions, Stages};
pub use eval_step::{EvalPlan, EvalStep};
pub use evaluation::evaluate;
pub use folder::{RunFolderError, latest_run};
pub use in_flight::InFlight;
pub use memory::{RunMemory, RunPlans};
pub(crate) use scaling::{LOSS_SCALE, LossScale, Verdict, count_not_finite, is_scaled};
pub use settings::{Loss, Settings};
pub use show::show_examples;
pub use step::{Outcome as StepOutcome, PendingOutcome, Place, Shape, StepPlan, TrainStep};
pub(crate) use step::{feed_numbers, numbers_of, update};
pub use trainer::{Outcome, Start, Trainer};
