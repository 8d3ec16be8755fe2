//! Trainable constants.
//!
//! Any constant of any neuron can be trainable. The equations refer to constants by name; the value is a number or,
//! for a trainable constant, the parameter p of this name with its bound applied.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::OtherError;
use spikelet_expr::Expr;
use spikelet_schema::document::{Located, Node};
use spikelet_schema::{Field, FieldValue, Kind, Schema, read_by_serde};

/// The number of values of a trainable parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum Granularity {
    /// One value for the layer.
    #[default]
    Layer,
    /// One for each channel: axis 2 of `[T, N, C, …]`.
    Channel,
    /// One for each neuron.
    Neuron,
    /// One for each time step.
    Step,
    /// One for each time step and channel.
    #[schema(name = "step_channel")]
    StepChannel,
}

/// The granularity and bound of a trainable constant.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let lif = Lif::new(2.0)
///     .trainable("tau", Trainable::new(Granularity::Channel).above(1.0))
///     .trainable("v_threshold", Trainable::default())
///     .trainable("v_start", Trainable::new(Granularity::Neuron));
/// let names: Vec<String> = spikelet_nn::neuron::trainables(&lif)?.into_iter().map(|l| l.name).collect();
/// assert_eq!(names, ["tau", "v_threshold", "v_start"]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Form")]
pub struct Trainable {
    /// The granularity.
    pub granularity: Granularity,
    /// The bound of the values.
    pub bound: Bound,
    /// The distribution of the initial values; by default, all are the value of the constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Spread>,
    /// Whether the values are stored with the model, but not trained: constants that differ from neuron to neuron.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
}

/// The distribution of initial values: of a trainable constant, one draw for each of its values, or of a state, one
/// for each sequence and neuron.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Spread {
    /// Uniform on [low, high).
    Uniform {
        /// The smallest value.
        low: f64,
        /// The exclusive upper end.
        high: f64,
    },
    /// Normal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
}

/// The bound of a trainable constant; p is the parameter that is trained and stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// No bound: the constant is p.
    #[default]
    None,
    /// Between two values: low + (high − low)·σ(p).
    Between {
        /// The exclusive lower bound.
        low: f64,
        /// The exclusive upper bound.
        high: f64,
    },
    /// Above a value: low + ln(1 + eᵖ).
    Above {
        /// The exclusive bound.
        low: f64,
    },
    /// Clamped to two values: min(max(p, low), high). Outside, the gradient of p is 0.
    Clamp {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// The constant is p, which is clamped to two values after each update. The gradient passes everywhere.
    Project {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// Linear between two values: p·high + (1 − p)·low; p is clamped to 0 and 1 after each update.
    Interpolate {
        /// The value at p = 0.
        low: f64,
        /// The value at p = 1.
        high: f64,
    },
    /// A decay factor, e^(−1/p): the parameter p is a time constant in steps.
    Decay,
}

/// In files `"channel"` is short for `{"granularity": "channel"}`.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "it must be `layer`, `channel`, `neuron`, or an object with `granularity`, `bound`, `start` and `frozen`"
)]
enum Form {
    Granularity(Granularity),
    Whole(Whole),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Whole {
    granularity: Granularity,
    bound: Bound,
    start: Option<Spread>,
    frozen: bool,
}

impl From<Form> for Trainable {
    fn from(form: Form) -> Self {
        match form {
            Form::Granularity(granularity) => Self::new(granularity),
            Form::Whole(Whole {
                granularity,
                bound,
                start,
                frozen,
            }) => Self {
                granularity,
                bound,
                start,
                frozen,
            },
        }
    }
}

impl FieldValue for Trainable {
    fn kind() -> Kind {
        Kind::Other(
            "a granularity, or a table with `granularity`, `bound`, `start` and `frozen`",
            || json!({"anyOf": [{"enum": Granularity::NAMES}, {"type": "object"}]}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = read_by_serde(field, node)?;
        Ok(())
    }

    fn write(&self) -> Value {
        json!(self)
    }
}

impl Trainable {
    /// Trainable with this granularity, without a bound.
    pub fn new(granularity: Granularity) -> Self {
        Self {
            granularity,
            bound: Bound::None,
            start: None,
            frozen: false,
        }
    }

    /// Sets whether the values are stored with the model, but not trained.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let lif = Lif::new(2.0).trainable("tau", Trainable::new(Granularity::Neuron).frozen(true));
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&lif, x)?;
    /// assert_eq!((cx.traced().parameters.len(), &cx.traced().buffers[0].shape[..]), (0, &[4][..]));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn frozen(mut self, yes: bool) -> Self {
        self.frozen = yes;
        self
    }

    /// Bounded between two values by a sigmoid.
    #[must_use]
    pub fn between(mut self, low: f64, high: f64) -> Self {
        self.bound = Bound::Between { low, high };
        self
    }

    /// Bounded above a value by a softplus.
    #[must_use]
    pub fn above(mut self, low: f64) -> Self {
        self.bound = Bound::Above { low };
        self
    }

    /// Clamped to two values in the forward pass.
    #[must_use]
    pub fn clamp(mut self, low: f64, high: f64) -> Self {
        self.bound = Bound::Clamp { low, high };
        self
    }

    /// Clamped to two values after each update.
    #[must_use]
    pub fn project(mut self, low: f64, high: f64) -> Self {
        self.bound = Bound::Project { low, high };
        self
    }

    /// Linear between two values, with a parameter that is clamped to 0 and 1 after each update.
    #[must_use]
    pub fn interpolate(mut self, low: f64, high: f64) -> Self {
        self.bound = Bound::Interpolate { low, high };
        self
    }

    /// A decay factor whose parameter is a time constant.
    #[must_use]
    pub fn decay(mut self) -> Self {
        self.bound = Bound::Decay;
        self
    }

