//! FSDD, the Free Spoken Digit Dataset: English digits by six speakers, 8 kHz, 16 bits.
//!
//! [`load`] gives the clips as spikes of 140 channels, 100 steps of 10 ms; [`read_clips`] reads the audio.
//!
//! | field | type | shape | batch | |
//! |---|---|---|---|---|
//! | `x` of [`load`] | u8 | `[100, 140]` | `[100, N, 140]` | numbers of spikes, channel 0 is the lowest frequency |
//! | `audio` of [`Clips::audio`] | f32 | `[samples]` | `[samples, N]` | −1 … 1, padded with 0; `audio_length` |
//! | `labels` | i64 | `[]` | `[N]` | the digit |
//! | `speaker` | i64 | `[]` | `[N]` | in alphabetical order |
//! | `take` | i64 | `[]` | `[N]` | 0 … 49 |
//!
//! | split | test | validation | training |
//! |---|---|---|---|
//! | [`Division::Takes`], `takes` | takes below 5, the data set's own rule | takes from 40 on | the others |
//! | [`Division::HeldOut`], `held-out-NAME` | all clips of one speaker | takes from 40 on of the others | takes below 40 of the others |
//! | [`Division::HeldOutPair`], `held-out-NAME-validated-by-OTHER` | all clips of one speaker | all clips of another | all clips of the others |
//!
//! Only the last two measure the accuracy on voices that training has not heard. Settings that are chosen for new voices
//! are chosen by the validation accuracies of the last one.
//!
//! Source: Z. Jackson et al., <https://github.com/Jakobovski/free-spoken-digit-dataset> (CC BY-SA 4.0).

mod clips;
mod encode;
mod packed;
mod wav;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use spikelet_expr::DType;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::named::Origin;
use crate::progress::Progress;
use crate::sequence_files::{SampleFiles, SequenceFiles, find_file, folders};
use crate::sets::Subset;
use crate::split::Split;

pub use clips::{Clip, Clips};

pub(crate) const ENTRY: SequenceFiles = SequenceFiles {
    name: "fsdd",
    summary: "Spoken digits by six speakers, as spikes of 140 channels",
    title: NAME,
    origin: Origin::Files,
    dtype: DType::U8,
    shape: [STEPS, CHANNELS],
    unlabeled: None,
    classes: digits,
    splits,
    writes_into: |folder| !is_encoded_in(folder),
    sample_files: Some(SampleFiles {
        endings: &["wav"],
        read: encode::encode_file,
    }),
    read: |options| {
        let division = division_of(options.split.as_deref().unwrap_or(TAKES));
        load_showing(&options.folder, &division, options.progress)
    },
};

/// Samples of a second of audio.
pub const SAMPLE_RATE: u32 = 8000;

const NAME: &str = "FSDD";

/// The speakers of the packed files, in their order.
const SPEAKERS: [&str; 6] = ["george", "jackson", "lucas", "nicolas", "theo", "yweweler"];

/// The name of the split by takes, and the start of the names of the others.
const TAKES: &str = "takes";
const HELD_OUT: &str = "held-out-";
const VALIDATED_BY: &str = "-validated-by-";

/// The first take that is not for testing, and the first for validation.
const TEST_TAKES: i64 = 5;
const VALIDATION_TAKES: i64 = 40;

const STEPS: usize = 100;
const CHANNELS: usize = 140;

/// The files, in the order of the search in each folder.
const PACKED: [&str; 2] = ["fsdd.safetensors", "fsdd.safetensors.xz"];
const BINS: [&str; 1] = ["fsdd_bins.npz"];

const HELP: &str =
    "get the folder `recordings` of https://github.com/Jakobovski/free-spoken-digit-dataset";

