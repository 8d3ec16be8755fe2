//! The errors of pipelines. Each converts into [`spikelet_core::Error`], from which
//! [`spikelet_core::Error::downcast_ref`] returns it.

use spikelet_core::OtherError;
use spikelet_core::human::bytes;
use spikelet_graph::{ShapeText, TensorType};

/// A pipeline that cannot be built, or an input that does not match it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// There is no stage, or the numbers of modules and devices differ.
    #[error(
        "pipeline: {modules} modules and {devices} devices were given\n  help: append at least one module, \
         each with its device"
    )]
    StageCount {
        /// The number of modules.
        modules: usize,
        /// The number of devices, or of sets of replicas.
        devices: usize,
    },
    /// A setting that pipelines do not have.
    #[error(
        "pipeline: {setting} were given, which a pipeline does not have\n  help: leave the setting out, or train on \
         one device"
    )]
    Unsupported {
        /// The setting.
        setting: &'static str,
    },
    /// A stage without a device.
    #[error("pipeline: stage {stage} has no device\n  help: give each stage at least one device")]
    NoDevice {
        /// The stage, counted from 0.
        stage: usize,
    },
    /// A stage with the same device twice.
    #[error(
        "pipeline: stage {stage} has the device {device} twice\n  help: give each device of a stage once"
    )]
    DuplicateDevice {
        /// The stage, counted from 0.
        stage: usize,
        /// The name of the device.
        device: String,
    },
    /// The first modules of the stages are out of range, not ascending, or not one for each device but the
    /// first.
    #[error(
        "stages: {firsts:?} was given for {devices} devices and {modules} modules\n  help: give {} ascending \
         numbers from 1 to {}, or auto",
        .devices.saturating_sub(1), .modules.saturating_sub(1)
    )]
    StageBounds {
        /// The indices of the first modules of the stages after the first.
        firsts: Vec<usize>,
        /// The number of devices, or of sets of replicas.
        devices: usize,
        /// The number of modules of the chain.
        modules: usize,
    },
    /// Fewer modules than stages.
    #[error(
        "pipeline: {modules} modules cannot be partitioned into {stages} stages\n  help: use fewer stages, or \
         a network with more modules"
    )]
    TooFewModules {
        /// The number of modules of the chain.
        modules: usize,
        /// The number of stages.
        stages: usize,
    },
    /// No partition fits into the memory of the devices.
    #[error(
        "pipeline: about {} are needed, {} are free on the devices, and no partition fits into the memory of \
         each device\n  help: use smaller micro-batches, fewer time steps, a 16-bit precision, or more devices",
        bytes(*.needed as u64), bytes(*.available as u64)
    )]
    NoPartition {
        /// The bytes that are needed on all devices together, at least.
        needed: usize,
        /// The free bytes of all devices.
        available: usize,
    },
    /// A sequence without time steps.
    #[error("time steps: 0 were given\n  help: give at least 1")]
    NoTimeSteps,
    /// An empty batch or micro-batch.
    #[error(
        "split size: a batch of {batch} cannot be split into micro-batches of {split}\n  help: give a batch \
         and a split size of at least 1"
    )]
    SplitSize {
        /// The images of the batch.
        batch: usize,
        /// The images of a micro-batch.
        split: usize,
    },
    /// Chunks of time that do not divide the time steps.
    #[error(
        "time chunk: {time_steps} steps cannot be split into chunks of {chunk}\n  help: give a divisor of the \
         number of time steps"
    )]
    TimeChunk {
        /// The number of time steps.
        time_steps: usize,
        /// The number of time steps of a chunk.
        chunk: usize,
    },
    /// Two stages with a parameter of the same name, which would be trained separately.
    #[error(
        "pipeline: stages {} and {} both have a parameter `{name}`\n  help: give the modules different names, \
         or append them to one stage", .stages[0], .stages[1]
    )]
    DuplicateParameter {
        /// The name of the parameter.
        name: String,
        /// Both stages, counted from 0.
        stages: [usize; 2],
    },
    /// The output of the last stage is not a sequence.
    #[error(
        "pipeline: the output of the last stage has shape {}\n  help: its output must be a sequence [T, N, …]",
        ShapeText(.shape)
    )]
    OutputShape {
        /// The shape of the output.
        shape: Vec<usize>,
    },
    /// An input with too few axes.
    #[error(
        "pipeline input: {given} was given, {expected} is expected\n  help: add the missing axes"
    )]
    InputAxes {
        /// The type of the input.
        given: TensorType,
        /// The expected axes.
        expected: &'static str,
    },
    /// A batch of another size than that of the step.
    #[error(
        "batch: {given} images were given, the step is compiled for {expected}\n  help: compile a step for \
         this size"
    )]
    BatchSize {
        /// The images of the batch.
        given: usize,
        /// The images of a batch of the step.
        expected: usize,
    },
    /// A pipeline and data parallelism.
    #[error(
        "pipeline: {ranks} ranks were given; a pipeline with data parallelism is not implemented\n  help: \
         train with a pipeline, or with data parallelism"
    )]
    DataParallel {
        /// The number of ranks.
        ranks: usize,
    },
    /// A pipeline and a memory budget.
    #[error(
        "memory budget: it is not implemented for pipelines\n  help: use smaller micro-batches, or omit the \
         memory budget"
    )]
    MemoryBudget,
    /// The tasks of a schedule wait for each other.
    #[error(
        "pipeline: the tasks of the schedule wait for each other\n  help: choose another schedule, and \
         report this error"
    )]
    ScheduleDeadlock,
    /// Another device of the pipeline has failed.
    #[error("pipeline: another device has failed\n  help: see the error of that device")]
    Stopped,
}

impl OtherError for PipelineError {}
