//! Data sets are fetched and verified: checksums, numbers of samples, recordings to their ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use spikelet_events::{
    Checksum, ErrorKind, EventSet, Fault, Split, VerifyOptions, VerifyProgress, event_sets,
};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn set(name: &str) -> &'static EventSet {
    EventSet::find(name).expect("a known set")
}

#[test]
fn folders_of_all_sets_are_verified() {
    let folders = [
        ("asl-dvs", "ASLDVS"),
        ("cifar10-dvs", "CIFAR10DVS"),
        ("cifar10-dvs", "CIFAR10DVS_aedat4"),
        ("dvs128-gesture", "DVS128Gesture"),
        ("dvs-lip", "DVSLip"),
        ("es-imagenet", "ESImageNet"),
        ("gen1", "Gen1"),
        ("n-cars", "NCARS"),
        ("n-caltech101", "NCaltech101"),
        ("n-mnist", "NMNIST"),
        #[cfg(feature = "hdf5")]
        ("shd", "SHD"),
        #[cfg(feature = "hdf5")]
        ("ssc", "SSC"),
    ];
    for (name, folder) in folders {
        let folder = fixtures().join("datasets").join(folder);
        let last = Mutex::new(0);
        let found = set(name).verify(&folder, &VerifyOptions::default(), &|progress| {
            if let VerifyProgress::Samples { done, all } = progress {
                let mut last = last.lock().expect("no panic");
                *last = done.max(*last);
                assert!(done <= all);
            }
        });
        let found = found.expect(name);
        let data = set(name).open(&folder).expect(name);
        assert!(found.layout.is_none(), "{name}");
        let recordings = &found.recordings;
        let all = data.samples().len();
        assert_eq!(
            (recordings.samples, recordings.damaged),
            (all, 0),
            "{found}"
        );
        assert_eq!(*last.lock().expect("no panic"), all, "{name}");
        let read = |index| data.read(index).expect("events").len() as u64;
        let events: u64 = (0..all).map(read).sum();
        assert_eq!(recordings.events, events, "{name}");
        let split: usize = found.splits.iter().map(|&(_, found, _)| found).sum();
        assert_eq!(split, all, "{name}");
        // The fixtures have few samples.
        let is_published = found
            .splits
            .iter()
            .any(|(_, _, published)| published.is_some());
        assert_eq!(found.is_intact(), !is_published, "{found}");
    }
}

#[test]
fn damaged_and_empty_recordings_are_counted_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let class = folder.path().join("Train/3");
    fs::create_dir_all(&class).expect("a folder");
    let write = |name: &str, bytes: &[u8]| fs::write(class.join(name), bytes).expect("a file");
    write("00001.bin", &[3, 7, 0x80, 0, 40]);
    write("00002.bin", &[3, 7, 0x80, 0, 40, 1]);
    write("00003.bin", &[]);
    write("00004.bin", &[0, 240, 0, 0, 0, 3, 7, 0, 0, 40]);
    write("00005.bin", &[34, 7, 0x80, 0, 40]);
    let options = VerifyOptions::default();
    let found = set("n-mnist")
        .verify(folder.path(), &options, &|_| {})
        .expect("a folder");
    let recordings = &found.recordings;
    assert_eq!(
        (recordings.samples, recordings.damaged, recordings.empty),
        (3, 2, 1)
    );
    assert_eq!(recordings.events, 2);
    assert_eq!(recordings.faults.count(Fault::OverflowRecords), 1);
    let text = found.to_string();
    for words in [
        "Train.zip: not in the folder",
        "train: 5 samples; 60000 are published",
        "3 samples with 2 events",
        "1 samples have no events",
        "2 samples are damaged",
        "00002.bin: atis5",
        "00005.bin: event 0",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    assert!(!found.is_intact());
}

#[test]
fn archives_of_other_content_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("download")).expect("a folder");
    let archive = folder.path().join("download/Train.zip");
    fs::copy(fixtures().join("archives/Train.zip"), &archive).expect("a file");
    let found = set("n-mnist").verify(folder.path(), &VerifyOptions::default(), &|_| {});
    let found = found.expect("a folder");
    let (train, test) = (&found.archives[0], &found.archives[1]);
    assert!(matches!(train.1, Some(Checksum::Wrong { .. })), "{train:?}");
    assert_eq!(test.1, None);
    assert!(found.layout.is_some() && !found.is_intact());
    let unpacked = set("n-mnist").unpack(&archive, folder.path(), &mut |_, _| {});
    let error = unpacked.expect_err("a wrong checksum");
    assert!(matches!(*error.kind, ErrorKind::Checksum { .. }), "{error}");
    // Other names are not compared.
    let other = folder.path().join("other.zip");
    fs::rename(&archive, &other).expect("a file");
    let unpacked = set("n-mnist").unpack(&other, folder.path(), &mut |done, all| {
        assert!(done <= all);
    });
    assert_eq!(unpacked.expect("an archive").files, 4);
    let data = set("n-mnist").open(folder.path()).expect("the files");
    assert_eq!(data.indices(Split::Train).expect("samples").len(), 4);
}

#[test]
fn checksums_are_those_of_rfc_1321() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    for (text, expected) in [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ] {
        fs::write(&path, text).expect("a file");
        let download = &set("asl-dvs").downloads[0];
        let Checksum::NotPublished { found } = download.check(&path, &mut |_, _| {}).unwrap()
        else {
            panic!("{download:?}");
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn sets_have_addresses_or_say_that_a_browser_is_needed() {
    for set in event_sets() {
        match set.archives() {
            Ok(archives) => {
                assert!(!archives.is_empty(), "{}", set.name);
                assert!(
                    archives
                        .iter()
                        .all(|own| own.url.is_some() && own.md5.is_some())
                );
            }
            Err(error) => assert!(error.to_string().contains(set.page), "{error}"),
        }
    }
    let count = |name| set(name).archives().map_or(0, |archives| archives.len());
    assert_eq!(count("cifar10-dvs"), 10);
    assert_eq!(count("n-mnist"), 2);
    assert_eq!(count("n-caltech101"), 1);
    assert_eq!(count("dvs128-gesture"), 1);
    assert_eq!(count("n-cars"), 0);
}
