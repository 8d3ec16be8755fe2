//! The clips as spikes.

use std::path::Path;

use super::clips::with_labels;
use super::{CHANNELS, Clips, NAME, STEPS, wav};
use crate::derived;
use crate::digest::Parts;
use crate::encode::{Bins, Cochlea, CochleaConfig, pcm16};
use crate::error::Result;
use crate::field::{ElementType, Field};
use crate::parallel;
use crate::progress::{ItemBar, Progress};
use crate::sets::InMemory;

/// The file in which the spikes are kept, beside the clips.
pub(super) const CACHE: &str = "fsdd_spikes.bin";

/// The bytes of the spikes of a clip.
const CLIP_BYTES: usize = STEPS * CHANNELS;

/// The time steps and channels of the encoder's events.
fn bins() -> Bins {
    Bins {
        steps: STEPS,
        step_samples: 80,
        group: 5,
        binary: false,
    }
}

/// A digest of everything on which the spikes depend: clips, filters and time steps.
fn source_digest(clips: &Clips, cochlea: &Cochlea) -> [u8; 32] {
    let (config, co) = (cochlea.config(), cochlea.coefficients());
    // JSON of finite numbers is exact.
    let config = serde_json::to_vec(config).unwrap_or_default();
    let mut parts = Parts::of("FSDD as spikes, version 1")
        .values(&clips.audio, i16::to_le_bytes)
        .values(&clips.offsets, |offset| (offset as u64).to_le_bytes())
        .part(&config)
        .part(format!("{:?}", bins()).as_bytes());
    for list in [&co.re, &co.im, &co.gains, &vec![co.slow, co.leak]] {
        parts = parts.values(list, |value| value.to_bits().to_le_bytes());
    }
    parts.finish()
}

/// The spikes of all clips, encoded on all cores: counts `[100, 140]` of the events of a [`Cochlea`] with 700 channels,
/// five channels and 10 ms each.
///
/// # Errors
/// [`Error::Column`](crate::Error::Column) or [`Error::Encode`](crate::Error::Encode), which do not occur with the clips
/// of a file.
pub(super) fn encode(clips: &Clips, cache: &Path, progress: Progress) -> Result<InMemory> {
    let cochlea = Cochlea::new(CochleaConfig::default())?;
    let source = source_digest(clips, &cochlea);
    let spikes = match derived::read(cache, &source, clips.len() * CLIP_BYTES) {
        Some(spikes) => spikes,
        None => {
            let spikes = encode_all(clips, &cochlea, progress)?;
            // A folder that cannot be written costs time at the next start, nothing else.
            let _ = derived::write(cache, &source, &spikes);
            spikes
        }
    };
    let field = Field::new("x", ElementType::U8, [STEPS, CHANNELS]).sequence();
    let data = InMemory::new(NAME).with(field, spikes)?;
    let labels = [&clips.labels[..], &clips.speakers, &clips.takes];
    with_labels(data, labels, clips.speaker_names.clone())
}

/// The spikes of a WAV file, as those of a clip.
///
/// # Errors
/// [`Error::Read`](crate::Error::Read) or [`Error::Format`](crate::Error::Format).
pub(super) fn encode_file(path: &Path) -> Result<Vec<u8>> {
    let mut audio = vec![];
    wav::append(path, &mut audio)?;
    encode_clip(&audio, &Cochlea::new(CochleaConfig::default())?)
}

fn encode_clip(audio: &[i16], cochlea: &Cochlea) -> Result<Vec<u8>> {
    let channels = cochlea.config().channels;
    let counts = bins().count(&cochlea.clone().encode_clip(&pcm16(audio))?, channels)?;
    // At most 5 channels × 80 samples / 17 samples between two events.
    Ok(counts.into_iter().map(|count| count as u8).collect())
}

fn encode_all(clips: &Clips, cochlea: &Cochlea, progress: Progress) -> Result<Vec<u8>> {
    let bar = ItemBar::new("encoding the clips", clips.len(), progress);
    let mut spikes = vec![0; clips.len() * CLIP_BYTES];
    let encoded = parallel::map_chunks(&mut spikes, CLIP_BYTES, |index, spikes| {
        for (spikes, count) in spikes
            .iter_mut()
            .zip(encode_clip(clips.audio_of(index), cochlea)?)
        {
            *spikes = count;
        }
        bar.advance();
        Ok(())
    });
    bar.finish();
    encoded.into_iter().collect::<Result<()>>()?;
    Ok(spikes)
}
