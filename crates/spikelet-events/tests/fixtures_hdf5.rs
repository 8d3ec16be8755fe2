//! The files of SHD and SSC, with the spikes that h5py finds in them, and damaged files.
#![cfg(feature = "hdf5")]

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use serde_json::Value;
use spikelet_events::{ErrorKind, read_spiking_audio};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The files of a manifest, with their numbers of classes.
fn files(kind: &str) -> Vec<(PathBuf, i64, Value)> {
    let text = fs::read_to_string(fixtures().join(kind).join("MANIFEST.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    let items = manifest["items"].as_array().expect("items").iter();
    let found = items.filter_map(|item| {
        let classes = match item["format"].as_str()? {
            "h5-shd" => 20,
            "h5-ssc" => 35,
            _ => return None,
        };
        Some((
            fixtures().join(item["file"].as_str()?),
            classes,
            item.clone(),
        ))
    });
    found.collect()
}

#[test]
fn files_have_the_spikes_that_h5py_finds() {
    for (path, classes, item) in files("formats") {
        let bytes = fs::read(fixtures().join(item["spikes"].as_str().unwrap())).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let expected = |name: &str| tensors.tensor(name).unwrap().data().to_vec();
        let audio = read_spiking_audio(&path, classes).unwrap();
        let i64s = |values: &[i64]| -> Vec<u8> {
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
        let times: Vec<u8> = audio.times.iter().flat_map(|t| t.to_le_bytes()).collect();
        let units: Vec<u8> = audio.units.iter().flat_map(|u| u.to_le_bytes()).collect();
        let name = path.display();
        assert!(
            i64s(&audio.offsets) == expected("offsets"),
            "{name}: offsets"
        );
        assert!(times == expected("times"), "{name}: times");
        assert!(units == expected("units"), "{name}: units");
        assert!(i64s(&audio.labels) == expected("labels"), "{name}: labels");
        // The expectation of SSC has zeros for the speakers.
        if let Some(speakers) = &audio.speakers
            && classes == 20
        {
            assert!(i64s(speakers) == expected("speakers"), "{name}: speakers");
        }
    }
}

#[test]
fn damaged_files_are_errors_that_name_the_fault() {
    for (path, classes, item) in files("corrupt") {
        let file = path.file_name().unwrap().to_str().unwrap();
        let words: &[&str] = match file {
            "h5_truncated.h5" => &["unexpected EOF"],
            "h5_not_hdf5.h5" => &["unpack it first"],
            "h5_no_units.h5" => &["spikes/units is missing"],
            "h5_lengths.h5" => &["recording 1 has 1 times and 2 units"],
            "h5_unit_700.h5" => &["unit 700 >= 700"],
            "h5_label.h5" => &["label 20 >= 20"],
            "h5_nan.h5" => &["recording", "time NaN"],
            _ => &[],
        };
        match read_spiking_audio(&path, classes) {
            Ok(_) => assert!(words.is_empty(), "{file}: {}", item["should"]),
            Err(error) => {
                assert!(!words.is_empty(), "{file}: {error}");
                for word in words {
                    assert!(error.to_string().contains(word), "{file}: {error}");
                }
            }
        }
    }
}

#[test]
fn errors_have_the_position_of_the_value() {
    for (path, classes, _) in files("corrupt") {
        let value: &[u8] = match path.file_name().unwrap().to_str().unwrap() {
            "h5_unit_700.h5" => &[0xbc, 0x02],
            "h5_nan.h5" => &[0x00, 0x7e],
            _ => continue,
        };
        let error = read_spiking_audio(&path, classes).unwrap_err();
        let ErrorKind::Damaged { offset, .. } = *error.kind else {
            panic!("{error}");
        };
        let bytes = fs::read(&path).unwrap();
        assert_eq!(&bytes[offset as usize..][..2], value, "{error}");
    }
}

#[test]
fn changed_and_shortened_files_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.h5");
    for (good, classes, _) in files("formats").into_iter().step_by(2) {
        let good = fs::read(good).unwrap();
        let changed = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let _ = read_spiking_audio(&path, classes);
        };
        for len in (0..good.len()).step_by(997) {
            changed(&good[..len]);
        }
        for at in (0..good.len()).step_by(61) {
            let mut bad = good.clone();
            bad[at] ^= if at % 2 == 0 { 0xff } else { 0x01 };
            changed(&bad);
        }
    }
}
