//! Gaussian receptive fields.

use serde::{Deserialize, Serialize};

use super::check::{check, check_count, check_samples};
use super::{SignalEncoder, SpikeEvents};
use crate::error::Result;

/// The settings of [`GaussianFields`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianFieldsConfig {
    /// The channels of the signal.
    pub channels: usize,
    /// The fields of a channel, at least 3.
    pub fields: usize,
    /// The lower end of the range of the samples.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The distance of two centers, in standard deviations: fields overlap more if it is smaller.
    pub beta: f64,
    /// The time steps of a sample.
    pub steps: u32,
}

impl GaussianFieldsConfig {
    /// One channel, β 1.5 and 10 time steps a sample, as in the paper.
    #[must_use]
    pub fn new(fields: usize, low: f64, high: f64) -> Self {
        Self {
            channels: 1,
            fields,
            low,
            high,
            beta: 1.5,
            steps: 10,
        }
    }
}

/// Gaussian receptive fields: each value excites the fields around it, and a strong response fires early.
///
/// Field i of m, from 1, has its center at `low + (2i − 3)/2 · w` and the standard deviation `w/β`, with
/// `w = (high − low)/(m − 2)`. Its response `a = exp(−(x − center)²/2σ²)` is an event `round((1 − a)·steps)` time steps
/// after the beginning of the sample; a response whose event would come `steps` or later is silent. Ties are rounded to
/// even. Field i of channel c is the unit `c·m + i − 1`; sample n begins at time `n·steps`.
///
/// [`Self::responses`] gives the responses themselves, as a real-valued input.
///
/// ```
/// use spikelet_data::encode::{GaussianFields, GaussianFieldsConfig, SignalEncoder};
///
/// let mut fields = GaussianFields::new(GaussianFieldsConfig::new(4, 0.0, 1.0))?;
/// let events = fields.encode(&[0.25])?; // the center of the second field
/// assert_eq!((events.time, events.unit), (vec![0, 7, 7], vec![1, 0, 2]));
/// assert_eq!(fields.responses(&[0.25])?[1], 1.0);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Source: Bohte, La Poutré and Kok, Unsupervised clustering with spiking neurons by sparse temporal coding and
/// multilayer RBF networks, 2002.
#[derive(Clone, Debug)]
pub struct GaussianFields {
    config: GaussianFieldsConfig,
    centers: Vec<f64>,
    sigma: f64,
    time: u64,
    /// The events of one sample: the delay and the unit.
    found: Vec<(u32, usize)>,
}

impl GaussianFields {
    /// An encoder with these settings.
    ///
    /// # Errors
    /// [`EncodeError::Range`](super::EncodeError::Range) if there are no channels or time steps, fewer than 3 fields, `low`
    /// is not below `high`, or β is not above 0.
    pub fn new(config: GaussianFieldsConfig) -> Result<Self> {
        let name = "gaussian-fields";
        let GaussianFieldsConfig {
            channels,
            fields,
            low,
            high,
            beta,
            steps,
        } = config;
        check_count(name, "channels", channels)?;
        check(name, "fields", fields as f64, fields >= 3, "at least 3")?;
        check_count(name, "channels * fields", channels.saturating_mul(fields))?;
        check(name, "low", low, low.is_finite(), "finite")?;
        check(
            name,
            "high",
            high,
            high.is_finite() && high > low,
            "finite and above `low`",
        )?;
        check(
            name,
            "beta",
            beta,
            beta > 0.0 && beta.is_finite(),
            "finite and above 0",
        )?;
        check(name, "steps", f64::from(steps), steps > 0, "at least 1")?;
        let width = (high - low) / (fields - 2) as f64;
        let sigma = width / beta;
        let usable = sigma.is_finite() && sigma > 0.0;
        check(
            name,
            "high",
            high,
            usable,
            "so far from `low` that the fields have a finite width above 0",
        )?;
        let center = |i: usize| low + (2.0 * i as f64 - 3.0) / 2.0 * width;
        Ok(Self {
            config,
            centers: (1..=fields).map(center).collect(),
            sigma,
            time: 0,
            found: Vec::new(),
        })
    }

    /// The centers of the fields.
    #[must_use]
    pub fn centers(&self) -> &[f64] {
        &self.centers
    }

    /// The responses of the fields to samples `[T, C]`, from 0 to 1: `[T, C·m]`. They do not depend on the state.
    ///
    /// # Errors
    /// As [`SignalEncoder::push`].
    pub fn responses(&self, samples: &[f32]) -> Result<Vec<f32>> {
        check_samples("gaussian-fields", samples, self.config.channels)?;
        let all = samples.iter().flat_map(|x| {
            let response = |center: &f64| self.response(*x, *center) as f32;
            self.centers.iter().map(response)
        });
        Ok(all.collect())
    }

    fn response(&self, x: f32, center: f64) -> f64 {
        let z = (f64::from(x) - center) / self.sigma;
        (-0.5 * z * z).exp()
    }
}

impl SignalEncoder for GaussianFields {
    fn channels(&self) -> usize {
        self.config.channels
    }

    fn units(&self) -> usize {
        self.config.channels * self.centers.len()
    }

    fn push(&mut self, samples: &[f32], events: &mut SpikeEvents) -> Result<()> {
        check_samples("gaussian-fields", samples, self.config.channels)?;
        let steps = f64::from(self.config.steps);
        for row in samples.chunks_exact(self.config.channels) {
            self.found.clear();
            for (channel, x) in row.iter().enumerate() {
                for (field, center) in self.centers.iter().enumerate() {
                    let delay = ((1.0 - self.response(*x, *center)) * steps).round_ties_even();
                    if delay < steps {
                        let unit = channel * self.centers.len() + field;
                        self.found.push((delay as u32, unit));
                    }
                }
            }
            self.found.sort_unstable();
            for (delay, unit) in &self.found {
                events.push(self.time + u64::from(*delay), *unit);
            }
            self.time += u64::from(self.config.steps);
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.time = 0;
    }
}
