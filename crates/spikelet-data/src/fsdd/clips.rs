//! The audio of all clips.

use std::fmt;

use spikelet_expr::DType;

use super::{NAME, digits};
use crate::encode::pcm16;
use crate::error::Result;
use crate::field::Field;
use crate::sets::InMemory;

/// The audio of all clips, with digit, speaker and take, in the order of takes, speakers and digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Clips {
    /// The samples of all clips, one clip after the other.
    pub(super) audio: Vec<i16>,
    /// The position of each clip in `audio`, and the end of the last one.
    pub(super) offsets: Vec<usize>,
    pub(super) labels: Vec<u8>,
    pub(super) speakers: Vec<u8>,
    pub(super) takes: Vec<u8>,
    pub(super) speaker_names: Vec<String>,
}

/// One clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clip<'a> {
    /// The samples, 8,000 a second.
    pub audio: &'a [i16],
    /// The digit.
    pub label: u8,
    /// The index of the speaker in [`Clips::speaker_names`].
    pub speaker: u8,
    /// The number of the recording of this digit by this speaker.
    pub take: u8,
}

impl fmt::Debug for Clips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clips")
            .field("len", &self.len())
            .field("samples", &self.audio.len())
            .field("speaker_names", &self.speaker_names)
            .finish_non_exhaustive()
    }
}

impl Clips {
    /// The number of clips.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no clips.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Clip `index`; `None` past the end.
    #[must_use]
    pub fn clip(&self, index: usize) -> Option<Clip<'_>> {
        let &label = self.labels.get(index)?;
        Some(Clip {
            audio: self.audio_of(index),
            label,
            speaker: self.speakers[index],
            take: self.takes[index],
        })
    }

    /// The samples of clip `index`, which must exist.
    pub(super) fn audio_of(&self, index: usize) -> &[i16] {
        &self.audio[self.offsets[index]..self.offsets[index + 1]]
    }

    /// The names of the speakers.
    #[must_use]
    pub fn speaker_names(&self) -> &[String] {
        &self.speaker_names
    }

    /// The audio as a data set: `audio` f32 `[samples]` of −1 … 1, `labels`, `speaker` and `take`.
    ///
    /// # Errors
    /// [`Error::Column`](crate::Error::Column), which does not occur with the clips of a file.
    pub fn audio(&self) -> Result<InMemory> {
        let audio = pcm16(&self.audio);
        let lengths: Vec<usize> = self
            .offsets
            .windows(2)
            .map(|ends| ends[1] - ends[0])
            .collect();
        let field = Field::new("audio", DType::F32, [0]);
        let field = field.sequence().variable_axis(0).pad(0.0);
        let data = InMemory::new(NAME).with_lengths(field, audio, &lengths)?;
        with_labels(
            data,
            [&self.labels, &self.speakers, &self.takes],
            self.speaker_names.clone(),
        )
    }
}

/// Adds the fields `labels`, `speaker` and `take`.
pub(super) fn with_labels(
    data: InMemory,
    [labels, speakers, takes]: [&[u8]; 3],
    speaker_names: Vec<String>,
) -> Result<InMemory> {
    let numbers = |values: &[u8]| values.iter().map(|&v| i64::from(v)).collect::<Vec<i64>>();
    let field = |name: &str| Field::new(name, DType::I64, []);
    Ok(data
        .with(field("labels"), numbers(labels))?
        .with(field("speaker"), numbers(speakers))?
        .with(field("take"), numbers(takes))?
        .classes("labels", digits())
        .classes("speaker", speaker_names))
}
