//! Readers survive any bytes.

use crate::common::{self, mutation::survives};
use spikelet_weights::{WeightOptions, Weights};

fn tensor_bytes(bytes: Vec<u8>) -> usize {
    let weights = Weights::from_bytes(bytes, &WeightOptions::default());
    let weights = weights.unwrap_or_default();
    weights.iter().map(|(_, tensor)| tensor.bytes().len()).sum()
}

#[test]
fn mutated_weights_are_read_or_refused() {
    let endings = [".pt", ".pth", ".ckpt", ".tar", ".safetensors"];
    let mut files = common::files("weights", &endings);
    files.extend(common::files("hostile", &endings));
    files.retain(|(name, _)| !name.starts_with("zip_bomb") && !name.starts_with("deep"));
    survives(files, tensor_bytes);
}

#[test]
fn mutated_pickles_in_valid_archives_are_read_or_refused() {
    // Checksums find every change of a record: it is changed before the archive is made.
    let mut files = common::files("weights", &[".pt", ".pth", ".ckpt"]);
    files.extend(common::files("hostile", &[".pt"]));
    files.retain(|(name, bytes)| {
        bytes.starts_with(b"PK\x03\x04") && !name.contains("zip") && !name.starts_with("deep")
    });
    for (name, file) in files {
        let members = common::members(&file);
        let pickles = members
            .iter()
            .filter(|(name, _)| name.ends_with("data.pkl"));
        let pickles = pickles.map(|(record, bytes)| (format!("{name}, {record}"), bytes.clone()));
        survives(pickles.take(1).collect(), |pickle| {
            let replaced = |(name, bytes): &(String, Vec<u8>)| match name.ends_with("data.pkl") {
                true => (name.clone(), pickle.clone()),
                false => (name.clone(), bytes.clone()),
            };
            let members: Vec<(String, Vec<u8>)> = members.iter().map(replaced).collect();
            let members: Vec<(&str, Vec<u8>)> = members
                .iter()
                .map(|(name, bytes)| (name.as_str(), bytes.clone()))
                .collect();
            tensor_bytes(common::archive(&members)).saturating_sub(1100 * file.len())
        });
    }
}
