//! `spikelet predict`: images of one's own through a trained network.

use crate::common::{code, complaint, golden, mentions, run, said, said_json, stderr, stdout};
use crate::json_page::check;
use serde_json::Value;
use spikelet::data::synthetic;
use spikelet::train::Checkpoint;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// A network without random numbers, trained for a moment.
struct Run {
    _folder: TempDir,
    checkpoint: String,
}

static RUN: LazyLock<Run> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run").to_string_lossy().into_owned();
    let line = "train --encoder direct --loss cross-entropy --train-images 512 --test-images 100 \
                -T 2 --epochs 4 --lr 0.01 --device cpu --quiet --out";
    let words: Vec<&str> = line.split_whitespace().chain([&out[..]]).collect();
    said(&words);
    Run {
        checkpoint: format!("{out}/last.safetensors"),
        _folder: folder,
    }
});

/// The pixels of the first test images, which `spikelet show` has too.
fn digits() -> Vec<Vec<u8>> {
    let test = synthetic::digits_of(0, 1, 100).test;
    let pixels = |k| {
        let sample = test.sample(k).expect("it is in memory");
        let image = sample.require("images").expect("the field");
        image.as_u8().expect("bytes").to_vec()
    };
    (0..test.len()).map(pixels).collect()
}

fn write_png(path: &Path, [channels, height, width]: [usize; 3], pixels: &[u8]) {
    let file = fs::File::create(path).expect("a file");
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(match channels {
        1 => png::ColorType::Grayscale,
        _ => png::ColorType::Rgb,
    });
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(pixels).expect("its pixels");
}

/// An array of NumPy.
pub fn write_npy(path: &Path, kind: &str, shape: &str, values: &[u8]) {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").into_bytes());
    file.extend(values);
    fs::write(path, file).expect("it is written");
}

fn predict(words: &[&str]) -> Vec<Value> {
    said_json(&[&["predict", &RUN.checkpoint], words].concat())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A folder with these files, which `make` writes.
fn folder_with(make: impl FnOnce(&Path)) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    make(folder.path());
    folder
}

