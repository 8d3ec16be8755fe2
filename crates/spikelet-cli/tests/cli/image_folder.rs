//! Networks trained on folders of image files of any size, and on generated images of any size.

use crate::common::{code, complaint, mentions, program, said, said_json, stderr, stdout};
use spikelet::tensors::TensorFile;
use spikelet::train::Checkpoint;
use spikelet::train::checkpoint::Progress;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The epochs of a run that is killed.
const EPOCHS: &str = "40";

/// A small network of the literature with its own settings, on the CPU.
const NETWORK: &str = "sew-resnet18 --set network.size=32 --set network.width=4 -T 2 \
                       --batch-size 8 --schedule constant --device cpu --threads 1";

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// `spikelet train` with this network and these options.
fn training<'a>(line: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["train", "--quiet"].into_iter();
    let words = words
        .chain(NETWORK.split_whitespace())
        .chain(line.split_whitespace());
    words.chain(more.iter().copied()).collect()
}

/// A PNG file with stripes, whose colors and direction tell the class.
fn write(path: &Path, [width, height]: [u32; 2], class: u8, number: u8) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    let file = fs::File::create(path).expect("a file");
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut pixels = vec![];
    for y in 0..height {
        for x in 0..width {
            let at = if class == 0 { x } else { y } + u32::from(number);
            let bright = if at / 4 % 2 == 0 { 250 } else { 60 };
            let mut color = [40, 40, 40];
            color[usize::from(class) % 3] = bright;
            pixels.extend(color);
        }
    }
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&pixels).expect("its pixels");
}

/// Three classes in the layout of ImageNet.
fn data() -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (part, count) in [("train", 20), ("val", 5)] {
        for (class, name) in ["ants", "bees", "wasps"].into_iter().enumerate() {
            for number in 0..count {
                let path = root
                    .path()
                    .join(part)
                    .join(name)
                    .join(format!("{number:03}.png"));
                write(&path, [40 + u32::from(number), 36], class as u8, number);
            }
        }
    }
    root
}

fn train(root: &Path, out: &Path, more: &[&str]) {
    let (root, out) = (text(root), text(out));
    let own = [
        "--dataset",
        "image-folder",
        "--data-dir",
        &root,
        "--out",
        &out,
    ];
    said(&training("", &[&own, more].concat()));
}

fn tensors(run: &Path) -> TensorFile {
    let mut file = TensorFile::read(run.join("last.safetensors")).expect("a checkpoint");
    file.metadata.clear();
    file
}

#[test]
fn a_network_is_trained_evaluated_and_asked_on_a_folder_of_images() {
    let root = data();
    let run = root.path().join("run");
    train(
        root.path(),
        &run,
        &[
            "--epochs",
            "2",
            "--normalize",
            "auto",
            "--augment",
            "random-erasing",
            "--mixup",
            "0.2",
        ],
    );
    let checkpoint = Checkpoint::read(run.join("last.safetensors")).expect("a checkpoint");
    let dataset = &checkpoint.dataset;
    let sizes = [
        dataset.train_samples,
        dataset.validation_samples,
        dataset.test_samples,
    ];
    assert_eq!((sizes, &dataset.name[..]), ([54, 6, 15], "image folder"));
    assert_eq!(dataset.classes, ["ants", "bees", "wasps"]);
    let network = checkpoint.network().expect("a network");
    assert_eq!((network.classes(), network.image()), (3, [3, 32, 32]));
    let settings = checkpoint.settings().expect("settings");
    let normalize = settings.normalize.given().expect("it was asked for");
    assert_eq!(normalize.mean, [0.485, 0.456, 0.406]);
    let report = fs::read_to_string(run.join("report.html")).expect("a report");
    assert!(report.contains("wasps"));
    assert!(run.join("report.svg").exists());

    let last = text(&run.join("last.safetensors"));
    let folder = text(root.path());
    let found = &said_json(&["eval", &last, "--data-dir", &folder, "--device", "cpu"])[0];
    assert_eq!(found["images"], 15);
    let accuracy = checkpoint
        .progress
        .history
        .last()
        .expect("an epoch")
        .test_accuracy();
    assert_eq!(found["accuracy"], accuracy);
    let image = text(&root.path().join("val/bees/003.png"));
    let predicted = &said_json(&["predict", &last, &image, "--device", "cpu"])[0];
    let names = predicted["top"].as_array().expect("classes").iter();
    let mut names: Vec<&str> = names.filter_map(|class| class["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ants", "bees", "wasps"]);
    let words = [
        "show",
        &last,
        "--index",
        "4",
        "--data-dir",
        &folder,
        "--device",
        "cpu",
    ];
    let shown = &said_json(&words)[0];
    assert_eq!((&shown["index"], &shown["label"]), (&4.into(), &1.into()));
    // Images of other classes would have wrong labels.
    for part in ["train", "val"] {
        let of = |class: &str| root.path().join(part).join(class);
        fs::rename(of("bees"), of("birds")).expect("it is renamed");
    }
    let words = ["eval", &last, "--data-dir", &folder, "--device", "cpu"];
    mentions(
        &complaint(&words, 1),
        &["the class bees", "birds", "--data-dir"],
    );
}

