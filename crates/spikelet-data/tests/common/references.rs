//! The values of torchvision, from `tools/baselines/augmentations.py`.

#![allow(dead_code, reason = "not every test needs all of them")]

use serde_json::Value;
use spikelet_data::Image;

/// The file of reference values.
pub fn references() -> Value {
    serde_json::from_str(include_str!("../references/augmentations.json")).unwrap()
}

/// Bytes as a text of hexadecimal digits.
pub fn bytes(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Integers.
pub fn sizes<const N: usize>(list: &Value) -> [usize; N] {
    let sizes = list.as_array().unwrap().iter();
    let sizes: Vec<usize> = sizes.map(|n| n.as_u64().unwrap() as usize).collect();
    sizes.try_into().unwrap()
}

/// The image in the fields `pixels` and `shape`.
pub fn image(entry: &Value) -> Image {
    Image::new(bytes(&entry["pixels"]), sizes(&entry["shape"])).unwrap()
}
