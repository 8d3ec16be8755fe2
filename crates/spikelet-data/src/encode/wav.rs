//! WAV files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use hound::{SampleFormat, WavReader};

use super::EncodeError;
use crate::error::{Error, Result};

/// A recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Wav {
    /// Samples a second.
    pub sample_rate: u32,
    /// The number of channels, at least 1.
    pub channels: usize,
    /// The samples, `[T, channels]`; integers are scaled to −1 … 1.
    pub samples: Vec<f32>,
}

/// Reads a WAV file: integer samples of up to 32 bits, divided by 2 to the power of bits − 1, or float samples of 32 bits.
/// Integers of up to 24 bits are exact.
///
/// ```
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("7_george_0.wav");
/// # let spec = hound::WavSpec { channels: 1, sample_rate: 8000, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
/// # let mut writer = hound::WavWriter::create(&path, spec).expect("a file");
/// # [0_i16, 16384, -8192].into_iter().for_each(|x| writer.write_sample(x).expect("a sample"));
/// # writer.finalize().expect("a file");
/// let wav = spikelet_data::encode::read_wav(&path)?;
/// assert_eq!((wav.sample_rate, wav.channels), (8000, 1));
/// assert_eq!(wav.samples, [0.0, 0.5, -0.25]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::Open`]; [`Error::Read`]; [`EncodeError::Wav`] if it is not a WAV file, ends early, or has another kind of
/// samples.
pub fn read_wav(path: impl AsRef<Path>) -> Result<Wav> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|source| Error::Open {
        path: path.into(),
        source,
    })?;
    let error = |problem: hound::Error| match problem {
        // The library reports a file that ends early as an error of this kind, without a number of the system.
        hound::Error::IoError(source) if source.raw_os_error().is_some() => Error::Read {
            path: path.into(),
            source,
        },
        problem => EncodeError::Wav {
            path: path.into(),
            problem: problem.to_string(),
        }
        .into(),
    };
    let mut reader = WavReader::new(BufReader::new(file)).map_err(error)?;
    let spec = reader.spec();
    if spec.channels == 0 || spec.sample_rate == 0 || spec.bits_per_sample == 0 {
        return Err(EncodeError::Wav {
            path: path.into(),
            problem: format!(
                "{} channels, {} samples a second, {} bits a sample",
                spec.channels, spec.sample_rate, spec.bits_per_sample
            ),
        }
        .into());
    }
    // Grows with the samples that are there: the length in the header may be wrong.
    let mut samples = Vec::new();
    match spec.sample_format {
        SampleFormat::Float => {
            for sample in reader.samples::<f32>() {
                samples.push(sample.map_err(error)?);
            }
        }
        SampleFormat::Int => {
            let scale = 0.5_f64.powi(i32::from(spec.bits_per_sample) - 1);
            for sample in reader.samples::<i32>() {
                samples.push((f64::from(sample.map_err(error)?) * scale) as f32);
            }
        }
    }
    Ok(Wav {
        sample_rate: spec.sample_rate,
        channels: spec.channels.into(),
        samples,
    })
}
