//! How a network is converted.

use super::error::ConversionError;

/// The statistic of an activation over a batch that becomes the threshold of its neurons.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Threshold {
    /// The maximum.
    #[default]
    Max,
    /// A percentile of all elements, from 0 to 100, with linear interpolation: 99.9 leaves out the largest thousandth.
    Percentile(f64),
    /// A factor, above 0, times the maximum.
    Factor(f64),
}

/// What happens to max pooling of activations. The maximum of the spikes of a step is not that of their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxPooling {
    /// It is an error.
    #[default]
    Refuse,
    /// The pooling comes before the neuron: its input is the maximum of the currents of a step. Exact where the input of
    /// the layer is the same at all steps.
    BeforeNeuron,
    /// The pooling stays behind the neuron: its output is the maximum of the spikes of a step, which is too large.
    OfSpikes,
}

/// How a network is converted: thresholds, and the neurons' start.
///
/// | field | default | |
/// |---|---|---|
/// | `threshold` | max | the statistic that is the threshold of the neurons of a layer |
/// | `each_channel` | false | whether each channel has its own |
/// | `momentum` | 0.1 | the weight of a batch behind the first: θ ← (1 − momentum)·θ + momentum·θ_batch |
/// | `epsilon` | 1e-6 | the smallest threshold of a channel |
/// | `half_threshold` | none | whether neurons start at half their threshold; by default those of QCFS do |
/// | `max_pooling` | refuse | max pooling |
///
/// ```
/// use spikelet_train::conversion::{Converter, Threshold};
/// let converter = Converter { threshold: Threshold::Percentile(99.9), ..Converter::default() };
/// assert!(converter.check().is_ok());
/// assert!(Converter { threshold: Threshold::Percentile(100.5), ..converter }.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Converter {
    /// The statistic that is the threshold.
    pub threshold: Threshold,
    /// Whether each channel has its own threshold. Those of QCFS are learned, one for a layer.
    pub each_channel: bool,
    /// The weight of a batch behind the first, from 0 to 1.
    pub momentum: f64,
    /// The smallest threshold of a channel, so that one that never fires has one.
    pub epsilon: f64,
    /// Whether neurons start at half their threshold. `None`: those of QCFS do, as that activation rounds.
    pub half_threshold: Option<bool>,
    /// Max pooling.
    pub max_pooling: MaxPooling,
}

impl Default for Converter {
    fn default() -> Self {
        Self {
            threshold: Threshold::Max,
            each_channel: false,
            momentum: 0.1,
            epsilon: 1e-6,
            half_threshold: None,
            max_pooling: MaxPooling::Refuse,
        }
    }
}

impl Converter {
    /// Checks that all numbers are in range.
    ///
    /// # Errors
    /// [`ConversionError::Option`].
    pub fn check(&self) -> Result<(), ConversionError> {
        let (low, high) = (f64::MIN_POSITIVE, f64::MAX);
        let statistic = match self.threshold {
            Threshold::Max => None,
            Threshold::Percentile(q) => {
                Some(("the percentile", q, 0.0, 100.0, "a number from 0 to 100"))
            }
            Threshold::Factor(f) => Some(("the factor", f, low, high, "a finite number above 0")),
        };
        let others = [
            (
                "the momentum",
                self.momentum,
                0.0,
                1.0,
                "a number from 0 to 1",
            ),
            (
                "epsilon",
                self.epsilon,
                low,
                high,
                "a finite number above 0",
            ),
        ];
        let mut all = statistic.into_iter().chain(others);
        match all.find(|(_, value, low, high, _)| !(low..=high).contains(&value)) {
            None => Ok(()),
            Some((option, value, _, _, expected)) => Err(ConversionError::Option {
                option,
                given: value.to_string(),
                expected,
                help: "correct the option of the conversion",
            }),
        }
    }
}
