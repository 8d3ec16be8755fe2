//! An event file is read and written in blocks, so that it may be larger than memory.

use super::{Convert, OutputFormat};
use crate::command::data::{SENSOR_HELP, Source, format_of};
use crate::command::path_text;
use crate::failure::Failure;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::{EventBuffer, EventWriter, WriteOptions};

impl Convert {
    pub(super) fn events(&self, console: &Console) -> Result<(), Failure> {
        let given = match self.to {
            Some(OutputFormat::Events(format)) => Some(format),
            None => None,
            Some(_) => {
                return Err(Failure::argument(
                    format!("{} holds no graph and no weights", self.file().display()),
                    "give --to with a format of events: spikelet data --help",
                ));
            }
        };
        let source = Source {
            file: self.file().to_path_buf(),
            format: self.format,
            sensor: self.sensor,
        };
        let to = format_of(given, &self.out)?;
        let mut reader = source.open()?;
        let mut block = EventBuffer::default();
        // The first block decodes the header, which has the sensor.
        let mut more = reader.read_block(&mut block)?;
        let sensor = self.out_sensor.or(reader.sensor()).ok_or_else(|| {
            Failure::argument(
                format!(
                    "{} does not say the size of its sensor",
                    self.file().display()
                ),
                SENSOR_HELP,
            )
        })?;
        let options = WriteOptions::new(to, sensor);
        let created = EventWriter::create(&self.out, &options);
        let mut writer = created?;
        let mut events = 0;
        let first = block.t.first().copied().filter(|_| self.from_zero);
        loop {
            if let Some(first) = first {
                // Times before the first event, of a file that is not in order, become negative.
                block
                    .t
                    .iter_mut()
                    .for_each(|t| *t = t.saturating_sub(first));
            }
            writer.write(&block)?;
            events += block.len() as u64;
            block.clear();
            if !more {
                break;
            }
            more = reader.read_block(&mut block)?;
        }
        writer.finish()?;
        if let Some(first) = first {
            console.say(format!("times are {first} µs earlier"));
        }
        console.say_json(&json!({
            "file": path_text(self.file()), "out": path_text(&self.out),
            "from": reader.format().name(), "to": to.name(), "events": events,
            "earlier": first.unwrap_or(0),
        }));
        console.say(format!(
            "{} events, {} → {to} in {}",
            thousands(events),
            reader.format(),
            self.out.display()
        ));
        Ok(())
    }
}
