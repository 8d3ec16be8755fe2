//! Spikes with their times.

use crate::error::{Error, Result};

/// A spike of an input or of a neuron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// The time, in the unit of the time constants.
    pub time: f64,
    /// The input or the neuron.
    pub unit: usize,
}

/// The input of one sample: spikes in the order of time.
///
/// ```
/// use spikelet_eventprop::SpikeTrain;
/// let train = SpikeTrain::new([(7.5, 0), (2.0, 3)]);
/// assert_eq!(train.spikes()[0].unit, 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpikeTrain(Vec<Spike>);

impl SpikeTrain {
    /// A sample of (time, input), in any order.
    pub fn new(spikes: impl IntoIterator<Item = (f64, usize)>) -> Self {
        let spikes = spikes.into_iter().map(|(time, unit)| Spike { time, unit });
        let mut spikes: Vec<Spike> = spikes.collect();
        spikes.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.unit.cmp(&b.unit)));
        Self(spikes)
    }

    /// The spikes, in the order of time, those of one time in the order of their inputs.
    pub fn spikes(&self) -> &[Spike] {
        &self.0
    }

    /// Checks that times are in [0, `t_end`] and inputs below `inputs`.
    pub(crate) fn check(&self, sample: usize, inputs: usize, t_end: f64) -> Result<()> {
        for (spike, &Spike { time, unit }) in self.0.iter().enumerate() {
            let (problem, help) = if !(0.0..=t_end).contains(&time) {
                (
                    format!("its time is {time}, expected 0 to {t_end}, the end of a sample"),
                    "shift the times, or give the network a later `t_end`",
                )
            } else if unit >= inputs {
                (
                    format!(
                        "it is of input {unit}, the network has inputs 0 to {}",
                        inputs.saturating_sub(1)
                    ),
                    "give the first layer as many inputs as the data has",
                )
            } else {
                continue;
            };
            return Err(Error::Input {
                sample,
                spike,
                problem,
                help,
            });
        }
        Ok(())
    }
}
