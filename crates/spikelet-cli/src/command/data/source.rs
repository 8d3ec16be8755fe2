//! An event file on the command line.

use crate::failure::Failure;
use spikelet_events::{EventReader, Format, Options, Sensor, open};
use std::path::PathBuf;

/// An event file, and what it does not say itself.
#[derive(clap::Args)]
pub struct Source {
    /// Event file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Format of the file [default: by content, then by the extension]
    #[arg(long, value_name = "NAME", value_parser = Format::find)]
    pub format: Option<Format>,

    /// Width and height of the sensor, such as 346x260 [default: the header's]; events outside are errors
    #[arg(long, value_name = "WxH", value_parser = parse_sensor)]
    pub sensor: Option<Sensor>,
}

impl Source {
    pub fn options(&self) -> Options {
        Options {
            format: self.format,
            sensor: self.sensor,
            ..Options::default()
        }
    }

    /// Opens the file.
    pub fn open(&self) -> Result<EventReader, Failure> {
        Ok(open(&self.file, &self.options())?)
    }
}

/// The help where the size of a sensor is not known.
pub const SENSOR_HELP: &str = "give its width and height, such as --sensor 346x260";

/// `346x260`
pub fn parse_sensor(text: &str) -> Result<Sensor, String> {
    let sizes = text.split_once('x').and_then(|(width, height)| {
        let size = |text: &str| {
            text.parse::<u32>()
                .ok()
                .filter(|size| (1..=1 << 16).contains(size))
        };
        Some(Sensor::new(size(width)?, size(height)?))
    });
    sizes.ok_or_else(|| "write the width and the height in pixels, such as 346x260".to_string())
}
