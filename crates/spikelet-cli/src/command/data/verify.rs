//! `spikelet data verify`

use crate::command::{examples, path_text};
use crate::failure::Failure;
use crate::progress::Line;
use serde_json::json;
use spikelet::human::{bytes, thousands};
use spikelet::log::Console;
use spikelet_events::{Checksum, EventSet, VerifyOptions, VerifyProgress};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

/// Check the files of an event data set
///
/// Archives in the folder, or in `download` in it, are compared with their published checksums, the numbers of samples with
/// the published ones, and every recording is read to its end. The exit status is 1 if something is wrong or missing.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet data verify n-mnist data/n-mnist" => "checksums, numbers of samples, all recordings",
    "spikelet data verify n-mnist data/n-mnist --no-recordings" => "without reading the recordings",
])]
pub struct Verify {
    /// Name of the data set
    #[arg(value_name = "NAME")]
    name: String,

    /// Folder of its files
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Do not compute checksums of archives
    #[arg(long)]
    no_checksums: bool,

    /// Do not read the recordings
    #[arg(long)]
    no_recordings: bool,

    /// Number of threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

impl Verify {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let set = EventSet::find(&self.name)?;
        let mut options = VerifyOptions::default();
        options.checksums = !self.no_checksums;
        options.recordings = !self.no_recordings;
        options.threads = self.threads;
        let line = Mutex::new(Line::new(console));
        let shown = |progress: VerifyProgress| {
            // Another thread shows its progress.
            let Ok(mut line) = line.try_lock() else {
                return;
            };
            line.show(|| match progress {
                VerifyProgress::Checksum { file, done, all } => {
                    format!("{file}: {} of {}", bytes(done), bytes(all))
                }
                VerifyProgress::Samples { done, all } => {
                    format!(
                        "{} of {} samples",
                        thousands(done as u64),
                        thousands(all as u64)
                    )
                }
                _ => String::new(),
            });
        };
        let found = set.verify(&self.folder, &options, &shown);
        if let Ok(mut line) = line.into_inner() {
            line.clear();
        }
        let found = found?;
        let archives = found.archives.iter().map(|(archive, sum)| {
            let state = match sum {
                None => "missing",
                Some(Checksum::Right) => "right",
                Some(Checksum::Wrong { .. }) => "wrong",
                Some(_) => "not published",
            };
            json!({ "file": archive.file, "checksum": state })
        });
        let splits = found.splits.iter().map(|(split, samples, published)| {
            json!({ "split": split.name(), "samples": samples, "published": published })
        });
        let recordings = &found.recordings;
        let errors = recordings.errors.iter().map(ToString::to_string);
        console.say_json(&json!({
            "name": set.name, "folder": path_text(&self.folder), "intact": found.is_intact(),
            "layout": found.layout.as_ref().map(ToString::to_string),
            "archives": archives.collect::<Vec<_>>(), "splits": splits.collect::<Vec<_>>(),
            "samples": recordings.samples, "events": recordings.events, "empty": recordings.empty,
            "faults": recordings.faults.to_string(), "damaged": recordings.damaged,
            "errors": errors.collect::<Vec<_>>(),
        }));
        console.say(found.to_string().trim_end());
        Ok(match found.is_intact() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }
}
