//! `spikelet data info` of a folder: the data set in it, or the files that it has.

use super::info_pack::{samples_text, splits_of};
use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::log::Console;
use spikelet_events::{ErrorKind, EventDataset, Options, event_sets, recording_folder};
use std::path::Path;
use std::process::ExitCode;

/// The samples of the first event data set whose layout the folder has, or of own recordings.
pub fn say_folder(console: &Console, folder: &Path) -> Result<ExitCode, Failure> {
    let (title, name, data) = find(folder)?;
    let samples = data.samples();
    let splits = splits_of(samples.iter().map(|sample| sample.split));
    let sensor = data.sensor();
    let counts = splits.iter();
    let counts = counts.map(|(split, count)| json!({"split": split.name(), "samples": count}));
    console.say_json(&json!({
        "file": path_text(folder), "format": "folder", "name": name,
        "width": sensor.map(|s| s.width), "height": sensor.map(|s| s.height),
        "recordings": samples.len(), "splits": counts.collect::<Vec<_>>(),
        "labels": data.classes().len(),
    }));
    let mut table = Table::new(&["", ""]);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("data set", title.to_string());
    let in_files = || "that of each recording".to_string();
    row("sensor", sensor.map_or_else(in_files, |s| s.to_string()));
    row("recordings", samples_text(&splits));
    row("labels", data.classes().len().to_string());
    say_table(console, &table);
    let next = match name {
        "folder" => format!("spikelet data pack folder {}", folder.display()),
        name => format!("spikelet data verify {name} {}", folder.display()),
    };
    console.say(console.dim(format!("\nread all of it: {next}")));
    Ok(ExitCode::SUCCESS)
}

fn find(folder: &Path) -> Result<(&'static str, &'static str, EventDataset), Failure> {
    for set in event_sets() {
        match set.open(folder) {
            Ok(data) => return Ok((set.title, set.name, data)),
            Err(error) if matches!(*error.kind, ErrorKind::Layout { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match recording_folder(folder, &Options::default()) {
        Ok(data) => Ok(("own recordings, a folder for each class", "folder", data)),
        Err(error) => match &*error.kind {
            ErrorKind::Layout { found, .. } => Err(Failure::other(
                format!(
                    "{}: the folder has no event data set and no recordings in folders of classes; it has {found}",
                    folder.display()
                ),
                "name an event file, or a folder that is laid out as `spikelet data info NAME` says; names: spikelet data list",
            )),
            _ => Err(error.into()),
        },
    }
}
