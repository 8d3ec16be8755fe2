//! The lines of commands against the guide's page of `--json` keys.

use crate::common::said_json;
use crate::json_page::check;
use crate::predict::write_npy;
use serde_json::Value;

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn the_page_has_all_keys_of_listings() {
    for (command, style) in [
        ("neuron list", ""),
        ("neuron show", "plif"),
        ("surrogate list", ""),
        ("surrogate show", "atan"),
        ("plan", "mnist-fc -T 2 -b 2 --profile 1 --device cpu"),
        ("plan", "csnn -T 2 -b 2 --channels 2 --device cpu"),
        ("models", ""),
        ("models", "csnn"),
        ("doctor", ""),
        ("completions", "bash"),
    ] {
        let heading = format!("`spikelet {command}`");
        let line = format!("{command} {style}");
        check(&[&heading], &said_json(&words(&line)));
    }
}

#[test]
fn the_page_has_all_keys_of_simulations() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, out] = crate::simulate::files(folder.path());
    let lines = said_json(&["simulate", &graph, "--input", &input, "--out", &out]);
    check(&["`spikelet simulate`"], &lines);
}

#[test]
fn the_page_has_all_keys_of_manual_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_string_lossy();
    check(&["`spikelet man`"], &said_json(&["man", &out]));
}

#[test]
fn the_page_has_all_keys_of_training() {
    let small = "train --train-images 64 --test-images 20 -b 16 -T 2 --epochs 1 --device cpu --out";
    for more in [
        "",
        "--pipeline cpu:0,cpu:1",
        "--preset spikingflow --dataset synthetic",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("run").to_string_lossy().into_owned();
        let line = [&words(small)[..], &[&out], &words(more)].concat();
        let lines = said_json(&line);
        check(&["`start`"], &lines[..1]);
        check(&["`epoch`"], &lines[1..2]);
        check(&["`done` and `interrupted`"], &lines[2..]);
        let last = format!("{out}/last.safetensors");
        for command in ["eval", "energy", "show"] {
            let lines = said_json(&[command, &last, "--test-images", "20"]);
            check(&[&format!("`spikelet {command}`")], &lines);
        }
        let image = folder.path().join("image.npy");
        let spikes = folder.path().join("spikes.npz");
        let spikes = ["--out", &spikes.to_string_lossy()].map(String::from);
        let spikes = spikes.each_ref().map(String::as_str);
        let some = ["record", &last, "--test-images", "20", "--samples", "3..9"];
        let lines = said_json(&[&some[..], &spikes].concat());
        check(&["`spikelet record`"], &lines);
        write_npy(&image, "|u1", "(28, 28)", &[40; 784]);
        let lines = said_json(&["predict", &last, &image.to_string_lossy()]);
        check(&["`spikelet predict`"], &lines);
    }
}

#[test]
fn the_page_has_all_keys_of_measurements() {
    let measured = |command: &str| {
        [
            "Measurements".to_string(),
            format!("`spikelet bench {command}`"),
        ]
    };
    let check = |headings: &[String], lines: &[Value]| {
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        check(&headings, lines);
    };
    let copy = ["Measurements", "The measurement `copy`"].map(String::from);
    let run = |line: &str| said_json(&words(line));
    let lines = run("bench neuron --time-steps 2 --neurons 100 --repeats 1 --threads 1");
    check(&copy, &lines[..1]);
    check(&measured("neuron"), &lines[1..]);
    let lines = run("bench train -b 2 -T 2 --repeats 1 --threads 1 --device cpu");
    check(&copy, &lines[..1]);
    check(&measured("train"), &lines[1..]);
    let lines = run("bench infer --batch-sizes 1 -T 2 --repeats 1 --threads 1 --device cpu");
    check(&measured("infer"), &lines);
    let lines = run("bench pipeline --pipeline cpu:0,cpu:1 -b 4 -T 2 --repeats 1");
    check(&["`spikelet bench pipeline`".into()], &lines);
    let lines = run("bench train -b 2 -T 2 --data-parallel 2 --device cpu --threads 1");
    check(
        &["`spikelet bench train` with several ranks".into()],
        &lines,
    );
}
