//! Archives: those of data sets are unpacked into folders that are read; damaged and unsafe ones are errors and write nothing
//! elsewhere.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use spikelet_events::{ErrorKind, Unpacked, unpack};

fn fixture(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(file)
}

/// A zip archive of members, deflated.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (vec![], vec![]);
    for &(name, content) in members {
        let mut deflate = DeflateEncoder::new(vec![], Compression::fast());
        deflate.write_all(content).expect("memory");
        let data = deflate.finish().expect("memory");
        let mut crc = Crc::new();
        crc.update(content);
        let offset = file.len() as u32;
        let mut header = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0];
        for value in [crc.sum(), data.len() as u32, content.len() as u32] {
            header.extend(value.to_le_bytes());
        }
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&header);
        file.extend(name.as_bytes());
        file.extend(data);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&header);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let count = (members.len() as u16).to_le_bytes();
    let (len, offset) = (directory.len() as u32, file.len() as u32);
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].concat());
    file.extend(len.to_le_bytes());
    file.extend(offset.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// A tar archive of members: a type and a name, and their content.
fn tar_gz(members: &[(u8, &str, &[u8])]) -> Vec<u8> {
    let mut gz = GzEncoder::new(vec![], Compression::fast());
    for &(kind, name, content) in members {
        let mut header = tar::Header::new_ustar();
        let bytes = header.as_mut_bytes();
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        bytes[156] = kind;
        header.set_size(content.len() as u64);
        header.set_cksum();
        gz.write_all(header.as_bytes()).expect("memory");
        gz.write_all(content).expect("memory");
        let padding = content.len().next_multiple_of(512) - content.len();
        gz.write_all(&vec![0; padding]).expect("memory");
    }
    gz.write_all(&[0; 1024]).expect("memory");
    gz.finish().expect("memory")
}

/// The files below a folder, with their lengths, sorted.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
    let (mut found, mut folders) = (vec![], vec![folder.to_owned()]);
    while let Some(own) = folders.pop() {
        for entry in fs::read_dir(&own).expect("a folder") {
            let entry = entry.expect("an entry");
            let kind = entry.file_type().expect("a type");
            assert!(!kind.is_symlink(), "{}", entry.path().display());
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                let relative = entry
                    .path()
                    .strip_prefix(folder)
                    .expect("inside")
                    .to_owned();
                found.push((relative, entry.metadata().expect("a length").len()));
            }
        }
    }
    found.sort_unstable();
    found
}

/// Unpacks an archive into the folder `inner` of a folder; nothing is written outside.
fn unpack_bytes(name: &str, bytes: &[u8]) -> (tempfile::TempDir, Result<Unpacked, String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join(name);
    fs::write(&archive, bytes).expect("a file");
    let inner = folder.path().join("inner");
    let unpacked = unpack(&archive, &inner, &mut |done, all| assert!(done <= all));
    let unpacked = unpacked.map_err(|error| {
        let is_expected = matches!(*error.kind, ErrorKind::Damaged { .. });
        assert!(is_expected, "{error}");
        error.to_string()
    });
    for (file, _) in files(folder.path()) {
        let is_inside = file == Path::new(name) || file.starts_with("inner");
        assert!(is_inside, "{}", file.display());
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert!(!name.ends_with(".tmp"), "{name}");
    }
    (folder, unpacked)
}

#[test]
fn archives_of_data_sets_have_the_files_that_other_programs_find() {
    let folder = tempfile::tempdir().expect("a folder");
    let archives = [
        ("airplane.zip", "CIFAR10DVS/airplane"),
        ("truck.zip", "CIFAR10DVS/truck"),
        ("Caltech101.zip", "NCaltech101/Caltech101"),
        ("Train.zip", "NMNIST/Train"),
        ("Test.zip", "NMNIST/Test"),
        ("shd_train.h5.zip", "SHD/shd_train.h5"),
        ("DvsGesture.tar.gz", "DVS128Gesture/DvsGesture"),
    ];
    for (archive, expected) in archives {
        let path = fixture("archives").join(archive);
        let mut last = (0, 0);
        let unpacked = unpack(&path, folder.path(), &mut |done, all| {
            assert!(last.0 <= done && done <= all);
            last = (done, all);
        });
        let unpacked = unpacked.expect("an archive");
        assert_eq!(last.1, fs::metadata(&path).expect("a file").len());
        let expected = fixture("datasets").join(expected);
        let own = folder.path().join(expected.file_name().expect("a name"));
        if expected.is_file() {
            assert_eq!(fs::read(own).unwrap(), fs::read(expected).unwrap());
            continue;
        }
        let found = files(&own);
        assert_eq!(found, files(&expected), "{archive}");
        assert_eq!(unpacked.files, found.len() as u64);
        assert_eq!(
            unpacked.bytes,
            found.iter().map(|(_, len)| len).sum::<u64>()
        );
        for (file, _) in found {
            let [own, expected] = [&own, &expected].map(|folder| fs::read(folder.join(&file)));
            assert_eq!(own.unwrap(), expected.unwrap(), "{}", file.display());
        }
    }
}

