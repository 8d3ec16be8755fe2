//! Entrances for fuzz targets behind the checksums, which hide the decoders from changed bytes.

use super::writer::SampleEncoder;
use super::{block, index};
use crate::EventBuffer;

/// The bytes of a sample.
///
/// # Panics
/// If the events cannot be packed.
#[must_use]
pub fn valid_sample(events: &EventBuffer) -> Vec<u8> {
    let encoded = SampleEncoder::new().encode(events, None);
    encoded.expect("valid events").bytes
}

/// Decodes any bytes as an index and as a sample.
///
/// # Panics
/// If a sample has more events than its bytes allow.
pub fn decode(bytes: &[u8]) {
    let _ = index::decode(bytes, 0, u64::MAX);
    let mut events = EventBuffer::default();
    let _ = block::decode_all(bytes, &mut events);
    assert!(events.len().div_ceil(8) <= bytes.len());
}
