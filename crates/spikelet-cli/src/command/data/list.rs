//! `spikelet data list`

use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::log::Console;
use spikelet_events::event_sets;
use std::process::ExitCode;

/// List the event data sets that are known by name
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet data list" => "names, sensors, classes and pages",
    "spikelet data list --json" => "with licences and layouts",
])]
pub struct List {}

impl List {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let mut table = Table::new(&["name", "sensor", "splits", "classes", "page"]).right(&[3]);
        for set in event_sets() {
            let splits: Vec<&str> = set.splits.iter().map(|split| split.name()).collect();
            console.say_json(&json!({
                "name": set.name, "title": set.title, "classes": set.classes,
                "width": set.sensor.width, "height": set.sensor.height, "splits": splits,
                "layout": set.layout, "page": set.page, "licence": set.licence,
            }));
            let classes = match set.classes.len() {
                0 => String::new(),
                count => count.to_string(),
            };
            table.row([
                set.name.to_string(),
                set.sensor.to_string(),
                splits.join(", "),
                classes,
                set.page.to_string(),
            ]);
        }
        say_table(console, &table);
        console
            .say(console.dim("\nwhat to download, and where to put it: spikelet data info NAME"));
        Ok(ExitCode::SUCCESS)
    }
}
