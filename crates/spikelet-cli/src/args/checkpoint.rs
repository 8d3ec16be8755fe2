//! A checkpoint on the command line: a file, or the folder of a run.

use clap::builder::{OsStringValueParser, TypedValueParser};
use spikelet::log::Console;
use spikelet::train::run::checkpoint_file;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The path of a file. Of the folder of a run it is its `best.safetensors`, or else its `last.safetensors`.
#[derive(Clone, Debug)]
pub struct CheckpointPath {
    file: PathBuf,
    /// Whether a folder was given.
    found: bool,
}

impl CheckpointPath {
    /// The parser of an argument.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        OsStringValueParser::new().try_map(|text| {
            let given = Path::new(&text);
            let file = checkpoint_file(given).map_err(|error| error.to_string())?;
            let found = file != given;
            Ok::<_, String>(Self { file, found })
        })
    }

    /// Says which file was found in a folder.
    pub fn say(&self, console: &Console) {
        if self.found {
            console.say(console.dim(format!("checkpoint: {}", self.file.display())));
        }
    }
}

impl AsRef<Path> for CheckpointPath {
    fn as_ref(&self) -> &Path {
        &self.file
    }
}

impl Deref for CheckpointPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.file
    }
}
