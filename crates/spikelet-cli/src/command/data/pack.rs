//! `spikelet data pack`

use crate::command::{examples, path_text};
use crate::failure::Failure;
use crate::progress::Line;
use serde_json::json;
use spikelet::files::remove_abandoned;
use spikelet::human::{bytes, thousands};
use spikelet::log::Console;
use spikelet_events::pack::{PackProgress, pack_data_set};
use spikelet_events::{EventSet, Options, recording_folder};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

/// Pack all samples of an event data set into one small file
///
/// The folder has the unpacked files of the set; `folder` stands for recordings of one's own, a folder for each class,
/// of any format. Samples of a pack are read in any order; frames are made of their events.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet data pack n-mnist data/n-mnist --out n-mnist.events" => "a set by its name",
    "spikelet data pack folder recordings --out own.events" => "recordings of one's own",
])]
pub struct Pack {
    /// Name of the data set, or `folder`
    #[arg(value_name = "NAME")]
    name: String,

    /// Folder of its files
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Output file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Number of threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

impl Pack {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        remove_abandoned(&self.out);
        let data = match self.name.as_str() {
            "folder" => recording_folder(&self.folder, &Options::default()),
            _ => EventSet::find(&self.name)?.open(&self.folder),
        };
        let data = data?;
        let one = NonZero::<usize>::MIN;
        let cores = || std::thread::available_parallelism().unwrap_or(one);
        let threads = NonZero::new(self.threads).unwrap_or_else(cores);
        let mut line = Line::new(console);
        let mut last = PackProgress::default();
        let packed = pack_data_set(&data, &self.out, threads, |progress| {
            line.show(|| format!("{} of {} samples", progress.samples, progress.of));
            last = progress;
        });
        line.clear();
        packed?;
        console.say_json(&json!({
            "name": data.name(), "out": path_text(&self.out), "samples": last.samples,
            "events": last.events, "bytes": last.bytes,
        }));
        console.say(format!(
            "{} samples, {} events, {} → {}",
            thousands(last.samples as u64),
            thousands(last.events),
            bytes(last.bytes),
            self.out.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}
