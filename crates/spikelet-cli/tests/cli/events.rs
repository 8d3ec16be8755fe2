//! `spikelet data …` and `spikelet convert` on event files.

use crate::common::{code, complaint, run, stderr, stdout};
use crate::json_page::check;
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
    assert!(
        output.stdout.starts_with(b"format"),
        "no empty line before it"
    );
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
    // What was packed is read: described, drawn, decoded.
    let info = said(&["data", "info", text(&out)]);
    assert_eq!(
        (&info["format"], &info["recordings"]),
        (&"pack".into(), &1.into())
    );
    let folder = said(&["data", "info", text(&from)]);
    assert_eq!(
        (&folder["name"], &folder["labels"]),
        (&"folder".into(), &1.into())
    );
    check(
        &["`spikelet data info` of a pack or a folder"],
        &[info, folder],
    );
    let (picture, tensors) = (path("cat.svg"), path("cat.safetensors"));
    let words = ["data", "preview", text(&out), "--out", text(&picture)];
    let drawn = said(&[&words[..], &["--sample", "0"]].concat());
    assert_eq!((&drawn["sample"], &drawn["events"]), (&0.into(), &1.into()));
    check(&["`spikelet data preview`"], &[drawn]);
    let decoded = said(&["data", "decode", text(&out), "--out", text(&tensors)]);
    assert_eq!(
        (&decoded["format"], &decoded["events"]),
        (&"pack".into(), &1.into())
    );
    check(&["`spikelet data decode`"], &[decoded]);
    let wrong = complaint(&[&words[..], &["--sample", "1"]].concat(), 1);
    assert!(wrong.contains("no sample 1"), "{wrong}");
    let wrong = complaint(
        &["data", "preview", text(&from), "--out", text(&picture)],
        2,
    );
    assert!(wrong.contains("is a folder"), "{wrong}");
    let set = said(&["data", "info", &fixture("datasets/NMNIST")]);
    assert_eq!(
        (&set["name"], &set["labels"]),
        (&"n-mnist".into(), &10.into())
    );
    fs::create_dir(path("empty")).expect("created");
    let wrong = complaint(&["data", "info", text(&path("empty"))], 1);
    assert!(
        wrong.contains("an empty folder") && wrong.contains("data list"),
        "{wrong}"
    );
}

#[test]
fn what_a_killed_command_left_is_removed_by_the_next_one() {
    let (_folder, path) = folder();
    fs::create_dir_all(path("in/cat")).expect("created");
    fs::write(path("in/cat/1.bin"), [3, 7, 0x80, 0, 40]).expect("written");
    let left = [".events.Ab12Cd.tmp", ".own.safetensors.Ab12Cd.tmp"];
    for name in left {
        let file = fs::File::create(path(name)).expect("created");
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        file.set_modified(old).expect("a time");
    }
    let (from, out) = (path("in"), path("own.events"));
    said(&["data", "pack", "folder", text(&from), "--out", text(&out)]);
    assert!(!path(left[0]).exists() && path(left[1]).exists());
    let copy = path("own.safetensors");
    said(&["data", "decode", text(&out), "--out", text(&copy)]);
    assert!(!path(left[1]).exists());
}

