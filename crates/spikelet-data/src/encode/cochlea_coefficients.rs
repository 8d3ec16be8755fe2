//! The coefficients of a cochlea's filters.

use std::f64::consts::PI;

use super::CochleaConfig;

/// The coefficients of the default configuration, from `tools/baselines/cochlea.py`: f64, little-endian; center
/// frequencies, real parts, imaginary parts and gains of 700 channels, then the decays `slow` and `leak`. Stored, because
/// exp and cos differ in the last bit between platforms, and events are the same on all of them.
static STORED: &[u8] = include_bytes!("cochlea_8khz_700.f64");

/// The coefficients of the filters of a [`Cochlea`](super::Cochlea), one of each list for each channel.
#[derive(Clone, Debug, PartialEq)]
pub struct CochleaCoefficients {
    /// The center frequencies in Hz; the lowest first. They describe the channels; the events do not depend on them.
    pub frequencies: Vec<f64>,
    /// The real parts of the poles.
    pub re: Vec<f64>,
    /// The imaginary parts of the poles.
    pub im: Vec<f64>,
    /// The gains, 1 − |pole|.
    pub gains: Vec<f64>,
    /// The decay of the slow average in one sample.
    pub slow: f64,
    /// The decay of the membrane potential in one sample.
    pub leak: f64,
}

impl CochleaCoefficients {
    /// The coefficients for a configuration: stored ones for the filters and time constants of the default, otherwise
    /// computed.
    ///
    /// Center frequencies are evenly spaced on the ERB-rate scale, `21.4·log10(1 + 0.00437 f)`. A pole is
    /// `exp(−2π·b/rate)·exp(2πi·f/rate)` with the bandwidth `b = 1.019·24.7·(1 + 0.00437 f)`.
    ///
    /// ```
    /// use spikelet_data::encode::{CochleaCoefficients, CochleaConfig};
    ///
    /// let coefficients = CochleaCoefficients::of(&CochleaConfig::default());
    /// assert_eq!(coefficients.frequencies.len(), 700);
    /// assert!((coefficients.frequencies[699] - 3600.0).abs() < 1e-9);
    /// ```
    ///
    /// Source: Glasberg and Moore, Derivation of auditory filter shapes from notched-noise data, 1990.
    #[must_use]
    pub fn of(config: &CochleaConfig) -> Self {
        let default = CochleaConfig::default();
        let filters = |c: &CochleaConfig| {
            (
                c.channels,
                [c.sample_rate, c.low, c.high, c.tau_slow, c.tau_membrane],
            )
        };
        if filters(config) == filters(&default) {
            Self::stored(default.channels)
        } else {
            Self::computed(config)
        }
    }

    fn stored(channels: usize) -> Self {
        let (values, _) = STORED.as_chunks::<8>();
        let list = |k: usize| {
            let values = values[k * channels..(k + 1) * channels].iter();
            values.map(|bytes| f64::from_le_bytes(*bytes)).collect()
        };
        Self {
            frequencies: list(0),
            re: list(1),
            im: list(2),
            gains: list(3),
            slow: f64::from_le_bytes(values[4 * channels]),
            leak: f64::from_le_bytes(values[4 * channels + 1]),
        }
    }

    fn computed(config: &CochleaConfig) -> Self {
        let rate = config.sample_rate;
        let erb = |f: f64| 21.4 * (1.0 + 0.00437 * f).log10();
        let (low, high) = (erb(config.low), erb(config.high));
        let frequency = |channel: usize| {
            let e = if config.channels > 1 {
                low + (high - low) * channel as f64 / (config.channels - 1) as f64
            } else {
                low
            };
            (10.0_f64.powf(e / 21.4) - 1.0) / 0.00437
        };
        let frequencies: Vec<f64> = (0..config.channels).map(frequency).collect();
        let size = |f: f64| {
            let bandwidth = 1.019 * 24.7 * (1.0 + 0.00437 * f);
            (-2.0 * PI * bandwidth / rate).exp()
        };
        let of = |value: &dyn Fn(f64) -> f64| frequencies.iter().map(|f| value(*f)).collect();
        Self {
            re: of(&|f| size(f) * (2.0 * PI * f / rate).cos()),
            im: of(&|f| size(f) * (2.0 * PI * f / rate).sin()),
            gains: of(&|f| 1.0 - size(f)),
            slow: (-1.0 / (rate * config.tau_slow)).exp(),
            leak: (-1.0 / (rate * config.tau_membrane)).exp(),
            frequencies,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_coefficients_are_the_stored_ones_but_for_the_last_bits() {
        let config = CochleaConfig::default();
        let (stored, computed) = (
            CochleaCoefficients::stored(700),
            CochleaCoefficients::computed(&config),
        );
        let lists = |c: &CochleaCoefficients| {
            [
                &c.frequencies[..],
                &c.re,
                &c.im,
                &c.gains,
                &[c.slow, c.leak],
            ]
            .concat()
        };
        for (a, b) in lists(&stored).iter().zip(lists(&computed)) {
            assert!((a - b).abs() <= 1e-13 * a.abs().max(1.0), "{a} and {b}");
        }
    }
}
