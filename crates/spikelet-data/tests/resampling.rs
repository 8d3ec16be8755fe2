//! Resizing and crops give the pixels of torchvision.

use crate::references;

use references::{bytes, image, references, sizes};
use spikelet_data::{
    Border, CenterCrop, Image, ImageTransform, RandomCrop, RandomResizedCrop, Resize, SampleRandom,
};

fn random() -> SampleRandom {
    SampleRandom::of_sample(0, 0, 0)
}

/// The two implementations round their weights differently, by at most one byte.
fn close(found: &Image, expected: &[u8], name: &str) {
    assert_eq!(found.pixels().len(), expected.len(), "{name}");
    let pairs = found.pixels().iter().zip(expected);
    let largest = pairs.map(|(&a, &b)| a.abs_diff(b)).max().unwrap();
    assert!(largest <= 1, "{name}: {largest}");
}

/// The rectangle of an image.
fn cut(image: &Image, [top, left, height, width]: [usize; 4]) -> Image {
    let [channels, rows, columns] = image.shape();
    let pixel = |c, y, x| image.pixels()[(c * rows + top + y) * columns + left + x];
    let pixels = (0..channels)
        .flat_map(|c| (0..height).flat_map(move |y| (0..width).map(move |x| (c, y, x))))
        .map(|(c, y, x)| pixel(c, y, x));
    Image::new(pixels.collect(), [channels, height, width]).unwrap()
}

#[test]
fn resized_crops_are_those_of_torchvision() {
    let references = references();
    let resize = &references["resize"];
    for case in resize["cases"].as_array().unwrap() {
        let size = sizes(&case["size"]);
        let cropped = cut(&image(resize), sizes(&case["box"]));
        let [_, height, width] = cropped.shape();
        let expected = bytes(&case["out"]);
        let ratio = width as f32 / height as f32;
        let complete = RandomResizedCrop {
            area: [1.0, 1.0],
            aspect: [ratio, ratio],
            ..RandomResizedCrop::new(size)
        };
        for augmentation in [&Resize::to(size) as &dyn ImageTransform, &complete] {
            let mut found = cropped.clone();
            augmentation.augment(&mut found, &mut random()).unwrap();
            assert_eq!(found.shape(), [3, size[0], size[1]]);
            close(&found, &expected, &format!("{augmentation:?}"));
        }
        let planes = cropped.pixels().chunks_exact(height * width);
        for (plane, expected) in planes.zip(expected.chunks_exact(size[0] * size[1])) {
            let mut gray = Image::new(plane.to_vec(), [1, height, width]).unwrap();
            Resize::to(size).augment(&mut gray, &mut random()).unwrap();
            close(&gray, expected, "one channel");
        }
    }
}

#[test]
fn the_shorter_side_has_the_size_asked_for() {
    let references = references();
    for case in references["resize"]["shorter"].as_array().unwrap() {
        let mut found = image(case);
        let size = case["size"].as_u64().unwrap() as usize;
        Resize::shorter_side(size)
            .augment(&mut found, &mut random())
            .unwrap();
        assert_eq!(found.shape(), sizes::<3>(&case["out_shape"]));
        close(&found, &bytes(&case["out"]), "shorter side");
    }
}

#[test]
fn center_crops_are_those_of_torchvision() {
    let references = references();
    let resize = &references["resize"];
    for case in resize["center_crops"].as_array().unwrap() {
        let size = sizes(&case["size"]);
        let mut found = image(resize);
        CenterCrop { size }
            .augment(&mut found, &mut random())
            .unwrap();
        assert_eq!(found.pixels(), bytes(&case["out"]), "{size:?}");
    }
}

#[test]
fn an_image_too_small_for_its_crop_is_refused() {
    let crop = RandomCrop {
        size: Some([9, 4]),
        padding: 2,
        border: Border::Reflect,
        ..RandomCrop::default()
    };
    let mut small = Image::new(vec![0; 16], [1, 4, 4]).unwrap();
    let error = crop.augment(&mut small, &mut random()).unwrap_err();
    assert!(error.to_string().contains("9x4"), "{error}");
    let mut large = Image::new(vec![7; 25], [1, 5, 5]).unwrap();
    crop.augment(&mut large, &mut random()).unwrap();
    assert_eq!(large.pixels(), [7; 36]);
}

#[test]
fn a_size_out_of_range_is_refused() {
    for transform in [
        &Resize::to([0, 8]) as &dyn ImageTransform,
        &Resize::shorter_side(1 << 16),
        &RandomResizedCrop::new([8, 0]),
        &CenterCrop { size: [0, 0] },
    ] {
        let error = transform.check().unwrap_err();
        assert!(error.to_string().contains("`size`"), "{error}");
    }
    // A shorter side of 1 pixel and a very long one.
    let mut line = Image::new(vec![0; 1000], [1, 1, 1000]).unwrap();
    Resize::shorter_side(256)
        .augment(&mut line, &mut random())
        .unwrap_err();
}
