//! Files of one's own are predicted, evaluated and recorded: spoken digits, recordings of oblong sensors.

use crate::common::{code, mentions, stderr, stdout};
use crate::event_training::{ONE_EPOCH, lines, network, run_in};
use std::fs;
use std::path::Path;

/// Writes a WAV file of a tone.
fn write_tone(path: &Path, hertz: f64) {
    let samples = 1600_u32;
    let data = (0..samples).flat_map(|k| {
        let phase = f64::from(k) / 8000.0 * hertz * std::f64::consts::TAU;
        ((phase.sin() * 12_000.0) as i16).to_le_bytes()
    });
    let mut file = b"RIFF".to_vec();
    file.extend((36 + 2 * samples).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(8000_u32.to_le_bytes());
    file.extend(16_000_u32.to_le_bytes());
    file.extend(b"\x02\0\x10\0data");
    file.extend((2 * samples).to_le_bytes());
    file.extend(data);
    fs::write(path, file).expect("it is written");
}

#[test]
fn a_network_of_spoken_digits_takes_wav_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let recordings = folder.join("data/fsdd/recordings");
    fs::create_dir_all(&recordings).expect("a folder");
    for take in [0, 1, 5, 6, 7, 40] {
        for digit in 0..2 {
            let path = recordings.join(format!("{digit}_theo_{take}.wav"));
            write_tone(&path, 300.0 + 900.0 * f64::from(digit) + f64::from(take));
        }
    }
    network(folder, "[140]", 10);
    let words = [
        "train",
        "net.toml",
        "--dataset",
        "fsdd",
        "--data-dir",
        "data",
    ];
    lines(folder, &[&words[..], &ONE_EPOCH].concat());
    // A convolution over the channels of the same recordings.
    let signals = "[network]\ninput = [1, 140]\nlayers = [{ conv = 2, kernel = 5, stride = 3 }, \"neuron\", \
                   \"flatten\", { linear = 10 }, \"neuron\"]\n";
    fs::write(folder.join("conv.toml"), signals).expect("a file");
    let words = [
        "train",
        "conv.toml",
        "--dataset",
        "fsdd",
        "--data-dir",
        "data",
        "--out",
        "conv",
    ];
    lines(folder, &[&words[..], &ONE_EPOCH[..6]].concat());
    let tone = "data/fsdd/recordings/1_theo_6.wav";
    let conv = ["conv/last.safetensors", "--device", "cpu", tone];
    let predicted = lines(folder, &[&["predict"], &conv[..]].concat());
    assert_eq!(
        (&predicted[0]["steps"], &predicted[0]["channels"]),
        (&100.into(), &140.into())
    );
    let recorded = lines(
        folder,
        &[&["record"], &conv[..], &["--out", "conv.npz"]].concat(),
    );
    let arrays = recorded[0]["arrays"].as_array().expect("arrays");
    let spikes = serde_json::json!([100, 1, 2, 46]);
    assert!(
        arrays.iter().any(|array| array["shape"] == spikes),
        "{arrays:?}"
    );
    let class = folder.join("own/1");
    fs::create_dir_all(&class).expect("a folder");
    write_tone(&class.join("a.wav"), 1200.0);
    write_tone(&class.join("b.wav"), 1210.0);
    let on = ["run/last.safetensors", "--device", "cpu"];
    let predicted = lines(folder, &[&["predict"], &on[..], &["own"]].concat());
    assert_eq!(predicted.len(), 2);
    let right = predicted.iter().filter(|line| line["class"] == "1").count();
    let evaluated = lines(folder, &[&["eval"], &on[..], &["own"]].concat());
    assert_eq!(evaluated[0]["images"], 2);
    assert_eq!(evaluated[0]["accuracy"], right as f64 / 2.0);
    let recorded = lines(
        folder,
        &[&["record"], &on[..], &["own", "--out", "own.npz"]].concat(),
    );
    assert_eq!(recorded[0]["images"], 2);
    fs::write(class.join("c.txt"), "a text").expect("it is written");
    let output = run_in(folder, &[&["eval"], &on[..], &["own/1/c.txt"]].concat());
    assert_eq!(code(&output), 1);
    mentions(&stderr(&output), &["c.txt", ".wav", "[T, 140]"]);
}

