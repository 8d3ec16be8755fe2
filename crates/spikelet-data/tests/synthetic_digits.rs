//! The synthetic digits: always the same, like MNIST in form, neither trivial nor illegible.

use crate::images::{all_pixels, pixels};
use sha2::{Digest, Sha256};
use spikelet_data::{Dataset, image_shape, synthetic};

#[test]
fn a_seed_always_gives_the_same_images() {
    let digits = |seed| synthetic::digits_of(seed, 200, 50);
    let [first, again, other] = [3, 3, 4].map(digits);
    for (first, again) in [(&first.train, &again.train), (&first.test, &again.test)] {
        assert_eq!(all_pixels(&**first), all_pixels(&**again));
        assert_eq!(first.labels().unwrap(), again.labels().unwrap());
    }
    assert_ne!(all_pixels(&*first.train), all_pixels(&*other.train));
}

#[test]
fn the_bytes_are_the_same_on_every_machine_and_in_every_version() {
    let digits = synthetic::digits_of(0, 500, 100);
    let mut digest = Sha256::new();
    for part in [digits.train, digits.test] {
        let labels = part.labels().unwrap();
        let labels: Vec<u8> = labels.into_iter().map(|label| label as u8).collect();
        digest.update(all_pixels(&*part));
        digest.update(labels);
    }
    let digest = digest.finalize();
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
    assert_eq!(
        all_pixels(&*few.train),
        all_pixels(&*many.train)[..37 * 784]
    );
    let [few_labels, all] = [&few, &many].map(|digits| digits.train.labels().unwrap());
    assert_eq!(few_labels, all[..37]);
    assert_eq!(all_pixels(&*few.test), all_pixels(&*many.test)[..11 * 784]);
}

#[test]
fn the_parts_share_no_image() {
    let digits = synthetic::digits_of(3, 300, 300);
    let train = all_pixels(&*digits.train);
    for index in 0..300 {
        let image = pixels(&*digits.test, index);
        assert!(train.chunks_exact(784).all(|other| other != image));
    }
}

#[test]
fn the_form_is_mnists() {
    let split = synthetic::digits_of(0, 60, 20);
    for (part, len) in [(&split.train, 60), (&split.test, 20)] {
        part.check().unwrap();
        assert_eq!(part.len(), len);
        assert_eq!(image_shape(&**part).unwrap(), [1, 28, 28]);
        assert_eq!(part.class_names("labels").len(), 10);
        assert_eq!(part.name(), "synthetic digits");
        let labels = part.labels().unwrap();
        for digit in 0..10 {
            let count = labels.iter().filter(|&&label| label == digit).count();
            assert_eq!(count, len / 10);
        }
    }
    let labels = split.train.labels().unwrap();
    assert_ne!(labels[..10], labels[10..20]);
}

#[test]
fn the_grey_values_are_like_mnists() {
    let digits = synthetic::digits_of(0, 2000, 0).train;
    let images = all_pixels(&*digits);
    let mean = images.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / images.len() as f64;
    let black = images.iter().filter(|&&pixel| pixel == 0).count() as f64 / images.len() as f64;
    assert!((0.11..0.15).contains(&(mean / 255.0)), "{}", mean / 255.0);
    assert!((0.75..0.85).contains(&black), "{black}");
    for image in images.chunks_exact(784) {
        assert!(image.iter().any(|&pixel| pixel > 150), "too faint to read");
    }
}

/// The mean image of each class.
fn means(data: &dyn Dataset) -> Vec<Vec<f64>> {
    let mut means = vec![vec![0.0; 784]; 10];
    for (index, label) in data.labels().unwrap().into_iter().enumerate() {
        let mean = &mut means[label as usize];
        for (mean, pixel) in mean.iter_mut().zip(pixels(data, index)) {
            *mean += f64::from(pixel) * 10.0 / data.len() as f64;
        }
    }
    means
}

#[test]
fn the_nearest_mean_is_often_but_by_far_not_always_right() {
    let split = synthetic::digits_of(0, 4000, 1000);
    let means = means(&*split.train);
    let distance = |image: &[u8], mean: &[f64]| -> f64 {
        let pixels = image.iter().zip(mean);
        pixels
            .map(|(&pixel, mean)| (f64::from(pixel) - mean).powi(2))
            .sum()
    };
    let labels = split.test.labels().unwrap();
    let right = (0..split.test.len()).filter(|&index| {
        let image = pixels(&*split.test, index);
        let nearest = (0..10)
            .min_by(|&a, &b| distance(&image, &means[a]).total_cmp(&distance(&image, &means[b])));
        nearest == Some(labels[index] as usize)
    });
    let accuracy = right.count() as f64 / split.test.len() as f64;
    assert!((0.65..0.9).contains(&accuracy), "{accuracy}");
}
