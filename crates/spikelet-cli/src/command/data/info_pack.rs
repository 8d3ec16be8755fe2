//! `spikelet data info` of a pack of recordings.

use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::Split;
use spikelet_events::pack::Pack;
use std::path::Path;
use std::process::ExitCode;

/// The samples of each split that has some: `train 60,000, test 10,000`.
pub fn splits_of(splits: impl Iterator<Item = Split> + Clone) -> Vec<(Split, usize)> {
    let all = [Split::Train, Split::Valid, Split::Test, Split::All];
    let count = |split| splits.clone().filter(|own| *own == split).count();
    let counts = all.map(|split| (split, count(split)));
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// The row of the samples.
pub fn samples_text(splits: &[(Split, usize)]) -> String {
    let each = splits.iter().map(|&(split, count)| match split {
        Split::All => thousands(count as u64),
        split => format!("{split} {}", thousands(count as u64)),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The data set and the samples of a pack.
pub fn say_pack(console: &Console, file: &Path) -> Result<ExitCode, Failure> {
    let pack = Pack::open(file)?;
    let info = pack.info();
    let samples = pack.samples();
    let splits = splits_of(samples.iter().map(|sample| sample.info.split));
    let events: u64 = samples.iter().map(|sample| sample.events).sum();
    let counts = splits.iter();
    let counts = counts.map(|(split, count)| json!({"split": split.name(), "samples": count}));
    console.say_json(&json!({
        "file": path_text(file), "format": "pack", "name": info.name,
        "width": info.sensor.map(|s| s.width), "height": info.sensor.map(|s| s.height),
        "recordings": samples.len(), "splits": counts.collect::<Vec<_>>(),
        "labels": info.classes.len(), "events": events,
    }));
    let mut table = Table::new(&["", ""]);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("format", "pack".to_string());
    row("data set", info.name.escape_debug().to_string());
    let unknown = || "not known".to_string();
    row(
        "sensor",
        info.sensor.map_or_else(unknown, |s| s.to_string()),
    );
    row("recordings", samples_text(&splits));
    row("labels", info.classes.len().to_string());
    row("events", thousands(events));
    say_table(console, &table);
    Ok(ExitCode::SUCCESS)
}