#[test]
fn a_picture_of_a_test_image_has_the_scores_that_show_prints() {
    let shown = &said_json(&["show", &RUN.checkpoint, "--index", "3"])[0];
    let folder = folder_with(|at| {
        write_png(&at.join("three.png"), [1, 28, 28], &digits()[3]);
    });
    let found = &predict(&[&text(&folder.path().join("three.png"))])[0];
    assert_eq!(found["scores"], shown["scores"]);
    assert_eq!(found["predicted"], shown["predicted"]);
    assert_eq!(found["conversions"], Value::Array(vec![]));
    let top = found["top"].as_array().expect("an array");
    assert_eq!(top.len(), 5);
    assert_eq!(top[0]["class"], found["predicted"]);
    assert_eq!(top[0]["name"], found["class"]);
    let said = said(&[
        "predict",
        &RUN.checkpoint,
        &text(&folder.path().join("three.png")),
    ]);
    mentions(&said, &["with a probability of", "score"]);
    let all = &predict(&[&text(&folder.path().join("three.png")), "--top", "10"])[0];
    let sum: f64 = (all["top"].as_array().expect("an array").iter())
        .map(|class| class["probability"].as_f64().expect("a number"))
        .sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn arrays_of_bytes_and_of_floats_have_the_same_scores_whatever_their_axes() {
    let digits = digits();
    let image = &digits[7];
    let floats: Vec<u8> = (image.iter())
        .flat_map(|&pixel| (f32::from(pixel) / 255.0).to_le_bytes())
        .collect();
    let integers: Vec<u8> = (image.iter())
        .flat_map(|&pixel| i32::from(pixel).to_le_bytes())
        .collect();
    let folder = folder_with(|at| {
        write_npy(&at.join("a.npy"), "|u1", "(28, 28)", image);
        write_npy(&at.join("b.npy"), "|u1", "(28, 28, 1)", image);
        write_npy(&at.join("c.npy"), "<f4", "(1, 28, 28)", &floats);
        write_npy(&at.join("d.npy"), "<i4", "(1, 1, 28, 28)", &integers);
        fs::write(at.join("notes.txt"), "not an image").expect("it is written");
        fs::create_dir(at.join("more")).expect("a folder");
        write_png(&at.join("more/e.png"), [1, 28, 28], image);
    });
    let found = predict(&[&text(folder.path())]);
    assert_eq!(found.len(), 5);
    for line in &found {
        assert_eq!(line["scores"], found[0]["scores"], "{line}");
    }
    assert_eq!(found[3]["index"], 0);
    assert_eq!(found[0]["index"], Value::Null);
    let table = said(&["predict", &RUN.checkpoint, &text(folder.path())]);
    mentions(&table, &["image", "a.npy", "more/e.png", "d.npy[0]"]);
}

#[test]
fn scores_do_not_depend_on_the_images_beside_an_image() {
    let digits = digits();
    let folder = folder_with(|at| {
        // More than one batch, of which the last is smaller.
        write_npy(
            &at.join("all.npy"),
            "|u1",
            "(100, 28, 28)",
            &digits.concat(),
        );
        write_png(&at.join("last.png"), [1, 28, 28], &digits[99]);
    });
    let all = predict(&[&text(&folder.path().join("all.npy"))]);
    assert_eq!(all.len(), 100);
    let alone = &predict(&[&text(&folder.path().join("last.png"))])[0];
    assert_eq!(all[99]["predicted"], alone["predicted"]);
    let scores = |line: &Value| -> Vec<f64> {
        let scores = line["scores"].as_array().expect("an array").iter();
        scores.map(|x| x.as_f64().expect("a number")).collect()
    };
    for (a, b) in scores(&all[99]).iter().zip(scores(alone)) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn a_large_color_picture_is_converted_and_each_step_is_printed() {
    let folder = folder_with(|at| {
        let pixels: Vec<u8> = (0..3 * 60 * 80).map(|k| (k % 251) as u8).collect();
        write_png(&at.join("photo.png"), [3, 60, 80], &pixels);
    });
    let photo = text(&folder.path().join("photo.png"));
    let line = &predict(&[&photo, "--invert"])[0];
    let expected = serde_json::json!([
        "converted to grayscale",
        "resized from height × width 60 × 80 to 28 × 37",
        "cropped at the center to 28 × 28",
        "inverted"
    ]);
    assert_eq!(line["conversions"], expected);
    assert_eq!(
        (&line["width"], &line["height"], &line["channels"]),
        (&80.into(), &60.into(), &3.into())
    );
    let said = said(&["predict", &RUN.checkpoint, &photo]);
    mentions(
        &said,
        &["photo.png: ", "resized from height × width 60 × 80"],
    );
}

#[test]
fn a_light_picture_is_noted() {
    let folder = folder_with(|at| {
        write_png(&at.join("paper.png"), [1, 28, 28], &[250; 784]);
    });
    let paper = text(&folder.path().join("paper.png"));
    let light = said(&["predict", &RUN.checkpoint, &paper]);
    mentions(&light, &["1 of 1 images are mostly light", "--invert"]);
    let inverted = said(&["predict", &RUN.checkpoint, &paper, "--invert"]);
    assert!(!inverted.contains("note:"), "{inverted}");
}

#[test]
fn an_output_without_spikes_is_no_class() {
    let folder = folder_with(|at| write_png(&at.join("black.png"), [1, 28, 28], &[0; 784]));
    let black = text(&folder.path().join("black.png"));
    let line = &predict(&[&black])[0];
    assert!(
        line["scores"]
            .as_array()
            .expect("scores")
            .iter()
            .all(|score| *score == 0.0)
    );
    assert_eq!(
        (&line["predicted"], &line["class"]),
        (&Value::Null, &Value::Null)
    );
    let said = said(&["predict", &RUN.checkpoint, &black]);
    mentions(&said, &["black.png: no spikes: no class"]);
}

#[test]
fn a_transparent_drawing_is_one_on_a_light_page() {
    let folder = folder_with(|at| {
        let file = fs::File::create(at.join("paint.png")).expect("a file");
        let mut encoder = png::Encoder::new(file, 28, 28);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().expect("a header");
        // A black stroke on a transparent background.
        let pixels = (0..784).flat_map(|k| [0, 0, 0, if k % 28 == 14 { 255 } else { 0 }]);
        let pixels: Vec<u8> = pixels.collect();
        writer.write_image_data(&pixels).expect("its pixels");
    });
    let said = said(&[
        "predict",
        &RUN.checkpoint,
        &text(&folder.path().join("paint.png")),
    ]);
    mentions(&said, &["mostly light", "--invert"]);
}

#[test]
fn files_behind_a_damaged_one_are_classified() {
    let folder = folder_with(|at| {
        let digits = digits();
        fs::write(at.join("a.png"), "GIF89a").expect("it is written");
        write_png(&at.join("b.png"), [1, 28, 28], &digits[0]);
        let whole = fs::read(at.join("b.png")).expect("a file");
        fs::write(at.join("c.png"), &whole[..whole.len() / 2]).expect("it is written");
        write_png(&at.join("d.png"), [1, 28, 28], &digits[1]);
    });
    let words = ["predict", &RUN.checkpoint, &text(folder.path())];
    let output = run(&words);
    assert_eq!(code(&output), 1);
    mentions(
        &stderr(&output),
        &["a.png", "neither a PNG nor", "c.png", "the file is damaged"],
    );
    mentions(
        &stdout(&output),
        &["b.png", "d.png", "2 of 4 files could not be read"],
    );
    let json = stdout(&run(&[&words[..], &["--json"]].concat()));
    let lines: Vec<Value> = (json.lines())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 4);
    let (errors, found): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .partition(|line| line["error"].is_string());
    assert_eq!(errors.len(), 2);
    check(&["A file that cannot be read"], &errors);
    check(&["`spikelet predict`"], &found);
}

#[test]
fn names_of_classes_cannot_control_the_terminal() {
    let folder = folder_with(|at| {
        let mut checkpoint = Checkpoint::read(&RUN.checkpoint).expect("a checkpoint");
        let hostile = (0..10).map(|k| format!("{k}\x1b]0;owned\x07\x1b[31m"));
        checkpoint.dataset.classes = hostile.collect();
        checkpoint
            .write(at.join("hostile.safetensors"))
            .expect("it is written");
        let digits = digits();
        for (k, digit) in digits.iter().take(2).enumerate() {
            write_png(&at.join(format!("{k}.png")), [1, 28, 28], digit);
        }
    });
    let checkpoint = text(&folder.path().join("hostile.safetensors"));
    let one = text(&folder.path().join("0.png"));
    for input in [&one, &text(folder.path())] {
        let said = said(&["predict", &checkpoint, input]);
        assert!(said.contains(r"\u{1b}]0;owned\u{7}"), "{said}");
        assert!(!said.contains(['\x1b', '\x07']), "{said:?}");
    }
}

#[test]
fn the_picture_of_the_spikes_names_the_files() {
    let folder = folder_with(|at| {
        let digits = digits();
        for (k, digit) in digits.iter().take(2).enumerate() {
            write_png(&at.join(format!("digit-{k}.png")), [1, 28, 28], digit);
        }
    });
    let out = text(&folder.path().join("picture.svg"));
    let found = predict(&[&text(folder.path()), "--out", &out]);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["picture"], Value::from(out.clone()));
    let svg = fs::read_to_string(&out).expect("it was written");
    mentions(&svg, &["digit-0.png", "digit-1.png", "fc."]);
    assert!(!svg.contains("recognized"), "the label is unknown");
    let class = folder.path().join("9");
    fs::create_dir(&class).expect("a folder");
    fs::rename(folder.path().join("digit-0.png"), class.join("a.png")).expect("it is moved");
    predict(&[&text(folder.path()), "--out", &out]);
    let svg = fs::read_to_string(&out).expect("it was written");
    assert!(
        svg.contains("recognized") || svg.contains("taken for"),
        "{svg}"
    );
}

