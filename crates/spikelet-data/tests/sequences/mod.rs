//! Data sets of sequences by name: splits, files of small generated data, and damaged files.

mod braille;
mod fsdd;
mod pixels;
mod qtdb;

use spikelet_data::{Dataset, SequenceSource, entries};

fn source(name: &str) -> SequenceSource {
    let entries = entries();
    let entry = entries.iter().find(|entry| entry.name == name).unwrap();
    assert!(!entry.is_images() && entry.source().is_none());
    entry.sequences().unwrap()
}

/// The field of integers of one sample.
fn number(data: &dyn Dataset, index: usize, field: &str) -> i64 {
    let sample = data.sample(index).unwrap();
    sample.require(field).unwrap().as_i64().unwrap()[0]
}

/// A safetensors file of `(name, type, shape, bytes)`.
fn safetensors(tensors: &[(&str, &str, Vec<usize>, Vec<u8>)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), vec![]);
    for (name, dtype, shape, bytes) in tensors {
        let begin = data.len();
        data.extend(bytes);
        let info = serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, data.len()]});
        header.insert((*name).into(), info);
    }
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

/// The data folder that `SPIKELET_DATA` names.
fn data_folder() -> std::path::PathBuf {
    std::env::var_os("SPIKELET_DATA")
        .expect("SPIKELET_DATA names a folder")
        .into()
}
