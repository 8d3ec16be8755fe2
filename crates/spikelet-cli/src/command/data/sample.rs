//! `spikelet data sample`

use super::{format_of, writable};
use crate::command::{examples, path_text};
use crate::failure::Failure;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet::schema::{Member, UnknownName};
use spikelet_events::synthetic::{SYNTHETIC_SETS, SyntheticSet};
use spikelet_events::{EventBuffer, EventSet, Format, Sensor, Split, event_sets, write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a sample of an event data set as an event file
///
/// A generated set needs no folder; it has a name of `spikelet train --dataset`, or settings follow its name.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet data sample \"synthetic-gestures size=34\" --index 3 --out gesture.aedat4" => "of a generated set",
    "spikelet data sample n-mnist data/n-mnist --out digit.bin" => "of a set in a folder",
])]
pub struct Sample {
    /// Name of the data set
    #[arg(value_name = "NAME")]
    name: String,

    /// Folder of its files
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Number of the sample among the test samples, or among all if there is no test part
    #[arg(long, value_name = "N", default_value_t = 0)]
    index: usize,

    /// Output file; the format is that of its extension
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Format of the output
    #[arg(long, value_name = "NAME", value_parser = writable)]
    to: Option<Format>,
}

impl Sample {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let format = format_of(self.to, &self.out)?;
        let (events, sensor, label) = self.read()?;
        write(&self.out, format, sensor, &events)?;
        console.say_json(&json!({
            "name": self.name, "index": self.index, "label": label, "events": events.len(),
            "out": path_text(&self.out), "format": format.name(),
        }));
        let label = label.unwrap_or_else(|| "no label".to_string());
        let events = thousands(events.len() as u64);
        console.say(format!("{label}: {events} events → {}", self.out.display()));
        Ok(ExitCode::SUCCESS)
    }

    /// The events, the sensor and the class of the sample.
    fn read(&self) -> Result<(EventBuffer, Sensor, Option<String>), Failure> {
        let outside = |len: usize| {
            Failure::argument(
                format!("{} has no sample {}", self.name, self.index),
                format!("give an --index below {len}"),
            )
        };
        if let Ok(set) = EventSet::find(&self.name) {
            let folder = self.folder.as_ref().ok_or_else(|| {
                let help = format!("spikelet data sample {} DIR --out …", self.name);
                Failure::argument("the folder of the data set is missing", help)
            })?;
            let data = set.open(folder)?;
            let test = data.indices(Split::Test);
            let indices = test.unwrap_or_else(|_| (0..data.samples().len()).collect());
            let index = *indices
                .get(self.index)
                .ok_or_else(|| outside(indices.len()))?;
            let label = data.samples()[index].label;
            let class = label.and_then(|label| data.classes().get(label as usize).cloned());
            return Ok((data.read(index)?, set.sensor, class));
        }
        // Those by which networks are trained have names of their own.
        let listed = || {
            let named = spikelet::data::find(&self.name).ok()?;
            named.events()?.generated().ok().flatten()
        };
        let Some(set) = self
            .name
            .parse::<Member<dyn SyntheticSet>>()
            .ok()
            .or_else(listed)
        else {
            let sets = event_sets().iter().map(|set| set.name);
            return Err(Failure::from(UnknownName {
                family: "event data set",
                given: self.name.clone(),
                known: sets.chain(SYNTHETIC_SETS.names()).collect(),
            }));
        };
        let mut indices = set.indices(Split::Test);
        let len = indices.len();
        let index = indices.nth(self.index).ok_or_else(|| outside(len))?;
        let class = set.classes()[set.label(index) as usize].to_string();
        Ok((set.events(0, index)?, set.sensor(), Some(class)))
    }
}
