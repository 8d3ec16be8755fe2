//! A checkpoint and the images on which it is evaluated, on the command line.

use super::{CheckpointPath, DataArgs, DeviceArgs, count};

/// The evaluation of a checkpoint.
#[derive(clap::Args, Clone, Debug)]
pub struct EvaluationArgs {
    /// Checkpoint written by `spikelet train`, or the folder of a run: its best one
    #[arg(value_name = "CHECKPOINT", value_parser = CheckpointPath::parser())]
    pub checkpoint: CheckpointPath,

    /// Batch size of evaluation; affects speed and memory only [default: the largest that fits into
    /// the memory of a training step, at most 500]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    pub eval_batch_size: Option<usize>,

    #[command(flatten)]
    pub data: DataArgs,

    #[command(flatten)]
    pub device: DeviceArgs,
}
