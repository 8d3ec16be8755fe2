//! Networks in files in place of names, and the list of networks.

use crate::common::{complaint, said, said_json};
use std::path::Path;

const NET: &str = r#"
[network]
name = "two-paths"
input = [1, 28, 28]
neuron = { name = "lif", tau = 2.0 }
layers = [
  { max-pool = 4 },
  "flatten",
  { branches = [{ linear = 12 }, [{ linear = 12 }, "neuron"]] },
  { residual = [{ linear = 12 }, "neuron"] },
  { linear = 10 },
  "neuron",
]
"#;

/// The path of a file with this text.
fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_network_in_a_file_is_planned_trained_resumed_and_evaluated() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = written(folder.path(), "net.toml", NET);
    let small = ["-T", "2", "-b", "16", "--device", "cpu"];
    let planned = said_json(&[&["plan", &net][..], &small].concat());
    assert_eq!(planned[0]["network"]["name"], "two-paths");
    assert_eq!(planned[0]["network"]["layers"][1], "flatten");
    let out = folder.path().join("run").to_string_lossy().into_owned();
    let data = [
        "--train-images",
        "64",
        "--test-images",
        "20",
        "--schedule",
        "constant",
        "--out",
        &out,
    ];
    let train = |more: &[&str]| said_json(&[&["train", &net], &small[..], &data, more].concat());
    let lines = train(&["--epochs", "1", "--set", "tau=3"]);
    let stored = &lines[0]["network"];
    assert_eq!(stored["neuron"]["params"]["tau"], 3);
    // The run's network is the file's, with its neuron.
    let lines = train(&["--epochs", "2", "--resume"]);
    assert_eq!(&lines[0]["network"], stored);
    std::fs::remove_file(&net).expect("the file is there");
    let last = format!("{out}/last.safetensors");
    let lines = said_json(&["eval", &last, "--test-images", "20"]);
    assert_eq!(&lines[0]["network"], stored);
}

#[test]
fn a_wrong_file_is_named_with_line_and_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = written(
        folder.path(),
        "wrong.toml",
        &NET.replace("flatten", "flaten"),
    );
    let message = complaint(&["plan", &wrong], 1);
    assert!(
        message.contains("wrong.toml:8:3: layer `1`: `flaten` is not a layer"),
        "{message}"
    );
    assert!(message.contains("did you mean `flatten`?"), "{message}");
    let tables = written(
        folder.path(),
        "tables.toml",
        &format!("{NET}\n[optimiser]\n"),
    );
    assert!(complaint(&["train", &tables], 1).contains("no key `optimiser`"));
    for missing in ["nowhere.toml", "./csnn"] {
        assert!(complaint(&["plan", missing], 1).contains(missing));
    }
    let net = written(folder.path(), "net.toml", NET);
    let message = complaint(&["plan", &net, "--hidden", "3"], 2);
    assert!(message.contains("two-paths has no --hidden"), "{message}");
    let message = complaint(&["train", &net, "--dataset", "cifar10"], 2);
    assert!(
        message.contains("two-paths takes images or frames of 1 × 28 × 28"),
        "{message}"
    );
}

#[test]
fn models_lists_networks_and_the_layers_of_one() {
    insta::assert_snapshot!("models", said(&["models"]));
    insta::assert_snapshot!("models_csnn", said(&["models", "csnn"]));
    let folder = tempfile::tempdir().expect("a folder");
    let net = written(folder.path(), "net.toml", NET);
    insta::assert_snapshot!("models_file", said(&["models", &net]));
    let named = written(folder.path(), "named.toml", "[network]\nname = \"csnn\"\n");
    assert!(complaint(&["models", &named], 2).contains("spikelet models csnn"));
}
