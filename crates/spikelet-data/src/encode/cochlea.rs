//! Audio to spikes.

use serde::{Deserialize, Serialize};

use super::check::{check, check_count, check_samples};
use super::{CochleaCoefficients, EncodeError, SignalEncoder, SpikeEvents};
use crate::error::Result;

/// The settings of a [`Cochlea`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CochleaConfig {
    /// Samples a second.
    pub sample_rate: f64,
    /// The number of filters, 700. Each is a unit; unit 0 has the lowest frequency.
    pub channels: usize,
    /// The center frequency of the first filter in Hz, 100.
    pub low: f64,
    /// The center frequency of the last filter in Hz, 3,600; at most half the sample rate.
    pub high: f64,
    /// The one-pole filters in series, 4.
    pub order: usize,
    /// The root mean square to which [`Cochlea::encode_clip`] scales a recording, 0.1.
    pub rms: f64,
    /// The time constant of the slow average in seconds, 0.02.
    pub tau_slow: f64,
    /// The part of the slow average that is subtracted, 0.7.
    pub beta: f64,
    /// The input weight of the integrate-and-fire cells, 0.25.
    pub gain: f64,
    /// Their membrane time constant in seconds, 0.004.
    pub tau_membrane: f64,
    /// Their threshold, 1.
    pub threshold: f64,
    /// Their refractory period in samples, 16.
    pub refractory: u32,
}

impl Default for CochleaConfig {
    fn default() -> Self {
        Self {
            sample_rate: 8000.0,
            channels: 700,
            low: 100.0,
            high: 3600.0,
            order: 4,
            rms: 0.1,
            tau_slow: 0.02,
            beta: 0.7,
            gain: 0.25,
            tau_membrane: 0.004,
            threshold: 1.0,
            refractory: 16,
        }
    }
}

impl CochleaConfig {
    fn check(&self) -> Result<()> {
        let name = "cochlea";
        let above = |field, value: f64| {
            check(
                name,
                field,
                value,
                value > 0.0 && value.is_finite(),
                "finite and above 0",
            )
        };
        above("sample_rate", self.sample_rate)?;
        check_count(name, "channels", self.channels)?;
        above("low", self.low)?;
        let good = self.high >= self.low && self.high <= self.sample_rate / 2.0;
        check(
            name,
            "high",
            self.high,
            good,
            "from `low` to half the sample rate",
        )?;
        let good = (1..=16).contains(&self.order);
        check(name, "order", self.order as f64, good, "1 to 16")?;
        above("rms", self.rms)?;
        above("tau_slow", self.tau_slow)?;
        check(name, "beta", self.beta, self.beta.is_finite(), "finite")?;
        above("gain", self.gain)?;
        above("tau_membrane", self.tau_membrane)?;
        above("threshold", self.threshold)
    }
}