#[test]
fn times_since_1970_are_shifted_to_0_when_asked() {
    let (_folder, path) = folder();
    let lines = path("unix.csv");
    fs::write(
        &lines,
        "t,x,y,p\n1600000000000042,2,3,1\n1600000000000049,5,6,0\n",
    )
    .expect("written");
    for to in ["evt2", "evt3", "dat", "es", "atis5"] {
        let out = path("out");
        let words = [
            "convert",
            text(&lines),
            text(&out),
            "--to",
            to,
            "--sensor",
            "34x34",
        ];
        let wrong = complaint(&words, 1);
        assert!(wrong.contains("--from-zero"), "{to}: {wrong}");
        let found = said(&[&words[..], &["--from-zero"]].concat());
        assert_eq!(found["earlier"], 1_600_000_000_000_042_i64);
        check(&["`spikelet convert`"], &[found]);
        let back = path("back.csv");
        said(&[
            "convert",
            text(&out),
            text(&back),
            "--format",
            to,
            "--sensor",
            "34x34",
        ]);
        let expected = "t,x,y,p\n0,2,3,1\n7,5,6,0\n";
        assert_eq!(fs::read_to_string(back).expect("text"), expected, "{to}");
    }
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
    assert!(wrong.contains("--sensor 346x260"), "{wrong}");
    let wrong = complaint(&["convert", &file, &file, "--to", "csv"], 2);
    assert!(wrong.contains("both the input and the output"), "{wrong}");
    let wrong = complaint(&["data", "info", "missing.bin"], 1);
    assert!(wrong.contains("missing.bin"), "{wrong}");
    let wrong = complaint(&["data", "pack", "mnist", "x", "--out", text(&out)], 2);
    assert!(wrong.contains("n-mnist"), "{wrong}");
    let wrong = complaint(&["data", "info", &file, "--sensor", "34"], 2);
    assert!(wrong.contains("width and the height"), "{wrong}");
    let raw = path("out.raw");
    let wrong = complaint(&["convert", &file, text(&raw), "--sensor", "34x34"], 2);
    assert!(wrong.contains("one of evt2, evt3"), "{wrong}");
    let lines = path("lines.csv");
    fs::write(&lines, "t,x,y,p\n1,2,3,1\n4,foo,6,0\n").expect("written");
    let wrong = complaint(&["data", "info", text(&lines)], 1);
    let expected = "line 3: `foo` is no integer\n  help: correct the line";
    assert!(wrong.contains(expected), "{wrong}");
    // Only its name says that it is of this format.
    let random = path("random.bin");
    fs::write(
        &random,
        (0..100_u32)
            .map(|k| (k * 37 + 11) as u8)
            .collect::<Vec<u8>>(),
    )
    .expect("written");
    let wrong = complaint(&["data", "info", text(&random), "--sensor", "34x34"], 1);
    assert!(
        wrong.contains("read as atis5 because of its name"),
        "{wrong}"
    );
    let named = [
        "data",
        "info",
        text(&random),
        "--sensor",
        "34x34",
        "--format",
        "atis5",
    ];
    let wrong = complaint(&named, 1);
    assert!(!wrong.contains("because of its name"), "{wrong}");
}

#[test]
fn spiking_audio_is_described() {
    let found = said(&["data", "info", &fixture("formats/h5/shd_gzip.h5")]);
    assert_eq!(found["recordings"], 6);
    check(&["`spikelet data info` of spiking audio"], &[found]);
    let wrong = complaint(&["data", "info", &fixture("corrupt/h5_nan.h5")], 1);
    assert!(wrong.contains("NaN"), "{wrong}");
    let unsorted = said(&["data", "info", &fixture("corrupt/h5_unsorted.h5")]);
    assert_eq!(unsorted["times_decrease"], 1);
    let label = fixture("corrupt/h5_label.h5");
    let wrong = complaint(&["data", "info", &label], 1);
    assert!(wrong.contains("label 20 >= 20"), "{wrong}");
    assert_eq!(
        said(&["data", "info", &label, "--classes", "21"])["labels"],
        1
    );
    // A recording of a file of many is drawn.
    let (_folder, path) = folder();
    let (file, out) = (fixture("formats/h5/shd_gzip.h5"), path("word.svg"));
    let words = [
        "data",
        "preview",
        &file,
        "--out",
        text(&out),
        "--sample",
        "5",
    ];
    assert_eq!(said(&words)["sample"], 5);
    assert!(
        fs::read_to_string(out)
            .expect("a picture")
            .contains("recording 5")
    );
}

#[test]
fn a_duration_is_never_negative() {
    let found = said(&["data", "info", &fixture("corrupt/evt3_time_high_back.raw")]);
    assert!(found["seconds"].as_f64() > Some(0.0), "{found}");
    assert!(found["times_decrease"].as_u64() > Some(0), "{found}");
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
    // What a killed command left is removed by the next.
    let left = path(".events.Ab12Cd.tmp");
    let file = std::fs::File::create(&left).expect("created");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(9);
    file.set_modified(old).expect("a time");
    let words = ["data", "fetch", "shd", data, "--mirror", &mirror];
    let message = complaint(&words, 1);
    assert!(message.contains("MD5 checksum"), "{message}");
    assert!(!left.exists());
    // It is not taken for the archive again: another mirror is asked.
    assert!(path("download/shd_train.h5.zip.wrong").is_file());
    let nobody = server("/nothing", vec![]);
    let words = ["data", "fetch", "shd", data, "--mirror", &nobody];
    let message = complaint(&words, 1);
    assert!(message.contains("404"), "{message}");
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
