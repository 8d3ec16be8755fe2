//! Packs: what is packed is read back, and damage concerns one sample.

use std::fs;
use std::num::NonZero;
use std::path::Path;

use proptest::prelude::*;
use spikelet_events::pack::{Pack, PackInfo, SampleInfo, Writer, pack_data_set};
use spikelet_events::{ErrorKind, EventBuffer, EventSet, Sensor, Split, event_sets};

const INFO: SampleInfo = SampleInfo::new(Split::Train, Some(3));

fn info(sensor: Option<Sensor>) -> PackInfo {
    PackInfo {
        name: "own".into(),
        sensor,
        classes: vec!["cat".into(), "dög".into()],
    }
}

/// A pack of these samples.
fn pack(path: &Path, samples: &[EventBuffer]) -> Pack {
    let mut writer = Writer::create(path, &info(None)).unwrap();
    for events in samples {
        writer.push(events, INFO).unwrap();
    }
    writer.finish().unwrap();
    Pack::open(path).unwrap()
}

fn sample(pack: &Pack, index: usize) -> EventBuffer {
    let mut events = EventBuffer::default();
    pack.read(index, &mut events).unwrap();
    events
}

/// Events of a sensor of 34 × 34 pixels.
fn synthetic(count: u32) -> EventBuffer {
    let mut events = EventBuffer::default();
    for k in 0..count {
        let (x, y) = (k.wrapping_mul(7919) % 34, k.wrapping_mul(104_729) % 34);
        events.push(i64::from(k * 70 + k % 13), x as u16, y as u16, k % 3 == 0);
    }
    events
}

#[test]
fn all_samples_of_the_data_sets_are_read_back_with_labels_and_splits() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/datasets");
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("one"), folder.path().join("four"));
    let mut packed = 0;
    for directory in fs::read_dir(fixtures).unwrap() {
        let directory = directory.unwrap().path();
        // Folders that are laid out as several sets are packed as each.
        for data in event_sets()
            .iter()
            .filter_map(|set: &EventSet| set.open(&directory).ok())
        {
            let mut last = None;
            pack_data_set(&data, &path, NonZero::<usize>::MIN, |progress| {
                last = Some(progress)
            })
            .unwrap();
            pack_data_set(&data, &other, NonZero::new(4).unwrap(), |_| {}).unwrap();
            assert_eq!(fs::read(&path).unwrap(), fs::read(&other).unwrap());
            let pack = Pack::open(&path).unwrap();
            assert_eq!(pack.info().name, data.name());
            assert_eq!(pack.info().classes, data.classes());
            assert_eq!(pack.info().sensor, data.sensor());
            assert_eq!(pack.len(), data.samples().len());
            let progress = last.unwrap();
            assert_eq!((progress.samples, progress.of), (pack.len(), pack.len()));
            for (index, own) in data.samples().iter().enumerate() {
                let info = pack.samples()[index].info;
                assert_eq!((info.split, info.label), (own.split, own.label));
                assert_eq!(info.speaker, own.speaker);
                assert_eq!(sample(&pack, index), data.read(index).unwrap());
                packed += 1;
            }
        }
    }
    assert!(packed > 30, "{packed} samples");
}

#[test]
fn any_events_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pack");
    let time = prop_oneof![any::<i64>(), 0_i64..1000, Just(i64::MIN), Just(i64::MAX)];
    let coordinate = || prop_oneof![any::<u16>(), 0_u16..34];
    let event = (time, coordinate(), coordinate(), any::<bool>());
    let events = proptest::collection::vec(event, 0..200).prop_map(|list| {
        let mut events = EventBuffer::default();
        for (t, x, y, on) in list {
            events.push(t, x, y, on);
        }
        events
    });
    proptest!(ProptestConfig::with_cases(200), |(samples in proptest::collection::vec(events, 0..4))| {
        let pack = pack(&path, &samples);
        prop_assert_eq!(pack.len(), samples.len());
        for (index, events) in samples.iter().enumerate() {
            prop_assert_eq!(&sample(&pack, index), events);
        }
    });
}

