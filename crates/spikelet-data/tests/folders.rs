//! Data sets in folders: where their files are found and how they may be wrong.

use crate::gzip;
use crate::idx_file;
use crate::images::{all_pixels, class_of, pixels};

use std::fs;
use std::path::Path;

use gzip::gzip;
use idx_file::idx_file;
use spikelet_data::{Error, Source, fashion_mnist, image_shape, mnist};
use tempfile::TempDir;

const NAMES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// Three training images of the value `grey` and two test images, as four files.
fn contents(grey: u8) -> [Vec<u8>; 4] {
    [
        idx_file(&[3, 28, 28], &[grey; 3 * 784]),
        idx_file(&[3], &[5, 0, 9]),
        idx_file(&[2, 28, 28], &[grey; 2 * 784]),
        idx_file(&[2], &[7, 2]),
    ]
}

fn write(folder: &Path, name: impl Fn(&str) -> String, contents: [Vec<u8>; 4]) {
    fs::create_dir_all(folder).unwrap();
    for (file, content) in NAMES.iter().zip(contents) {
        fs::write(folder.join(name(file)), content).unwrap();
    }
}

fn raw(name: &str) -> String {
    name.into()
}

#[test]
fn the_files_are_found_in_every_customary_folder() {
    let cases: [(Source, &[&str]); 2] = [
        (mnist::source(), &["", "mnist", "MNIST/raw"]),
        (
            fashion_mnist::source(),
            &["", "fashion-mnist", "FashionMNIST/raw"],
        ),
    ];
    for (source, folders) in cases {
        for folder in folders {
            let dir = TempDir::new().unwrap();
            write(&dir.path().join(folder), raw, contents(9));
            let split = source.load(dir.path()).unwrap();
            assert_eq!(split.train.labels().unwrap(), [5, 0, 9]);
            assert_eq!(pixels(&*split.train, 2), [9; 784]);
            assert_eq!(split.test.labels().unwrap(), [7, 2]);
            assert_eq!(image_shape(&*split.test).unwrap(), [1, 28, 28]);
            assert_eq!(split.test.name(), source.name);
        }
    }
}

#[test]
fn the_files_may_be_compressed_and_spelt_with_a_dot() {
    let dotted = |name: &str| name.replace("-idx", ".idx");
    let dir = TempDir::new().unwrap();
    write(dir.path(), dotted, contents(1));
    mnist::load(dir.path()).unwrap();

    let dir = TempDir::new().unwrap();
    let compressed = contents(1).map(|content| gzip(&content));
    write(dir.path(), |name| format!("{name}.gz"), compressed.clone());
    mnist::load(dir.path()).unwrap();

    let dir = TempDir::new().unwrap();
    write(dir.path(), |name| dotted(name) + ".gz", compressed);
    mnist::load(dir.path()).unwrap();
}

#[test]
fn a_folder_of_its_own_comes_before_the_data_folder() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), raw, contents(1));
    write(&dir.path().join("mnist"), raw, contents(2));
    let split = mnist::load(dir.path()).unwrap();
    assert_eq!(pixels(&*split.train, 0)[0], 2);
    let split = fashion_mnist::load(dir.path()).unwrap();
    assert_eq!(pixels(&*split.train, 0)[0], 1);
}

#[test]
fn an_incomplete_folder_is_passed_over_for_a_complete_one() {
    let dir = TempDir::new().unwrap();
    write(&dir.path().join("mnist"), raw, contents(1));
    fs::remove_file(dir.path().join("mnist").join(NAMES[3])).unwrap();
    write(&dir.path().join("MNIST/raw"), raw, contents(2));
    let split = mnist::load(dir.path()).unwrap();
    assert_eq!(pixels(&*split.train, 0)[0], 2);
}

