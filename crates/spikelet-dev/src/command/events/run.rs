//! `spikelet-dev events run`

use crate::events::Kind;
use serde_json::{Value, json};
use spikelet::files::create_folder;
use spikelet::log::Console;
use spikelet_cli::command::{examples, path_text};
use spikelet_cli::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compute the items of a manifest
///
/// The folder of the manifest says what the items are: formats, corrupt, frames, transforms or datasets; their paths are
/// relative to the folder above. For each item, `<id>.safetensors` (data sets: `<name>.json`) is written, `<id>.error`
/// with the text of the error, or both where a part could be read. An item that fails does not stop the others.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev events run --manifest formats/MANIFEST.json --out ours" => "events of files of each format",
    "spikelet-dev events run --manifest frames/MANIFEST.json --out ours" => "frames of events",
])]
pub struct Run {
    /// Manifest of the items
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,

    /// Output folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Run {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let path = std::path::absolute(&self.manifest)
            .map_err(|error| self.wrong(error, "give the path of a manifest"))?;
        let kind = Kind::of(&path).ok_or_else(|| {
            self.wrong(
                "its folder does not say what the items are",
                &format!("the folder is named as one of {}", Kind::NAMES),
            )
        })?;
        let help = "give a manifest as written beside the files";
        let text = std::fs::read_to_string(&path).map_err(|error| self.wrong(error, help))?;
        let manifest: Value =
            serde_json::from_str(&text).map_err(|error| self.wrong(error, help))?;
        let above = path.parent().and_then(Path::parent);
        let items = kind.items(&manifest, above.unwrap_or(Path::new("")).to_path_buf());
        let items = items.map_err(|error| self.wrong(error, help))?;
        create_folder(&self.out).map_err(spikelet::Error::from)?;
        let mut errors = 0;
        for item in &items {
            let output = kind.run(item);
            errors += usize::from(output.is_error());
            output.write(&self.out, &item.id)?;
        }
        console.say_json(&json!({
            "manifest": path_text(&self.manifest), "out": path_text(&self.out),
            "items": items.len(), "errors": errors,
        }));
        console.say(format!(
            "{} items, {errors} of them with an error, in {}",
            items.len(),
            self.out.display()
        ));
        Ok(ExitCode::SUCCESS)
    }

    fn wrong(&self, problem: impl std::fmt::Display, help: &str) -> Failure {
        Failure::argument(
            format!("--manifest {}: {problem}", self.manifest.display()),
            help,
        )
    }
}
