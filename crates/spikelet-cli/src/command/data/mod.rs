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
use std::process::ExitCode;

pub(super) use output_format::{format_of, writable};
use recording::RecordingSource;
pub(super) use source::{SENSOR_HELP, Source, parse_sensor};

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
