//! The synthetic digits: always the same, like MNIST in form, neither trivial nor illegible.

use sha2::{Digest, Sha256};
use spikelet_data::{ImageDataset, synthetic};

#[test]
fn a_seed_always_gives_the_same_images() {
    assert_eq!(
        synthetic::digits_of(3, 200, 50),
        synthetic::digits_of(3, 200, 50)
    );
    let other = synthetic::digits_of(4, 200, 50);
    assert_ne!(
        synthetic::digits_of(3, 200, 50).train.images,
        other.train.images
    );
}

#[test]
fn the_bytes_are_the_same_on_every_machine_and_in_every_version() {
    let digits = synthetic::digits_of(0, 500, 100);
    let bytes = |labels: &[u32]| -> Vec<u8> { labels.iter().map(|&label| label as u8).collect() };
    let digest = Sha256::new()
        .chain_update(&digits.train.images)
        .chain_update(bytes(&digits.train.labels))
        .chain_update(&digits.test.images)
        .chain_update(bytes(&digits.test.labels))
        .finalize();
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        digest,
        "9a2c2501600711adebc1cfee636ff98253c2691254882b28075785e4051fdd78"
    );
}

#[test]
fn an_image_does_not_depend_on_how_many_there_are() {
    let (few, many) = (
        synthetic::digits_of(3, 37, 11),
        synthetic::digits_of(3, 100, 40),
    );
    assert_eq!(few.train.images, many.train.images[..37 * 784]);
    assert_eq!(few.train.labels, many.train.labels[..37]);
    assert_eq!(few.test.images, many.test.images[..11 * 784]);
}

#[test]
fn the_parts_share_no_image() {
    let digits = synthetic::digits_of(3, 300, 300);
    for index in 0..300 {
        let image = digits.test.image(index);
        assert!((0..300).all(|other| digits.train.image(other) != image));
    }
}

#[test]
fn the_form_is_mnists() {
    let split = synthetic::digits_of(0, 60, 20);
    for (part, len) in [(&split.train, 60), (&split.test, 20)] {
        part.check().unwrap();
        assert_eq!(part.len(), len);
        assert_eq!(part.shape, [1, 28, 28]);
        assert_eq!(part.classes.len(), 10);
        assert_eq!(part.name, "synthetic digits");
        assert!(part.synthetic);
        for digit in 0..10 {
            let count = part.labels.iter().filter(|&&label| label == digit).count();
            assert_eq!(count, len / 10);
        }
    }
    assert_ne!(split.train.labels[..10], split.train.labels[10..20]);
}

#[test]
fn the_grey_values_are_like_mnists() {
    let digits = synthetic::digits_of(0, 2000, 0).train;
    let images = &digits.images;
    let mean = images.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / images.len() as f64;
    let black = images.iter().filter(|&&pixel| pixel == 0).count() as f64 / images.len() as f64;
    assert!((0.11..0.15).contains(&(mean / 255.0)), "{}", mean / 255.0);
    assert!((0.75..0.85).contains(&black), "{black}");
    for image in images.chunks_exact(784) {
        assert!(image.iter().any(|&pixel| pixel > 150), "too faint to read");
    }
}

/// The mean image of each class.
fn means(data: &ImageDataset) -> Vec<Vec<f64>> {
    let mut means = vec![vec![0.0; 784]; 10];
    for index in 0..data.len() {
        let mean = &mut means[data.labels[index] as usize];
        for (mean, &pixel) in mean.iter_mut().zip(data.image(index).unwrap()) {
            *mean += f64::from(pixel) * 10.0 / data.len() as f64;
        }
    }
    means
}

#[test]
fn the_nearest_mean_is_often_but_by_far_not_always_right() {
    let split = synthetic::digits_of(0, 4000, 1000);
    let means = means(&split.train);
    let distance = |image: &[u8], mean: &[f64]| -> f64 {
        let pixels = image.iter().zip(mean);
        pixels
            .map(|(&pixel, mean)| (f64::from(pixel) - mean).powi(2))
            .sum()
    };
    let right = (0..split.test.len()).filter(|&index| {
        let image = split.test.image(index).unwrap();
        let nearest = (0..10)
            .min_by(|&a, &b| distance(image, &means[a]).total_cmp(&distance(image, &means[b])));
        nearest == Some(split.test.labels[index] as usize)
    });
    let accuracy = right.count() as f64 / split.test.len() as f64;
    assert!((0.65..0.9).contains(&accuracy), "{accuracy}");
}
