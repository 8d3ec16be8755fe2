//! `spikelet record` on given sequences.

use crate::common::{complaint, mentions, said, said_json};
use crate::predict::write_npy;
use crate::small::SMALL;
use spikelet::tensors::TensorFile;
use std::path::Path;

#[test]
fn a_checkpoint_runs_on_the_sequences_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (run, first, again) = (path("run"), path("a.safetensors"), path("b.safetensors"));
    said(&[&["train", "--epochs", "1", "--out", &run][..], &SMALL].concat());
    let checkpoint = path("run/last.safetensors");
    let record = [
        "record",
        &checkpoint,
        "--device",
        "cpu",
        "--at-rest",
        "--values",
    ];
    // The encoder draws spikes.
    let more = ["sequence,outputs", "--samples", "0..3", "--out", &first];
    let said = said_json(&[&record[..], &more].concat());
    assert_eq!(said[0]["left_out"], serde_json::json!([]));
    let more = ["outputs", "--input", &first, "--out", &again];
    let said = said_json(&[&record[..], &more].concat());
    assert_eq!(said[0]["accuracy"], serde_json::Value::Null);
    let [first, again] = [first, again].map(|path| TensorFile::read(path).expect("a file").tensors);
    assert!(again.len() > 4, "{:?}", again.keys());
    for (name, tensor) in &again {
        assert!(first[name] == *tensor, "{name}");
    }
    let sequence = &first["input_seq"];
    assert_eq!(sequence.shape[1..], [3, 1, 28, 28]);

    // One sample of another length.
    let (file, out) = (path("x.npy"), path("c.npz"));
    let values = vec![0_u8; 2 * 784 * 4];
    write_npy(Path::new(&file), "<f4", "(2, 1, 28, 28)", &values);
    let more = ["outputs", "--input", &file, "--out", &out];
    let said = said_json(&[&record[..], &more].concat());
    assert_eq!(said[0]["images"], 1);
    write_npy(
        Path::new(&file),
        "<f4",
        "(2, 2, 28, 14)",
        &values[..2 * 784 * 4],
    );
    let message = complaint(&[&record[..], &more].concat(), 1);
    mentions(
        &message,
        &[
            "x.npy",
            "[2, 2, 28, 14]",
            "[T, N, 1, 28, 28]",
            "[T, 1, 28, 28]",
        ],
    );
    let more = [
        "outputs",
        "--input",
        &file,
        "--dataset",
        "mnist",
        "--out",
        &out,
    ];
    mentions(
        &complaint(&[&record[..], &more].concat(), 2),
        &["--input", "--dataset"],
    );
}