/// The names of the splits.
fn splits() -> Vec<String> {
    let held_out = SPEAKERS.map(|speaker| format!("{HELD_OUT}{speaker}"));
    let pairs = SPEAKERS.iter().flat_map(|test| {
        let others = SPEAKERS.iter().filter(move |other| *other != test);
        others.map(move |other| format!("{HELD_OUT}{test}{VALIDATED_BY}{other}"))
    });
    let splits = [TAKES.to_string()].into_iter().chain(held_out).chain(pairs);
    splits.collect()
}

/// The division of the split of this name.
fn division_of(split: &str) -> Division {
    match split.strip_prefix(HELD_OUT) {
        Some(speakers) => match speakers.split_once(VALIDATED_BY) {
            Some((test, validation)) => Division::HeldOutPair {
                test: test.into(),
                validation: validation.into(),
            },
            None => Division::HeldOut(speakers.into()),
        },
        None => Division::Takes,
    }
}

/// The names of the classes.
fn digits() -> Vec<String> {
    (0..10).map(|digit| digit.to_string()).collect()
}

/// A division of the clips into training, validation and test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Division {
    /// By takes: the same speakers in all parts.
    Takes,
    /// The clips of this speaker are the test part.
    HeldOut(String),
    /// The clips of a speaker are the test part, those of another speaker the validation part.
    HeldOutPair {
        /// The speaker of the test part.
        test: String,
        /// The speaker of the validation part.
        validation: String,
    },
}

/// The folders that are searched in the data folder.
fn searched(dir: &Path) -> Vec<PathBuf> {
    folders(
        dir,
        &[
            "fsdd",
            "fsdd/recordings",
            "free-spoken-digit-dataset/recordings",
            "",
        ],
    )
}

/// The clips as spikes, divided.
///
/// The clips of [`read_clips`] are encoded by a [`Cochlea`](crate::encode::Cochlea) on all cores, a minute or two, and the
/// spikes are kept beside them in `fsdd_spikes.bin`, which later starts read: it is used only if it belongs to these clips
/// and this encoder and is undamaged. If the data folder has `fsdd_bins.npz`, the spikes are read from it instead: `X` u8
/// `[clips, 100, 140]`, `y` (the digit), `take` and `speaker`, u8 `[clips]`.
///
/// # Errors
/// As [`read_clips`] and [`divide`].
pub fn load(dir: impl AsRef<Path>, division: &Division) -> Result<Split> {
    load_showing(dir, division, Progress::Quiet)
}

/// Whether the spikes are in the data folder `dir`, so that no audio is encoded.
pub(crate) fn is_encoded_in(dir: &Path) -> bool {
    let folders = searched(dir);
    find_file(&folders, &BINS).is_some() || find_file(&folders, &[encode::CACHE]).is_some()
}

/// As [`load`], with a bar for the encoding.
///
/// # Errors
/// As [`load`].
pub fn load_showing(
    dir: impl AsRef<Path>,
    division: &Division,
    progress: Progress,
) -> Result<Split> {
    let folders = searched(dir.as_ref());
    let spikes = match find_file(&folders, &BINS) {
        Some(path) => packed::read_bins(&path)?,
        None => {
            let (clips, folder) = find_clips(folders)?;
            encode::encode(&clips, &folder.join(encode::CACHE), progress)?
        }
    };
    divide(Arc::new(spikes), division)
}

