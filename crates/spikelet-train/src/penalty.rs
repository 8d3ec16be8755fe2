//! Penalties on the spikes of layers.

use glob::Pattern;
use spikelet_core::{Error, Result};
use spikelet_graph::Var;
use spikelet_nn::loss;
use spikelet_schema::{Member, Record, Schema, registry};
use std::fmt::Debug;

/// A penalty on the spikes of layers of neurons, which is added to the loss of training.
///
/// The penalty is computed for each layer whose path matches `layers`; their sum is multiplied by `weight`.
///
/// ```
/// use spikelet_train::penalty::{Penalty, RateBounds, SpikeCount};
/// use spikelet_train::Settings;
/// let penalties = vec![
///     Penalty::new(SpikeCount, "fc.*", 1e-3),
///     Penalty::new(RateBounds { low: 0.01, high: 0.3 }, "*", 0.5),
/// ];
/// let settings = Settings { penalties, ..Settings::default() };
/// assert!(settings.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(check = Self::check_pattern)]
pub struct Penalty {
    /// The penalty of a layer.
    #[schema(flatten, required)]
    pub kind: Member<dyn PenaltyKind>,
    /// The pattern of the paths of the layers, such as `fc.*`.
    #[schema(required)]
    pub layers: String,
    /// The factor.
    #[schema(required, at_least = 0)]
    pub weight: f64,
}

/// The penalty of a layer: a function of its spikes over all time steps, padding included.
pub trait PenaltyKind: Record + Debug + Send + Sync {
    /// The penalty of a spike sequence `[T, N, …]`.
    fn of(&self, spike_seq: &Var) -> Var;
}

registry! {
    /// All penalties.
    pub static PENALTIES: dyn PenaltyKind = "penalty" {
        SpikeCount, SpikeCountSquared, RateTarget, RateBounds, RateLimits, SynapticOperations
    }
}

/// The spikes of a neuron, mean over neurons and samples: [`loss::spike_count`].
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct SpikeCount;

impl PenaltyKind for SpikeCount {
    fn of(&self, spike_seq: &Var) -> Var {
        loss::spike_count(spike_seq)
    }
}

/// The square of the spikes of all neurons, mean over the samples: [`loss::spike_count_squared`].
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct SpikeCountSquared;

impl PenaltyKind for SpikeCountSquared {
    fn of(&self, spike_seq: &Var) -> Var {
        loss::spike_count_squared(spike_seq)
    }
}

/// The squared distance of the mean firing rate of the layer to a target: [`loss::rate_target`].
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct RateTarget {
    /// The target.
    #[schema(required, unit = "spikes a step")]
    pub target: f64,
}

impl PenaltyKind for RateTarget {
    fn of(&self, spike_seq: &Var) -> Var {
        loss::rate_target(spike_seq, self.target)
    }
}

/// The squared distance of the firing rate of each neuron to an interval, mean over the neurons: [`loss::rate_bounds`].
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(check = |it: &Self| ordered(it.low, it.high))]
pub struct RateBounds {
    /// The lower bound.
    #[schema(required, unit = "spikes a step")]
    pub low: f64,
    /// The upper bound.
    #[schema(required, unit = "spikes a step")]
    pub high: f64,
}

impl PenaltyKind for RateBounds {
    fn of(&self, spike_seq: &Var) -> Var {
        loss::rate_bounds(spike_seq, self.low, self.high)
    }
}

/// The distance of the firing rate of each neuron to an interval, summed over the neurons: [`loss::rate_limits`].
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(check = |it: &Self| ordered(it.low, it.high))]
pub struct RateLimits {
    /// The lower limit.
    #[schema(required, unit = "spikes a step")]
    pub low: f64,
    /// The upper limit.
    #[schema(required, unit = "spikes a step")]
    pub high: f64,
}

impl PenaltyKind for RateLimits {
    fn of(&self, spike_seq: &Var) -> Var {
        loss::rate_limits(spike_seq, self.low, self.high)
    }
}

/// Spikes × fan-out, mean over the samples: [`loss::synaptic_operations`].
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct SynapticOperations {
    /// The number of synapses behind each neuron.
    #[schema(required, at_least = 0)]
    pub fan_out: f64,
}

impl PenaltyKind for SynapticOperations {
    fn of(&self, spike_seq: &Var) -> Var {
        loss::synaptic_operations(spike_seq, self.fan_out)
    }
}

fn ordered(low: f64, high: f64) -> Result<()> {
    match low <= high {
        true => Ok(()),
        false => Err(Error::invalid(
            "bounds of firing rates",
            format!("`low` is {low} and `high` is {high}"),
            "use two numbers of which low is at most high",
        )),
    }
}

impl Penalty {
    /// A penalty on the layers whose paths match `layers`.
    pub fn new(
        kind: impl Into<Member<dyn PenaltyKind>>,
        layers: impl Into<String>,
        weight: f64,
    ) -> Self {
        Self {
            kind: kind.into(),
            layers: layers.into(),
            weight,
        }
    }

    fn check_pattern(&self) -> Result<()> {
        let Err(error) = Pattern::new(&self.layers) else {
            return Ok(());
        };
        Err(Error::invalid(
            format!("penalty {}", self.kind.declaration().name),
            format!(
                "the pattern `{}` of `layers` is invalid: {error}",
                self.layers
            ),
            "`*` stands for any characters, `?` for one, `[ab]` for one of these",
        ))
    }
}
