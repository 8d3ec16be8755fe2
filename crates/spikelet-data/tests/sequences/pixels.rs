//! MNIST pixel by pixel: orders, permutations, files.

use std::fs;

use crate::idx_file::idx_file;
use crate::images;
use crate::sequences::{load, number};
use spikelet_data::{PixelSequences, permuted_sequential_mnist, sequential_mnist, synthetic};
use tempfile::TempDir;

#[test]
fn pixels_are_steps_in_the_order_of_rows_or_of_a_permutation() {
    let images = synthetic::digits_of(3, 60, 12);
    let order = permuted_sequential_mnist::permutation(0);
    let rows = sequential_mnist::sequences(images.clone()).unwrap();
    let permuted = permuted_sequential_mnist::sequences(images.clone(), &order).unwrap();
    let validation = rows.validation.unwrap();
    assert_eq!(
        (rows.train.len(), validation.len(), rows.test.len()),
        (50, 10, 12)
    );
    for (data, first, images) in [
        (&rows.train, 0, &images.train),
        (&validation, 50, &images.train),
        (&rows.test, 0, &images.test),
    ] {
        let sample = data.sample(7).unwrap();
        let x = sample.require("x").unwrap();
        assert_eq!(x.shape, [784, 1]);
        let pixels = images::pixels(&**images, first + 7).into_iter();
        let pixels: Vec<f32> = pixels.map(|byte| f32::from(byte) / 255.0).collect();
        assert_eq!(x.as_f32().unwrap(), pixels);
        let labels = images.labels().unwrap();
        assert_eq!(number(&**data, 7, "labels"), labels[first + 7]);
    }
    let straight = rows.train.sample(4).unwrap();
    let mixed = permuted.train.sample(4).unwrap();
    let straight = straight.require("x").unwrap().as_f32().unwrap();
    let mixed = mixed.require("x").unwrap().as_f32().unwrap();
    assert!(
        mixed
            .iter()
            .zip(&order)
            .all(|(&x, &pixel)| x == straight[pixel])
    );
    assert_ne!(
        rows.train.digest().unwrap(),
        permuted.train.digest().unwrap()
    );
}

#[test]
fn the_permutation_of_seed_0_does_not_change() {
    let order = permuted_sequential_mnist::permutation(0);
    assert_eq!(order[..6], [582, 696, 546, 227, 520, 406]);
}

#[test]
fn an_order_that_is_no_permutation_is_an_error() {
    let images = synthetic::digits_of(3, 6, 6).train;
    let of = |order: &[usize]| PixelSequences::new(images.clone(), "digits")?.permuted(order);
    let mut order: Vec<usize> = (0..784).collect();
    assert!(of(&order).is_ok());
    order[5] = 4;
    assert!(
        of(&order)
            .unwrap_err()
            .to_string()
            .contains("index 4 twice")
    );
    order[5] = 784;
    assert!(of(&order).unwrap_err().to_string().contains("index 784"));
    assert!(
        of(&order[1..])
            .unwrap_err()
            .to_string()
            .contains("783 indices")
    );
}

#[test]
fn sequential_mnist_is_read_from_the_files_of_mnist() {
    let folder = TempDir::new().unwrap();
    for (part, n) in [("train", 12), ("t10k", 3)] {
        let pixels: Vec<u8> = (0..n * 784).map(|at| (at % 251) as u8).collect();
        let images = idx_file(&[n, 28, 28], &pixels);
        let labels: Vec<u8> = (0..n as u8).map(|label| label % 10).collect();
        fs::write(
            folder.path().join(format!("{part}-images-idx3-ubyte")),
            images,
        )
        .unwrap();
        let labels = idx_file(&[n], &labels);
        fs::write(
            folder.path().join(format!("{part}-labels-idx1-ubyte")),
            labels,
        )
        .unwrap();
    }
    for name in ["sequential-mnist", "permuted-sequential-mnist"] {
        let split = load(name, folder.path(), None).unwrap();
        let sizes = [
            split.train.len(),
            split.validation.unwrap().len(),
            split.test.len(),
        ];
        assert_eq!(sizes, [10, 2, 3]);
    }
}
