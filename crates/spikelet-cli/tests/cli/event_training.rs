//! Training, evaluation and streams of event data.

use crate::common::{code, complaint, mentions, program, stderr, stdout};
use crate::json_page::check;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Runs a command in a folder.
pub fn run_in(folder: &Path, words: &[&str]) -> std::process::Output {
    let output = program(words).current_dir(folder).output();
    output.expect("the program starts")
}

/// The lines of JSON of a command that succeeds.
pub fn lines(folder: &Path, words: &[&str]) -> Vec<Value> {
    let output = run_in(folder, &[words, &["--json"]].concat());
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    let lines = stdout(&output);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &to),
            false => {
                fs::copy(&path, &to).expect("a copy");
            }
        }
    }
}

/// Adds copies of the files of every folder, so that classes can be divided.
fn multiply(folder: &Path, copies: usize) {
    let files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    for path in files {
        if path.is_dir() {
            multiply(&path, copies);
            continue;
        }
        let stem = path.file_stem().expect("a name").to_string_lossy();
        let extension = path.extension().expect("an extension").to_string_lossy();
        for copy in 0..copies {
            let name = format!("{stem}{copy}.{extension}");
            fs::copy(&path, path.with_file_name(name)).expect("a copy");
        }
    }
}

/// A network for frames of this shape.
pub fn network(folder: &Path, input: &str, classes: usize) {
    let text = format!(
        "[network]\ninput = {input}\nlayers = [\"flatten\", {{ linear = {classes} }}, \"neuron\"]\n"
    );
    fs::write(folder.join("net.toml"), text).expect("a file");
}

pub const ONE_EPOCH: [&str; 9] = [
    "--device",
    "cpu",
    "--epochs",
    "1",
    "--batch-size",
    "2",
    "--out",
    "run",
    "--force",
];

#[test]
fn small_folders_in_the_layout_of_every_data_set_train_and_evaluate() {
    let fixtures =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../spikelet-events/tests/fixtures/datasets");
    for (set, fixture, classes, copies) in [
        ("n-mnist", "NMNIST", 10, 0),
        ("dvs128-gesture", "DVS128Gesture", 11, 0),
        ("cifar10-dvs", "CIFAR10DVS", 10, 4),
        ("cifar10-dvs", "CIFAR10DVS_aedat4", 10, 14),
        ("n-caltech101", "NCaltech101", 4, 14),
        ("asl-dvs", "ASLDVS", 24, 14),
        ("dvs-lip", "DVSLip", 3, 0),
        ("n-cars", "NCARS", 2, 0),
        ("es-imagenet", "ESImageNet", 1000, 0),
        ("shd", "SHD", 20, 0),
        ("ssc", "SSC", 35, 0),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let data = folder.join("data").join(set);
        copy(&fixtures.join(fixture), &data);
        if copies > 0 {
            multiply(&data, copies);
        }
        let is_sound = ["shd", "ssc"].contains(&set);
        let (input, frames) = match is_sound {
            true => ("[7]", "data.frames=sound steps=10 step=100000 group=100"),
            false => ("[2, 8, 8]", "data.frames=number=3"),
        };
        network(folder, input, classes);
        let size: &[&str] = match is_sound {
            true => &[],
            false => &["--set", "data.frame_size=[8,8]"],
        };
        let words = [
            "train",
            "net.toml",
            "--dataset",
            set,
            "--validation",
            "0",
            "--set",
            frames,
        ];
        let made = lines(folder, &[&words[..], size, &ONE_EPOCH].concat());
        let done = made.last().expect("a line");
        assert_eq!(done["event"], "done", "{set}: {done}");
        // The files are not needed any more: the recordings were packed.
        fs::remove_dir_all(&data).expect("it is there");
        assert!(folder.join(format!("data/{set}.events")).is_file());
        let words = ["eval", "run/last.safetensors", "--device", "cpu"];
        let eval = lines(folder, &words);
        assert_eq!(eval[0]["accuracy"], done["test_accuracy"], "{set}");
    }
}

