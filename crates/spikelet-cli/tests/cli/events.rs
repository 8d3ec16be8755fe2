//! `spikelet data …` and `spikelet convert` on event files.

use crate::common::{code, complaint, run, stderr, stdout};
use crate::json::check;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spikelet-events/tests/fixtures");
    text(&fixtures.join(name)).to_string()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The JSON line of a command that succeeds.
fn said(words: &[&str]) -> Value {
    let output = run(&[words, &["--json"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_str(stdout(&output).trim()).expect("a line of JSON")
}

fn folder() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_path_buf();
    (folder, move |name: &str| path.join(name))
}

#[test]
fn a_file_is_described_and_its_damage_is_named() {
    let file = fixture("formats/atis/nmnist.bin");
    let found = said(&["data", "info", &file, "--sensor", "34x34"]);
    assert_eq!(
        (&found["format"], &found["events"]),
        (&"atis5".into(), &900.into())
    );
    check(&["`spikelet data info`"], &[found]);
    let damaged = fixture("corrupt/atis_truncated.bin");
    let output = run(&["data", "info", &damaged, "--sensor", "34x34"]);
    assert_eq!(code(&output), 1);
    assert!(
        stderr(&output).contains("ends inside a record"),
        "{}",
        stderr(&output)
    );
    // What is whole is described before.
    assert!(stdout(&output).contains("149"), "{}", stdout(&output));
}

#[test]
fn a_file_is_decoded_into_tensors() {
    let (_folder, path) = folder();
    let out = path("events.safetensors");
    let file = fixture("formats/atis/nmnist.bin");
    let found = said(&[
        "data",
        "decode",
        &file,
        "--sensor",
        "34x34",
        "--out",
        text(&out),
    ]);
    check(&["`spikelet data decode`"], &[found]);
    let expected = fs::read(fixture("formats/events/atis_nmnist.safetensors")).expect("events");
    let columns = |bytes: &[u8]| {
        let file = safetensors::SafeTensors::deserialize(bytes).expect("safetensors");
        ["t", "x", "y", "p"].map(|name| file.tensor(name).expect(name).data().to_vec())
    };
    assert_eq!(
        columns(&fs::read(out).expect("tensors")),
        columns(&expected)
    );
}

#[test]
fn a_file_is_converted_to_all_formats_and_back() {
    let (_folder, path) = folder();
    let file = fixture("formats/atis/nmnist.bin");
    let decoded = |file: &Path, name: &str| {
        let out = path(name);
        said(&[
            "data",
            "decode",
            text(file),
            "--sensor",
            "34x34",
            "--out",
            text(&out),
        ]);
        fs::read(out).expect("tensors")
    };
    let expected = decoded(Path::new(&file), "expected");
    for (name, to) in [
        ("a.aedat4", None),
        ("a.npz", None),
        ("a.csv", None),
        ("a.es", None),
        ("a.raw", Some("evt3")),
        ("b.raw", Some("evt2")),
        ("a.dat", None),
    ] {
        let out = path(name);
        let mut words = vec!["convert", &file, text(&out), "--sensor", "34x34"];
        words.extend(to.iter().flat_map(|to| ["--to", to]));
        let found = said(&words);
        assert_eq!(found["events"], 900, "{name}");
        check(&["`spikelet convert`"], &[found]);
        assert!(decoded(&out, "decoded") == expected, "{name}");
    }
}

#[test]
fn own_recordings_are_packed() {
    let (_folder, path) = folder();
    fs::create_dir_all(path("in/cat")).expect("created");
    fs::write(path("in/cat/1.bin"), [3, 7, 0x80, 0, 40]).expect("written");
    let (from, out) = (path("in"), path("own.events"));
    let found = said(&["data", "pack", "folder", text(&from), "--out", text(&out)]);
    assert_eq!(
        (&found["samples"], &found["events"]),
        (&1.into(), &1.into())
    );
    assert!(out.exists());
    check(&["`spikelet data pack`"], &[found]);
}

#[test]
fn sets_are_listed_and_say_what_to_download() {
    let output = run(&["data", "list"]);
    assert!(stdout(&output).contains("dvs128-gesture"));
    let found = said(&["data", "info", "n-mnist"]);
    check(&["`spikelet data list`"], std::slice::from_ref(&found));
    assert!(found["downloads"][0]["file"].is_string(), "{found}");
}

#[test]
fn wrong_event_files_and_names_are_explained() {
    let (_folder, path) = folder();
    let (out, file) = (path("out.xyz"), fixture("formats/atis/nmnist.bin"));
    let wrong = complaint(&["convert", &file, text(&out), "--sensor", "34x34"], 2);
    assert!(
        wrong.contains("--to") && wrong.contains("aedat4"),
        "{wrong}"
    );
    let wrong = complaint(&["convert", &file, text(&out), "--to", "mat5"], 2);
    assert!(wrong.contains("formats that are written"), "{wrong}");
    let wrong = complaint(&["convert", &file, text(&out), "--to", "csv"], 2);
    assert!(wrong.contains("--sensor 34x34"), "{wrong}");
    let wrong = complaint(&["convert", &file, &file, "--to", "csv"], 2);
    assert!(wrong.contains("both the input and the output"), "{wrong}");
    let wrong = complaint(&["data", "info", "missing.bin"], 1);
    assert!(wrong.contains("missing.bin"), "{wrong}");
    let wrong = complaint(&["data", "pack", "mnist", "x", "--out", text(&out)], 2);
    assert!(wrong.contains("n-mnist"), "{wrong}");
    let wrong = complaint(&["data", "info", &file, "--sensor", "34"], 2);
    assert!(wrong.contains("34x34"), "{wrong}");
}

#[test]
fn spiking_audio_is_described() {
    let found = said(&["data", "info", &fixture("formats/h5/shd_gzip.h5")]);
    assert_eq!(found["recordings"], 6);
    check(&["`spikelet data info` of spiking audio"], &[found]);
    let wrong = complaint(&["data", "info", &fixture("corrupt/h5_nan.h5")], 1);
    assert!(wrong.contains("NaN"), "{wrong}");
}

/// A server of one file, which answers until the process of the test ends.
fn server(path: &'static str, body: Vec<u8>) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
            let request = lines.next().expect("a line").expect("text");
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let is_known = request.split(' ').nth(1) == Some(path);
            let (status, body) = match is_known {
                true => ("200 OK", &body[..]),
                false => ("404 Not Found", &[][..]),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(body));
        }
    });
    format!("http://{address}/")
}

