//! Mel filter banks.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlannerScalar};
use serde::{Deserialize, Serialize};

use super::check::{check, check_samples};
use crate::error::Result;

/// The largest number of samples of a frame.
const MAX_WINDOW: usize = 1 << 22;

/// The smallest energy whose logarithm is taken: the distance from 1 to the next f32.
const FLOOR: f64 = f32::EPSILON as f64;

/// The window of a frame, symmetric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MelWindow {
    /// Hann's window to the power of 0.85, as in Kaldi.
    Povey,
    /// Hann.
    Hann,
    /// Hamming, 0.54 and 0.46.
    Hamming,
}

/// The settings of a [`MelFilterBank`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MelConfig {
    /// Samples a second.
    pub sample_rate: f64,
    /// The samples of a frame, 25 ms in Kaldi.
    pub window: usize,
    /// The samples from one frame to the next, 10 ms in Kaldi.
    pub hop: usize,
    /// The number of filters.
    pub filters: usize,
    /// The lower end of the first filter in Hz, 20 in Kaldi.
    pub low: f64,
    /// The upper end of the last filter in Hz, half the sample rate in Kaldi.
    pub high: f64,
    /// The factor k of `x[n] − k·x[n−1]`, 0.97 in Kaldi.
    pub preemphasis: f64,
    /// Whether the mean of a frame is subtracted.
    pub remove_mean: bool,
    /// The window.
    pub shape: MelWindow,
    /// Whether the natural logarithm is taken, of 2⁻²³ at least.
    pub log: bool,
}

impl MelConfig {
    /// Kaldi's defaults for a sample rate: frames of 25 ms every 10 ms.
    ///
    /// ```
    /// use spikelet_data::encode::MelConfig;
    /// let config = MelConfig::kaldi(8000, 40);
    /// assert_eq!((config.window, config.hop, config.high), (200, 80, 4000.0));
    /// ```
    #[must_use]
    pub fn kaldi(sample_rate: u32, filters: usize) -> Self {
        let rate = f64::from(sample_rate);
        Self {
            sample_rate: rate,
            window: (rate * 0.025) as usize,
            hop: (rate * 0.01) as usize,
            filters,
            low: 20.0,
            high: rate / 2.0,
            preemphasis: 0.97,
            remove_mean: true,
            shape: MelWindow::Povey,
            log: true,
        }
    }

    fn check(&self) -> Result<()> {
        let name = "mel-filter-bank";
        let rate = self.sample_rate;
        check(
            name,
            "sample_rate",
            rate,
            rate > 0.0 && rate.is_finite(),
            "finite and above 0",
        )?;
        let good = (2..=MAX_WINDOW).contains(&self.window);
        check(
            name,
            "window",
            self.window as f64,
            good,
            "2 to 4194304 samples",
        )?;
        check(
            name,
            "hop",
            self.hop as f64,
            self.hop > 0,
            "at least 1 sample",
        )?;
        let good = (1..=1 << 16).contains(&self.filters);
        check(name, "filters", self.filters as f64, good, "1 to 65536")?;
        check(
            name,
            "low",
            self.low,
            self.low >= 0.0 && self.low < self.high,
            "0 or above, below `high`",
        )?;
        let good = self.high <= rate / 2.0;
        check(
            name,
            "high",
            self.high,
            good,
            "at most half the sample rate",
        )?;
        let good = self.preemphasis.is_finite();
        check(name, "preemphasis", self.preemphasis, good, "finite")
    }
}

/// A mel filter bank of audio: frames of `window` samples, every `hop` samples, as energies in triangular filters that are
/// evenly spaced on the mel scale, `1127·ln(1 + f/700)`.
///
/// A frame: its mean is subtracted, pre-emphasis (the first sample is its own predecessor), the window, zeros up to a
/// power of two, the squared magnitudes of its Fourier transform, weighted sums, the logarithm. There are only complete
/// frames: N samples have `1 + (N − window)/hop` frames, rounded down. Computed in f64 by scalar code: the bits do not
/// depend on the vector instructions of the machine.
///
/// The state is the incomplete frame of the stream: the frames are the same, bit for bit, in any chunks. They are
/// real-valued inputs, or become events by [`LevelCrossing`](super::LevelCrossing) or [`Delta`](super::Delta):
///
/// ```
/// use spikelet_data::encode::{LevelCrossing, MelConfig, MelFilterBank, SignalEncoder};
///
/// let audio: Vec<f32> = (0..8000).map(|n| (n as f32 * n as f32 * 1e-4).sin()).collect();
/// let mut mel = MelFilterBank::new(MelConfig::kaldi(8000, 40))?;
/// let frames = mel.encode(&audio)?; // [98, 40]
/// assert_eq!(frames.len(), 98 * 40);
///
/// let events = LevelCrossing::new(40, 1.0)?.encode(&frames)?; // times in frames
/// assert!(!events.is_empty());
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// Source: Kaldi's `compute-fbank-feats`, by way of torchaudio's `compliance.kaldi.fbank` without dither.
#[derive(Clone)]
pub struct MelFilterBank {
    config: MelConfig,
    window: Vec<f64>,
    /// For each filter the first frequency and the weights from there.
    filters: Vec<(usize, Vec<f64>)>,
    fft: Arc<dyn Fft<f64>>,
    spectrum: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
    /// The samples from the beginning of the next frame.
    pending: Vec<f32>,
    /// The samples to leave out before the next frame, if frames are farther apart than they are long.
    skip: usize,
}

