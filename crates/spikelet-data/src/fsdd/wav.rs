//! WAV files as the data set has them: `7_theo_12.wav`.

use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavReader, WavSpec};

use super::{Clips, SAMPLE_RATE};
use crate::error::{Error, Result};

/// The longest clip: a minute. The data set's own are at most 2.3 s.
const MAX_SAMPLES: u32 = 60 * SAMPLE_RATE;

/// The file of a clip.
#[derive(Debug)]
pub(super) struct File {
    take: u8,
    speaker: String,
    digit: u8,
    path: PathBuf,
}

/// The clip of a file name; `None` for other files.
fn parse(path: PathBuf) -> Option<File> {
    let mut parts = path.file_name()?.to_str()?.strip_suffix(".wav")?.split('_');
    let (digit, speaker, take) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || speaker.is_empty() || !is_number(digit) || !is_number(take) {
        return None;
    }
    let digit = digit.parse().ok().filter(|&digit| digit < 10)?;
    Some(File {
        take: take.parse().ok()?,
        speaker: speaker.to_owned(),
        digit,
        path,
    })
}

/// The clips in a folder, in the order of takes, speakers and digits; none if there is no folder.
pub(super) fn find(folder: &Path) -> Result<Vec<File>> {
    let open = |source| Error::Open {
        path: folder.to_owned(),
        source,
    };
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut files = vec![];
    for entry in folder.read_dir().map_err(open)? {
        files.extend(parse(entry.map_err(open)?.path()).filter(|file| file.path.is_file()));
    }
    files.sort_by(|a, b| (a.take, &a.speaker, a.digit).cmp(&(b.take, &b.speaker, b.digit)));
    Ok(files)
}

/// Reads these files.
pub(super) fn read(files: Vec<File>) -> Result<Clips> {
    let mut names: Vec<String> = files.iter().map(|file| file.speaker.clone()).collect();
    names.sort();
    names.dedup();
    let mut clips = Clips {
        audio: vec![],
        offsets: vec![0],
        labels: vec![],
        speakers: vec![],
        takes: vec![],
        speaker_names: names,
    };
    for file in files {
        append(&file.path, &mut clips.audio)?;
        let speaker = clips.speaker_names.binary_search(&file.speaker).ok();
        let speaker = speaker
            .and_then(|at| u8::try_from(at).ok())
            .ok_or_else(|| {
                let problem = format!(
                    "there are {} speakers, more than 256",
                    clips.speaker_names.len()
                );
                wrong(&file.path, problem)
            })?;
        clips.offsets.push(clips.audio.len());
        clips.labels.push(file.digit);
        clips.speakers.push(speaker);
        clips.takes.push(file.take);
    }
    Ok(clips)
}

fn wrong(path: &Path, problem: String) -> Error {
    Error::Format {
        path: path.to_owned(),
        offset: 0,
        problem,
        help: "the clips of FSDD are WAV files of 8,000 Hz, 1 channel, 16 bits; get the file again",
    }
}

/// Appends the samples of a file.
pub(super) fn append(path: &Path, audio: &mut Vec<i16>) -> Result<()> {
    let failed = |error: hound::Error| match error {
        hound::Error::IoError(source) => Error::Read {
            path: path.to_owned(),
            source,
        },
        error => wrong(path, error.to_string()),
    };
    let mut reader = WavReader::open(path).map_err(failed)?;
    let spec = reader.spec();
    let expected = WavSpec {
        channels: 1,
        sample_rate: SAMPLE_RATE,
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };
    if spec != expected {
        let problem = format!(
            "{} Hz, {} channels, {} bits ({:?})",
            spec.sample_rate, spec.channels, spec.bits_per_sample, spec.sample_format
        );
        return Err(wrong(path, problem));
    }
    let samples = reader.len();
    if samples == 0 || samples > MAX_SAMPLES {
        return Err(wrong(
            path,
            format!("{samples} samples; 1 to {MAX_SAMPLES} are expected"),
        ));
    }
    for sample in reader.samples::<i16>() {
        audio.push(sample.map_err(failed)?);
    }
    Ok(())
}
