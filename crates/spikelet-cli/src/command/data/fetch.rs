//! `spikelet data fetch`

use super::set_of;
use crate::command::{examples, path_text};
use crate::failure::Failure;
use crate::progress::Line;
use serde_json::json;
use spikelet::data::Progress;
use spikelet::data::download::fetch_large;
use spikelet::human::bytes;
use spikelet::log::{Console, Output};
use std::path::PathBuf;
use std::process::ExitCode;

/// Download and unpack the files of an event data set
///
/// Archives are downloaded into DIR/download, compared with their published checksums, and unpacked into DIR. An archive
/// that is there is not downloaded again. Data sets whose files programs may not download say where to get them.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet data fetch n-mnist" => "into data/n-mnist",
    "spikelet data fetch shd --mirror http://localhost:8000/" => "from a server that has the same files",
])]
pub struct Fetch {
    /// Name of the data set, see `spikelet data list`
    #[arg(value_name = "NAME")]
    name: String,

    /// Folder of the files [default: data/NAME]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Address to which the names of the files are appended [default: the published addresses]
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
}

impl Fetch {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let set = set_of(&self.name)?;
        let folder = self
            .folder
            .unwrap_or_else(|| PathBuf::from("data").join(set.name));
        let archives = match &self.mirror {
            Some(_) => set
                .downloads
                .iter()
                .filter(|archive| archive.is_needed)
                .collect(),
            None => set.archives()?,
        };
        let shown = match console.output() == Output::Text {
            true => Progress::Bar,
            false => Progress::Quiet,
        };
        for archive in archives {
            let url = match (&self.mirror, archive.url) {
                (Some(mirror), _) => format!("{}/{}", mirror.trim_end_matches('/'), archive.file),
                (None, url) => url.unwrap_or_default().to_string(),
            };
            let path = fetch_large(archive.file, &[url], &folder.join("download"), shown);
            let path = path.map_err(spikelet::Error::other)?;
            let mut line = Line::new(console);
            let unpacked = set.unpack(&path, &folder, &mut |done, all| {
                line.show(|| format!("{}: {} of {}", archive.file, bytes(done), bytes(all)));
            });
            line.clear();
            let unpacked = unpacked?;
            console.say_json(&json!({
                "name": set.name, "file": archive.file, "folder": path_text(&folder),
                "files": unpacked.files, "bytes": unpacked.bytes,
            }));
            console.say(format!(
                "{}: {} files, {} → {}",
                archive.file,
                unpacked.files,
                bytes(unpacked.bytes),
                folder.display()
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
