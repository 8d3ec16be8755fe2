//! Experiments in files.

use crate::common::{complaint, mentions, said, said_json};
use serde_json::Value;
use spikelet::data::{DataOptions, NamedDataset, named_datasets};
use std::fs;
use std::path::{Path, PathBuf};

/// A few images and time steps.
const SMALL: [&str; 14] = [
    "--dataset",
    "synthetic",
    "--train-images",
    "96",
    "--test-images",
    "20",
    "-T",
    "2",
    "-b",
    "16",
    "--epochs",
    "2",
    "--device",
    "cpu",
];

/// The path of a file with this text.
fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

/// The epochs of a run without times.
fn epochs(lines: &[Value]) -> Vec<Value> {
    let epochs = lines.iter().filter(|line| line["event"] == "epoch");
    let without_times = epochs.map(|line| {
        let mut line = line.clone();
        let fields = line.as_object_mut().expect("an object");
        fields.retain(|key, _| !key.contains("second"));
        line
    });
    without_times.collect()
}

/// Trains into a folder and returns its epochs.
fn train(words: &[&str], out: &Path) -> Vec<Value> {
    let out = out.to_string_lossy();
    let lines = said_json(&[&["train"], words, &["--out", &out]].concat());
    let epochs = epochs(&lines);
    assert!(!epochs.is_empty());
    epochs
}

fn recipes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    let found = fs::read_dir(folder).expect("the folder is there");
    found.map(|entry| entry.expect("a file").path()).collect()
}

#[test]
fn a_file_trains_as_its_options_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = [
        &["mnist-fc", "--hidden", "24", "--optimizer", "adamw"][..],
        &[
            "--lr",
            "0.004",
            "--augment",
            "shift=0.1,rotate=5",
            "--set",
            "tau=3",
        ],
        &SMALL,
    ]
    .concat();
    let expected = train(&options, &folder.path().join("options"));
    let text = said(&[&["config"], &options[..]].concat());
    let file = written(folder.path(), "run.toml", &text);
    assert_eq!(train(&[&file], &folder.path().join("file")), expected);
    // The run has its experiment.
    let kept = folder.path().join("file/experiment.toml");
    assert_eq!(fs::read_to_string(&kept).expect("it is kept"), text);
    let checkpoint = folder.path().join("options/last.safetensors");
    let of_run = said(&["config", &checkpoint.to_string_lossy()]);
    let again = written(folder.path(), "again.toml", &of_run);
    assert_eq!(train(&[&again], &folder.path().join("again")), expected);
}

#[test]
fn the_layers_of_a_named_network_train_as_the_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = train(
        &[&["mnist-fc"], &SMALL[..]].concat(),
        &folder.path().join("name"),
    );
    let text = said(&[&["config", "mnist-fc"], &SMALL[..]].concat());
    assert!(text.contains("layers = ["), "{text}");
    let file = written(folder.path(), "layers.toml", &text);
    assert_eq!(train(&[&file], &folder.path().join("layers")), expected);
}

#[test]
fn a_model_with_options_is_printed_as_layers_on_request() {
    let words = ["config", "sew-resnet18", "--set", "network.width=8"];
    let options = said(&words);
    mentions(&options, &["name = \"sew-resnet18\"", "width = 8"]);
    let layers = said(&[&words[..], &["--layers"]].concat());
    mentions(&layers, &["layers = [", "input = [3, 224, 224]"]);
    assert!(!layers.contains("width = 8"), "{layers}");
    let usual = said(&["config", "sew-resnet18", "--layers"]);
    assert_ne!(layers, usual);
    let layers = said(&["config", "csnn", "--channels", "8", "--layers"]);
    mentions(&layers, &["conv = 8", "linear = 128"]);
}