/// Audio to spikes: a bank of gammatone filters, compression, and an integrate-and-fire cell for each filter.
///
/// For each sample x and filter, in f64, with the pole p and the gain g of the filter:
///
/// ```text
/// z₁ = p·z₁ + g·x,  zᵢ = p·zᵢ + g·zᵢ₋₁     `order` complex one-pole filters in series
/// y  = |z|^¼                               compressed envelope
/// d  = max(y − beta·slow, 0)               the part above the slow average
/// slow = decay·slow + (1 − decay)·y
/// v  = leak·v + gain·d                     0 in the refractory period
/// v ≥ threshold: an event, v = 0
/// ```
///
/// The events are specified bit for bit by `tools/baselines/cochlea.py` and are the same on every machine from the same
/// [`CochleaCoefficients`]; those of the default filters are stored constants. With the defaults a spoken digit has about
/// 5,600 events, a channel 17 a second.
///
/// A recording is scaled to a root mean square of `rms` ([`Self::encode_clip`]). A stream, whose level is not known in
/// advance, is multiplied by [`Self::scale`]: 1, or that of a similar recording.
///
/// ```
/// use spikelet_data::encode::{Cochlea, CochleaConfig, SignalEncoder, SpikeEvents};
///
/// let clip: Vec<f32> = (0..1600).map(|n| (n as f32 * 0.3).sin() * (n as f32 * 0.01).sin()).collect();
/// let mut cochlea = Cochlea::new(CochleaConfig { channels: 32, ..CochleaConfig::default() })?;
/// let whole = cochlea.encode_clip(&clip)?;
///
/// cochlea.set_scale(cochlea.scale_of(&clip)?)?;
/// let mut events = SpikeEvents::default();
/// for chunk in clip.chunks(100) {
///     cochlea.push(chunk, &mut events)?;
/// }
/// assert_eq!(events, whole);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Sources: Patterson et al., An efficient auditory filterbank based on the gammatone function, 1987; Holdsworth et al.,
/// Implementing a gammatone filter bank, 1988 (complex one-pole filters). The chain of filter bank, compression and
/// integrate-and-fire cells follows Cramer et al., The Heidelberg spiking data sets, 2022.
#[derive(Clone, Debug)]
pub struct Cochlea {
    config: CochleaConfig,
    coefficients: CochleaCoefficients,
    scale: f64,
    time: u64,
    /// The filters' states, `[order, channels]`.
    re: Vec<f64>,
    im: Vec<f64>,
    slow: Vec<f64>,
    v: Vec<f64>,
    /// The remaining samples of the refractory periods.
    wait: Vec<u32>,
}

impl Cochlea {
    /// An encoder with these settings.
    ///
    /// # Errors
    /// [`EncodeError::Range`] if a setting is out of range.
    pub fn new(config: CochleaConfig) -> Result<Self> {
        config.check()?;
        let coefficients = CochleaCoefficients::of(&config);
        Self::with_coefficients(config, coefficients)
    }

