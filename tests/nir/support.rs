//! The graphs and traces that the tests read.

use flate2::read::GzDecoder;
use spikelet::nir::{Graph, Limits};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file of the crate that reads graphs.
fn fixture(folder: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = format!("{name}.nir.gz");
    root.join("crates/spikelet-nir/tests/fixtures")
        .join(folder)
        .join(file)
}

/// The bytes of a graph in `golden` or `bad`.
pub fn bytes(folder: &str, name: &str) -> Vec<u8> {
    let path = fixture(folder, name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = vec![];
    GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .expect("a gzip file");
    bytes
}

/// A reference graph.
pub fn graph(name: &str) -> Graph {
    let read = Graph::from_bytes(bytes("golden", name), &Limits::default());
    read.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of all reference graphs that can be read.
pub fn golden_names() -> Vec<String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/spikelet-nir/tests/fixtures/golden");
    let entries = std::fs::read_dir(root).expect("the folder of graphs");
    let names = entries.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    let names = names.filter_map(|name| Some(name.strip_suffix(".nir.gz")?.to_string()));
    let readable =
        |name: &String| Graph::from_bytes(bytes("golden", name), &Limits::default()).is_ok();
    let mut names: Vec<String> = names.filter(readable).collect();
    names.sort_unstable();
    names
}
