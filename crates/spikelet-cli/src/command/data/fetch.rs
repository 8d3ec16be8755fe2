//! `spikelet data fetch`

use crate::command::{examples, path_text};
use crate::failure::Failure;
use crate::progress::Line;
use serde_json::json;
use spikelet::data::Progress;
use spikelet::data::download::fetch_large;
use spikelet::files::remove_abandoned;
use spikelet::human::bytes;
use spikelet::log::{Console, Output};
use spikelet::problem_and_help;
use spikelet_events::{ErrorKind, EventSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Download and unpack the files of an event data set
///
/// Archives are downloaded into DIR/download, compared with their published checksums, and unpacked into DIR. An archive
/// that is there is not downloaded again; one with another checksum is renamed to NAME.wrong, so that the next command
/// downloads it. A download that was interrupted is resumed if the server can. Data sets whose files programs may not download say where to get them.
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
        let set = EventSet::find(&self.name)?;
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
            let download = folder.join("download");
            remove_abandoned(&folder.join(archive.file));
            remove_abandoned(&download.join(archive.file));
            let path = fetch_large(archive.file, &[url], &download, shown);
            let path = path.map_err(spikelet::Error::other)?;
            let mut line = Line::new(console);
            let unpacked = set.unpack(&path, &folder, &mut |done, all| {
                line.show(|| format!("{}: {} of {}", archive.file, bytes(done), bytes(all)));
            });
            line.clear();
            let unpacked = unpacked.map_err(|error| set_aside(error, &path))?;
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

/// The failure of an archive. One with a wrong checksum is renamed: it would be taken for the downloaded archive.
fn set_aside(error: spikelet_events::Error, archive: &Path) -> Failure {
    if !matches!(*error.kind, ErrorKind::Checksum { .. }) {
        return error.into();
    }
    let mut name = archive.as_os_str().to_os_string();
    name.push(".wrong");
    let text = error.to_string();
    let (problem, _) = problem_and_help(&text);
    match std::fs::rename(archive, &name) {
        Ok(()) => Failure::other(
            problem,
            format!(
                "run the command again to download it anew; the file is now {}",
                Path::new(&name).display()
            ),
        ),
        Err(_) => Failure::other(
            problem,
            format!("remove {}, and run the command again", archive.display()),
        ),
    }
}
