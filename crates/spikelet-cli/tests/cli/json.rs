//! The guide's page of `--json` keys against the lines that commands print.

use crate::common::said_json;
use crate::predict::write_npy;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../../../docs/guide/json.md");

/// A key of the page, `key` or `key.subkey`.
#[derive(Debug)]
struct Row {
    key: &'static str,
    /// Whether the keys in it vary.
    map: bool,
    optional: bool,
}

/// The tables of the page by their headings; the lines of `train` are below those of their events.
fn sections() -> BTreeMap<&'static str, Vec<Row>> {
    let mut sections = BTreeMap::<_, Vec<Row>>::new();
    let mut heading = "";
    for line in PAGE.lines() {
        if let Some(title) = line.trim_start_matches('#').strip_prefix(' ')
            && line.starts_with('#')
        {
            heading = title;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, key, kind, _, _, _] = cells[..]
            && let Some(key) = key.strip_prefix('`')
        {
            sections.entry(heading).or_default().push(Row {
                key: key.trim_end_matches('`'),
                map: kind.contains("map"),
                optional: kind.contains("optional"),
            });
        }
    }
    sections
}

/// The keys of a line, as the page writes them.
fn keys(value: &Value, prefix: &str, maps: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let key = match prefix {
                    "" => key.clone(),
                    prefix => format!("{prefix}.{key}"),
                };
                if !maps.contains(key.as_str()) {
                    keys(value, &key, maps, found);
                }
                found.insert(key);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| keys(item, prefix, maps, found)),
        _ => {}
    }
}

/// Checks that these lines have the keys of these sections and no others.
pub fn check(headings: &[&str], lines: &[Value]) {
    assert!(!lines.is_empty(), "{headings:?}");
    let sections = sections();
    let rows: Vec<&Row> = (headings.iter())
        .flat_map(|heading| sections.get(heading).expect("a section of the page"))
        .collect();
    let known: BTreeSet<&str> = rows.iter().map(|row| row.key).collect();
    let maps: BTreeSet<&str> = rows.iter().filter(|r| r.map).map(|r| r.key).collect();
    let required = |row: &&&Row| !row.optional && !row.key.contains('.');
    let mut all = BTreeSet::new();
    for line in lines {
        let mut found = BTreeSet::new();
        keys(line, "", &maps, &mut found);
        let unknown: Vec<_> = found
            .iter()
            .filter(|key| !known.contains(key.as_str()))
            .collect();
        assert!(unknown.is_empty(), "{headings:?} lacks {unknown:?}: {line}");
        for row in rows.iter().filter(required) {
            assert!(found.contains(row.key), "{headings:?}: {row:?}: {line}");
        }
        all.extend(found);
    }
    for row in rows {
        // The keys of an object are there unless it is null, and those of an array unless it is empty.
        let within = row
            .key
            .rsplit_once('.')
            .map(|(parent, _)| format!("{parent}."));
        let there = within.is_none_or(|parent| all.iter().any(|key| key.starts_with(&parent)));
        let needed = !row.optional && there;
        assert!(!needed || all.contains(row.key), "{headings:?}: {row:?}");
    }
}

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
        ("kernel show", "--style auto_cuda"),
        ("kernel show", "--style fused --pass bptt"),
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
