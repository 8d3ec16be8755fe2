//! CIFAR-100: its files, and its two labels.

use std::fs;

use crate::images::{all_pixels, class_of};
use spikelet_data::{Dataset, Error, Files, Source, cifar100};

/// CIFAR-100 with two training images and one test image.
fn small() -> Source {
    let mut source = cifar100::source();
    let Files::Records(files) = &mut source.files else {
        panic!("CIFAR-100 is in files of records");
    };
    files.records = 2;
    files.test_records = 1;
    source
}

fn record(coarse: u8, fine: u8, pixel: u8) -> Vec<u8> {
    let mut record = vec![coarse, fine];
    record.resize(2 + 3072, pixel);
    record
}

#[test]
fn a_record_has_a_coarse_and_a_fine_label() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("cifar-100-binary");
    fs::create_dir(&own).unwrap();
    // An apple is a fruit, a worm an invertebrate, a baby one of the people.
    fs::write(
        own.join("train.bin"),
        [record(4, 0, 10), record(13, 99, 20)].concat(),
    )
    .unwrap();
    fs::write(own.join("test.bin"), record(14, 2, 30)).unwrap();
    let split = small().load(folder.path()).unwrap();
    assert_eq!(split.train.labels().unwrap(), [0, 99]);
    assert_eq!(all_pixels(&*split.train), [[10; 3072], [20; 3072]].concat());
    assert_eq!((class_of(&*split.test, 0), split.test.len()), ("baby", 1));
    let both = cifar100::with_superclasses(split.train);
    for (index, expected) in [4, 13].into_iter().enumerate() {
        let sample = both.sample(index).unwrap();
        let coarse = sample.require("coarse_labels").unwrap();
        assert_eq!(coarse.as_i64(), Some(&[expected][..]));
    }

    fs::write(own.join("test.bin"), record(14, 100, 30)).unwrap();
    let error = small().load(folder.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::FileLabel {
                label: 100,
                classes: 100,
                ..
            }
        ),
        "{error}"
    );
    fs::write(own.join("test.bin"), [0; 3073]).unwrap();
    let error = small().load(folder.path()).unwrap_err();
    assert!(
        matches!(error, Error::RecordBytes { expected: 3074, .. }),
        "{error}"
    );
}

/// Runs on the real files below the folder that `SPIKELET_DATA` names.
#[test]
#[ignore = "needs CIFAR-100 in the folder SPIKELET_DATA"]
fn loads_the_real_files() {
    let folder = std::env::var_os("SPIKELET_DATA").expect("SPIKELET_DATA names a folder");
    let split = cifar100::load(folder).unwrap();
    for (part, len) in [(&split.train, 500), (&split.test, 100)] {
        let labels = part.labels().unwrap();
        for class in 0..100 {
            assert_eq!(labels.iter().filter(|&&label| label == class).count(), len);
        }
    }
}
