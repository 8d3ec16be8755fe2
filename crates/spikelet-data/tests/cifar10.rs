//! CIFAR-10: its files, how they may be wrong, and its archive.

use crate::gzip;
use crate::images::{all_pixels, class_of, pixels};
use crate::server;

use std::fs;
use std::path::Path;

use gzip::gzip;
use server::{Server, ok, remote};
use spikelet_data::RemoteFile;
use spikelet_data::download::Failure;
use spikelet_data::{Error, Files, Progress, RecordFiles, Source, cifar10, image_shape};
use tempfile::TempDir;

const NAMES: [&str; 6] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
    "test_batch.bin",
];

/// CIFAR-10 with two images a file.
fn small(change: impl FnOnce(&mut RecordFiles)) -> Source {
    let mut source = cifar10::source();
    let Files::Records(files) = &mut source.files else {
        panic!("CIFAR-10 lies in files of records");
    };
    files.records = 2;
    files.test_records = 2;
    change(files);
    source
}

/// A file of two images, the planes of which have the values `grey`, + 1, + 2, and + 3, + 4, + 5.
fn content(labels: [u8; 2], grey: u8) -> Vec<u8> {
    let mut content = Vec::new();
    for (image, label) in labels.into_iter().enumerate() {
        content.push(label);
        for channel in 0..3 {
            content.extend([grey + 3 * image as u8 + channel; 1024]);
        }
    }
    content
}

fn contents() -> [Vec<u8>; 6] {
    [0, 1, 2, 3, 4, 9].map(|file| content([file, 9 - file], 20 * file))
}

fn write(folder: &Path, contents: &[Vec<u8>]) {
    fs::create_dir_all(folder).unwrap();
    for (name, content) in NAMES.iter().zip(contents) {
        fs::write(folder.join(name), content).unwrap();
    }
}

fn written(change: impl FnOnce(&mut [Vec<u8>; 6])) -> TempDir {
    let dir = TempDir::new().unwrap();
    let mut contents = contents();
    change(&mut contents);
    write(&dir.path().join("cifar-10-batches-bin"), &contents);
    dir
}

#[test]
fn the_files_are_read_in_their_order_from_either_folder() {
    for folder in ["", "cifar-10-batches-bin"] {
        let dir = TempDir::new().unwrap();
        write(&dir.path().join(folder), &contents());
        let split = small(|_| ()).load(dir.path()).unwrap();
        let labels = split.train.labels().unwrap();
        assert_eq!(labels, [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]);
        assert_eq!(split.test.labels().unwrap(), [9, 0]);
        assert_eq!(image_shape(&*split.train).unwrap(), [3, 32, 32]);
        let image = pixels(&*split.train, 3);
        assert_eq!([image[0], image[1024], image[3071]], [23, 24, 25]);
        assert_eq!(class_of(&*split.train, 0), "airplane");
        assert_eq!(class_of(&*split.test, 0), "truck");
        assert_eq!(split.test.name(), "CIFAR-10");
    }
}

#[test]
fn a_file_of_another_length_is_refused_with_both_lengths() {
    for (length, said) in [(0, "0 bytes"), (6145, "6145 bytes"), (6147, "6147 bytes")] {
        let dir = written(|contents| contents[2].resize(length, 0));
        let error = small(|_| ()).load(dir.path()).unwrap_err();
        assert!(
            matches!(error, Error::RecordBytes { expected: 6146, .. }),
            "{error}"
        );
        let message = error.to_string();
        assert!(
            message.contains("data_batch_3.bin") && message.contains(said),
            "{message}"
        );
        assert!(
            message.contains("6146") && message.contains("help:"),
            "{message}"
        );
    }
}