#[test]
fn archives_are_fetched_and_refused_without_the_published_checksum() {
    let (folder, path) = folder();
    let data = text(folder.path());
    let mirror = server("/shd_train.h5.zip", b"not an archive".to_vec());
    let words = ["data", "fetch", "shd", data, "--mirror", &mirror];
    let message = complaint(&words, 1);
    assert!(message.contains("MD5 checksum"), "{message}");
    // It was received, and is compared again without another transfer.
    assert!(path("download/shd_train.h5.zip").is_file());
    let message = complaint(&["data", "fetch", "n-mnist", data, "--mirror", &mirror], 1);
    assert!(message.contains("404"), "{message}");
    let message = complaint(&["data", "fetch", "dvs-lip"], 1);
    assert!(message.contains("DVS-Lip"), "{message}");
    let message = complaint(&["data", "fetch", "n-mnits"], 2);
    assert!(message.contains("n-mnist"), "{message}");
}

#[test]
fn a_folder_is_verified() {
    let set = fixture("datasets/NMNIST");
    let output = run(&["data", "verify", "n-mnist", &set, "--json"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let found: Value = serde_json::from_str(stdout(&output).trim()).expect("a line of JSON");
    assert_eq!(found["intact"], false);
    assert_eq!(found["splits"][0]["published"], 60_000);
    assert_eq!(
        (&found["damaged"], &found["archives"][0]["checksum"]),
        (&0.into(), &"missing".into())
    );
    check(&["`spikelet data verify`"], &[found]);
}

#[test]
fn recordings_are_drawn() {
    let (_folder, path) = folder();
    let file = fixture("formats/atis/nmnist.bin");
    for name in ["digit.svg", "digit.png"] {
        let out = path(name);
        let words = [
            "data",
            "preview",
            &file,
            "--sensor",
            "34x34",
            "--out",
            text(&out),
        ];
        check(&["`spikelet data preview`"], &[said(&words)]);
        assert!(fs::metadata(out).expect("a picture").len() > 500);
    }
    let out = path("digit.gif");
    let message = complaint(&["data", "preview", &file, "--out", text(&out)], 1);
    assert!(
        message.contains("svg") && message.contains("png"),
        "{message}"
    );
}