#[test]
fn samples_of_several_blocks_are_read_back_and_appended() {
    let folder = tempfile::tempdir().unwrap();
    let events = synthetic(150_000);
    let pack = pack(
        &folder.path().join("pack"),
        &[events.clone(), synthetic(0), synthetic(65_536)],
    );
    let mut all = sample(&pack, 0);
    assert_eq!(all, events);
    pack.read(1, &mut all).unwrap();
    pack.read(2, &mut all).unwrap();
    let mut expected = events;
    expected.extend(&synthetic(65_536));
    assert_eq!(all, expected);
    assert!(pack.indices(Split::Test).is_empty());
    assert_eq!(pack.indices(Split::Train), [0, 1, 2]);
}

#[test]
fn a_damaged_sample_is_named_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pack");
    let samples = [synthetic(500), synthetic(400), synthetic(300)];
    let damaged = pack(&path, &samples).samples()[1];
    let mut bytes = fs::read(&path).unwrap();
    bytes[damaged.offset as usize + damaged.bytes as usize / 2] ^= 4;
    fs::write(&path, bytes).unwrap();
    let pack = Pack::open(&path).unwrap();
    let mut events = synthetic(10);
    let error = pack.read(1, &mut events).unwrap_err();
    assert_eq!(events, synthetic(10), "events were appended");
    let error = error.to_string();
    for words in [
        "pack: ",
        "sample 1 (train, label 3)",
        "the checksum is",
        &format!("byte {}", damaged.offset),
    ] {
        assert!(error.contains(words), "`{words}` is not in: {error}");
    }
    assert_eq!(sample(&pack, 0), samples[0]);
    assert_eq!(sample(&pack, 2), samples[2]);
    let error = pack.read(3, &mut events).unwrap_err();
    assert!(
        matches!(
            *error.kind,
            ErrorKind::NoSample {
                index: 3,
                len: 3,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_file_that_changes_while_it_is_open_gives_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pack");
    let pack = pack(&path, &[synthetic(500)]);
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(100)
        .unwrap();
    let error = pack.read(0, &mut EventBuffer::default()).unwrap_err();
    assert!(matches!(*error.kind, ErrorKind::Read { .. }), "{error}");
}

#[test]
fn files_that_are_no_whole_packs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pack");
    pack(&path, &[synthetic(500), synthetic(100)]);
    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8], words: &str| {
        fs::write(&path, bytes).unwrap();
        let error = Pack::open(&path).unwrap_err().to_string();
        assert!(
            error.contains(words) && error.contains("help: "),
            "`{words}` is not in: {error}"
        );
    };
    refused(b"", "0 bytes");
    refused(&[b' '; 100], "does not begin with `SPKPACK`");
    refused(&whole[..whole.len() - 1], "does not end as a pack");
    let mut other = whole.clone();
    other[7] = 2;
    refused(&other, "the version is 2");
    other = whole.clone();
    other[whole.len() - 20..whole.len() - 12].copy_from_slice(&u64::MAX.to_le_bytes());
    refused(&other, "an index of 18446744073709551615 bytes");
    other = whole.clone();
    other[whole.len() - 30] ^= 1;
    refused(&other, "the index is damaged");
}

#[test]
fn what_cannot_be_packed_is_an_error_and_leaves_the_pack_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pack");
    let mut writer = Writer::create(&path, &info(Some(Sensor::new(34, 34)))).unwrap();
    writer.push(&synthetic(5), INFO).unwrap();
    let mut outside = synthetic(5);
    outside.y[2] = 34;
    let error = writer.push(&outside, INFO).unwrap_err().to_string();
    assert!(error.contains("event 2: y 34 >= 34"), "{error}");
    outside.y[2] = 0;
    outside.p[4] = 7;
    let error = writer.push(&outside, INFO).unwrap_err().to_string();
    assert!(
        error.contains("pack cannot hold event 4: the polarity is 7"),
        "{error}"
    );
    assert!(!path.exists(), "an incomplete file");
    writer.finish().unwrap();
    assert_eq!(Pack::open(&path).unwrap().len(), 1);

    drop(Writer::create(folder.path().join("dropped"), &info(None)).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
