//! IDX files: what is read, and what is said of those that cannot be.

use crate::gzip;
use crate::idx_file;

use std::fs;
use std::path::PathBuf;

use gzip::gzip;
use idx_file::idx_file;
use proptest::prelude::*;
use spikelet_data::Error;
use spikelet_data::idx::{self, Idx, IdxError};
use tempfile::TempDir;

fn images() -> Vec<u8> {
    idx_file(&[2, 2, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
}

fn written(name: &str, content: &[u8]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

fn problem(content: &[u8]) -> IdxError {
    idx::parse::<3>(content).unwrap_err()
}

#[test]
fn raw_and_compressed_files_hold_the_same() {
    let expected = Idx {
        dims: [2, 2, 3],
        data: (1..=12).collect(),
    };
    assert_eq!(idx::parse::<3>(&images()).unwrap(), expected);
    assert_eq!(idx::parse::<3>(&gzip(&images())).unwrap(), expected);
}

#[test]
fn the_content_decides_what_is_compressed_and_not_the_name() {
    let (_folder, path) = written("images.gz", &images());
    assert_eq!(idx::read_images(&path).unwrap().dims, [2, 2, 3]);
    let (_folder, path) = written("images", &gzip(&images()));
    assert_eq!(idx::read_images(&path).unwrap().dims, [2, 2, 3]);
}

#[test]
fn a_web_page_named_gz_is_told_apart() {
    let (_folder, path) = written("images.gz", b"<!DOCTYPE html><p>Not found</p>");
    let error = idx::read_images(&path).unwrap_err();
    assert!(matches!(
        error,
        Error::Idx {
            problem: IdxError::NotGzip { .. },
            ..
        }
    ));
    let message = error.to_string();
    assert!(message.contains("images.gz"), "{message}");
    assert!(message.contains("[3c, 21, 44, 4f]"), "{message}");
}

#[test]
fn a_missing_file_is_named() {
    let error = idx::read_images("nowhere/images").unwrap_err();
    assert!(matches!(error, Error::Open { .. }));
    assert!(error.to_string().contains("nowhere/images"));
}

#[cfg(unix)]
#[test]
fn what_has_no_end_is_not_opened() {
    let folder = TempDir::new().unwrap();
    let fifo = folder.path().join("images");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    for path in [fifo, "/dev/zero".into(), folder.path().into()] {
        let error = idx::read_images(&path).unwrap_err();
        assert!(matches!(error, Error::Open { .. }), "{error}");
    }
}

#[test]
fn every_cut_is_noticed() {
    let whole = images();
    for len in 0..whole.len() {
        let error = problem(&whole[..len]);
        match error {
            IdxError::TruncatedHeader { found, expected } => {
                assert_eq!((found, expected), (len, 16));
            }
            IdxError::Truncated {
                found, expected, ..
            } => assert_eq!((found, expected), (len as u64 - 16, 12)),
            other => panic!("cut to {len} bytes: {other}"),
        }
    }
}

#[test]
fn every_cut_of_a_compressed_file_is_noticed() {
    let whole = gzip(&images());
    for len in 2..whole.len() {
        assert!(
            matches!(problem(&whole[..len]), IdxError::Gzip(_)),
            "cut to {len}"
        );
    }
}

#[test]
fn a_damaged_checksum_of_gzip_is_noticed() {
    let mut file = gzip(&images());
    let checksum = file.len() - 8;
    file[checksum] ^= 1;
    assert!(matches!(problem(&file), IdxError::Gzip(_)));
}

#[test]
fn bytes_after_the_end_are_counted() {
    let mut file = images();
    file.extend([0; 5]);
    for file in [gzip(&file), file] {
        let error = problem(&file);
        assert!(matches!(
            error,
            IdxError::TrailingBytes {
                excess: 5,
                expected: 12,
                ..
            }
        ));
        assert!(error.to_string().starts_with("5 bytes more"), "{error}");
    }
}

#[test]
fn another_magic_number_is_shown() {
    let error = problem(b"PK\x03\x04 and so on, a zip file");
    assert!(matches!(error, IdxError::Magic { found, .. } if &found == b"PK\x03\x04"));
    assert!(error.to_string().contains("[50, 4b, 03, 04]"), "{error}");
}

#[test]
fn values_that_are_not_bytes_are_named() {
    let mut file = images();
    file[2] = 0x0d;
    let error = problem(&file);
    assert!(matches!(error, IdxError::Type { found: 0x0d }));
    assert!(error.to_string().contains("f32"), "{error}");
}

#[test]
fn images_in_the_place_of_labels_are_told_apart() {
    let error = idx::parse::<1>(&images()).unwrap_err();
    assert!(matches!(
        error,
        IdxError::Dimensions {
            found: 3,
            expected: 1
        }
    ));
    assert!(error.to_string().contains("exchanged"), "{error}");
}

#[test]
fn a_header_is_not_believed_beyond_reason() {
    for dims in [[u32::MAX; 3], [1 << 20, 1 << 10, 1 << 10]] {
        let error = problem(&idx_file(&dims, &[0; 100]));
        assert!(matches!(error, IdxError::TooLarge { .. }), "{error}");
    }
    // Large but thinkable: nothing of it is allocated before the bytes are there.
    let error = problem(&idx_file(&[1 << 12, 1 << 10, 1 << 10], &[0; 100]));
    assert!(
        matches!(error, IdxError::Truncated { found: 100, .. }),
        "{error}"
    );
}

#[test]
fn a_file_without_values_is_refused() {
    for dims in [[0, 28, 28], [5, 0, 28], [0, u32::MAX, u32::MAX]] {
        let error = problem(&idx_file(&dims, &[]));
        assert!(matches!(error, IdxError::Empty { .. }), "{error}");
    }
}

#[test]
fn a_label_that_no_class_has_is_pointed_at() {
    let (_folder, path) = written("labels", &idx_file(&[4], &[0, 9, 10, 3]));
    let error = idx::read_labels(&path, 10).unwrap_err();
    assert!(matches!(
        error,
        Error::FileLabel {
            index: 2,
            label: 10,
            classes: 10,
            ..
        }
    ));
    assert_eq!(idx::read_labels(&path, 11).unwrap(), [0, 9, 10, 3]);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = idx::parse::<1>(&bytes);
        let _ = idx::parse::<3>(&bytes);
        let _ = idx::parse::<3>(&gzip(&bytes));
    }

    #[test]
    fn no_header_makes_the_reader_panic(
        dims in prop::array::uniform3(prop_oneof![0u32..5, any::<u32>()]),
        data in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let file = idx_file(&dims, &data);
        let product = dims.iter().map(|&dim| u128::from(dim)).product::<u128>();
        let fits = product > 0 && product == data.len() as u128;
        prop_assert_eq!(idx::parse::<3>(&file).is_ok(), fits);
    }

    #[test]
    fn no_damage_to_a_compressed_file_makes_the_reader_panic(
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut file = gzip(&images());
        let place = place.index(file.len());
        file[place] = value;
        let _ = idx::parse::<3>(&file);
    }

    #[test]
    fn what_was_written_is_read(data in prop::collection::vec(any::<u8>(), 1..300)) {
        let file = idx_file(&[data.len() as u32], &data);
        prop_assert_eq!(&idx::parse::<1>(&file).unwrap().data, &data);
        prop_assert_eq!(&idx::parse::<1>(&gzip(&file)).unwrap().data, &data);
    }
}
