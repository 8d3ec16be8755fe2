//! Braille letters: files, damaged files, generated sequences.

use std::fs;

use crate::sequences::{known, load, number, safetensors};
use spikelet_data::{Error, Result, Split, braille, synthetic_braille};

const STEPS: usize = braille::STEPS;
const CHANNELS: usize = braille::CHANNELS;

/// A file whose parts have so many samples of these time steps; sample k has the label `k + first`.
fn file(samples: [usize; 3], steps: usize, first: i64) -> Vec<u8> {
    let mut tensors = vec![];
    let names =
        ["train", "validation", "test"].map(|part| [format!("{part}.x"), format!("{part}.labels")]);
    for ([x, labels], n) in names.iter().zip(samples) {
        let events: Vec<u8> = (0..n * steps * CHANNELS)
            .flat_map(|at| ((at % 5) as f32).to_le_bytes())
            .collect();
        let classes = (0..n as i64)
            .flat_map(|k| (k + first).to_le_bytes())
            .collect();
        tensors.push((&**x, "F32", vec![n, steps, CHANNELS], events));
        tensors.push((&**labels, "I64", vec![n], classes));
    }
    safetensors(&tensors)
}

fn load_file(bytes: &[u8]) -> Result<Split> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("braille")).expect("a folder");
    fs::write(folder.path().join("braille/braille.safetensors"), bytes).expect("a file");
    load("braille", folder.path(), None)
}

#[test]
fn the_parts_of_a_file_are_read() {
    let split = load_file(&file([7, 3, 2], STEPS, 0)).expect("a valid file");
    let validation = split.validation.expect("the file has it");
    assert_eq!(
        (split.train.len(), validation.len(), split.test.len()),
        (7, 3, 2)
    );
    assert_eq!(number(&*split.train, 6, "labels"), 6);
    assert_eq!(split.train.class_names("labels")[4], "O");
    let sample = split.train.sample(1).expect("it is there");
    let x = sample
        .require("x")
        .expect("the field")
        .as_f32()
        .expect("f32")
        .to_vec();
    assert_eq!(x[..3], [2.0, 3.0, 4.0]);
}

#[test]
fn wrong_files_are_errors_that_say_what_is_wrong() {
    for (bytes, said) in [
        (file([2, 1, 1], 255, 0), "255 steps"),
        (file([2, 1, 0], STEPS, 0), "0 inputs"),
        (file([2, 1, 1], STEPS, 6), "label 7"),
        (b"no safetensors".to_vec(), "braille.safetensors"),
    ] {
        let error = load_file(&bytes).expect_err(said).to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let error = load("braille", folder.path(), None).expect_err("no files");
    assert!(matches!(error, Error::NoFiles { .. }), "{error}");
    assert!(error.to_string().contains("synthetic-braille"), "{error}");
}

#[test]
fn generated_letters_differ_in_their_order_of_events() {
    let (shape, unlabeled) = known("synthetic-braille");
    assert_eq!((shape[1], unlabeled), (Some(CHANNELS), None));
    let split = load("synthetic-braille", "nowhere", None).expect("it needs no files");
    let again = synthetic_braille::generate().expect("always");
    let (mut sums, mut counts) = ([0.0; 7], [0; 7]);
    for index in 0..split.test.len() {
        let sample = split.test.sample(index).expect("it is there");
        assert_eq!(sample, again.test.sample(index).expect("it is there"));
        let label = number(&*split.test, index, "labels") as usize;
        let x = sample.require("x").expect("the field");
        let x = x.as_f32().expect("f32");
        assert!(x.iter().all(|&x| x >= 0.0 && x.fract() == 0.0));
        sums[label] += x.iter().sum::<f32>();
        counts[label] += 1;
    }
    assert_eq!(counts, [20; 7]);
    // A blank has only noise; more dots cause more events.
    assert!(
        sums[0] < 0.5 * sums[1] && sums[1] < sums[2] && sums[5] < sums[6],
        "{sums:?}"
    );
}