#[test]
fn files_are_evaluated_and_recorded_as_they_are_predicted() {
    let test = synthetic::digits_of(0, 1, 100).test;
    let labels = test.labels().expect("it has labels");
    let digits = digits();
    let folder = folder_with(|at| {
        for k in 0..12 {
            let class = at.join(labels[k].to_string());
            fs::create_dir_all(&class).expect("a folder");
            write_png(&class.join(format!("{k}.png")), [1, 28, 28], &digits[k]);
        }
    });
    let all = text(folder.path());
    let found = predict(&[&all]);
    let correct = (found.iter())
        .filter(|line| {
            let path = Path::new(line["input"].as_str().expect("a path"));
            let folder = path.parent().and_then(Path::file_name).expect("a folder");
            line["class"].as_str() == folder.to_str()
        })
        .count();
    let evaluated = &said_json(&["eval", &RUN.checkpoint, &all])[0];
    check(&["`spikelet eval`"], std::slice::from_ref(evaluated));
    assert_eq!(evaluated["images"], 12);
    assert_eq!(evaluated["dataset"], all);
    assert_eq!(evaluated["accuracy"], correct as f64 / 12.0);

    // One class for all files.
    let one = text(&folder.path().join(format!("{}/0.png", labels[0])));
    let class = (predict(&[&one])[0]["class"].as_str())
        .expect("a class")
        .to_string();
    let of_class = &said_json(&["eval", &RUN.checkpoint, &one, "--label", &class])[0];
    assert_eq!(of_class["accuracy"], 1.0);

    // The scores of a recording are those of the prediction, with or without labels.
    let out = text(&folder.path().join("spikes.npz"));
    let unlabeled = text(&folder.path().join("one.png"));
    fs::copy(&one, &unlabeled).expect("a copy");
    for (file, accuracy) in [(&unlabeled, false), (&one, true)] {
        let recorded = &said_json(&["record", &RUN.checkpoint, file, "--out", &out])[0];
        check(&["`spikelet record`"], std::slice::from_ref(recorded));
        assert_eq!(recorded["images"], 1);
        assert_eq!(recorded["accuracy"].is_number(), accuracy, "{recorded}");
        let arrays = spikelet_weights::Weights::read(&out).expect("a file");
        let scores = arrays.get("scores").expect("the scores").to_f64();
        assert_eq!(Value::from(scores), predict(&[file])[0]["scores"]);
    }

    // What is missing is said with both ways to give it.
    let message = complaint(&["eval", &RUN.checkpoint, &unlabeled], 2);
    mentions(
        &message,
        &["one.png", "its folder is no class", "--label 0", "0/FILE"],
    );
    let message = complaint(&["eval", &RUN.checkpoint, &one, "--label", "cat"], 2);
    mentions(&message, &["--label cat", "0, 1, 2"]);
    let message = complaint(&["eval", &RUN.checkpoint, "--label", "7"], 2);
    mentions(&message, &["<FILE>"]);
    let message = complaint(&["eval", &RUN.checkpoint, &one, "--dataset", "mnist"], 2);
    mentions(&message, &["--dataset"]);
    let notes = text(&folder.path().join("notes.txt"));
    fs::write(&notes, "not an image").expect("it is written");
    for words in [&["eval", "--label", "7"][..], &["record", "--out", &out]] {
        let words = [&words[..1], &[&RUN.checkpoint[..], &notes], &words[1..]].concat();
        mentions(&complaint(&words, 1), &["notes.txt", "PNG, JPEG or .npy"]);
    }
}