#[test]
fn keys_are_set_by_their_dotted_names() {
    let set = |words: &[&str]| said(&[&["config", "csnn"], words].concat());
    let text = set(&[
        "--set",
        "optimizer.lr=3e-3",
        "--set",
        "optimizer.name=adamw",
        "--set",
        "network.channels=8",
        "--set",
        "surrogate.alpha=3",
        "--set",
        "data.augment=[\"flip\"]",
        "--set",
        "optimizer.lr=4e-3",
    ]);
    mentions(
        &text,
        &[
            "lr = 0.004 ",
            "name = \"adamw\"",
            "channels = 8",
            "alpha = 3",
            "augment = [\"flip\"]",
        ],
    );
    let message = complaint(&["train", "--set", "optimizer.lrr=1"], 2);
    mentions(
        &message,
        &["--set:1:11", "no key `lrr`", "did you mean `lr`"],
    );
    let message = complaint(&["train", "--set", "training.epochs=many"], 2);
    mentions(&message, &["`epochs` is \"many\"", "a whole number"]);
    let message = complaint(&["train", "--set", "optimiser.lr=1"], 2);
    mentions(&message, &["optimiser"]);
}

#[test]
fn a_setting_that_differs_from_the_resumed_run_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = said(&[&["config", "mnist-fc"], &SMALL[..]].concat());
    let file = written(folder.path(), "run.toml", &text);
    let run = folder.path().join("run");
    let run = run.to_string_lossy();
    said_json(&["train", &file, "--out", &run, "--monitor", "rate"]);
    // Devices and monitors are those of the run too.
    let kept = said(&["config", &run]);
    mentions(
        &kept,
        &["monitor = [\"rate\"]", "name = \"cpu\"", "batch_size = 16"],
    );
    let resumed = ["train", "--resume", &run];
    let lines = said(&resumed);
    assert!(lines.contains("nothing to do"), "{lines}");
    let message = complaint(
        &[&resumed[..], &["--set", "training.batch_size=8"]].concat(),
        1,
    );
    mentions(&message, &["batch_size", "16", "8"]);
    let other = written(
        folder.path(),
        "other.toml",
        &text.replace("lr = 0.002", "lr = 0.5"),
    );
    let message = complaint(&["train", &other, "--resume", &run], 1);
    mentions(&message, &["optimizer.lr", "0.002", "0.5"]);
}

#[test]
fn recipes_are_read_and_train_as_their_commands() {
    let all = recipes();
    assert!(all.len() >= 3);
    for recipe in &all {
        let recipe = recipe.to_string_lossy();
        let text = said(&["config", &recipe]);
        // Sequences have the time steps of their data set.
        let named = |dataset: &&dyn NamedDataset| {
            text.contains(&format!("dataset = \"{}\"", dataset.name()))
        };
        let fields = |dataset: &dyn NamedDataset| dataset.fields(&DataOptions::default());
        let dataset = named_datasets().find(named).map(fields);
        let fields = dataset.map(|fields| fields.expect("the default options"));
        if fields.is_some_and(|fields| fields.iter().any(|field| field.sequence)) {
            said(&["plan", &recipe, "--device", "cpu", "-b", "2"]);
            continue;
        }
        assert!(text.contains("precision = \""), "{recipe}");
        said(&["plan", &recipe, "--device", "cpu", "-T", "1", "-b", "2"]);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recipe = all
        .iter()
        .find(|path| path.ends_with("mnist-plif-net.toml"));
    let recipe = recipe.expect("it is there").to_string_lossy();
    let few = [&SMALL[..], &["--channels", "4"]].concat();
    let command = [
        "plif-net",
        "--precision",
        "bf16",
        "--validation",
        "0",
        "--augment",
        "crop=2,rotate=10,scale=0.1",
    ];
    let expected = train(
        &[&command, &few[..]].concat(),
        &folder.path().join("command"),
    );
    let found = train(
        &[&[&recipe[..]], &few[..]].concat(),
        &folder.path().join("recipe"),
    );
    assert_eq!(found, expected);
}

#[test]
fn the_schema_is_printed() {
    let schema: Value = serde_json::from_str(&said(&["config", "--schema"])).expect("it is JSON");
    assert_eq!(schema["required"], serde_json::json!(["network"]));
    complaint(&["config", "--schema", "csnn"], 2);
}
