//! `spikelet data …`

mod decode;
mod fetch;
mod info;
mod info_audio;
mod info_folder;
mod info_pack;
mod kind;
mod list;
mod output_format;
mod pack;
mod preview;
mod recording;
mod sample;
mod source;
mod verify;

use crate::command::examples;
use crate::failure::Failure;
use spikelet::log::Console;
use spikelet_events::{EventSet, event_sets};
use std::process::ExitCode;

pub(super) use output_format::{format_of, writable};
use recording::RecordingSource;
pub(super) use source::{Source, parse_format, parse_sensor};

/// Event files and event data sets: list, inspect, fetch, draw, decode, pack
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet data list" => "the event data sets, with their sensors and pages",
    "spikelet data info recording.aedat4" => "events, duration, rate and faults of a file",
    "spikelet data decode recording.bin --out events.safetensors" => "the columns t, x, y, p",
    "spikelet data pack n-mnist data/n-mnist --out n-mnist.events" => "all samples in one small file",
])]
pub enum Command {
    List(list::List),
    Info(info::Info),
    Fetch(fetch::Fetch),
    Verify(verify::Verify),
    Preview(preview::DrawPreview),
    Decode(decode::Decode),
    Pack(pack::Pack),
    Sample(sample::Sample),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::List(command) => command.run(console),
            Self::Info(command) => command.run(console),
            Self::Fetch(command) => command.run(console),
            Self::Verify(command) => command.run(console),
            Self::Preview(command) => command.run(console),
            Self::Decode(command) => command.run(console),
            Self::Pack(command) => command.run(console),
            Self::Sample(command) => command.run(console),
        }
    }
}

/// The names of the event data sets.
fn set_names() -> String {
    let names: Vec<&str> = event_sets().iter().map(|set| set.name).collect();
    names.join(", ")
}

/// The event data set of this name.
fn set_of(name: &str) -> Result<&'static EventSet, Failure> {
    EventSet::by_name(name).ok_or_else(|| {
        Failure::argument(
            format!("there is no event data set `{name}`"),
            format!("give one of {}", set_names()),
        )
    })
}
