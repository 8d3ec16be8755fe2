//! One recording on the command line: a file, or one of a file of many.

use super::Source;
use super::info_audio::AUDIO_SENSOR;
use super::kind::Kind;
use crate::failure::Failure;
use spikelet_events::pack::Pack;
use spikelet_events::{Error, EventBuffer, Sensor, read_spiking_recording, read_undamaged};

/// A recording: an event file, or one of a file of many.
#[derive(clap::Args)]
pub struct RecordingSource {
    #[command(flatten)]
    pub source: Source,

    /// Recording of a pack (.events) or of spiking audio (.h5), from 0 [default: 0]
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
}

/// A recording that was read.
pub struct FoundRecording {
    pub events: EventBuffer,
    /// The size of the sensor, if it is given or the file says it.
    pub sensor: Option<Sensor>,
    pub format: &'static str,
    /// The number of the recording in a file of many.
    pub sample: Option<usize>,
    /// What ended a damaged file.
    pub error: Option<Error>,
}

impl RecordingSource {
    /// Reads the recording.
    pub fn read(&self) -> Result<FoundRecording, Failure> {
        let Source {
            file,
            format,
            sensor,
        } = &self.source;
        let kind = match format {
            Some(_) => Kind::Recording,
            None => Kind::of(file),
        };
        let sample = self.sample.unwrap_or(0);
        let of_many = |events, own, format| FoundRecording {
            events,
            sensor: sensor.or(own),
            format,
            sample: Some(sample),
            error: None,
        };
        Ok(match kind {
            Kind::Folder => {
                return Err(Failure::argument(
                    format!("{} is a folder", file.display()),
                    format!(
                        "name a file in it; `spikelet data info {}` says what it has",
                        file.display()
                    ),
                ));
            }
            Kind::Pack => {
                let pack = Pack::open(file)?;
                let mut events = EventBuffer::default();
                pack.read(sample, &mut events)?;
                of_many(events, pack.info().sensor, "pack")
            }
            Kind::Audio => {
                let events = read_spiking_recording(file, sample)?;
                of_many(events, Some(AUDIO_SENSOR), "hdf5")
            }
            Kind::Recording if self.sample.is_some() => {
                return Err(Failure::argument(
                    format!("{} has one recording", file.display()),
                    "leave --sample out",
                ));
            }
            Kind::Recording => {
                let (recording, error) = read_undamaged(file, &self.source.options())?;
                FoundRecording {
                    events: recording.events,
                    sensor: sensor.or(recording.sensor),
                    format: recording.format.name(),
                    sample: None,
                    error,
                }
            }
        })
    }
}

impl FoundRecording {
    /// `pack, recording 3`
    pub fn origin(&self) -> String {
        match self.sample {
            Some(sample) => format!("{}, recording {sample}", self.format),
            None => self.format.to_string(),
        }
    }
}
