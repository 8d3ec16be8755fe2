//! Penalties on the spikes of layers.

use glob::Pattern;
use serde::{Deserialize, Serialize};
use spikelet_core::{Error, Result};
use spikelet_graph::Var;
use spikelet_nn::loss;

/// A penalty on the spikes of layers of neurons, which is added to the loss of training.
///
/// The penalty is computed for each layer whose path matches `layers`; their sum is multiplied by `weight`.
///
/// ```
/// use spikelet_train::{Penalty, PenaltyKind, Settings};
/// let bounds = PenaltyKind::RateBounds { low: 0.01, high: 0.3 };
/// let penalties = vec![
///     Penalty::new(PenaltyKind::SpikeCount, "fc.*", 1e-3),
///     Penalty::new(bounds, "*", 0.5),
/// ];
/// let settings = Settings { penalties, ..Settings::default() };
/// assert!(settings.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Penalty {
    /// The penalty of a layer.
    #[serde(flatten)]
    pub kind: PenaltyKind,
    /// The pattern of the paths of the layers, such as `fc.*`.
    pub layers: String,
    /// The factor, at least 0.
    pub weight: f64,
}

/// The penalty of a layer: a function of its spikes over all time steps, padding included.
///
/// | name | constants | |
/// |---|---|---|
/// | `spike-count` | | [`loss::spike_count`] |
/// | `spike-count-squared` | | [`loss::spike_count_squared`] |
/// | `rate-target` | `target` | [`loss::rate_target`] |
/// | `rate-bounds` | `low`, `high` | [`loss::rate_bounds`] |
/// | `rate-limits` | `low`, `high` | [`loss::rate_limits`] |
/// | `synaptic-operations` | `fan_out` | [`loss::synaptic_operations`] |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PenaltyKind {
    /// The spikes of a neuron, mean over neurons and samples.
    SpikeCount,
    /// The square of the spikes of all neurons, mean over the samples.
    SpikeCountSquared,
    /// The squared distance of the mean firing rate of the layer to a target.
    RateTarget {
        /// The target, in spikes a step.
        target: f64,
    },
    /// The squared distance of the firing rate of each neuron to an interval, mean over the neurons.
    RateBounds {
        /// The lower bound, in spikes a step.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// The distance of the firing rate of each neuron to an interval, summed over the neurons.
    RateLimits {
        /// The lower limit, in spikes a step.
        low: f64,
        /// The upper limit.
        high: f64,
    },
    /// Spikes × fan-out, mean over the samples.
    SynapticOperations {
        /// The number of synapses behind each neuron.
        fan_out: f64,
    },
}

/// The names of penalties with their constants.
pub(crate) const PENALTIES: [(&str, &[&str]); 6] = [
    ("spike-count", &[]),
    ("spike-count-squared", &[]),
    ("rate-target", &["target"]),
    ("rate-bounds", &["low", "high"]),
    ("rate-limits", &["low", "high"]),
    ("synaptic-operations", &["fan_out"]),
];

impl PenaltyKind {
    /// The name, as in experiment files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SpikeCount => "spike-count",
            Self::SpikeCountSquared => "spike-count-squared",
            Self::RateTarget { .. } => "rate-target",
            Self::RateBounds { .. } => "rate-bounds",
            Self::RateLimits { .. } => "rate-limits",
            Self::SynapticOperations { .. } => "synaptic-operations",
        }
    }

    /// The penalty of a spike sequence `[T, N, …]`.
    pub fn of(&self, spike_seq: &Var) -> Var {
        match *self {
            Self::SpikeCount => loss::spike_count(spike_seq),
            Self::SpikeCountSquared => loss::spike_count_squared(spike_seq),
            Self::RateTarget { target } => loss::rate_target(spike_seq, target),
            Self::RateBounds { low, high } => loss::rate_bounds(spike_seq, low, high),
            Self::RateLimits { low, high } => loss::rate_limits(spike_seq, low, high),
            Self::SynapticOperations { fan_out } => loss::synaptic_operations(spike_seq, fan_out),
        }
    }
}

