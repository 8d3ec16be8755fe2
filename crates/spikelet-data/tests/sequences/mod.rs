//! Data sets of sequences by name: splits, files of small generated data, and damaged files.

mod braille;
mod fsdd;
mod pixels;
mod qtdb;

use spikelet_data::{DataOptions, Dataset, Result, Split, Unlabeled, find};
use std::path::Path;

/// A split of a data set by name; the default one for `None`.
fn load(name: &str, folder: impl AsRef<Path>, split: Option<&str>) -> Result<Split> {
    find(name)?.load(&DataOptions {
        folder: folder.as_ref().into(),
        split: split.map(String::from),
        ..DataOptions::default()
    })
}

/// The shape of `x`, and whether each time step has a label, as they are known before files are read.
fn known(name: &str) -> (Vec<Option<usize>>, Option<Unlabeled>) {
    let fields = find(name).unwrap().fields(&DataOptions::default()).unwrap();
    let [x, labels] = &fields[..] else {
        panic!("{name}: {} fields", fields.len());
    };
    assert_eq!((&*x.name, &*labels.name), ("x", "labels"));
    (x.shape.clone(), labels.unlabeled)
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
