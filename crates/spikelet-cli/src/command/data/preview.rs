//! `spikelet data preview`

use super::RecordingSource;
use crate::command::{examples, path_text};
use crate::failure::Failure;
use serde_json::json;
use spikelet::files::remove_abandoned;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::preview::Preview;
use spikelet_events::{EventBuffer, Sensor};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw a recording: an animation, a sheet of frames, a raster plot
///
/// An SVG of an event camera is an animation, a PNG a sheet of frames; of spiking audio, both are raster plots of time and
/// channels. ON events are blue, OFF events orange. Of a damaged file, the events before the damage are drawn; of a pack or
/// of spiking audio, one recording.
#[derive(clap::Args)]
#[command(name = "preview", after_help = examples![
    "spikelet data preview recording.aedat4 --out recording.svg" => "an animation for a browser",
    "spikelet data preview 00002.bin --sensor 34x34 --frames 10 --out digit.png" => "ten frames",
    "spikelet data preview shd_train.h5 --sample 5 --out word.svg" => "a recording of spiking audio",
])]
pub struct DrawPreview {
    #[command(flatten)]
    recording: RecordingSource,

    /// Picture to write: .svg or .png
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Number of frames of equal duration, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 24)]
    frames: u32,
}

impl DrawPreview {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let recording = self.recording.read()?;
        let events = &recording.events;
        let sensor = recording.sensor.unwrap_or_else(|| smallest(events));
        let file = &self.recording.source.file;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let title = match recording.sample {
            Some(sample) => format!("{name}, recording {sample}"),
            None => name.into_owned(),
        };
        let preview = Preview {
            title: &title,
            frames: self.frames,
            ..Preview::new(events, sensor)
        };
        remove_abandoned(&self.out);
        preview.write(&self.out)?;
        console.say_json(&json!({
            "file": path_text(file), "out": path_text(&self.out), "sample": recording.sample,
            "events": events.len(), "frames": self.frames,
            "error": recording.error.as_ref().map(ToString::to_string),
        }));
        console.say(format!(
            "{} events of {} → {}",
            thousands(events.len() as u64),
            recording.origin(),
            self.out.display()
        ));
        match recording.error {
            Some(error) => Err(error.into()),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// The smallest sensor that has all events.
fn smallest(events: &EventBuffer) -> Sensor {
    let size = |values: &[u16]| {
        let largest = values.iter().max();
        largest.map_or(1, |&largest| u32::from(largest) + 1)
    };
    Sensor::new(size(&events.x), size(&events.y))
}
