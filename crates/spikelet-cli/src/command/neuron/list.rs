//! `spikelet neuron list`

use crate::args::{defaults, value};
use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Map, Value, json};
use spikelet::DefinitionError;
use spikelet::log::Console;
use spikelet::neuron::{self, Common, NEURONS, trainables};
use std::process::ExitCode;

/// List all neurons with their constants
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet neuron list" => "a table",
    "spikelet neuron list --json" => "as JSON, with all defaults",
])]
pub struct List {}

impl List {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let shared = shared_constants();
        let mut table = Table::new(&["name", "what it is", "constants"]);
        for (name, summary) in NEURONS.summaries() {
            let defaults = defaults(&NEURONS, name)?;
            let wrong = |error: DefinitionError| {
                Failure::other(
                    error.to_string(),
                    "the defaults of a neuron must be usable; please report this",
                )
            };
            let made = neuron::from_spec(&name.into()).map_err(wrong)?;
            let learned = trainables(&*made).map_err(wrong)?;
            console.say_json(&json!({
                "name": name,
                "summary": summary,
                "constants": defaults,
                "states": made.states().iter().map(|s| s.name).collect::<Vec<_>>(),
                "trainable": learned.iter().map(|l| &l.name).collect::<Vec<_>>(),
                "output_kind": made.output_kind(),
            }));
            let own: Map<String, Value> = defaults
                .into_iter()
                .filter(|(key, value)| shared.get(key) != Some(value))
                .collect();
            table.row([name.to_string(), summary, value::list(&own)]);
        }
        say_table(console, &table);
        let mut shared = shared;
        // Constants are not trainable by default.
        shared.remove("trainable");
        console.say_wrapped(format!("\nall neurons: {}", value::list(&shared)));
        console.say_wrapped(console.dim(MEANINGS));
        console.say(console.dim("equations: spikelet neuron show NAME"));
        Ok(ExitCode::SUCCESS)
    }
}

/// Constants of all neurons in words.
const MEANINGS: &str = "\
fire_on: the potential that is compared with the threshold: charged, with the input of this step, or previous
resets: whether the potential is reset after a spike
strict: whether a spike needs a potential above the threshold, not one that only reaches it";

/// The constants of all neurons.
fn shared_constants() -> Map<String, Value> {
    match json!(Common::default()) {
        Value::Object(constants) => constants,
        _ => Map::new(),
    }
}