#[test]
fn wrong_inputs_are_named_with_the_reason() {
    let folder = folder_with(|at| {
        fs::write(at.join("text.png"), "GIF89a").expect("it is written");
        fs::write(at.join("empty.png"), "").expect("it is written");
        fs::create_dir(at.join("nothing")).expect("a folder");
        write_npy(&at.join("flat.npy"), "|u1", "(784,)", &[0; 784]);
        write_npy(&at.join("none.npy"), "|u1", "(0, 28, 28)", &[]);
        let outside = [0.5_f32, -0.4, 0.0, 1.0].map(f32::to_le_bytes).concat();
        write_npy(&at.join("normalized.npy"), "<f4", "(2, 2)", &outside);
        let nan = [0.5_f32, f32::NAN, 0.0, 1.0].map(f32::to_le_bytes).concat();
        write_npy(&at.join("nan.npy"), "<f4", "(2, 2)", &nan);
        let large = [0_i32, 256, 0, 1].map(i32::to_le_bytes).concat();
        write_npy(&at.join("large.npy"), "<i4", "(2, 2)", &large);
        write_npy(&at.join("short.npy"), "|u1", "(28, 28)", &[0; 10]);
        let mut png = vec![];
        png::Encoder::new(&mut png, 28, 28)
            .write_header()
            .expect("a header");
        fs::write(at.join("cut.png"), &png[..30]).expect("it is written");
    });
    for (name, expected) in [
        ("missing.png", "PNG, JPEG or .npy"),
        ("text.png", "neither a PNG nor a JPEG file"),
        ("empty.png", "neither a PNG nor a JPEG file"),
        ("nothing", "no PNG, JPEG or .npy files in this folder"),
        ("flat.npy", "an array of shape [784]"),
        ("none.npy", "[0, 28, 28]"),
        ("normalized.npy", "the element -0.4"),
        ("nan.npy", "the element NaN"),
        ("large.npy", "the element 256"),
        ("short.npy", "short.npy"),
        ("cut.png", "cut.png"),
    ] {
        let input = text(&folder.path().join(name));
        let message = complaint(&["predict", &RUN.checkpoint, &input], 1);
        mentions(&message, &[name, expected, "help: "]);
    }
}

