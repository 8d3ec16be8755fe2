//! Sequences in array files.

use crate::failure::Failure;
use spikelet::data::{self, ArrayFiles, Dataset};
use spikelet::graph::Tensor;
use std::path::Path;

/// The array of a .npy file, or the array `name` of a .npz or .safetensors file, or its only one, as f32.
///
/// # Errors
/// When the file cannot be read, has another ending or several other arrays.
pub fn read_sequences(path: &Path, name: &str) -> Result<Tensor, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let open = |names: &[&str]| -> data::Result<ArrayFiles> {
        match ending {
            Some("npz") => ArrayFiles::npz(path, names),
            _ => ArrayFiles::safetensors(path, names),
        }
    };
    let file = match ending {
        Some("npy") => ArrayFiles::npy(name, [(name, path)]),
        Some("npz" | "safetensors") => open(&[name]).or_else(|_| open(&[])),
        _ => {
            return Err(Failure::argument(
                format!(
                    "{}: the ending is that of no file of arrays",
                    path.display()
                ),
                "give a .npy, .npz or .safetensors file",
            ));
        }
    };
    let file = file.map_err(spikelet::Error::from)?;
    let fields = file.fields();
    let [field] = &fields[..] else {
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        return Err(Failure::other(
            format!("{}: it has the arrays {}", path.display(), names.join(", ")),
            format!("save one array, or name the sequences `{name}`"),
        ));
    };
    let mut values = vec![];
    for row in 0..file.len() {
        let sample = file.sample(row).map_err(spikelet::Error::from)?;
        let row = sample.require(&field.name).map_err(spikelet::Error::from)?;
        values.extend(row.as_f32().into_iter().flatten().copied());
        values.extend(
            row.as_u8()
                .into_iter()
                .flatten()
                .map(|&value| f32::from(value)),
        );
        values.extend(
            row.as_i64()
                .into_iter()
                .flatten()
                .map(|&value| value as f32),
        );
    }
    let mut shape = vec![file.len()];
    shape.extend(field.shape.iter().flatten());
    Ok(Tensor::f32(shape, values))
}