impl Penalty {
    /// A penalty on the layers whose paths match `layers`.
    pub fn new(kind: PenaltyKind, layers: impl Into<String>, weight: f64) -> Self {
        let layers = layers.into();
        Self {
            kind,
            layers,
            weight,
        }
    }

    /// Checks the weight, the pattern and the constants.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid pattern or a number outside its range.
    pub fn check(&self) -> Result<()> {
        let not_negative = |what: &str, given: f64| match given.is_finite() && given >= 0.0 {
            true => Ok(()),
            false => Err(self.wrong(
                format!("{what} is {given}"),
                "use a finite number of at least 0",
            )),
        };
        not_negative("the weight", self.weight)?;
        if let Err(error) = Pattern::new(&self.layers) {
            return Err(self.wrong(
                format!(
                    "the pattern `{}` of layers is invalid: {error}",
                    self.layers
                ),
                "`*` stands for any characters, `?` for one, `[ab]` for one of these",
            ));
        }
        match self.kind {
            PenaltyKind::SpikeCount | PenaltyKind::SpikeCountSquared => Ok(()),
            PenaltyKind::RateTarget { target } if target.is_finite() => Ok(()),
            PenaltyKind::RateTarget { target } => {
                Err(self.wrong(format!("the target is {target}"), "use a finite number"))
            }
            PenaltyKind::RateBounds { low, high } | PenaltyKind::RateLimits { low, high } => {
                match low <= high && low.is_finite() && high.is_finite() {
                    true => Ok(()),
                    false => Err(self.wrong(
                        format!("low is {low} and high is {high}"),
                        "use two finite numbers; low is at most high",
                    )),
                }
            }
            PenaltyKind::SynapticOperations { fan_out } => not_negative("the fan-out", fan_out),
        }
    }

    fn wrong(&self, given: String, help: &str) -> Error {
        Error::invalid(format!("penalty {}", self.kind.name()), given, help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use serde_json::{Map, Value, json};

    #[test]
    fn every_name_is_read_with_its_constants() {
        for (name, constants) in PENALTIES {
            let mut table =
                Map::from_iter(constants.iter().map(|key| (key.to_string(), json!(0.25))));
            table.extend([
                ("name".to_string(), json!(name)),
                ("layers".to_string(), json!("*")),
                ("weight".to_string(), json!(1e-3)),
            ]);
            let read: Penalty = serde_json::from_value(Value::Object(table.clone()))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read.kind.name(), name);
            assert_eq!(json!(read), Value::Object(table));
        }
    }

    #[test]
    fn numbers_outside_their_range_are_refused_with_the_name_of_the_penalty() {
        let bounds = |low, high| PenaltyKind::RateBounds { low, high };
        for (kind, weight, part) in [
            (
                PenaltyKind::SpikeCount,
                -1.0,
                "penalty spike-count: the weight is -1",
            ),
            (PenaltyKind::SpikeCount, f64::NAN, "the weight is NaN"),
            (
                bounds(0.3, 0.1),
                1.0,
                "penalty rate-bounds: low is 0.3 and high is 0.1",
            ),
            (bounds(0.0, f64::INFINITY), 1.0, "high is inf"),
            (
                PenaltyKind::RateTarget { target: f64::NAN },
                1.0,
                "the target is NaN",
            ),
            (
                PenaltyKind::SynapticOperations { fan_out: -2.0 },
                1.0,
                "the fan-out is -2",
            ),
        ] {
            let settings = Settings {
                penalties: vec![Penalty::new(kind, "*", weight)],
                ..Settings::default()
            };
            let message = settings.check().expect_err("it is refused").to_string();
            assert!(
                message.contains(part) && message.contains("help: "),
                "{message}"
            );
        }
    }
}
