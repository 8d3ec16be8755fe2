//! Fuzz targets: a function and a corpus of valid inputs for each reader of untrusted bytes, and one that reads bytes as a
//! graph and compares its plans with and without each pass.
//!
//! `tools/fuzz` mutates the valid inputs and runs the targets ([`mutate`], the program of this crate);
//! `fuzz/` has them for cargo-fuzz. A target fails if it panics or exceeds the limits of time or memory;
//! errors are expected.

pub mod mutate;
mod targets;

use spikelet::schema::{UnknownName, named};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A reader of bytes.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line and in `fuzz/`.
    pub name: &'static str,
    /// The valid inputs.
    pub corpus: fn(&Path) -> Vec<Vec<u8>>,
    /// Reads an input. The folder is for temporary files.
    pub run: fn(&[u8], &Path),
}

/// All targets.
pub static TARGETS: [Target; 25] = targets::ALL;

impl Target {
    /// The target of this name.
    ///
    /// # Errors
    /// When no target has this name; the error names the closest one.
    pub fn find(name: &str) -> Result<&'static Target, UnknownName> {
        named("target", name, &TARGETS, |target| target.name)
    }
}

/// The folder of this process for the files of targets, in memory if the system has such a file system.
pub fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let memory = PathBuf::from("/dev/shm");
        let parent = match memory.is_dir() {
            true => memory,
            false => std::env::temp_dir(),
        };
        let folder = parent.join(format!("spikelet-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for files can be made");
        folder
    });
    &FOLDER
}

/// Runs a target once, for cargo-fuzz.
///
/// # Panics
/// When the target fails or its name is unknown.
pub fn once(name: &str, bytes: &[u8]) {
    let target = Target::find(name).expect("a target of this name");
    (target.run)(bytes, folder());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::Mutator;

    #[test]
    fn every_target_reads_its_corpus_and_some_mutations_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for target in &TARGETS {
            let corpus = (target.corpus)(folder.path());
            assert!(!corpus.is_empty(), "{}", target.name);
            for input in &corpus {
                (target.run)(input, folder.path());
            }
            let mutator = Mutator::new(target.name, &corpus, 1);
            for number in 0..20 {
                (target.run)(&mutator.input(number), folder.path());
            }
        }
    }

    #[test]
    fn each_target_is_there_for_cargo_fuzz() {
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
        let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("a manifest");
        for target in &TARGETS {
            let path = format!("fuzz_targets/{}.rs", target.name);
            assert!(manifest.contains(&path), "{path} in fuzz/Cargo.toml");
            let text = std::fs::read_to_string(fuzz.join(&path)).expect("a file");
            assert!(
                text.contains(&format!("once(\"{}\"", target.name)),
                "{path}"
            );
        }
    }
}