#[test]
fn frames_that_the_device_makes_train_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    network(folder, "[2, 34, 34]", 10);
    let train = |frames_on: &str| {
        let frames_on = format!("data.frames_on={frames_on}");
        let words = [
            "train",
            "net.toml",
            "--dataset",
            "synthetic-gestures-34",
            "--train-images",
            "40",
            "--test-images",
            "10",
            "--set",
            &frames_on,
        ];
        let made = lines(folder, &[&words[..], &ONE_EPOCH].concat());
        let done = made.last().expect("a line").clone();
        let eval = lines(folder, &["eval", "run/last.safetensors", "--device", "cpu"]);
        (done["test_accuracy"].clone(), eval[0]["loss"].clone())
    };
    let host = train("host");
    assert!(host.1.is_number(), "{host:?}");
    assert_eq!(host, train("device"));
}

#[test]
fn own_recordings_train() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for class in ["left", "right"] {
        let recordings = folder.join("data/recordings").join(class);
        fs::create_dir_all(&recordings).expect("a folder");
        for k in 0..10 {
            let out = recordings.join(format!("{k}.aedat4"));
            let index = (2 * k + usize::from(class == "right")).to_string();
            let words = [
                "data",
                "sample",
                "synthetic-gestures size=34",
                "--index",
                &index,
                "--out",
            ];
            let found = lines(
                folder,
                &[&words[..], &[out.to_str().expect("UTF-8")]].concat(),
            );
            check(&["`spikelet data sample`"], &found);
        }
    }
    network(folder, "[2, 34, 34]", 2);
    let words = [
        "train",
        "net.toml",
        "--dataset",
        "recordings",
        "--validation",
        "0",
    ];
    let made = lines(folder, &[&words[..], &ONE_EPOCH].concat());
    assert_eq!(made.last().expect("a line")["event"], "done");
    // More classes than outputs, and another sensor.
    network(folder, "[2, 34, 34]", 1);
    let output = run_in(folder, &[&words[..], &ONE_EPOCH].concat());
    assert_eq!(code(&output), 2);
    mentions(&stderr(&output), &["2 classes"]);
    network(folder, "[2, 30, 34]", 2);
    let output = run_in(folder, &[&words[..], &ONE_EPOCH].concat());
    assert_eq!(code(&output), 2);
    mentions(&stderr(&output), &["frame_size"]);
}

#[test]
fn plastic_layers_learn_in_a_stream_and_their_weights_are_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = r#"
        [data]
        dataset = "synthetic-gestures-34"
        frames = "event-counts=200"
        train_images = 20
        test_images = 10

        [network]
        input = [2, 34, 34]
        layers = [
          "flatten",
          { name = "features", plastic = { linear = 8, init = { uniform = [0.0, 0.1] } }, rule = "pair-stdp" },
          { name = "readout", linear = 10 },
        ]
    "#;
    fs::write(folder.join("net.toml"), text).expect("a file");
    lines(folder, &[&["train", "net.toml"][..], &ONE_EPOCH].concat());
    let sample = ["data", "sample", "synthetic-gestures-34"];
    lines(
        folder,
        &[&sample[..], &["--index", "3", "--out", "a.aedat4"]].concat(),
    );
    let stream = ["stream", "run/last.safetensors", "--device", "cpu"];
    let stream = [&stream[..], &["--input", "a.aedat4"]].concat();
    let learn = ["--learn", "--save", "learned.safetensors"];
    let learned = lines(folder, &[&stream[..], &learn].concat());
    let saved = learned.last().expect("lines");
    check(&["`saved`"], std::slice::from_ref(saved));
    let weight = |file: &str| {
        let file = spikelet::tensors::TensorFile::read(folder.join(file)).expect("a file");
        let of = |name: &str| file.tensors[name].to_f64();
        [of("features.synapses.weight"), of("readout.weight")]
    };
    let ([before, readout], [after, same]) = (
        weight("run/last.safetensors"),
        weight("learned.safetensors"),
    );
    assert_ne!(before, after);
    assert_eq!(readout, same);
    // The file is a checkpoint.
    let again = ["stream", "learned.safetensors", "--device", "cpu"];
    lines(folder, &[&again[..], &["--input", "a.aedat4"]].concat());
    // Weights and traces of the layer are recorded while it learns.
    let record = ["record", "learned.safetensors", "--device", "cpu"];
    let values = ["--values", "weights,traces", "--out", "learning.npz"];
    let few = ["--samples", "0..5", "--eval-batch-size", "2"];
    let record = [&record[..], &values, &few].concat();
    let output = run_in(folder, &record);
    assert_ne!(code(&output), 0);
    mentions(&stderr(&output), &["weights are fixed", "--learn"]);
    let line = lines(folder, &[&record[..], &["--learn"]].concat());
    let arrays = line[0]["arrays"].as_array().expect("arrays");
    let shape = |name: &str| {
        let found = arrays.iter().find(|array| array["name"] == name);
        found.map(|array| array["shape"].clone()).expect(name)
    };
    let weights = shape("features.weight_seq");
    assert_eq!(weights[1], 3, "two samples, two, and one");
    assert_eq!([&weights[2], &weights[3]], [8, 2 * 34 * 34]);
    assert_eq!(shape("features.r1")[1], 5);
}

