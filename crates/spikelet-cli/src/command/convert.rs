//! `spikelet convert`

use super::data::{Source, format_of, parse_sensor, writable};
use super::{examples, path_text, same_file};
use crate::failure::Failure;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::{EventBuffer, EventWriter, Format, Sensor, WriteOptions};
use std::path::PathBuf;
use std::process::ExitCode;

/// Convert an event file to another format
///
/// The file is read and written in blocks, so that it may be larger than memory. The format of the output is that of its
/// extension, or of `--to`.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet convert recording.aedat4 recording.npz" => "for SpikingJelly",
    "spikelet convert recording.bin recording.raw --to evt3 --sensor 34x34" => "a format without an extension of its own",
])]
pub struct Convert {
    #[command(flatten)]
    source: Source,

    /// Output file
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// Format of the output [default: by its extension]
    #[arg(long, value_name = "NAME", value_parser = writable)]
    to: Option<Format>,

    /// Size of the sensor of the output [default: the input's]
    #[arg(long, value_name = "WxH", value_parser = parse_sensor)]
    out_sensor: Option<Sensor>,
}

impl Convert {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if same_file(&self.source.file, &self.out) {
            return Err(Failure::argument(
                format!("{} is both the input and the output", self.out.display()),
                "give another file for the output",
            ));
        }
        let to = format_of(self.to, &self.out)?;
        let mut reader = self.source.open()?;
        let mut block = EventBuffer::default();
        // The first block decodes the header, which has the sensor.
        let mut more = reader.read_block(&mut block)?;
        let sensor = self.out_sensor.or(reader.sensor()).ok_or_else(|| {
            Failure::argument(
                format!(
                    "{} does not say the size of its sensor",
                    self.source.file.display()
                ),
                "give it: --sensor 34x34",
            )
        })?;
        let options = WriteOptions::new(to, sensor);
        let created = EventWriter::create(&self.out, &options);
        let mut writer = created?;
        let mut events = 0;
        loop {
            writer.write(&block)?;
            events += block.len() as u64;
            block.clear();
            if !more {
                break;
            }
            more = reader.read_block(&mut block)?;
        }
        writer.finish()?;
        console.say_json(&json!({
            "file": path_text(&self.source.file), "out": path_text(&self.out),
            "from": reader.format().name(), "to": to.name(), "events": events,
        }));
        console.say(format!(
            "{} events, {} → {to} in {}",
            thousands(events),
            reader.format(),
            self.out.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}
