//! `spikelet surrogate list`

use crate::args::{defaults, value};
use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::log::Console;
use spikelet::surrogate::SURROGATES;
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
        for (name, summary) in SURROGATES.summaries() {
            let defaults = defaults(&SURROGATES, name)?;
            console.say_json(&json!({"name": name, "summary": summary, "constants": defaults}));
            table.row([name.to_string(), summary, value::list(&defaults)]);
        }
        say_table(console, &table);
        console.say(console.dim("\nformulas: spikelet surrogate show NAME"));
        Ok(ExitCode::SUCCESS)
    }
}