#[test]
fn a_sensor_that_is_no_square_trains_predicts_and_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let sensor = spikelet_events::Sensor::new(346, 260);
    let recording = |class: u16| {
        let mut events = spikelet_events::EventBuffer::default();
        for k in 0..60_u16 {
            // The last column and the last row are among them.
            let (x, y) = (345 - k % 7, 259 - k % 5 - 100 * class);
            events.push(i64::from(k) * 100, x, y, k % 2 == 0);
        }
        events
    };
    let write = |path: &Path, class: u16| {
        let format = spikelet_events::Format::Aedat4;
        spikelet_events::write(path, format, sensor, &recording(class)).expect("it is written");
    };
    for (class, name) in ["low", "high"].into_iter().enumerate() {
        let recordings = folder.join("data/recordings").join(name);
        fs::create_dir_all(&recordings).expect("a folder");
        for k in 0..10 {
            write(&recordings.join(format!("{k}.aedat4")), class as u16);
        }
    }
    write(&folder.join("own.aedat4"), 1);
    let network = |input: &str| {
        let text = format!(
            "[network]\ninput = {input}\nlayers = [{{ conv = 2, kernel = [4, 6], stride = [4, 6] }}, \"neuron\", \
             {{ avg-pool = [5, 3] }}, \"flatten\", {{ linear = 2 }}, \"neuron\"]\n"
        );
        fs::write(folder.join("net.toml"), text).expect("a file");
    };
    let words = [
        "train",
        "net.toml",
        "--dataset",
        "recordings",
        "--validation",
        "0",
        "--set",
        "data.frames=number=2",
    ];
    for (input, settings, spikes) in [
        ("[2, 260, 346]", &[][..], [2, 1, 2, 65, 57]),
        (
            "[2, 130, 173]",
            &["--set", "data.frame_size=[130,173]"],
            [2, 1, 2, 32, 28],
        ),
        (
            "[2, 65, 86]",
            &[
                "--set",
                "data.events=[{ downsample = 1.0, width = 86, height = 65 }]",
            ],
            [2, 1, 2, 16, 14],
        ),
    ] {
        network(input);
        lines(folder, &[&words[..], settings, &ONE_EPOCH].concat());
        let on = ["run/last.safetensors", "--device", "cpu", "own.aedat4"];
        let predicted = lines(folder, &[&["predict"], &on[..]].concat());
        let sizes = ["channels", "height", "width"].map(|key| predicted[0][key].clone());
        assert_eq!(
            format!("[{}]", sizes.map(|size| size.to_string()).join(", ")),
            input
        );
        let recorded = lines(
            folder,
            &[&["record"], &on[..], &["--out", "own.npz"]].concat(),
        );
        let arrays = recorded[0]["arrays"].as_array().expect("arrays");
        let spikes = serde_json::json!(spikes);
        assert!(
            arrays.iter().any(|array| array["shape"] == spikes),
            "{arrays:?}"
        );
    }

    // A size that is given in the other order is named as such.
    network("[2, 346, 260]");
    let wrong = run_in(folder, &[&words[..], &ONE_EPOCH].concat());
    assert_eq!(code(&wrong), 2);
    let parts = ["[2, 346, 260]", "[2, 260, 346]", "perhaps transposed"];
    mentions(&stderr(&wrong), &parts);
    network("[2, 260, 346]");
    for settings in ["data.sensor=[260,346]", "data.frame_size=[346,260]"] {
        let wrong = run_in(
            folder,
            &[&words[..], &["--set", settings], &ONE_EPOCH].concat(),
        );
        assert_ne!(code(&wrong), 0, "{settings}");
        mentions(&stderr(&wrong), &["perhaps transposed", "260", "346"]);
    }
    lines(folder, &[&words[..], &ONE_EPOCH].concat());
    let on = [
        "predict",
        "run/last.safetensors",
        "--device",
        "cpu",
        "own.aedat4",
    ];
    let wrong = run_in(folder, &[&on[..], &["--sensor", "260x346"]].concat());
    assert_eq!(code(&wrong), 1);
    let parts = [
        "the sensor has width 260, height 346",
        "perhaps transposed",
        "346x260",
    ];
    mentions(&stderr(&wrong), &parts);
    let info = run_in(folder, &["data", "info", "own.aedat4"]);
    mentions(&stdout(&info), &["width 346, height 260"]);
}
