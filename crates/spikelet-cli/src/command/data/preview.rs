//! `spikelet data preview`

use super::Source;
use crate::command::{examples, path_text};
use crate::failure::Failure;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::preview::Preview;
use spikelet_events::{Recording, Sensor, read_undamaged};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw a recording: an animation, a sheet of frames, a raster plot
///
/// An SVG of an event camera is an animation, a PNG a sheet of frames; of spiking audio, both are raster plots of time and
/// channels. ON events are blue, OFF events orange. Of a damaged file, the events before the damage are drawn.
#[derive(clap::Args)]
#[command(name = "preview", after_help = examples![
    "spikelet data preview recording.aedat4 --out recording.svg" => "an animation for a browser",
    "spikelet data preview 00002.bin --sensor 34x34 --frames 10 --out digit.png" => "ten frames",
])]
pub struct DrawPreview {
    #[command(flatten)]
    source: Source,

    /// Picture to write: .svg or .png
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Number of frames of equal duration, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 24)]
    frames: u32,
}

impl DrawPreview {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let read = read_undamaged(&self.source.file, &self.source.options());
        let (recording, error) = read?;
        let sensor = sensor_of(&recording, self.source.sensor)?;
        let title = self
            .source
            .file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let preview = Preview {
            title: &title,
            frames: self.frames,
            ..Preview::new(&recording.events, sensor)
        };
        preview.write(&self.out)?;
        console.say_json(&json!({
            "file": path_text(&self.source.file), "out": path_text(&self.out),
            "events": recording.events.len(), "frames": self.frames,
            "error": error.as_ref().map(ToString::to_string),
        }));
        let events = thousands(recording.events.len() as u64);
        console.say(format!("{events} events → {}", self.out.display()));
        match error {
            Some(error) => Err(error.into()),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// The sensor of the header or of the option, or else the smallest that has all events.
fn sensor_of(recording: &Recording, given: Option<Sensor>) -> Result<Sensor, Failure> {
    let events = &recording.events;
    let size = |values: &[u16]| {
        values
            .iter()
            .max()
            .map_or(1, |&largest| u32::from(largest) + 1)
    };
    Ok(given
        .or(recording.sensor)
        .unwrap_or_else(|| Sensor::new(size(&events.x), size(&events.y))))
}
