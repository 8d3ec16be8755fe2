//! Readers of NIR graphs and of weights.

use flate2::Crc;
use flate2::read::GzDecoder;
use spikelet_nir::{Graph, WriteOptions};
use spikelet_weights::{Limits, WeightOptions, Weights};
use std::io::Read;
use std::path::Path;

/// The files of a folder of the tests of a crate, decompressed.
fn files(of: &str, folder: &str) -> Vec<Vec<u8>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(crates.join(of).join("tests/fixtures").join(folder))
        .expect("the tests' files");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let file = |path: &std::path::PathBuf| {
        let stored = std::fs::read(path).expect("a file");
        let mut bytes = vec![];
        match path.extension().is_some_and(|end| end == "gz") {
            true => GzDecoder::new(&stored[..]).read_to_end(&mut bytes).ok(),
            false => None,
        }
        .map_or(stored, |_| bytes)
    };
    paths.iter().map(file).collect()
}

/// Graphs of the Python package and of frameworks.
pub(super) fn graph_corpus(_: &Path) -> Vec<Vec<u8>> {
    let mut graphs = files("spikelet-nir", "golden");
    graphs.retain(|file| file.starts_with(b"\x89HDF"));
    graphs
}

/// Reads a graph, checks it, and writes it if it is valid.
pub(super) fn graph(bytes: &[u8], _: &Path) {
    if let Ok(graph) = Graph::from_bytes(bytes.to_vec(), &Limits::default()) {
        let _ = graph.check();
        let _ = graph.expand();
        if let Ok(written) = graph.to_bytes(&WriteOptions::default()) {
            let again = Graph::from_bytes(written, &Limits::default());
            assert!(
                again.is_ok(),
                "a graph that was written is refused: {again:?}"
            );
        }
    }
}

/// Weights of all formats, and pickles without the archive around them, whose checksum would find every change.
pub(super) fn weights_corpus(_: &Path) -> Vec<Vec<u8>> {
    let mut files = files("spikelet-weights", "weights");
    let is_pickle = |window: &[u8]| window == b"data.pkl";
    let pickles: Vec<Vec<u8>> = files
        .iter()
        .filter(|file| file.starts_with(b"PK\x03\x04"))
        .filter_map(|file| {
            // The first record of torch.save: the pickle is behind its name and the field that aligns it.
            let name = file.windows(8).position(is_pickle)?;
            let start = file[name..]
                .windows(2)
                .position(|bytes| bytes == b"\x80\x02")?
                + name;
            let end = file[start..]
                .windows(4)
                .position(|bytes| bytes == b"PK\x07\x08")?
                + start;
            Some(file[start..end].to_vec())
        })
        .collect();
    files.extend(pickles);
    files
}

/// Reads weights; a pickle also as that of an archive.
pub(super) fn weights(bytes: &[u8], _: &Path) {
    let options = WeightOptions::default();
    let _ = Weights::from_bytes(bytes.to_vec(), &options);
    if bytes.starts_with(b"\x80") {
        let storage = vec![0; 64];
        let records = [
            ("a/data.pkl", bytes),
            ("a/data/0", &storage),
            ("a/data/1", &storage[..16]),
        ];
        let _ = Weights::from_bytes(archive(&records), &options);
    }
}

/// A zip archive of stored records.
fn archive(records: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (vec![], vec![]);
    for (name, bytes) in records {
        let mut crc = Crc::new();
        crc.update(bytes);
        let len = (bytes.len() as u32).to_le_bytes();
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        fields.extend([crc.sum().to_le_bytes(), len, len].concat());
        fields.extend((name.len() as u32).to_le_bytes());
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(name.bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&fields);
        out.extend(name.bytes());
        out.extend(*bytes);
    }
    let end = (directory.len() as u32, out.len() as u32);
    let count = (records.len() as u16).to_le_bytes();
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count, count].concat());
    out.extend([end.0.to_le_bytes(), end.1.to_le_bytes()].concat());
    out.extend([0; 2]);
    out
}
