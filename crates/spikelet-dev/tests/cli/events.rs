//! `spikelet-dev events run` on the reference files of spikelet-events.

use crate::common::{code, complaint, run, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The manifest of a kind of items.
fn manifest(kind: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spikelet-events/tests/fixtures");
    fixtures.join(kind).join("MANIFEST.json")
}

/// Computes the items of a kind: the folder, the number of items and that of errors.
fn items(kind: &str) -> (tempfile::TempDir, u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let (manifest, out) = (manifest(kind), folder.path().join("ours"));
    let [manifest, out] = [&manifest, &out].map(|path| path.to_str().expect("UTF-8"));
    let words = [
        "events",
        "run",
        "--manifest",
        manifest,
        "--out",
        out,
        "--json",
    ];
    let output = run(&words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let said: Value = serde_json::from_str(stdout(&output).trim()).expect("JSON");
    let count = |name: &str| said[name].as_u64().expect("a number");
    (folder, count("items"), count("errors"))
}

/// The bytes of a file of the result.
fn bytes(folder: &tempfile::TempDir, name: &str) -> Vec<u8> {
    fs::read(folder.path().join("ours").join(name)).expect(name)
}

#[test]
fn every_item_is_a_file_or_an_error() {
    for (kind, items_of, errors_of) in [
        ("formats", 71, 0),
        ("corrupt", 84, 72),
        ("frames", 360, 38),
        ("transforms", 28, 3),
    ] {
        let (folder, count, errors) = items(kind);
        assert_eq!((count, errors), (items_of, errors_of), "{kind}");
        let written = fs::read_dir(folder.path().join("ours")).expect("a folder");
        assert!(written.count() as u64 >= count, "{kind}");
    }
}

#[test]
fn a_damaged_file_gives_its_whole_events_and_the_error() {
    let (folder, ..) = items("corrupt");
    let error = String::from_utf8(bytes(&folder, "atis_truncated.bin.error")).expect("text");
    assert!(error.contains("ends inside a record"), "{error}");
    let found = bytes(&folder, "atis_truncated.bin.safetensors");
    let expected =
        fs::read(manifest("corrupt").with_file_name("atis_truncated.bin.events.safetensors"));
    let (found, expected) = (columns(&found), columns(&expected.expect("events")));
    assert_eq!(found, expected);
}

/// The bytes of t, x, y and p.
fn columns(file: &[u8]) -> [Vec<u8>; 4] {
    let file = safetensors::SafeTensors::deserialize(file).expect("safetensors");
    ["t", "x", "y", "p"].map(|name| file.tensor(name).expect(name).data().to_vec())
}

#[test]
fn a_data_set_has_its_samples_with_digests() {
    let (folder, count, errors) = items("datasets");
    assert_eq!((count, errors), (12, 0));
    let set: Value = serde_json::from_slice(&bytes(&folder, "NMNIST.json")).expect("JSON");
    let sample = &set["samples"][0];
    assert_eq!(sample["file"], "Train/0/00002.bin");
    assert_eq!(
        (&sample["split"], &sample["count"]),
        (&"train".into(), &225.into())
    );
    let sha256 = "21c8da232fb2816a192b98b79852a8e9e83bd27a51994fcd875c59ef422f936a";
    assert_eq!(sample["sha256"], sha256);
}

#[test]
fn a_manifest_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("frames/MANIFEST.json");
    fs::create_dir(folder.path().join("frames")).expect("created");
    let out = folder.path().join("ours");
    let refused = |path: &Path, words: &[&str]| {
        let [path, out] = [path, &out].map(|path| path.to_str().expect("UTF-8"));
        let found = complaint(&["events", "run", "--manifest", path, "--out", out], 2);
        for word in words {
            assert!(found.contains(word), "`{word}` is not in: {found}");
        }
    };
    refused(&file, &["MANIFEST.json", "give a manifest"]);
    refused(folder.path(), &["formats, corrupt, frames"]);
    fs::write(&file, "{}").expect("written");
    refused(&file, &["no array `items`"]);
    fs::write(&file, r#"{"items": [{"id": "../x"}]}"#).expect("written");
    refused(&file, &["`../x`"]);
}