    /// The initial values of the constant are uniform on [low, high).
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// // One time constant for each neuron, drawn from 2 to 20 and held there.
    /// let how = Trainable::new(Granularity::Neuron).clamp(2.0, 20.0).uniform(2.0, 20.0);
    /// let lif = Lif::new(10.0).trainable("tau", how);
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(lif);
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// assert_eq!(cx.traced().parameters[1].shape, [3]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn uniform(mut self, low: f64, high: f64) -> Self {
        self.start = Some(Spread::Uniform { low, high });
        self
    }

    /// The initial values of the constant are normal.
    #[must_use]
    pub fn normal(mut self, mean: f64, deviation: f64) -> Self {
        self.start = Some(Spread::Normal { mean, deviation });
        self
    }
}

impl Bound {
    /// The value of the constant for a parameter p.
    pub fn apply(self, p: &Expr) -> Expr {
        match self {
            Self::None => p.clone(),
            Self::Between { low, high } => low + (high - low) * p.sigmoid(),
            // ln(1 + eᵖ) in a form without overflow.
            Self::Above { low } => low + (p.max(0.0) + (1.0 + (-p.abs()).exp()).ln()),
            Self::Clamp { low, high } => p.clamp(low, high),
            Self::Project { .. } => p.clone(),
            Self::Interpolate { low, high } => p * high + (1.0 - p) * low,
            Self::Decay => (-1.0 / p).exp(),
        }
    }

    /// The limits of the parameter p after each update, if it has any.
    pub fn limits(self) -> Option<[f64; 2]> {
        match self {
            Self::Project { low, high } => Some([low, high]),
            Self::Interpolate { .. } => Some([0.0, 1.0]),
            _ => None,
        }
    }

    /// The value of the constant for the number `p`.
    pub fn value(self, p: f64) -> f64 {
        let folded = self.apply(&Expr::constant(p)).as_constant();
        folded.expect("arithmetic on numbers gives a number")
    }

    /// The parameter p for a value of the constant.
    ///
    /// # Errors
    /// When the bound excludes the constant.
    pub fn invert(self, value: f64) -> Result<f64, OutsideBound> {
        let inside = match self {
            Self::None => true,
            Self::Between { low, high } => low < value && value < high,
            Self::Above { low } => value > low,
            Self::Clamp { low, high }
            | Self::Project { low, high }
            | Self::Interpolate { low, high } => low <= value && value <= high,
            Self::Decay => 0.0 < value && value < 1.0,
        };
        if !inside {
            return Err(OutsideBound { value, bound: self });
        }
        Ok(match self {
            Self::Between { low, high } => ((value - low) / (high - value)).ln(),
            // Where eᵖ − 1 would overflow, p equals the value exactly.
            Self::Above { low } if value - low > 30.0 => value - low,
            Self::Above { low } => (value - low).exp_m1().ln(),
            Self::Interpolate { low, high } if low < high => (value - low) / (high - low),
            // Any p gives the only value.
            Self::Interpolate { .. } => 0.5,
            Self::Decay => -1.0 / value.ln(),
            Self::None | Self::Clamp { .. } | Self::Project { .. } => value,
        })
    }

    /// Checks that the bound includes the initial values of a distribution. A normal distribution has no ends.
    pub(crate) fn check(self, start: Spread) -> Result<(), OutsideBound> {
        let Spread::Uniform { low, high } = start else {
            return Ok(());
        };
        self.invert(low)?;
        // The upper end is not drawn.
        let open = matches!(self, Self::Between { high: end, .. } if end == high);
        match open || (self == Self::Decay && high == 1.0) {
            true => Ok(()),
            false => self.invert(high).map(|_| ()),
        }
    }
}

/// A value that a [`Bound`] excludes.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("starts at {value}, which is not {}", match .bound {
    Bound::None => "a number".to_string(),
    Bound::Between { low, high } => format!("between {low} and {high}"),
    Bound::Above { low } => format!("above {low}"),
    Bound::Clamp { low, high }
    | Bound::Project { low, high }
    | Bound::Interpolate { low, high } => format!("from {low} to {high}"),
    Bound::Decay => "between 0 and 1".to_string(),
})]
pub struct OutsideBound {
    /// The value.
    pub value: f64,
    /// The bound.
    pub bound: Bound,
}

impl OtherError for OutsideBound {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_stands_for_the_constant_that_it_was_made_of() {
        let bounds = [
            Bound::None,
            Bound::Between {
                low: -1.0,
                high: 60.0,
            },
            Bound::Above { low: 0.5 },
            Bound::Clamp {
                low: 0.0,
                high: 60.0,
            },
        ];
        for bound in bounds {
            for value in [0.501, 1.0, 2.0, 45.0] {
                let p = bound.invert(value).expect("inside");
                assert!((bound.value(p) - value).abs() < 1e-12 * value, "{bound:?}");
            }
        }
        let refused = Bound::Above { low: 1.0 }.invert(1.0);
        assert_eq!(
            refused,
            Err(OutsideBound {
                value: 1.0,
                bound: Bound::Above { low: 1.0 }
            })
        );
    }

    #[test]
    fn a_share_alone_is_short_for_the_whole() {
        let read = |text: &str| serde_json::from_str::<Trainable>(text);
        assert_eq!(
            read(r#""channel""#).expect("short"),
            Trainable::new(Granularity::Channel)
        );
        let whole = read(r#"{"bound": {"above": {"low": 1}}}"#).expect("whole");
        assert_eq!(whole, Trainable::default().above(1.0));
        let written = serde_json::to_string(&whole).expect("plain data");
        assert_eq!(read(&written).expect("as written"), whole);
        assert!(read(r#"{"bounds": 1}"#).is_err());
    }
}
