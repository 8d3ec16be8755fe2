//! `spikelet surrogate list`

use crate::args::value;
use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::log::Console;
use spikelet::surrogate;
use std::process::ExitCode;

/// List all surrogates with their constants
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet surrogate list" => "a table",
    "spikelet surrogate list --json" => "as JSON",
])]
pub struct List {}

impl List {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let mut table = Table::new(&["name", "what it is", "constants"]);
        for entry in surrogate::entries() {
            let defaults = (entry.defaults)();
            table.row([
                entry.name.to_string(),
                entry.summary.to_string(),
                value::list(&defaults),
            ]);
            console.say_json(
                &json!({"name": entry.name, "summary": entry.summary, "constants": defaults}),
            );
        }
        say_table(console, &table);
        console.say(console.dim("\nformulas: spikelet surrogate show NAME"));
        Ok(ExitCode::SUCCESS)
    }
}