impl fmt::Debug for MelFilterBank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MelFilterBank")
            .field("config", &self.config)
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}

impl MelFilterBank {
    /// A filter bank with these settings.
    ///
    /// # Errors
    /// [`EncodeError::Range`](super::EncodeError::Range) if a setting is out of range.
    pub fn new(config: MelConfig) -> Result<Self> {
        config.check()?;
        let size = config.window.next_power_of_two();
        let fft = FftPlannerScalar::new().plan_fft_forward(size);
        let zero = Complex::new(0.0, 0.0);
        Ok(Self {
            window: window(&config),
            filters: filters(&config, size),
            spectrum: vec![zero; size],
            scratch: vec![zero; fft.get_inplace_scratch_len()],
            fft,
            pending: Vec::new(),
            skip: 0,
            config,
        })
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &MelConfig {
        &self.config
    }

    /// Takes the next samples of the stream and appends the frames that they complete, `[frames, filters]`.
    ///
    /// # Errors
    /// [`EncodeError::NotFinite`](super::EncodeError::NotFinite); then the state and the frames are as before.
    pub fn push(&mut self, samples: &[f32], frames: &mut Vec<f32>) -> Result<()> {
        check_samples("mel-filter-bank", samples, 1)?;
        let left_out = self.skip.min(samples.len());
        self.skip -= left_out;
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(&samples[left_out..]);
        let mut begin = 0;
        while let Some(frame) = pending.get(begin..begin + self.config.window) {
            self.frame(frame, frames);
            begin = begin.saturating_add(self.config.hop);
            if begin >= pending.len() {
                self.skip = begin - pending.len();
                break;
            }
        }
        pending.drain(..begin.min(pending.len()));
        self.pending = pending;
        Ok(())
    }

    /// The frames of a whole recording, `[frames, filters]`, from the initial state, in which the filter bank is
    /// afterwards, too.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn encode(&mut self, samples: &[f32]) -> Result<Vec<f32>> {
        let mut frames = Vec::new();
        self.reset();
        self.push(samples, &mut frames)?;
        self.reset();
        Ok(frames)
    }

    /// Returns to the initial state: the next sample is the first of a frame.
    pub fn reset(&mut self) {
        self.pending.clear();
        self.skip = 0;
    }

    fn frame(&mut self, samples: &[f32], frames: &mut Vec<f32>) {
        let mean = if self.config.remove_mean {
            samples.iter().map(|x| f64::from(*x)).sum::<f64>() / samples.len() as f64
        } else {
            0.0
        };
        let mut last = f64::from(samples[0]) - mean;
        self.spectrum.fill(Complex::new(0.0, 0.0));
        for ((z, x), weight) in self.spectrum.iter_mut().zip(samples).zip(&self.window) {
            let x = f64::from(*x) - mean;
            z.re = (x - self.config.preemphasis * last) * weight;
            last = x;
        }
        self.fft
            .process_with_scratch(&mut self.spectrum, &mut self.scratch);
        for (first, weights) in &self.filters {
            let powers = self.spectrum[*first..].iter().map(Complex::norm_sqr);
            let energy: f64 = powers
                .zip(weights)
                .map(|(power, weight)| power * weight)
                .sum();
            let value = if self.config.log {
                energy.max(FLOOR).ln()
            } else {
                energy
            };
            frames.push(value as f32);
        }
    }
}

fn window(config: &MelConfig) -> Vec<f64> {
    let wave = |n: usize| (2.0 * PI * n as f64 / (config.window - 1) as f64).cos();
    let value = |n: usize| match config.shape {
        MelWindow::Povey => (0.5 - 0.5 * wave(n)).powf(0.85),
        MelWindow::Hann => 0.5 - 0.5 * wave(n),
        MelWindow::Hamming => 0.54 - 0.46 * wave(n),
    };
    (0..config.window).map(value).collect()
}

/// The triangles, linear on the mel scale, over the frequencies below half the sample rate.
fn filters(config: &MelConfig, size: usize) -> Vec<(usize, Vec<f64>)> {
    let mel = |f: f64| 1127.0 * (1.0 + f / 700.0).ln();
    let low = mel(config.low);
    let width = (mel(config.high) - low) / (config.filters + 1) as f64;
    let mels: Vec<f64> = (0..size / 2)
        .map(|k| mel(config.sample_rate / size as f64 * k as f64))
        .collect();
    let filter = |k: usize| {
        let left = low + k as f64 * width;
        let weight = |m: &f64| {
            let up = (m - left) / width;
            let down = (left + 2.0 * width - m) / width;
            up.min(down).max(0.0)
        };
        let first = mels.partition_point(|m| *m <= left);
        let weights = mels[first..].iter().map(weight);
        (first, weights.take_while(|weight| *weight > 0.0).collect())
    };
    (0..config.filters).map(filter).collect()
}