#[test]
fn the_real_sources_files_have_ten_thousand_images() {
    let dir = written(|_| ());
    let error = cifar10::load(dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::RecordBytes {
                expected: 30_730_000,
                records: 10_000,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_label_that_no_class_has_is_refused_with_its_place() {
    let dir = written(|contents| contents[5] = content([3, 10], 0));
    let error = small(|_| ()).load(dir.path()).unwrap_err();
    let Error::FileLabel {
        path,
        index: 1,
        label: 10,
        classes: 10,
    } = error
    else {
        panic!("{error}");
    };
    assert!(path.ends_with("cifar-10-batches-bin/test_batch.bin"));
}

#[test]
fn missing_files_are_named_with_their_archive() {
    let dir = written(|_| ());
    let folder = dir.path().join("cifar-10-batches-bin");
    fs::remove_file(folder.join("data_batch_4.bin")).unwrap();
    let message = small(|_| ()).load(dir.path()).unwrap_err().to_string();
    assert!(message.contains("no `data_batch_4.bin` in"), "{message}");
    let help = format!(
        "(unpacked from cifar-10-binary.tar.gz) into {}",
        folder.display()
    );
    assert!(message.contains(&help), "{message}");
}

#[test]
fn a_source_that_makes_no_sense_is_refused() {
    let dir = written(|_| ());
    for records in [0, usize::MAX] {
        let source = small(|files| files.records = records);
        source.load(dir.path()).unwrap_err();
    }
    let mut source = small(|files| files.records = 0);
    source.shape = [usize::MAX, 2, 2];
    source.load(dir.path()).unwrap_err();
    let dir = written(|contents| contents.iter_mut().for_each(Vec::clear));
    let error = source.load(dir.path()).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
}

/// A compressed archive with these files.
fn archive<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // Written as it is: `set_path` would refuse the paths that a test is about.
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        archive.append(&header, content).unwrap();
    }
    gzip(&archive.into_inner().unwrap())
}

/// Such an archive as CIFAR-10's, the files in `folder` and some that nobody wants around them.
fn whole(folder: &str) -> Vec<u8> {
    let contents = contents();
    let paths = NAMES.map(|name| format!("{folder}/{name}"));
    let (meta, page, evil) = (
        format!("{folder}/batches.meta.txt"),
        format!("{folder}/readme.html"),
        "../../evil.txt".to_owned(),
    );
    let files = paths.iter().zip(&contents);
    let files = files.map(|(path, content)| (path.as_str(), content.as_slice()));
    let others = [(&page, "page"), (&evil, "evil"), (&meta, "airplane\n")];
    let others = others.map(|(path, content)| (path.as_str(), content.as_bytes()));
    archive(others.into_iter().chain(files))
}

/// A source whose one mirror has `body` as its archive.
fn served(body: &[u8], change: impl FnOnce(&mut RemoteFile)) -> (Source, Server) {
    let answer = ok(body);
    let server = Server::start(Box::new(move |_| answer.clone()));
    let mut source = small(|files| {
        files.archive = remote(&files.archive.name, body);
        change(&mut files.archive);
    });
    source.mirrors = vec![server.url.clone()];
    (source, server)
}

fn files_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_archive_is_fetched_once_and_only_the_known_files_are_unpacked() {
    for folder in ["cifar-10-batches-bin", "/somewhere/else", "../../.."] {
        let (source, server) = served(&whole(folder), |_| ());
        let dir = TempDir::new().unwrap();
        let split = source
            .load_or_download(dir.path(), Progress::Quiet)
            .unwrap();
        assert_eq!((split.train.len(), split.test.len()), (10, 2));
        source
            .load_or_download(dir.path(), Progress::Quiet)
            .unwrap();
        assert_eq!(server.asked(), ["/data/cifar-10-binary.tar.gz"]);

        assert_eq!(files_in(dir.path()), ["cifar-10-batches-bin"]);
        let mut expected = vec!["batches.meta.txt"];
        expected.extend(NAMES);
        assert_eq!(files_in(&dir.path().join("cifar-10-batches-bin")), expected);
    }
}

#[test]
fn an_incomplete_copy_is_replaced_as_a_whole() {
    let (source, _server) = served(&whole("cifar-10-batches-bin"), |_| ());
    let dir = written(|contents| contents[0] = content([7, 7], 200));
    fs::remove_file(dir.path().join("cifar-10-batches-bin/test_batch.bin")).unwrap();
    let split = source
        .load_or_download(dir.path(), Progress::Quiet)
        .unwrap();
    assert_eq!(split.train.labels().unwrap()[..2], [0, 9]);
}

#[test]
fn an_archive_with_another_checksum_is_not_unpacked() {
    let body = whole("cifar-10-batches-bin");
    let (source, _server) = served(&body, |file| {
        let last = file.sha256.pop().unwrap();
        file.sha256.push(if last == '0' { '1' } else { '0' });
    });
    let dir = TempDir::new().unwrap();
    let error = source
        .load_or_download(dir.path(), Progress::Quiet)
        .unwrap_err();
    let message = error.to_string();
    let Error::Download(error) = error else {
        panic!("{error}");
    };
    let failure = &error.attempts[0].failure;
    assert!(matches!(failure, Failure::Checksum { .. }), "{failure}");
    let folder = dir.path().join("cifar-10-batches-bin");
    assert_eq!(files_in(&folder), [""; 0]);
    let help = format!(
        "help: get cifar-10-binary.tar.gz by other means and put the files in it, unpacked, into {}",
        folder.display()
    );
    assert!(message.ends_with(&help), "{message}");
}

#[test]
fn an_archive_that_lacks_a_file_or_is_none_leaves_nothing_behind() {
    let half = archive([("data_batch_1.bin", &contents()[0][..])]);
    let (source, _server) = served(&half, |_| ());
    let dir = TempDir::new().unwrap();
    let error = source
        .load_or_download(dir.path(), Progress::Quiet)
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("does not contain `data_batch_2.bin`,"),
        "{message}"
    );
    assert_eq!(files_in(&dir.path().join("cifar-10-batches-bin")), [""; 0]);

    for none in [&b"not an archive"[..], &gzip(&[7; 3000])] {
        let (source, _server) = served(none, |_| ());
        let error = source
            .load_or_download(dir.path(), Progress::Quiet)
            .unwrap_err();
        let Error::Download(error) = error else {
            panic!("{error}");
        };
        let failure = &error.attempts[0].failure;
        assert!(matches!(failure, Failure::Unpack(_)), "{failure}");
        assert_eq!(files_in(&dir.path().join("cifar-10-batches-bin")), [""; 0]);
    }
}

/// Runs on the real files below the folder that `SPIKELET_DATA` names.
#[test]
#[ignore = "needs CIFAR-10 in the folder SPIKELET_DATA"]
fn loads_the_real_files() {
    let folder = std::env::var_os("SPIKELET_DATA").expect("SPIKELET_DATA names a folder");
    let split = cifar10::load(folder).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (50_000, 10_000));
    for (part, len) in [(&split.train, 5_000), (&split.test, 1_000)] {
        let labels = part.labels().unwrap();
        for class in 0..10 {
            assert_eq!(labels.iter().filter(|&&label| label == class).count(), len);
        }
    }
    let pixels = all_pixels(&*split.train);
    for (channel, mean) in [0.4914, 0.4822, 0.4465].into_iter().enumerate() {
        let planes = pixels.chunks_exact(1024).skip(channel).step_by(3);
        let sum: u64 = planes.flatten().map(|&pixel| u64::from(pixel)).sum();
        let found = sum as f64 / 255.0 / (50_000.0 * 1024.0);
        assert!((found - mean).abs() < 2e-3, "channel {channel}: {found}");
    }
}
