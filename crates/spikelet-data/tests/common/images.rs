//! The pixels of labeled images, and their classes.

use spikelet_data::Dataset;

/// The pixels of one image, `[channels, height, width]`.
pub fn pixels(images: &dyn Dataset, index: usize) -> Vec<u8> {
    let sample = images.sample(index).unwrap();
    sample.require("images").unwrap().as_u8().unwrap().to_vec()
}

/// The pixels of all images, one after the other.
pub fn all_pixels(images: &dyn Dataset) -> Vec<u8> {
    (0..images.len())
        .flat_map(|index| pixels(images, index))
        .collect()
}

/// The name of the class of one image.
pub fn class_of(images: &dyn Dataset, index: usize) -> &str {
    let label = images.labels().unwrap()[index];
    &images.class_names("labels")[label as usize]
}
