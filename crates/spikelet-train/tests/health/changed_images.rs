//! Images in memory with changes.

use spikelet_data::{Dataset, InMemory, image_shape};
use std::sync::Arc;

/// The same images with changes of all pixels and labels.
pub fn changed_images(
    images: &dyn Dataset,
    change: impl FnOnce(&mut [u8], &mut [u32]),
) -> Arc<dyn Dataset> {
    let mut pixels = vec![];
    for index in 0..images.len() {
        let sample = images.sample(index).expect("an image");
        let image = sample.require("images").expect("the field");
        pixels.extend_from_slice(image.as_u8().expect("bytes"));
    }
    let labels = images.labels().expect("labels").into_iter();
    let mut labels: Vec<u32> = labels.map(|label| label as u32).collect();
    change(&mut pixels, &mut labels);
    let shape = image_shape(images).expect("one shape");
    let classes = images.class_names("labels").to_vec();
    let changed = InMemory::images(images.name(), pixels, labels, shape, classes);
    Arc::new(changed.expect("as many pixels and labels as before"))
}