#[test]
fn images_that_are_not_square_train_by_option_and_by_file_to_the_same_network() {
    let root = data();
    let size = ["--set", "network.size=[32,48]"];
    let run = |name: &str| root.path().join(name);
    train(
        root.path(),
        &run("option"),
        &[&size[..], &["--epochs", "1"]].concat(),
    );
    let checkpoint = Checkpoint::read(run("option").join("last.safetensors"));
    let network = checkpoint.expect("a checkpoint");
    let network = network.network().expect("a network").image();
    assert_eq!(network, [3, 32, 48]);
    let words = ["config", "sew-resnet18", "--set", "network.width=4"];
    let file = run("oblong.toml");
    fs::write(&file, said(&[&words[..], &size].concat())).expect("written");
    let (file, folder, out) = (text(&file), text(root.path()), text(&run("file")));
    let options = "-T 2 --batch-size 8 --schedule constant --device cpu --threads 1 --epochs 1 \
                   --dataset image-folder";
    let words: Vec<&str> = ["train", "--quiet", &file]
        .into_iter()
        .chain(options.split_whitespace())
        .collect();
    said(&[&words[..], &["--data-dir", &folder, "--out", &out]].concat());
    assert!(tensors(&run("option")).tensors == tensors(&run("file")).tensors);
}

