//! `spikelet-dev weights run` on weights of other frameworks.

use crate::common::{complaint, mentions, said_json};
use spikelet::tensors::TensorFile;
use std::path::{Path, PathBuf};

fn file(folder: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join(name);
    path.to_str().expect("UTF-8").to_string()
}

fn weights(name: &str) -> String {
    file("../spikelet-weights/tests/fixtures/weights", name)
}

fn expected(network: &str) -> String {
    file("tests/weights", &format!("{network}.expected.safetensors"))
}

/// The largest difference of a potential.
const TOLERANCE: f64 = 1e-5;

fn compare(network: &str, file: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let out: PathBuf = folder.path().join("ours.safetensors");
    let (weights, input) = (weights(file), expected(network));
    let words = [
        "weights",
        "run",
        "--network",
        network,
        "--weights",
        &weights,
        "--input",
        &input,
        "--out",
    ];
    said_json(&[&words[..], &[out.to_str().expect("UTF-8")]].concat());
    let ours = TensorFile::read(&out).expect("results");
    let theirs = TensorFile::read(input).expect("a reference");
    let mut compared = 0;
    for (name, tensor) in theirs.tensors.iter().filter(|(name, _)| *name != "x") {
        let own = ours.get(name).expect("a result");
        assert_eq!(own.shape, tensor.shape, "{file}: {name}");
        let pairs = own.to_f64().into_iter().zip(tensor.to_f64());
        for (own, theirs) in pairs {
            let allowed = if name.starts_with("v/") {
                TOLERANCE * theirs.abs().max(1.0)
            } else {
                0.0
            };
            assert!(
                (own - theirs).abs() <= allowed,
                "{file}: {name}: {own}, {theirs}"
            );
        }
        compared += 1;
    }
    assert!(compared >= 2, "{file}");
}

#[test]
fn networks_of_other_frameworks_give_the_same_spikes() {
    for network in [
        "spikingjelly_csnn",
        "spikingjelly_class",
        "snntorch_mlp",
        "snntorch_conv",
        "norse_recurrent",
    ] {
        compare(network, &format!("{network}.pt"));
    }
}

#[test]
fn every_form_of_a_checkpoint_gives_the_same_spikes() {
    for file in [
        "container_net.pth",
        "container_model_module.pth",
        "container_lightning.ckpt",
        "container_model_state_dict.tar",
        "legacy_stream.pt",
        "legacy_tar.pt",
        "protocol4.pt",
        "big_endian.pt",
        "rezipped_deflate.pt",
        "float64.pt",
        "spikingjelly_csnn.safetensors",
    ] {
        compare("spikingjelly_csnn", file);
    }
}

#[test]
fn weights_of_another_network_are_refused() {
    let (other, input) = (weights("snntorch_mlp.pt"), expected("norse_recurrent"));
    let words = [
        "weights",
        "run",
        "--network",
        "norse_recurrent",
        "--weights",
        &other,
        "--input",
        &input,
    ];
    let message = complaint(&[&words[..], &["--out", "none.safetensors"]].concat(), 1);
    mentions(&message, &["`2.input_weights` is missing", "help:"]);
    let message = complaint(&[&words[..], &["--out", &input]].concat(), 2);
    mentions(&message, &["is an input"]);
}
