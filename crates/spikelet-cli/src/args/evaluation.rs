//! A checkpoint and the images on which it is evaluated, on the command line.

use super::{DataArgs, DeviceArgs, count};
use std::path::PathBuf;

/// The evaluation of a checkpoint.
#[derive(clap::Args, Clone, Debug)]
pub struct EvaluationArgs {
    /// Checkpoint written by `spikelet train`
    #[arg(value_name = "CHECKPOINT")]
    pub checkpoint: PathBuf,

    /// Batch size of evaluation; affects speed and memory only [default: the largest that fits into
    /// the memory of a training step, at most 500]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    pub eval_batch_size: Option<usize>,

    #[command(flatten)]
    pub data: DataArgs,

    #[command(flatten)]
    pub device: DeviceArgs,
}