#[test]
fn long_names_of_pax_and_gnu_tar_are_read() {
    for name in ["long_name_pax.tar.gz", "long_name_gnu.tar.gz"] {
        let bytes = fs::read(fixture("archives").join(name)).expect("a file");
        let (folder, unpacked) = unpack_bytes(name, &bytes);
        assert_eq!(unpacked.expect(name).files, 1);
        let expected = format!("lé{}/{}.bin", "g".repeat(40), "n".repeat(120));
        let expected = [(PathBuf::from(expected), 5)];
        assert_eq!(files(&folder.path().join("inner")), expected, "{name}");
    }
}

#[test]
fn archives_in_an_archive_are_unpacked_where_they_are() {
    let deepest = zip(&[("c.bin", b"deep")]);
    let inner = zip(&[("cars/1.dat", b"one"), ("cars/deepest.zip", &deepest)]);
    let outer = zip(&[
        ("set/", b""),
        ("set/train.zip", &inner),
        ("__MACOSX/set/._train.zip", b"icon"),
        ("read.me", b"text"),
    ]);
    let (folder, unpacked) = unpack_bytes("set.zip", &outer);
    assert_eq!(unpacked.expect("an archive").files, 3);
    let found = files(&folder.path().join("inner"));
    let expected = [
        ("read.me", 4),
        ("set/cars/1.dat", 3),
        ("set/cars/deepest.zip", deepest.len() as u64),
    ];
    let expected = expected.map(|(file, len)| (PathBuf::from(file), len));
    assert_eq!(found, expected);
}

#[test]
fn members_that_lead_elsewhere_are_errors() {
    let long = "n".repeat(300);
    for name in [
        "../x",
        "a/../../x",
        "/etc/x",
        "a\\..\\x",
        "C:x",
        "a\0b",
        "",
        ".",
        &long,
    ] {
        let (_, unpacked) = unpack_bytes("a.zip", &zip(&[("first", b"1"), (name, b"2")]));
        let error = unpacked.expect_err(name);
        assert!(error.contains("the member `"), "{name}: {error}");
    }
    for name in ["../x", "/etc/x", "a/../../x"] {
        let (_, unpacked) = unpack_bytes("a.tar.gz", &tar_gz(&[(b'0', name, b"2")]));
        let error = unpacked.expect_err(name);
        assert!(error.contains("leads out of the folder"), "{error}");
    }
}

#[test]
fn links_and_devices_are_errors() {
    for kind in [b'1', b'2', b'3', b'4', b'6', b'S'] {
        let (_, unpacked) = unpack_bytes("a.tar.gz", &tar_gz(&[(kind, "x", b"")]));
        let error = unpacked.expect_err("no regular file");
        assert!(error.contains("no regular file"), "{error}");
    }
}

#[test]
fn archives_that_become_far_larger_are_errors() {
    let zeros = vec![0; 80 << 20];
    let (_, unpacked) = unpack_bytes("a.zip", &zip(&[("x", &zeros)]));
    let error = unpacked.expect_err("a bomb");
    assert!(error.contains("200 times"), "{error}");
    let half = &zeros[..40 << 20];
    let inner = zip(&[("x", half), ("y", half)]);
    let (_, unpacked) = unpack_bytes("a.zip", &zip(&[("x.zip", &inner)]));
    let error = unpacked.expect_err("a bomb in an archive");
    assert!(error.contains("200 times"), "{error}");
    let tar = tar_gz(&[(b'0', "x", half), (b'x', "y", half)]);
    let (_, unpacked) = unpack_bytes("a.tar.gz", &tar);
    let error = unpacked.expect_err("a long header");
    assert!(error.contains("header of more than 65536"), "{error}");
    let mut gz = GzEncoder::new(vec![], Compression::fast());
    gz.write_all(&zeros).expect("memory");
    let (_, unpacked) = unpack_bytes("a.bin.gz", &gz.finish().expect("memory"));
    let error = unpacked.expect_err("a bomb");
    assert!(error.contains("200 times"), "{error}");
}

#[test]
fn damaged_archives_are_errors() {
    let good = zip(&[("x", &[7; 1000]), ("y", &[8; 1000])]);
    let mut wrong = good.clone();
    let crc = good
        .windows(4)
        .rposition(|bytes| bytes == b"PK\x01\x02")
        .unwrap()
        + 16;
    wrong[crc] ^= 1;
    let mut longer = good.clone();
    longer[crc + 8] ^= 1;
    let gesture = fs::read(fixture("archives").join("DvsGesture.tar.gz")).expect("a file");
    for (bytes, expected) in [
        (&wrong[..], "checksum is wrong"),
        (&longer, "bytes that it announces"),
        (&good[..good.len() - 30], "directory"),
        (&gesture[..gesture.len() / 2], "damaged"),
        (b"Rar!\x1a\x07\x01\0", "RAR"),
        (b"<!DOCTYPE html>", "a page about an error"),
        (b"", "no .zip"),
    ] {
        let (_, unpacked) = unpack_bytes("a.tar.gz", bytes);
        let error = unpacked.expect_err(expected);
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