#[test]
fn wrong_checkpoints_and_options_are_errors() {
    let image = folder_with(|at| write_png(&at.join("a.png"), [1, 28, 28], &[9; 784]));
    let input = text(&image.path().join("a.png"));
    let case = golden(first_case());
    let message = complaint(&["predict", &case, &input], 1);
    mentions(&message, &[&case, "help: "]);
    complaint(&["predict", "missing.safetensors", &input], 1);
    complaint(&["predict", &RUN.checkpoint], 2);
    complaint(&["predict", &RUN.checkpoint, &input, "--top", "0"], 2);
    let message = complaint(&["predict", &RUN.checkpoint, &input, "--out", "a.gif"], 2);
    mentions(&message, &["a.gif", ".svg"]);
    let many = image.path().join("many.npy");
    write_npy(&many, "|u1", "(65, 28, 28)", &[1; 65 * 784]);
    let out = text(&image.path().join("a.svg"));
    let message = complaint(
        &["predict", &RUN.checkpoint, &text(&many), "--out", &out],
        2,
    );
    mentions(&message, &["64", "--out"]);
    assert!(!PathBuf::from(out).exists());
}

/// The name of a reference case, which is a safetensors file and no checkpoint.
fn first_case() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("the cases")
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().to_string_lossy().into_owned();
                name.strip_suffix(".safetensors").map(String::from)
            })
            .collect();
        names.sort();
        names.swap_remove(0)
    });
    &NAME
}

#[test]
fn a_network_that_was_trained_on_mixed_images_predicts_and_is_evaluated() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = text(&folder.path().join("run"));
    let line = "train --mixup 0.2 --train-images 256 --test-images 20 -T 2 --epochs 1 --device cpu --quiet --out";
    said(
        &line
            .split_whitespace()
            .chain([&out[..]])
            .collect::<Vec<_>>(),
    );
    let checkpoint = format!("{out}/last.safetensors");
    let picture = folder.path().join("digit.png");
    let digits = digits();
    write_png(&picture, [1, 28, 28], &digits[0]);
    let found = said_json(&["predict", &checkpoint, &text(&picture)]);
    assert_eq!(found.len(), 1);
    for command in ["eval", "energy"] {
        said(&[command, &checkpoint, "--test-images", "20"]);
    }
    said(&["show", &checkpoint, "--test-images", "20", "--index", "0"]);
}
