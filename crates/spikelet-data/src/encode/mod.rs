//! Encoders of time series: samples in, spikes out, from a whole recording or from a stream.
//!
//! | encoder | spikes |
//! |---|---|
//! | [`Delta`] | changes from sample to sample, ON and OFF |
//! | [`LevelCrossing`] | crossings of evenly spaced levels, ON and OFF |
//! | [`GaussianFields`] | overlapping Gaussian receptive fields, a strong response early |
//! | [`Cochlea`] | audio: gammatone filters and integrate-and-fire cells |
#![cfg_attr(
    feature = "audio",
    doc = "| [`MelFilterBank`] | audio: frames of mel filters, real-valued; an encoder above makes spikes of them |"
)]
//!
//! A recording is `[T, C]`: the samples of all channels at one time follow each other. [`SignalEncoder::push`] takes
//! any number of time steps and keeps the state: the events of a recording are the same, bit for bit, in any chunks.
//! [`SpikeEvents`] are sparse; [`Bins`] counts them into the time steps and inputs of a network.
//!
//! ```
//! use spikelet_data::encode::{Bins, Cochlea, CochleaConfig, SignalEncoder};
//!
//! // A tone of 440 Hz, a tenth of a second at 8 kHz.
//! let tone: Vec<f32> = (0..800).map(|n| (n as f32 * 440.0 * std::f32::consts::TAU / 8000.0).sin()).collect();
//! let mut cochlea = Cochlea::new(CochleaConfig::default())?;
//! let events = cochlea.encode_clip(&tone)?;
//!
//! // 10 steps of 10 ms; five neighboring channels are one input.
//! let bins = Bins { steps: 10, step_samples: 80, group: 5, ..Bins::default() };
//! let x = bins.count(&events, cochlea.units())?; // [10, 140]
//! assert_eq!(x.iter().sum::<f32>(), events.len() as f32);
//! # Ok::<(), spikelet_data::Error>(())
//! ```

mod bins;
mod check;
mod cochlea;
mod cochlea_coefficients;
mod delta;
mod gaussian_fields;
mod level_crossing;
#[cfg(feature = "audio")]
mod mel;
mod pcm;
mod signal_encoder;
mod spike_events;
#[cfg(feature = "audio")]
mod wav;

pub use crate::encode_error::EncodeError;
pub use bins::Bins;
pub use cochlea::{Cochlea, CochleaConfig};
pub use cochlea_coefficients::CochleaCoefficients;
pub use delta::{Delta, FirstSample};
pub use gaussian_fields::{GaussianFields, GaussianFieldsConfig};
pub use level_crossing::{LevelCrossing, ReferenceLevel};
#[cfg(feature = "audio")]
pub use mel::{MelConfig, MelFilterBank, MelWindow};
pub use pcm::pcm16;
pub use signal_encoder::SignalEncoder;
pub use spike_events::SpikeEvents;
#[cfg(feature = "audio")]
pub use wav::{Wav, read_wav};