#[test]
fn a_run_that_is_killed_in_an_epoch_of_image_files_ends_with_the_same_bits() {
    let root = data();
    for ranks in ["1", "2"] {
        let runs = root.path().join(ranks);
        let [unbroken, broken] = ["unbroken", "broken"].map(|name| runs.join(name));
        let more = [
            "--epochs",
            EPOCHS,
            "--data-parallel",
            ranks,
            "--checkpoint-seconds",
            "1e-6",
        ];
        train(root.path(), &unbroken, &more);
        let (folder, out) = (text(root.path()), text(&broken));
        let own = [
            "--dataset",
            "image-folder",
            "--data-dir",
            &folder,
            "--out",
            &out,
        ];
        let mut run = program(&training("", &[&own, &more[..]].concat()));
        let mut run = run
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let last = broken.join("last.safetensors");
        let began = Instant::now();
        // In the second epoch or a later one, and not at its end.
        let is_within = |progress: &Progress| progress.epoch >= 1 && progress.batch >= 1;
        while !Checkpoint::read(&last).is_ok_and(|last| is_within(&last.progress)) {
            assert!(began.elapsed() < Duration::from_secs(90), "no epoch");
            std::thread::sleep(Duration::from_millis(1));
        }
        run.kill().expect("it runs");
        run.wait().expect("it ends");
        let progress = Checkpoint::read(&last).expect("a checkpoint").progress;
        assert!(
            progress.epoch < EPOCHS.parse().expect("a number"),
            "it ended before"
        );
        // Ranks live a moment longer than their launcher.
        let resume = [
            "--dataset",
            "image-folder",
            "--data-dir",
            &folder,
            "--out",
            &out,
            "--resume",
        ];
        let resume = training("", &[&resume, &more[..]].concat());
        let output = loop {
            let output = program(&resume).output().expect("the program starts");
            if code(&output) == 0 || !stderr(&output).contains("is in use by another run") {
                break output;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(tensors(&broken) == tensors(&unbroken), "{ranks} ranks");
    }
}

#[test]
fn folders_that_do_not_fit_are_named() {
    let root = data();
    let refused = |more: &[&str], expected: i32| {
        let folder = text(root.path());
        let out = text(&root.path().join("run"));
        let own = [
            "--dataset",
            "image-folder",
            "--epochs",
            "1",
            "--data-dir",
            &folder,
            "--out",
            &out,
        ];
        let parts = [&own, more].concat();
        complaint(&training("", &parts), expected)
    };
    let nowhere = complaint(
        &training("--dataset imagenet --data-dir /nowhere/at/all", &[]),
        1,
    );
    mentions(
        &nowhere,
        &["/nowhere/at/all", "--data-dir", "synthetic-images"],
    );
    let message = refused(&["--split", "test"], 2);
    mentions(&message, &["image-folder has no split `test`"]);
    let message = refused(&["--encoder", "poisson", "--normalize", "auto"], 2);
    mentions(&message, &["encoder poisson", "0 to 1"]);
    write(&root.path().join("val/moths/1.png"), [40, 40], 1, 1);
    mentions(
        &refused(&[], 1),
        &["val/moths", "whose classes are ants, bees, wasps"],
    );
    fs::remove_dir_all(root.path().join("val/moths")).expect("it is removed");
    fs::create_dir(root.path().join("train/flies")).expect("it is made");
    mentions(&refused(&[], 1), &["no images in", "train/flies"]);
    fs::remove_dir_all(root.path().join("train/flies")).expect("it is removed");
    let file = root.path().join("train/bees/007.png");
    let bytes = fs::read(&file).expect("a file");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("it is written");
    mentions(
        &refused(&[], 1),
        &[
            "train/bees/007.png",
            "replace it by a valid PNG or JPEG file",
        ],
    );
}

#[test]
fn a_network_learns_generated_images_of_its_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = text(&folder.path().join("run"));
    let line = "--set network.classes=9 --dataset synthetic-images --train-images 900 --test-images 90 --epochs 4 --lr 0.02 --out";
    said(&training(line, &[&out]));
    let last = folder.path().join("run/last.safetensors");
    let checkpoint = Checkpoint::read(&last).expect("a checkpoint");
    assert_eq!(
        checkpoint.network().map(|network| network.classes()),
        Some(9)
    );
    let accuracy = checkpoint
        .progress
        .history
        .last()
        .expect("an epoch")
        .test_accuracy();
    // Guessing has a ninth.
    assert!(accuracy > 0.3, "{accuracy}");
    let found = &said_json(&[
        "eval",
        &text(&last),
        "--test-images",
        "90",
        "--device",
        "cpu",
    ])[0];
    assert_eq!(found["accuracy"], accuracy);
    let message = complaint(
        &[
            "train",
            "--dataset",
            "synthetic-images",
            "--encoder",
            "poisson",
            "--normalize",
            "auto",
        ],
        2,
    );
    mentions(&message, &["encoder poisson"]);
}

/// Options of a small run of mnist-fc.
const FULLY_CONNECTED: &str =
    "mnist-fc -T 2 --hidden 8 --schedule constant --device cpu --threads 1 --epochs";

#[test]
fn the_files_in_a_data_folder_tell_the_data_set_or_the_folder_is_refused() {
    let root = data();
    let (folder, run) = (text(root.path()), text(&root.path().join("run")));
    let words = |more: &[&str]| -> Vec<String> {
        let words = ["train"].into_iter().chain(FULLY_CONNECTED.split(' '));
        let words = words.chain(["1"]).chain(more.iter().copied());
        words.map(String::from).collect()
    };
    let train = |more: &[&str]| {
        let words = words(more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        program(&words).output().expect("the program starts")
    };
    let output = train(&["--data-dir", &folder, "--out", &run]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text_of = stdout(&output);
    mentions(
        &text_of,
        &[
            "mnist-fc on image folder (60 + 15)",
            "note: 54 samples a batch",
        ],
    );

    // The run, the evaluation and the converted network find the folder again, and take the folder of the run.
    let resumed = ["train", "--resume", &run, "--epochs", "2"];
    let output = program(&resumed).output().expect("the program starts");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found = &said_json(&["eval", &run, "--device", "cpu"])[0];
    assert_eq!(found["images"], 15);
    let best = text(&root.path().join("run/best.safetensors"));
    assert_eq!(found["checkpoint"], best);
    let shown = &said_json(&["show", &run, "--index", "4", "--device", "cpu"])[0];
    assert_eq!(shown["label"], 1);
    let image = text(&root.path().join("val/bees/003.png"));
    said_json(&["predict", &run, &image, "--device", "cpu"]);
    said_json(&["energy", &run, "--device", "cpu"]);
    mentions(
        &said(&["eval", &run, "--device", "cpu"]),
        &["checkpoint: ", "best.safetensors"],
    );

    let refused = |more: &[&str], parts: &[&str]| {
        let output = train(more);
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        mentions(&stderr(&output), parts);
    };
    let none = tempfile::tempdir().expect("a folder");
    let empty = text(none.path());
    refused(
        &["--data-dir", &empty],
        &[
            &empty,
            "no data set that mnist-fc takes",
            "image-folder",
            "fashion-mnist",
            "--dataset",
        ],
    );
    refused(
        &["--data-dir", "/nonexistent"],
        &["/nonexistent", "is no folder"],
    );
    let several = none.path().join("imagenet/val");
    for part in ["train", "val"] {
        fs::create_dir_all(none.path().join("imagenet")).expect("a folder");
        let copied = [
            root.path().join(part),
            none.path().join("imagenet").join(part),
        ];
        fs::rename(&copied[0], &copied[1]).expect("it is moved");
    }
    assert!(several.is_dir());
    // A known layout comes before folders of one's own.
    let output = train(&[
        "--data-dir",
        &empty,
        "--out",
        &text(&none.path().join("run")),
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text_of = stdout(&output);
    mentions(&text_of, &["mnist-fc on ImageNet", "resized-crop"]);
    // One class is trained with a warning.
    let one = tempfile::tempdir().expect("a folder");
    for number in 0..20 {
        let path = one.path().join(format!("only/{number}.png"));
        write(&path, [28, 28], 0, number);
    }
    let run_of_one = text(&none.path().join("run-of-one"));
    let output = train(&["--data-dir", &text(one.path()), "--out", &run_of_one]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    mentions(
        &stdout(&output),
        &["note: all samples are of one class, \"only\""],
    );
    // The folder of the checkpoint is gone: the default is named.
    let message = complaint(&["eval", &run, "--device", "cpu"], 1);
    assert!(!message.contains("panicked"), "{message}");
}
