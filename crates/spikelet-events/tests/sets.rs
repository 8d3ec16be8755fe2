//! Miniature folders of the data sets in their layouts, with the samples, labels and events that SpikingJelly and tonic
//! find in them (`fixtures/datasets/MANIFEST.json`).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use spikelet_events::{
    ClassOrder, ErrorKind, EventBuffer, EventDataset, EventSample, EventSet, Options, SamplePart,
    Split, event_sets, recording_folder, recording_list,
};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/datasets")
}

fn manifest(set: &str) -> Value {
    let text = fs::read_to_string(fixtures().join("MANIFEST.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    manifest[set].clone()
}

fn open(name: &str, folder: &str) -> EventDataset {
    let set = EventSet::find(name).expect("a known set");
    set.open(fixtures().join(folder)).expect("the files")
}

/// SHA-256 of t, x, y and p, one after the other.
fn digest(events: &EventBuffer) -> String {
    let mut hash = Sha256::new();
    for t in &events.t {
        hash.update(t.to_le_bytes());
    }
    for value in events.x.iter().chain(&events.y) {
        hash.update(value.to_le_bytes());
    }
    hash.update(&events.p);
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// Asserts the number of events of a sample and their digest, if the manifest has one.
fn assert_events(data: &EventDataset, index: usize, expected: &Value) {
    let events = data.read(index).expect("events");
    assert_eq!(events.len() as u64, expected["count"], "{expected}");
    let sha256 = [&expected["sha256"], &expected["sha256_fields"]];
    if let Some(sha256) = sha256.into_iter().find_map(Value::as_str) {
        assert_eq!(digest(&events), sha256, "{expected}");
    }
}

fn file(sample: &EventSample) -> String {
    sample.file.to_str().expect("text").replace('\\', "/")
}

/// The samples of a manifest with their splits, in its order.
fn expected(set: &Value) -> Vec<(Split, Value)> {
    let split = |name: &str| match name {
        "Train" | "train" | "n-cars_train" => Split::Train,
        "val" | "valid" => Split::Valid,
        "Test" | "test" | "n-cars_test" => Split::Test,
        _ => Split::All,
    };
    let samples = |of: &Value| of["samples"].as_array().cloned().unwrap_or_default();
    let mut found = vec![];
    for name in ["Train", "Test", "train", "test"] {
        let of = samples(&set["splits"][name]).into_iter();
        found.extend(of.map(|sample| (split(name), sample)));
    }
    found.extend(
        samples(&set["all"])
            .into_iter()
            .map(|sample| (Split::All, sample)),
    );
    let own = samples(set).into_iter();
    found.extend(own.map(|sample| (split(sample["split"].as_str().unwrap_or("")), sample)));
    found
}

/// Asserts the samples of a set of files; gives their labels.
fn assert_files(name: &str, folder: &str, is_ordered: bool) -> Vec<(Value, u32)> {
    let (data, mut expected) = (open(name, folder), expected(&manifest(folder)));
    assert!(!expected.is_empty());
    assert_eq!(data.samples().len(), expected.len(), "{folder}");
    if !is_ordered {
        let place = |(_, e): &(Split, Value)| {
            let own = |sample: &EventSample| file(sample) == e["file"];
            data.samples().iter().position(own)
        };
        expected.sort_by_key(place);
    }
    let mut labels = vec![];
    for (index, (split, expected)) in expected.into_iter().enumerate() {
        let sample = &data.samples()[index];
        assert_eq!(file(sample), expected["file"].as_str().expect("a file"));
        assert_eq!(
            (sample.split, sample.part),
            (split, SamplePart::File),
            "{folder}"
        );
        assert_events(&data, index, &expected);
        if let Some(label) = sample.label {
            let class = &data.classes()[label as usize];
            if let Some(expected) = expected["class"].as_str() {
                assert_eq!(class, expected);
            }
            labels.push((expected, label));
        }
    }
    labels
}

/// Asserts that labels are those of the manifest.
fn assert_labels(labels: Vec<(Value, u32)>) {
    assert!(!labels.is_empty());
    for (expected, label) in labels {
        assert_eq!(expected["label"], label, "{expected}");
    }
}

#[test]
fn n_mnist_has_the_files_in_text_order_and_digits_as_labels() {
    assert_labels(assert_files("n-mnist", "NMNIST", true));
}

#[test]
fn n_caltech101_has_the_folders_sorted_as_text_as_classes() {
    let labels = assert_files("n-caltech101", "NCaltech101", true);
    let labels: Vec<u32> = labels.into_iter().map(|(_, label)| label).collect();
    assert_eq!(labels, [0, 1, 2, 2, 3]);
}

#[test]
fn cifar10_dvs_is_turned_as_spikingjelly_does_and_has_the_labels_of_cifar10() {
    let labels = assert_files("cifar10-dvs", "CIFAR10DVS", true);
    let labels: Vec<u32> = labels.into_iter().map(|(_, label)| label).collect();
    assert_eq!(labels, [0, 0, 0, 0, 9, 9]);
    assert_labels(assert_files("cifar10-dvs", "CIFAR10DVS_aedat4", true));
}

#[test]
fn dvs128_gesture_has_a_sample_for_each_window() {
    let (data, manifest) = (
        open("dvs128-gesture", "DVS128Gesture"),
        manifest("DVS128Gesture"),
    );
    let expected = expected(&manifest);
    assert_eq!(data.samples().len(), expected.len());
    for (split, expected) in expected {
        let trial = expected["trial"].as_str().expect("a recording");
        let is_own = |&index: &usize| {
            let sample = &data.samples()[index];
            sample.split == split
                && file(sample) == format!("DvsGesture/{trial}")
                && sample.label.is_some_and(|label| expected["label"] == label)
        };
        let nth = expected["nth_of_label_in_trial"]
            .as_u64()
            .expect("a number");
        let index = (0..data.samples().len()).filter(is_own).nth(nth as usize);
        assert_events(&data, index.expect("the window"), &expected);
    }
}

#[test]
fn asl_dvs_has_24_letters_without_j_and_z() {
    let labels = assert_files("asl-dvs", "ASLDVS", false);
    let labels: Vec<u32> = labels.into_iter().map(|(_, label)| label).collect();
    assert_eq!(labels, [0, 0, 9, 23]);
}

#[test]
fn dvs_lip_es_imagenet_n_cars_and_gen1_have_the_samples_of_the_manifest() {
    assert_files("dvs-lip", "DVSLip", false);
    assert_labels(assert_files("es-imagenet", "ESImageNet", false));
    assert_labels(assert_files("n-cars", "NCARS", false));
    assert!(assert_files("gen1", "Gen1", false).is_empty());
}

#[cfg(feature = "hdf5")]
#[test]
fn shd_and_ssc_have_the_recordings_that_h5py_finds() {
    for (name, folder, splits) in [
        ("shd", "SHD", &[Split::Train, Split::Test][..]),
        ("ssc", "SSC", &[Split::Train, Split::Valid, Split::Test]),
    ] {
        let data = open(name, folder);
        let mut before = 0;
        for &split in splits {
            let bytes = fs::read(fixtures().join(format!("{folder}.{split}.spikes.safetensors")));
            let bytes = bytes.expect("spikes");
            let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("safetensors");
            let column = |name: &str| tensors.tensor(name).expect("a column").data().to_vec();
            let i64s = |name: &str| -> Vec<i64> {
                let bytes = column(name);
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&v| i64::from_le_bytes(v))
                    .collect()
            };
            let (offsets, labels) = (i64s("offsets"), i64s("labels"));
            let times = column("times");
            let times = times.as_chunks().0.iter().map(|&v| f32::from_le_bytes(v));
            let times: Vec<i64> = times.map(|time| (f64::from(time) * 1e6) as i64).collect();
            let units = column("units");
            let units = units.as_chunks().0.iter().map(|&v| u16::from_le_bytes(v));
            let units: Vec<u16> = units.collect();
            let indices = data.indices(split).expect("a split");
            assert_eq!(indices.len(), labels.len());
            for (at, &index) in indices.iter().enumerate() {
                assert_eq!(index, before + at);
                let sample = &data.samples()[index];
                assert_eq!(sample.part, SamplePart::Index(at));
                assert_eq!(sample.label.map(i64::from), Some(labels[at]));
                let range = offsets[at] as usize..offsets[at + 1] as usize;
                let events = data.read(index).expect("spikes");
                assert_eq!(events.t, times[range.clone()]);
                assert_eq!(events.x, units[range]);
                assert!(events.y.iter().all(|&y| y == 0) && events.p.iter().all(|&p| p == 1));
            }
            before += indices.len();
        }
        assert_eq!(before, data.samples().len());
    }
}

#[cfg(feature = "hdf5")]
#[test]
fn speakers_that_are_left_out_are_in_the_validation_part_only() {
    let data = open("shd", "SHD");
    let speaker = |index: usize| data.samples()[index].speaker.expect("a speaker");
    let all = data.indices(Split::Train).expect("a split");
    let left_out = speaker(all[0]);
    let (train, valid) = data
        .leave_speakers_out(Split::Train, &[left_out])
        .expect("parts");
    assert!(valid.iter().all(|&index| speaker(index) == left_out));
    assert!(train.iter().all(|&index| speaker(index) != left_out));
    assert_eq!(train.len() + valid.len(), all.len());
    let error = data
        .leave_speakers_out(Split::Train, &[99])
        .expect_err("no such speaker");
    assert!(error.to_string().contains("[99]"), "{error}");
}

#[test]
fn a_split_by_class_takes_the_first_or_random_samples_of_each_class() {
    let data = open("cifar10-dvs", "CIFAR10DVS");
    let listed = data.split_by_class(0.5, ClassOrder::Listed);
    assert_eq!(listed, (vec![0, 1, 4], vec![2, 3, 5]));
    let random = |seed| data.split_by_class(0.5, ClassOrder::Random(seed));
    assert_eq!(random(3), random(3));
    assert!((0..8).any(|seed| random(seed) != listed));
    let (train, test) = random(1);
    let mut all = [train, test].concat();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_folder_without_the_files_is_an_error_that_says_what_to_get() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    for set in event_sets() {
        let error = set.open(folder.path()).expect_err("no files");
        let text = error.to_string();
        assert!(matches!(*error.kind, ErrorKind::Layout { .. }), "{text}");
        let own = folder.path().to_str().unwrap();
        for word in [
            own,
            "notes.txt",
            set.layout,
            set.page,
            set.downloads[0].file,
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let missing = set
            .open(folder.path().join("missing"))
            .expect_err("no folder");
        assert!(
            missing.to_string().contains("no readable folder"),
            "{missing}"
        );
    }
}

#[test]
fn missing_files_and_unknown_classes_are_errors_that_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let error = |set: &str| {
        let set = EventSet::find(set).expect("a known set");
        set.open(folder.path()).expect_err("a fault").to_string()
    };
    fs::write(path("trials_to_train.txt"), "user01_led.aedat\n").unwrap();
    assert!(error("dvs128-gesture").contains("user01_led.aedat"));
    fs::write(path("trials_to_train.txt"), "../user01_led.aedat\n").unwrap();
    assert!(error("dvs128-gesture").contains("does not name an .aedat file"));
    fs::create_dir_all(path("Train/ten")).unwrap();
    assert!(error("n-mnist").contains("ten: not as n-mnist"));
    fs::create_dir_all(path("val")).unwrap();
    fs::write(path("vallabel.txt"), "a.npz 3 254 254\n").unwrap();
    assert!(error("es-imagenet").contains("a.npz"));
    fs::write(path("vallabel.txt"), "a.npz 1000 254 254\n").unwrap();
    assert!(error("es-imagenet").contains("`a.npz 1000 254 254`"));
}

#[test]
fn own_recordings_may_have_splits_and_other_files_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, [3, 7, 0x80, 0, 40]).unwrap();
    };
    for name in [
        "train/b/2.bin",
        "train/b/10.bin",
        "train/b/notes.md",
        "test/a/1.bin",
    ] {
        put(name);
    }
    let data = recording_folder(folder.path(), &Options::default()).expect("recordings");
    let found: Vec<_> = data
        .samples()
        .iter()
        .map(|s| (file(s), s.split, s.label))
        .collect();
    let row = |name: &str, split, label| (name.to_string(), split, Some(label));
    let test = row("test/a/1.bin", Split::Test, 0);
    let train = |name| row(name, Split::Train, 1);
    assert_eq!(
        found,
        [test, train("train/b/10.bin"), train("train/b/2.bin")]
    );
    assert_eq!(data.indices(Split::Train).expect("a split"), [1, 2]);
    assert!(data.indices(Split::Valid).is_err());

    let list = folder.path().join("list.csv");
    fs::write(&list, "# file,class\ntrain/b/2.bin,left,train\n").unwrap();
    let data = recording_list(&list, &Options::default()).expect("recordings");
    assert_eq!(
        (data.samples().len(), data.classes()),
        (1, &["left".to_string()][..])
    );
    assert_eq!(data.read(0).expect("events").t, [40]);
    assert!(data.read(1).is_err());
    fs::write(&list, "train/b/3.bin,left\n").unwrap();
    let error = recording_list(&list, &Options::default()).expect_err("a missing file");
    assert!(
        error
            .to_string()
            .contains("line 1: the file `train/b/3.bin`"),
        "{error}"
    );
}