#[test]
fn a_trained_network_runs_on_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    network(folder, "[2, 34, 34]", 10);
    let sizes = [
        "--train-images",
        "40",
        "--test-images",
        "10",
        "--dataset",
        "synthetic-gestures-34",
    ];
    let words = ["train", "net.toml", "--set", "data.frames=event-counts=200"];
    lines(folder, &[&words[..], &sizes, &ONE_EPOCH].concat());
    let sample = [
        "data",
        "sample",
        "synthetic-gestures size=34",
        "--index",
        "3",
        "--out",
        "a.aedat4",
    ];
    let events = lines(folder, &sample)[0]["events"]
        .as_u64()
        .expect("a number");
    let stream = [
        "stream",
        "run/last.safetensors",
        "--device",
        "cpu",
        "--input",
    ];
    let file = lines(folder, &[&stream[..], &["a.aedat4"]].concat());
    let (done, steps) = file.split_last().expect("lines");
    assert_eq!(done["events"], events);
    assert_eq!(steps.len() as u64, events.div_ceil(200));
    assert!(done["latency_us"].as_f64() <= done["latency_99_us"].as_f64());
    check(&["`step`"], steps);
    check(&["`done` of a stream"], std::slice::from_ref(done));

    // The same through a socket, without the file's extension.
    let listen = ["tcp-listen://127.0.0.1:0", "--json"];
    let mut child = program(&[&stream[..], &listen].concat())
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut reader = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).expect("a line");
    let listening: Value = serde_json::from_str(&line).expect("JSON");
    check(&["`listening`"], std::slice::from_ref(&listening));
    let address = listening["address"].as_str().expect("an address");
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket
        .write_all(&fs::read(folder.join("a.aedat4")).expect("the file"))
        .expect("it reads");
    drop(socket);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut reader, &mut rest).expect("lines");
    assert!(child.wait().expect("it ends").success());
    let socket: Vec<Value> = rest
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(socket[..socket.len() - 1], *steps);

    // The whole recording, with the frames of the training.
    let predict = |file: &str, more: &[&str]| {
        let words = ["predict", "run/last.safetensors", "--device", "cpu", file];
        [&words[..], more]
            .concat()
            .into_iter()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let predicted = |file: &str, more: &[&str]| {
        let words = predict(file, more);
        lines(
            folder,
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .swap_remove(0)
    };
    let found = predicted("a.aedat4", &[]);
    check(&["`spikelet predict`"], std::slice::from_ref(&found));
    let frames = found["steps"].as_u64().expect("a number") as usize;
    assert_eq!(
        [&found["channels"], &found["height"], &found["width"]],
        [2, 34, 34]
    );
    // The stream has the same frames, and its scores are the means over them.
    let numbers = |line: &Value| -> Vec<f64> {
        let scores = line["scores"].as_array().expect("scores").iter();
        scores
            .map(|score| score.as_f64().expect("a number"))
            .collect()
    };
    for (a, b) in numbers(&found).iter().zip(numbers(&steps[frames - 1])) {
        assert!((a - b).abs() < 1e-5, "{found} {}", steps[frames - 1]);
    }

    // The same recording is evaluated and recorded.
    let gestures = spikelet::data::find("synthetic-gestures-34").expect("it is known");
    let classes = gestures.classes(&Default::default()).expect("its classes");
    let words = [
        "eval",
        "run/last.safetensors",
        "--device",
        "cpu",
        "a.aedat4",
    ];
    let evaluated = lines(folder, &[&words[..], &["--label", &classes[0]]].concat());
    assert!(evaluated[0]["accuracy"].is_number(), "{evaluated:?}");
    let unlabeled = run_in(folder, &words);
    assert_eq!(code(&unlabeled), 2);
    mentions(&stderr(&unlabeled), &["a.aedat4", "--label"]);
    let words = [
        "record",
        "run/last.safetensors",
        "--device",
        "cpu",
        "a.aedat4",
        "--out",
        "a.npz",
    ];
    let recorded = lines(folder, &words).swap_remove(0);
    let arrays = recorded["arrays"].as_array().expect("arrays").iter();
    let mut scores = arrays.filter(|array| array["name"] == "scores");
    assert_eq!(
        scores.next().expect("the scores")["shape"],
        serde_json::json!([1, 10])
    );
    assert_eq!(recorded["accuracy"], Value::Null);

    // A sensor of another size.
    let sample = [
        "data",
        "sample",
        "synthetic-gestures",
        "--index",
        "3",
        "--out",
        "b.aedat4",
    ];
    lines(folder, &sample);
    // A file that does not say its sensor.
    lines(folder, &["convert", "b.aedat4", "b.npz"]);
    for (file, more, parts) in [
        (
            "b.npz",
            &[][..],
            [
                "that of the training was taken, width 34, height 34",
                "--sensor WxH",
            ],
        ),
        (
            "b.aedat4",
            &[],
            ["a sensor of width 128, height 128", "frames of 2 × 34 × 34"],
        ),
        (
            "b.npz",
            &["--sensor", "128x128"],
            ["a sensor of width 128, height 128", "frames of 2 × 34 × 34"],
        ),
    ] {
        let large = predict(file, more);
        let output = run_in(
            folder,
            &large.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        assert_eq!(code(&output), 1);
        mentions(&stderr(&output), &[&parts[..], &["--resize"]].concat());
    }
    let words = [
        "eval",
        "run/last.safetensors",
        "--device",
        "cpu",
        "b.aedat4",
        "--label",
        &classes[0],
    ];
    let resized = lines(
        folder,
        &[&words[..], &["--sensor", "128x128", "--resize"]].concat(),
    );
    assert_eq!(resized[0]["images"], 1);
    let resized = predicted("b.aedat4", &["--sensor", "128x128", "--resize"]);
    let said = resized["conversions"][0].as_str().expect("words");
    assert_eq!(
        said,
        "resized from a sensor of width 128, height 128 to width 34, height 34"
    );

    // A sequence in an array.
    let array = folder.join("silence.npy");
    let shape = format!("({frames}, 2, 34, 34)");
    crate::predict::write_npy(&array, "|u1", &shape, &vec![0; frames * 2 * 34 * 34]);
    let silence = predicted("silence.npy", &[]);
    assert_eq!(
        (&silence["steps"], &silence["predicted"]),
        (&frames.into(), &Value::Null)
    );

    for (wrong, said) in [
        (
            &["--frames", "number=5"][..],
            "such as --frames duration=50000",
        ),
        (&["--frames", "numbers=5"], "numbers"),
        (&["--sensor", "40x40"], "the network takes"),
        (&["--pace", "1e-300"], "use at least 1e-6"),
    ] {
        let output = run_in(folder, &[&stream[..], &["a.aedat4"], wrong].concat());
        assert_ne!(code(&output), 0, "{wrong:?}");
        assert!(
            stderr(&output).contains(said),
            "{wrong:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn frames_of_other_data_sets_are_refused() {
    let message = complaint(&["config", "mnist-fc", "--set", "data.frames=number=5"], 2);
    mentions(&message, &["frames", "recordings of events"]);
}
