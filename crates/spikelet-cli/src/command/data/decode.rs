//! `spikelet data decode`

use super::RecordingSource;
use crate::command::{examples, path_text, same_file};
use crate::failure::Failure;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use serde_json::json;
use spikelet::files::{remove_abandoned, write_atomically};
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::EventBuffer;
use std::path::PathBuf;
use std::process::ExitCode;

/// Decode an event file into tensors
///
/// The result is a safetensors file with the columns `t` (microseconds, i64), `x` and `y` (u16) and `p` (u8, 1: ON).
/// Of a damaged file, the events before the damage are written; the exit status is 1 then. Of a pack or of spiking audio, one
/// recording is written.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet data decode recording.aedat4 --out events.safetensors" => "the format is that of the content",
    "spikelet data decode 00002.bin --format atis5 --sensor 34x34 --out events.safetensors" => "a given format and sensor",
])]
pub struct Decode {
    #[command(flatten)]
    recording: RecordingSource,

    /// Output file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Decode {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let file = &self.recording.source.file;
        if same_file(file, &self.out) {
            return Err(Failure::argument(
                format!("--out {} is the event file itself", self.out.display()),
                "give another file for the tensors",
            ));
        }
        remove_abandoned(&self.out);
        let recording = self.recording.read()?;
        write_atomically(&self.out, &tensors(&recording.events)?).map_err(spikelet::Error::from)?;
        console.say_json(&json!({
            "file": path_text(file), "out": path_text(&self.out),
            "format": recording.format, "sample": recording.sample,
            "events": recording.events.len(),
            "error": recording.error.as_ref().map(ToString::to_string),
        }));
        let events = thousands(recording.events.len() as u64);
        console.say(format!(
            "{events} events of {} → {}",
            recording.origin(),
            self.out.display()
        ));
        match recording.error {
            Some(error) => Err(error.into()),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// A safetensors file of the columns.
fn tensors(events: &EventBuffer) -> Result<Vec<u8>, Failure> {
    let t: Vec<u8> = events.t.iter().flat_map(|t| t.to_le_bytes()).collect();
    let [x, y]: [Vec<u8>; 2] = [&events.x, &events.y].map(|column| {
        column
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    });
    let columns: [(&str, Dtype, &[u8]); 4] = [
        ("t", Dtype::I64, &t),
        ("x", Dtype::U16, &x),
        ("y", Dtype::U16, &y),
        ("p", Dtype::U8, &events.p),
    ];
    let views = columns.into_iter().map(|(name, dtype, bytes)| {
        let view = TensorView::new(dtype, vec![events.len()], bytes)?;
        Ok((name, view))
    });
    let file = views
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()
        .and_then(|views| serialize(views, None));
    Ok(file.map_err(spikelet::Error::other)?)
}
