//! `spikelet data info`

use super::Source;
use super::info_audio::{decreases_text, say_audio};
use super::info_folder::say_folder;
use super::info_pack::say_pack;
use super::kind::Kind;
use crate::command::{examples, path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::{EventBuffer, EventSet};
use std::process::ExitCode;

/// Show what an event file, a pack, spiking audio, a folder or an event data set has
///
/// An event file is read to its end, in blocks. The rate is that of the time from the earliest to the latest event. Packs
/// (.events) and HDF5 files of spiking audio (.h5) have many recordings. Of a folder, the data set is named whose layout it has.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet data info recording.raw" => "events, duration, rate and faults of a file",
    "spikelet data info 00002.bin --sensor 34x34" => "and check that events are on the sensor",
    "spikelet data info shd_train.h5" => "recordings, spikes and speakers of spiking audio",
    "spikelet data info n-mnist.events" => "samples and classes of a pack",
    "spikelet data info data/n-mnist" => "the data set that a folder has",
    "spikelet data info dvs128-gesture" => "files, page, licence and layout of a data set",
])]
pub struct Info {
    #[command(flatten)]
    source: Source,

    /// Number of classes of spiking audio; larger labels are errors [default: the file's, or 35 of SSC, 20 of SHD]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    classes: Option<i64>,
}

/// What was counted in a file.
struct Counts {
    events: u64,
    on: u64,
    /// The earliest and the latest time.
    span: Option<[i64; 2]>,
    last: i64,
    decreases: u64,
    largest: [u16; 2],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            events: 0,
            on: 0,
            span: None,
            last: i64::MIN,
            decreases: 0,
            largest: [0; 2],
        }
    }
}

impl Counts {
    fn add(&mut self, block: &EventBuffer) {
        for &t in &block.t {
            let [first, end] = self.span.get_or_insert([t; 2]);
            [*first, *end] = [t.min(*first), t.max(*end)];
            self.decreases += u64::from(t < self.last);
            self.last = t;
        }
        self.events += block.len() as u64;
        self.on += block.p.iter().map(|&p| u64::from(p)).sum::<u64>();
        for (largest, values) in self.largest.iter_mut().zip([&block.x, &block.y]) {
            *largest = values.iter().copied().fold(*largest, u16::max);
        }
    }
}

impl Info {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let name = self.source.file.to_str();
        match name.and_then(|name| EventSet::find(name).ok()) {
            Some(set) if !self.source.file.exists() => say_set(console, set),
            _ if self.source.format.is_some() => self.say_file(console),
            _ => match Kind::of(&self.source.file) {
                Kind::Recording => self.say_file(console),
                Kind::Pack => say_pack(console, &self.source.file),
                Kind::Audio => say_audio(console, &self.source.file, self.classes),
                Kind::Folder => say_folder(console, &self.source.file),
            },
        }
    }

    fn say_file(&self, console: &Console) -> Result<ExitCode, Failure> {
        let mut reader = self.source.open()?;
        let (mut block, mut counts) = (EventBuffer::default(), Counts::default());
        let end = loop {
            let read = reader.read_block(&mut block);
            // What is whole was given before an error.
            counts.add(&block);
            block.clear();
            match read {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error),
            }
        };
        let seconds = counts
            .span
            .map_or(0.0, |[first, end]| end.saturating_sub(first) as f64 * 1e-6);
        let rate = (seconds > 0.0).then(|| counts.events as f64 / seconds);
        let sensor = reader.sensor();
        let faults = reader.faults().to_string();
        console.say_json(&json!({
            "file": path_text(&self.source.file), "format": reader.format().name(),
            "width": sensor.map(|s| s.width), "height": sensor.map(|s| s.height),
            "events": counts.events, "on": counts.on, "seconds": seconds, "rate": rate,
            "largest_x": counts.largest[0], "largest_y": counts.largest[1],
            "times_decrease": counts.decreases, "faults": faults,
            "error": end.as_ref().map(ToString::to_string),
        }));
        let mut table = Table::without_head();
        let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
        row("format", reader.format().to_string());
        let unknown = "not in the file; give --sensor".to_string();
        row(
            "sensor",
            sensor.map_or(unknown, |sensor| sensor.to_string()),
        );
        row("events", thousands(counts.events));
        if counts.events > 0 {
            let share = 100.0 * counts.on as f64 / counts.events as f64;
            row("ON", format!("{share:.1} %"));
            row("duration", format!("{seconds:.6} s"));
            row(
                "largest",
                format!("x {}, y {}", counts.largest[0], counts.largest[1]),
            );
        }
        if let Some(rate) = rate {
            row("rate", format!("{} events/s", thousands(rate as u64)));
        }
        if counts.decreases > 0 {
            row("order", decreases_text(counts.decreases));
        }
        if !faults.is_empty() {
            row("faults", faults);
        }
        say_table(console, &table);
        match end {
            Some(error) => Err(error.into()),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

/// What to download for a data set, and where to put it.
fn say_set(console: &Console, set: &EventSet) -> Result<ExitCode, Failure> {
    let downloads = set.downloads.iter();
    let files: Vec<_> = downloads
        .map(|file| json!({ "file": file.file, "url": file.url, "md5": file.md5 }))
        .collect();
    let splits: Vec<&str> = set.splits.iter().map(|split| split.name()).collect();
    console.say_json(&json!({
        "name": set.name, "title": set.title, "classes": set.classes,
        "width": set.sensor.width, "height": set.sensor.height, "splits": splits,
        "layout": set.layout, "page": set.page, "licence": set.licence, "downloads": files,
    }));
    let mut table = Table::without_head();
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("name", set.title.to_string());
    row("sensor", set.sensor.to_string());
    row("splits", splits.join(", "));
    if !set.classes.is_empty() {
        row("classes", set.classes.len().to_string());
    }
    row("page", set.page.to_string());
    row("licence", set.licence.to_string());
    row("layout", set.layout.to_string());
    for file in set.downloads {
        let md5 = file.md5.map_or(String::new(), |md5| format!(", MD5 {md5}"));
        row("file", format!("{}{md5}", file.url.unwrap_or(file.file)));
    }
    say_table(console, &table);
    Ok(ExitCode::SUCCESS)
}
