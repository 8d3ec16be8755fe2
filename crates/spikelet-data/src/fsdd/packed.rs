//! All clips in one file: their audio, or their spikes.

use std::path::Path;

use spikelet_expr::DType;

use super::clips::with_labels;
use super::{CHANNELS, Clips, NAME, SPEAKERS, STEPS};
use crate::error::Result;
use crate::field::Field;
use crate::sample::SampleTensor;
use crate::sequence_files::wrong_arrays;
use crate::sets::{InMemory, read_arrays};

/// The bytes of an array with one number for each clip, each below `limit`.
fn numbers(path: &Path, name: &str, tensor: &SampleTensor<'_>, limit: usize) -> Result<Vec<u8>> {
    let values = tensor.as_u8().filter(|_| tensor.shape.len() == 1);
    let Some(values) = values else {
        let problem = format!(
            "`{name}` is {} of shape {:?}; u8 [clips] is expected",
            tensor.type_name(),
            tensor.shape
        );
        return Err(wrong_arrays(path, problem));
    };
    match values.iter().position(|&value| usize::from(value) >= limit) {
        None => Ok(values.to_vec()),
        Some(at) => {
            let problem = format!(
                "`{name}` of clip {at} is {}; it must be below {limit}",
                values[at]
            );
            Err(wrong_arrays(path, problem))
        }
    }
}

/// The names of the speakers of packed files.
fn speaker_names() -> Vec<String> {
    SPEAKERS.map(String::from).into()
}

/// Reads the audio of `fsdd.safetensors`.
pub(super) fn read_clips(path: &Path) -> Result<Clips> {
    let names = ["audio", "offset", "label", "speaker", "take"];
    let [audio, offset, label, speaker, take] = read_arrays(path, names)?;
    let labels = numbers(path, "label", &label, 10)?;
    let speakers = numbers(path, "speaker", &speaker, SPEAKERS.len())?;
    let takes = numbers(path, "take", &take, 256)?;
    let (Some(audio), Some(offset)) = (audio.as_i64(), offset.as_i64()) else {
        return Err(wrong_arrays(
            path,
            "`audio` is not i16, or `offset` is not i64",
        ));
    };
    let audio = audio.iter().map(|&sample| i16::try_from(sample).ok());
    let audio = audio.collect::<Option<Vec<i16>>>();
    let audio =
        audio.ok_or_else(|| wrong_arrays(path, "`audio` has samples of more than 16 bits"))?;
    let offsets = offset.iter().map(|&offset| usize::try_from(offset).ok());
    let offsets = offsets.collect::<Option<Vec<usize>>>().filter(|offsets| {
        offsets.len() == labels.len() + 1
            && offsets.first() == Some(&0)
            && offsets.last() == Some(&audio.len())
            && offsets.windows(2).all(|ends| ends[0] < ends[1])
    });
    let Some(offsets) = offsets else {
        let problem = "`offset` does not have the increasing positions of the clips in `audio`";
        return Err(wrong_arrays(path, problem));
    };
    if speakers.len() != labels.len() || takes.len() != labels.len() {
        return Err(wrong_arrays(
            path,
            "`label`, `speaker` and `take` have different lengths",
        ));
    }
    Ok(Clips {
        audio,
        offsets,
        labels,
        speakers,
        takes,
        speaker_names: speaker_names(),
    })
}

/// Reads the spikes of `fsdd_bins.npz`.
pub(super) fn read_bins(path: &Path) -> Result<InMemory> {
    let [x, y, speaker, take] = read_arrays(path, ["X", "y", "speaker", "take"])?;
    let labels = numbers(path, "y", &y, 10)?;
    let speakers = numbers(path, "speaker", &speaker, SPEAKERS.len())?;
    let takes = numbers(path, "take", &take, 256)?;
    let clips = labels.len();
    let bins = x.as_u8().filter(|_| x.shape == [clips, STEPS, CHANNELS]);
    let Some(bins) = bins.filter(|_| speakers.len() == clips && takes.len() == clips) else {
        let problem = format!(
            "`X` is {} of shape {:?}; u8 [{clips}, {STEPS}, {CHANNELS}] is expected, and \
                               `speaker` and `take` of {clips} clips",
            x.type_name(),
            x.shape
        );
        return Err(wrong_arrays(path, problem));
    };
    let field = Field::new("x", DType::U8, [STEPS, CHANNELS]).sequence();
    let data = InMemory::new(NAME).with(field, bins)?;
    with_labels(data, [&labels, &speakers, &takes], speaker_names())
}
