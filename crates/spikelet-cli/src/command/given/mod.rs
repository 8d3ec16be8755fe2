//! Files of one's own as samples of a network: images, recordings of events, sequences.

mod array;
mod convert;
mod find;
mod samples;
mod sequences;

pub use convert::{Converter, Input};
pub use samples::{Labels, label_of};
pub use sequences::SequenceReader;

use super::data::parse_sensor;
use super::trained::{Tested, Trained};
use crate::args::EvaluationArgs;
use crate::failure::Failure;
use spikelet::log::Console;
use spikelet::train::Settings;
use spikelet_events::Sensor;
use std::path::{Path, PathBuf};

/// How files are read.
#[derive(clap::Args, Clone, Debug)]
pub struct ReadingArgs {
    /// Invert the pixels: for dark objects on a light background, where the training images have light
    /// objects on a dark one
    #[arg(long, requires = "files")]
    pub invert: bool,

    /// Width and height of the sensor, such as 346x260 [default: those in the file, or else those of the
    /// training]
    #[arg(long, value_name = "WxH", value_parser = parse_sensor, requires = "files")]
    sensor: Option<Sensor>,

    /// Bring events to the size of the training's sensor
    #[arg(long, requires = "files")]
    resize: bool,
}

/// Files in place of a data set.
#[derive(clap::Args, Clone, Debug)]
pub struct GivenArgs {
    /// Files of your own in place of a data set, as `spikelet predict` reads them: PNG, JPEG or .npy files;
    /// files of events or sequences; or folders of them
    #[arg(value_name = "FILE", conflicts_with_all = ["data", "data_dir", "download", "split", "test_images"])]
    files: Vec<PathBuf>,

    #[command(flatten)]
    reading: ReadingArgs,
}

impl GivenArgs {
    /// A checkpoint with the settings of its evaluation, and the samples of the files, or else the test samples.
    ///
    /// # Errors
    /// As [`Trained::evaluated`]; when a file cannot be read, does not fit the network, or has no label and needs one.
    pub fn evaluated(
        &self,
        evaluation: &EvaluationArgs,
        labels: Labels<'_>,
        console: &Console,
    ) -> Result<(Trained, Settings, Tested), Failure> {
        if self.files.is_empty() {
            return Trained::evaluated(evaluation, console);
        }
        evaluation.checkpoint.say(console);
        let trained = Trained::open(&evaluation.checkpoint, &evaluation.device)?;
        let settings = trained.evaluation_settings(evaluation)?;
        let reader = FileReader::new(&trained, &self.reading)?;
        let tested = samples::read(&reader, &self.files, &trained, labels)?;
        Ok((trained, settings, tested))
    }
}

/// Reads files as samples of a network.
pub enum FileReader {
    Images(Converter),
    Sequences(SequenceReader),
}

impl FileReader {
    /// For the samples on which the network was trained.
    ///
    /// # Errors
    /// When the options are not for such samples, or the frames of the training cannot be read.
    pub fn new(trained: &Trained, args: &ReadingArgs) -> Result<Self, Failure> {
        match SequenceReader::new(trained, args.sensor, args.resize)? {
            Some(_) if args.invert => Err(Failure::argument(
                "the network takes sequences; --invert is for images",
                "leave it out",
            )),
            Some(reader) => Ok(Self::Sequences(reader)),
            None if args.resize || args.sensor.is_some() => Err(Failure::argument(
                "the network takes images; --resize and --sensor are for recordings of events",
                "leave them out: images are resized without an option",
            )),
            None => Ok(Self::Images(Converter {
                shape: trained.image()?,
                invert: args.invert,
            })),
        }
    }

    /// The given files, and those in and below given folders that it reads.
    ///
    /// # Errors
    /// When one does not exist, or a folder has no such files.
    pub fn find(&self, given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        match self {
            Self::Images(_) => find::find(given, "PNG, JPEG or .npy files", find::has_ending),
            Self::Sequences(reader) => {
                find::find(given, &reader.files(), |path| reader.takes(path))
            }
        }
    }

    /// The samples of a file, which are read one after the other.
    ///
    /// # Errors
    /// When the file cannot be read. An iteration fails when a sample does not fit.
    pub fn open<'a>(
        &'a self,
        path: &'a Path,
    ) -> Result<Box<dyn Iterator<Item = Result<Input, Failure>> + 'a>, Failure> {
        match self {
            Self::Images(converter) => converter.open(path),
            Self::Sequences(reader) => Ok(Box::new(std::iter::once(reader.read(path)))),
        }
    }
}