    /// An encoder with filters of one's own. The center frequencies and time constants of the settings are unused.
    ///
    /// # Errors
    /// [`EncodeError::Range`]; [`EncodeError::Coefficients`] if a list does not have one value for each channel.
    pub fn with_coefficients(
        config: CochleaConfig,
        coefficients: CochleaCoefficients,
    ) -> Result<Self> {
        config.check()?;
        let channels = config.channels;
        let lists = [
            ("frequencies", &coefficients.frequencies),
            ("re", &coefficients.re),
            ("im", &coefficients.im),
            ("gains", &coefficients.gains),
        ];
        for (field, list) in lists {
            if list.len() != channels {
                return Err(EncodeError::Coefficients {
                    field,
                    found: list.len(),
                    channels,
                }
                .into());
            }
        }
        Ok(Self {
            scale: 1.0,
            time: 0,
            re: vec![0.0; config.order * channels],
            im: vec![0.0; config.order * channels],
            slow: vec![0.0; channels],
            v: vec![0.0; channels],
            wait: vec![0; channels],
            config,
            coefficients,
        })
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &CochleaConfig {
        &self.config
    }

    /// The coefficients of the filters.
    #[must_use]
    pub fn coefficients(&self) -> &CochleaCoefficients {
        &self.coefficients
    }

    /// The factor of all samples, 1 at first.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Sets the factor of the samples that follow.
    ///
    /// # Errors
    /// [`EncodeError::Range`] if it is negative or not finite.
    pub fn set_scale(&mut self, scale: f64) -> Result<()> {
        let good = scale >= 0.0 && scale.is_finite();
        check("cochlea", "scale", scale, good, "finite and at least 0")?;
        self.scale = scale;
        Ok(())
    }

    /// The factor that brings a recording to a root mean square of `rms`; 0 for silence.
    ///
    /// # Errors
    /// [`EncodeError::NotFinite`].
    pub fn scale_of(&self, clip: &[f32]) -> Result<f64> {
        check_samples("cochlea", clip, 1)?;
        // In order: another order rounds differently.
        let mut sum = 0.0;
        for x in clip {
            let x = f64::from(*x);
            sum += x * x;
        }
        let rms = (sum / clip.len() as f64).sqrt();
        Ok(if rms > 0.0 {
            self.config.rms / rms
        } else {
            0.0
        })
    }

    /// The events of a whole recording, scaled to a root mean square of `rms`. The state is the initial one afterwards;
    /// the scale is unchanged.
    ///
    /// # Errors
    /// [`EncodeError::NotFinite`].
    pub fn encode_clip(&mut self, clip: &[f32]) -> Result<SpikeEvents> {
        let scale = self.scale_of(clip)?;
        let scale = std::mem::replace(&mut self.scale, scale);
        let events = self.encode(clip);
        self.scale = scale;
        events
    }

    /// One sample through all filters. Every line is elementwise over the channels, and is vectorized.
    fn step(&mut self, x: f64, y: &mut [f64]) -> bool {
        let channels = self.config.channels;
        let co = &self.coefficients;
        let (pole_re, pole_im) = (&co.re[..channels], &co.im[..channels]);
        let gains = &co.gains[..channels];
        for i in 0..self.config.order {
            let (before_re, after_re) = self.re.split_at_mut(i * channels);
            let (before_im, after_im) = self.im.split_at_mut(i * channels);
            let (z_re, z_im) = (&mut after_re[..channels], &mut after_im[..channels]);
            let mut one_pole = |c: usize, a: f64, b: f64| {
                let (r, m) = (z_re[c], z_im[c]);
                z_re[c] = (pole_re[c] * r - pole_im[c] * m) + gains[c] * a;
                z_im[c] = (pole_re[c] * m + pole_im[c] * r) + gains[c] * b;
            };
            if i == 0 {
                (0..channels).for_each(|c| one_pole(c, x, 0.0));
            } else {
                let a = &before_re[(i - 1) * channels..][..channels];
                let b = &before_im[(i - 1) * channels..][..channels];
                (0..channels).for_each(|c| one_pole(c, a[c], b[c]));
            }
        }
        let last = (self.config.order - 1) * channels;
        let (a, b) = (&self.re[last..][..channels], &self.im[last..][..channels]);
        let y = &mut y[..channels];
        for c in 0..channels {
            y[c] = (a[c] * a[c] + b[c] * b[c]).sqrt().sqrt().sqrt();
        }
        let (slow, v) = (&mut self.slow[..channels], &mut self.v[..channels]);
        let (rise, beta, gain) = (1.0 - co.slow, self.config.beta, self.config.gain);
        for c in 0..channels {
            let drive = y[c] - beta * slow[c];
            let drive = if drive > 0.0 { drive } else { 0.0 };
            slow[c] = co.slow * slow[c] + rise * y[c];
            v[c] = co.leak * v[c] + gain * drive;
        }
        let mut fired = false;
        for (v, wait) in v.iter_mut().zip(&mut self.wait) {
            *v = if *wait > 0 { 0.0 } else { *v };
            *wait = wait.saturating_sub(1);
            fired |= *v >= self.config.threshold;
        }
        fired
    }
}

impl SignalEncoder for Cochlea {
    fn channels(&self) -> usize {
        1
    }

    fn units(&self) -> usize {
        self.config.channels
    }

    fn push(&mut self, samples: &[f32], events: &mut SpikeEvents) -> Result<()> {
        check_samples("cochlea", samples, 1)?;
        let mut envelope = vec![0.0; self.config.channels];
        for x in samples {
            if self.step(f64::from(*x) * self.scale, &mut envelope) {
                for (unit, (v, wait)) in self.v.iter_mut().zip(&mut self.wait).enumerate() {
                    if *v >= self.config.threshold {
                        events.push(self.time, unit);
                        *v = 0.0;
                        *wait = self.config.refractory;
                    }
                }
            }
            self.time += 1;
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.time = 0;
        for state in [&mut self.re, &mut self.im, &mut self.slow, &mut self.v] {
            state.fill(0.0);
        }
        self.wait.fill(0);
    }
}