#[test]
fn the_missing_files_are_listed_with_their_place() {
    let dir = TempDir::new().unwrap();
    let error = mnist::load(dir.path()).unwrap_err();
    let message = error.to_string();
    for name in NAMES {
        assert!(message.contains(name), "{message}");
    }
    let target = dir.path().join("mnist");
    assert!(message.contains(&format!("(raw or .gz) into {}", target.display())));

    let found = dir.path().join("MNIST/raw");
    write(&found, raw, contents(1));
    fs::remove_file(found.join(NAMES[2])).unwrap();
    match mnist::load(dir.path()).unwrap_err() {
        Error::MissingFiles {
            missing, folder, ..
        } => {
            assert_eq!(missing, ["`t10k-images-idx3-ubyte`"]);
            assert_eq!(folder, found);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn more_labels_than_images_are_refused() {
    let dir = TempDir::new().unwrap();
    let mut files = contents(1);
    files[1] = idx_file(&[4], &[5, 0, 9, 1]);
    write(dir.path(), raw, files);
    let error = mnist::load(dir.path()).unwrap_err();
    assert!(matches!(
        error,
        Error::CountMismatch {
            images: 3,
            labels: 4,
            ..
        }
    ));
    let message = error.to_string();
    assert!(message.contains(NAMES[0]) && message.contains(NAMES[1]));
}

#[test]
fn images_of_another_size_are_refused() {
    let dir = TempDir::new().unwrap();
    let mut files = contents(1);
    files[2] = idx_file(&[2, 14, 56], &[1; 2 * 784]);
    write(dir.path(), raw, files);
    let error = mnist::load(dir.path()).unwrap_err();
    assert!(matches!(
        error,
        Error::ImageSize {
            found: [14, 56],
            expected: [28, 28],
            ..
        }
    ));
}

#[test]
fn what_the_headers_say_is_compared_before_the_contents_are_read() {
    // Headers without the contents that they promise: only their sizes can be found wrong.
    for (place, header, expected) in [
        (0, idx_file(&[3, 1 << 14, 1 << 14], &[]), "size"),
        (0, idx_file(&[5, 28, 28], &[]), "mismatch"),
        (1, idx_file(&[1 << 31], &[]), "many"),
        (3, idx_file(&[10_009], &[]), "many"),
    ] {
        let dir = TempDir::new().unwrap();
        let mut files = contents(1);
        files[place] = gzip(&header);
        write(dir.path(), raw, files);
        let found = match mnist::load(dir.path()).unwrap_err() {
            Error::ImageSize { .. } => "size",
            Error::CountMismatch { .. } => "mismatch",
            Error::TooMany { .. } => "many",
            other => panic!("{other}"),
        };
        assert_eq!(found, expected);
    }
}

/// Runs on the real files below the folder that `SPIKELET_DATA` names.
#[test]
#[ignore = "needs MNIST and Fashion-MNIST in the folder SPIKELET_DATA"]
fn loads_the_real_files() {
    let dir = std::env::var_os("SPIKELET_DATA").expect("SPIKELET_DATA names a folder");
    let dir = Path::new(&dir);
    for (source, mean) in [(mnist::source(), 0.1307), (fashion_mnist::source(), 0.2860)] {
        let split = source.load(dir).unwrap();
        assert_eq!((split.train.len(), split.test.len()), (60_000, 10_000));
        let pixels = all_pixels(&*split.train);
        let sum: u64 = pixels.iter().map(|&pixel| u64::from(pixel)).sum();
        let found = sum as f64 / 255.0 / pixels.len() as f64;
        assert!((found - mean).abs() < 1e-4, "{}: {found}", source.name);
    }
    let digits = mnist::load(dir).unwrap().train;
    assert_eq!(digits.labels().unwrap()[..5], [5, 0, 4, 1, 9]);
    let clothes = fashion_mnist::load(dir).unwrap().train;
    assert_eq!(class_of(&*clothes, 0), "Ankle boot");

    let error = fashion_mnist::load(dir.join("mnist")).unwrap_err();
    assert!(
        matches!(&error, Error::OtherDataset { found, .. } if found == "MNIST"),
        "{error}"
    );
}
