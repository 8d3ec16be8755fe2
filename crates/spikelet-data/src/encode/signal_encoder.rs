//! Encoders that take a signal in chunks.

use std::fmt::Debug;

use super::SpikeEvents;
use crate::error::Result;

/// An encoder of a sampled signal into events, with the state of the stream.
///
/// ```
/// use spikelet_data::encode::{Delta, SignalEncoder, SpikeEvents};
///
/// let mut encoder = Delta::new(1, 0.5)?;
/// let whole = encoder.encode(&[0.0, 1.0, 1.2, 0.1])?;
///
/// let mut stream = SpikeEvents::default();
/// encoder.reset();
/// encoder.push(&[0.0], &mut stream)?;
/// encoder.push(&[1.0, 1.2, 0.1], &mut stream)?;
/// assert_eq!(stream, whole);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
pub trait SignalEncoder: Debug + Send {
    /// The channels C of the signal.
    fn channels(&self) -> usize;

    /// The number of units that fire: units are 0 to this number minus 1.
    fn units(&self) -> usize;

    /// Encodes the next samples of the stream, `[T, C]`, and appends their events, ordered by time, then unit.
    ///
    /// # Errors
    /// [`EncodeError::Channels`](super::EncodeError::Channels), [`EncodeError::NotFinite`](super::EncodeError::NotFinite).
    /// Then the state and the events are as before.
    fn push(&mut self, samples: &[f32], events: &mut SpikeEvents) -> Result<()>;

    /// Returns to the initial state: the next sample has time 0.
    fn reset(&mut self);

    /// The events of a whole recording, `[T, C]`, from the initial state, in which the encoder is afterwards, too.
    ///
    /// # Errors
    /// As [`Self::push`].
    fn encode(&mut self, samples: &[f32]) -> Result<SpikeEvents> {
        let mut events = SpikeEvents::default();
        self.reset();
        self.push(samples, &mut events)?;
        self.reset();
        Ok(events)
    }
}
