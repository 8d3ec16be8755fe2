//! Losses, each a mean over the batch, a scalar.
//!
//! A loss is a function of traced values: any expression of [`Var`]s can be one. Labels and targets that do not fit are
//! recorded as errors of the trace.
//!
//! The loss of a classifier is a [`Loss`], one of [`LOSSES`] in files.
//!
//! | family | losses |
//! |---|---|
//! | cross entropy | [`cross_entropy`], [`CrossEntropy`] (label smoothing, class weights, soft targets) |
//! | at each step | [`tet`], [`regularized_tet`], [`CrossEntropy::at_each_step`] |
//! | distillation | [`kl_divergence`] |
//! | binary | [`binary_cross_entropy`], [`weighted_binary_cross_entropy`] |
//! | values, rates | [`mse`], [`fn@mse_one_hot`] (labels), [`l1`], [`huber`], [`smooth_l1`] |
//! | membrane potential | [`Membrane`]: last, max or mean over time, sum of softmax |
//! | spike counts | [`spike_rate_mse`], [`spike_count_mse`], [`spike_count_cross_entropy`] |
//! | spike times | [`first_spike_cross_entropy`], [`first_spike_mse`], [`van_rossum`] |
//! | penalties | [`rate_target`], [`rate_bounds`], [`rate_limits`], [`fn@spike_count`], [`spike_count_squared`], [`synaptic_operations`] of the layers' [`spikes_of`] |

mod activity;
mod binary;
mod classifier;
mod distillation;
mod membrane;
mod regression;
mod spike_count;
mod spike_time;
mod target;

pub use activity::{
    rate_bounds, rate_limits, rate_target, spike_count, spike_count_squared, spikes_of,
    synaptic_operations,
};
pub use binary::{binary_cross_entropy, weighted_binary_cross_entropy};
pub use classifier::Loss;
pub use distillation::kl_divergence;
pub use membrane::Membrane;
pub use regression::{huber, l1, mse, smooth_l1};
pub use spike_count::{spike_count_cross_entropy, spike_count_mse, spike_rate_mse};
pub use spike_time::{first_spike_cross_entropy, first_spike_mse, first_spike_time, van_rossum};

use spikelet_graph::Var;
use spikelet_schema::members;

members! {
    /// The losses of classifiers that files may have.
    pub static LOSSES: dyn Loss = "loss" {
        mse_one_hot: MseOneHot, mse_one_hot;
        cross_entropy: CrossEntropy, cross_entropy;
        focal: Focal;
        tet: Tet, regularized_tet, tet;
    }
    mistaken { "mse" = "`mse` is for values; use `mse-one-hot` for labels of classes" }
}

/// The number of rows of scores `[N, classes]` whose largest element is at the label.
pub fn correct(scores: &Var, labels: &Var) -> Var {
    scores.argmax().equals(labels).sum_all()
}