/// Reads the audio of all clips: WAV files `{digit}_{speaker}_{take}.wav` as the data set has them, or the tensors
/// `audio` i16, `offset` i64, `label`, `speaker` and `take` u8 of `fsdd.safetensors` or `fsdd.safetensors.xz`, of which
/// clip i is `audio[offset[i] .. offset[i + 1]]`.
///
/// The folders `fsdd`, `fsdd/recordings`, `free-spoken-digit-dataset/recordings` and the data folder itself are
/// searched; the first with one of these is read. Clips are in the order of takes, speakers and digits.
///
/// ```no_run
/// use spikelet_data::fsdd;
///
/// let clips = fsdd::read_clips("data")?;
/// let clip = clips.clip(0).expect("there are clips");
/// assert_eq!((clip.label, clip.take), (0, 0));
/// let split = fsdd::divide(std::sync::Arc::new(clips.audio()?), &fsdd::Division::HeldOut("theo".into()))?;
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoFiles`]; [`Error::Open`], [`Error::Read`] or [`Error::Format`] if a file cannot be read or is damaged, or
/// is not mono, 16 bits and 8 kHz.
pub fn read_clips(dir: impl AsRef<Path>) -> Result<Clips> {
    Ok(find_clips(searched(dir.as_ref()))?.0)
}

/// The clips, and the folder in which they were found.
fn find_clips(folders: Vec<PathBuf>) -> Result<(Clips, PathBuf)> {
    for folder in &folders {
        let files = wav::find(folder)?;
        if !files.is_empty() {
            return Ok((wav::read(files)?, folder.clone()));
        }
        if let Some(path) = find_file(std::slice::from_ref(folder), &PACKED) {
            return Ok((packed::read_clips(&path)?, folder.clone()));
        }
    }
    let wav = "`{digit}_{speaker}_{take}.wav`".to_string();
    Err(no_files(
        vec![wav, PACKED[0].into(), PACKED[1].into()],
        folders,
    ))
}

fn no_files(files: Vec<String>, searched: Vec<PathBuf>) -> Error {
    Error::NoFiles {
        dataset: NAME.into(),
        files,
        searched,
        help: HELP,
    }
}

/// Divides clips, which have the fields `take` and `speaker`, into training, validation and test.
///
/// # Errors
/// [`Error::UnknownSplit`] if there is no such speaker; [`Error::Division`] if training or test would be empty;
/// [`Error::Tensor`] if the data set does not have these fields. An empty validation part is `None`.
pub fn divide(clips: Arc<dyn Dataset>, division: &Division) -> Result<Split> {
    let speaker = |name: &String| speaker_of(&*clips, name).map(Some);
    let [held_out, validating] = match division {
        Division::Takes => [None, None],
        Division::HeldOut(name) => [speaker(name)?, None],
        Division::HeldOutPair { test, validation } => [speaker(test)?, speaker(validation)?],
    };
    let [mut train, mut validation, mut test] = [vec![], vec![], vec![]];
    for index in 0..clips.len() {
        let sample = clips.sample(index)?;
        let number = |field: &str| -> Result<i64> {
            let values = sample.require(field)?.as_i64();
            Ok(values
                .and_then(|values| values.first().copied())
                .unwrap_or(-1))
        };
        let take = number("take")?;
        let is_test = match held_out {
            Some(held_out) => number("speaker")? == held_out,
            None => take < TEST_TAKES,
        };
        let validates = match validating {
            Some(validating) => number("speaker")? == validating,
            None => take >= VALIDATION_TAKES,
        };
        match (is_test, validates) {
            (true, _) => test.push(index),
            (false, true) => validation.push(index),
            (false, false) => train.push(index),
        }
    }
    if train.is_empty() || test.is_empty() {
        return Err(Error::Division {
            dataset: clips.name().into(),
            len: clips.len(),
            given: format!("{} training and {} test clips", train.len(), test.len()),
        });
    }
    let part = |indices: Vec<usize>| -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(Subset::new(clips.clone(), indices)?))
    };
    let validation = (!validation.is_empty()).then(|| part(validation));
    Ok(Split::new(part(train)?, part(test)?).with_validation(validation.transpose()?))
}

/// The index of a speaker.
fn speaker_of(clips: &dyn Dataset, name: &str) -> Result<i64> {
    let names = clips.class_names("speaker");
    let at = names.iter().position(|known| known == name);
    at.map(|at| at as i64).ok_or_else(|| Error::UnknownSplit {
        dataset: clips.name().into(),
        given: format!("{HELD_OUT}{name}"),
        known: names
            .iter()
            .map(|name| format!("{HELD_OUT}{name}"))
            .collect(),
    })
}
