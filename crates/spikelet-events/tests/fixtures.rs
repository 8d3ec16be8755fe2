//! Files of every format, with the events that other readers find in them, and damaged files.
//!
//! `formats/MANIFEST.json` names the files, what wrote them and which readers agree; `corrupt/MANIFEST.json` says what is
//! wrong in each file and what should happen.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use serde_json::Value;
use spikelet_events::{
    ErrorKind, EventBuffer, EventWriter, Format, GestureWindow, Options, Orientation, Sensor,
    Trigger, WriteOptions, gesture_windows, read, read_frames, read_undamaged,
};

/// Formats of frames and of many recordings in a file, which have tests of their own.
const NO_EVENTS: [&str; 4] = ["npz-frames", "h5-shd", "h5-ssc", "gesture-csv"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn manifest(kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(fixtures().join(kind).join("MANIFEST.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    manifest["items"].as_array().expect("items").clone()
}

fn expected(file: &str) -> EventBuffer {
    let bytes = fs::read(fixtures().join(file)).expect("a file of events");
    let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
    let data = |name: &str| tensors.tensor(name).expect("a column").data().to_vec();
    let u16s = |name: &str| {
        let bytes = data(name);
        let (pairs, _) = bytes.as_chunks();
        pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect()
    };
    let times = data("t");
    let (times, _) = times.as_chunks();
    EventBuffer {
        t: times.iter().map(|&time| i64::from_le_bytes(time)).collect(),
        x: u16s("x"),
        y: u16s("y"),
        p: data("p"),
    }
}

fn options(item: &Value) -> Options {
    let size = |k: usize| item["sensor"][k].as_u64().map(|size| size as u32);
    let orientation = item["options"]["orientation"].as_str();
    let orientation = orientation.map(|name| Orientation::find(name).expect("known"));
    Options {
        format: Some(Format::find(item["format"].as_str().expect("a format")).expect("known")),
        sensor: size(0)
            .zip(size(1))
            .map(|(width, height)| Sensor::new(width, height)),
        orientation,
    }
}

/// The items of a manifest that have the events of one recording.
fn recordings(kind: &str) -> Vec<(String, Value)> {
    let items = manifest(kind).into_iter().filter(|item| {
        let format = item["format"].as_str().expect("a format");
        !NO_EVENTS.contains(&format) && Format::NAMES.contains(&format)
    });
    items
        .map(|item| (item["file"].as_str().expect("a file").to_string(), item))
        .collect()
}

/// The events as another reader gives them; a difference is shown by its first event.
fn assert_events(file: &str, found: &EventBuffer, expected: &EventBuffer) {
    let rows = |events: &EventBuffer| -> Vec<(i64, u16, u16, u8)> {
        (0..events.len())
            .map(|k| (events.t[k], events.x[k], events.y[k], events.p[k]))
            .collect()
    };
    let (found, expected) = (rows(found), rows(expected));
    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
    if let Some(at) = differs {
        panic!(
            "{file}: event {at} is {:?}; {:?} is expected",
            found[at], expected[at]
        );
    }
    assert_eq!(found.len(), expected.len(), "{file}: number of events");
}

#[test]
fn files_have_the_events_that_other_readers_find() {
    for (file, item) in recordings("formats") {
        if item["options"]["optional"] == true {
            continue;
        }
        let (recording, error) =
            read_undamaged(fixtures().join(&file), &options(&item)).expect("it opens");
        assert!(error.is_none(), "{file}: {error:?}");
        assert_events(
            &file,
            &recording.events,
            &expected(item["events"].as_str().expect("events")),
        );
        if let Some(triggers) = item["triggers"].as_array() {
            let expected: Vec<_> = triggers
                .iter()
                .map(|t| (&t["t"], &t["id"], &t["p"]))
                .collect();
            let found = recording.triggers.iter().map(|t| (t.t, t.id, t.value));
            let found: Vec<_> = found
                .map(|(t, id, p)| (Value::from(t), Value::from(id), Value::from(p)))
                .collect();
            assert_eq!(
                found
                    .iter()
                    .map(|(t, id, p)| (t, id, p))
                    .collect::<Vec<_>>(),
                expected,
                "{file}"
            );
        }
    }
}

#[test]
fn aedat4_has_triggers_beside_events() {
    let path = fixtures().join("formats/aedat4/davis_streams.aedat4");
    let recording = read(&path, &Options::default()).expect("a recording");
    // The fixture has a rising edge at the last event of each of its packets.
    let edge = |t: &i64| Trigger {
        t: *t,
        id: 1,
        value: 1,
    };
    let [.., last] = recording.triggers[..] else {
        panic!("no triggers");
    };
    assert_eq!(Some(last), recording.events.t.last().map(edge));
    assert!(recording.triggers.iter().all(|trigger| {
        recording.events.t.contains(&trigger.t) && *trigger == edge(&trigger.t)
    }));
}

#[test]
fn the_content_tells_the_format() {
    for (file, item) in recordings("formats") {
        let bytes = fs::read(fixtures().join(&file)).expect("a file");
        let extension = Path::new(&file).extension().and_then(|e| e.to_str());
        let found = Format::detect(&bytes[..bytes.len().min(Format::START)], extension);
        // Neither a header nor the extension tells these two apart.
        if !file.ends_with("noheader.dat") {
            assert_eq!(found.expect(&file).name(), item["format"], "{file}");
        }
    }
}

#[test]
fn frames_of_an_npz_file_are_read_as_f32() {
    for item in manifest("formats") {
        if item["format"] != "npz-frames" {
            continue;
        }
        let file = fixtures().join(item["file"].as_str().expect("a file"));
        let bytes = fs::read(fixtures().join(item["expect"].as_str().expect("a file"))).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let expected = tensors.tensor("frames").unwrap();
        let found = read_frames(file).unwrap();
        assert_eq!(found.shape, expected.shape());
        let bytes: Vec<u8> = found.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert!(bytes == expected.data(), "other values");
    }
}

#[test]
fn damaged_files_give_what_is_whole_and_an_error() {
    for (file, item) in recordings("corrupt") {
        let should = item["should"].as_str().expect("what should happen");
        let (events, error) = match read_undamaged(fixtures().join(&file), &options(&item)) {
            Ok((recording, error)) => (recording.events, error),
            Err(error) => (EventBuffer::default(), Some(error)),
        };
        let is_error = should.starts_with("error")
            && !should.contains("lenient")
            && !should.contains("or skip");
        match (&error, is_error) {
            (Some(error), true) => assert_names(&file, &error.to_string()),
            (None, false) => {}
            (Some(_), false) if should.contains("or ") => {}
            (found, _) => panic!("{file}: {should}; found {found:?}"),
        }
        if let Some(before) = item["events_before_the_fault"].as_str() {
            assert_events(&file, &events, &expected(before));
        }
    }
}

/// Asserts that the error of a file names what is wrong.
fn assert_names(file: &str, message: &str) {
    let words: &[&str] = match file.trim_start_matches("corrupt/") {
        "atis_truncated.bin" => &["ends inside a record", "748"],
        "atis_x_outside.bin" => &["event 20", "x 40 >= 34"],
        "aedat2_truncated.aedat" | "aedat2_half_record.aedat" => &["ends inside a record"],
        "aedat2_endless_header.aedat" => &["header line never ends"],
        "aedat2_web_page.aedat" => &["<!DOCTYPE html>", "aedat1"],
        "aedat31_truncated.aedat" => &["inside a packet of 150 events", "1195 of"],
        "aedat31_truncated_header.aedat" => &["ends inside a packet header", "13 of the 28"],
        "aedat31_zero_size.aedat" => &["size 0"],
        "aedat31_negative_count.aedat" => &["negative count", "-1"],
        "aedat31_huge_count.aedat" => &["inside a packet of 2000000000 events", "160 of"],
        "aedat31_number_above_capacity.aedat" => &["20 events", "capacity of 10"],
        "aedat31_no_end_header.aedat" => &["header never ends", "#!END-HEADER"],
        "aedat31_wrong_version.aedat" => &["9.9"],
        "aedat31_compressed_format.aedat" => &["SerializedTS,PNGFrames"],
        "aedat31_x_outside.aedat" => &["event 5", "x 4000 >= 128"],
        "dat_event_size.dat" => &["16 bytes"],
        "dat_event_type.dat" => &["0x28"],
        "dat_header_only.dat" => &["type and the size"],
        "dat_no_newline.dat" => &["line of the header has no end"],
        "dat_truncated.dat" => &["ends inside a record"],
        "dat_y_outside.dat" => &["event 7", "y 240 >= 240"],
        "evt2_geometry_zero.raw" => &["width 0, height 0"],
        "evt2_no_time_high.raw" | "evt3_no_time_high.raw" => &["no EVT_TIME_HIGH", "no time"],
        "evt2_truncated.raw" | "evt21_truncated.raw" => &["ends inside a record"],
        "evt2_wrong_format.raw" => &["EVT9"],
        "evt2_x_outside.raw" => &["event 10", "x 2047 >= 640"],
        "evt3_odd_byte.raw" => &["ends inside a record"],
        "evt3_vector_outside.raw" => &["x 640 >= 640"],
        "aedat4_magic.aedat4" => &["#!AER-DAT4.1"],
        "aedat4_header_length.aedat4" => &["header claims"],
        "aedat4_xml.aedat4" => &["no XML"],
        "aedat4_no_event_stream.aedat4" => &["no stream of events", "0 EVTX"],
        "aedat4_cut_in_packet.aedat4" => &["ends inside a packet"],
        "aedat4_packet_size.aedat4" => &["packet claims"],
        "aedat4_lz4_flip.aedat4" => &["decompressed"],
        "aedat4_lz4_claim.aedat4" => &["28 bytes claim"],
        "aedat4_identifier.aedat4" => &["`FRME`, not `EVTS`"],
        "aedat4_vector_length.aedat4" => &["vector of 268435456 elements"],
        "aedat4_root_offset.aedat4" => &["offset of the flatbuffer"],
        "aedat4_x_negative.aedat4" => &["event 0", "x -3"],
        "aedat4_compression_id.aedat4" => &["compression 9"],
        "aedat4_lz4_bomb.aedat4" | "aedat4_zstd_bomb.aedat4" => &["more than the 0 bytes"],
        "es_magic.es" => &["Event Strean"],
        "es_version.es" => &["version 9.0.0"],
        "es_type.es" => &["type 7"],
        "es_truncated.es" => &["ends inside a record"],
        "es_x_outside.es" => &["sensor has width 16, height 12"],
        "npz_bomb.npz" => &["member t has 67108992 bytes after decompression"],
        "npz_lengths.npz" => &["unequal lengths"],
        "npz_missing_p.npz" => &["member p is missing (has t, x, y)"],
        "npz_nan_time.npz" => &["event ", "t NaN"],
        "npz_negative_x.npz" => &["event ", "x -"],
        "npz_pickle.npz" => &["member t", "Python objects"],
        "npz_shape_claim.npz" => &["1099511627776"],
        "npz_truncated.npz" => &["no directory"],
        _ => &[],
    };
    for word in words {
        assert!(
            message.contains(word),
            "{file}: `{word}` is not in: {message}"
        );
    }
}

#[test]
fn errors_of_arrays_have_the_position_of_the_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.npz");
    let mut writer = EventWriter::create(
        &path,
        &WriteOptions {
            compress: false,
            ..WriteOptions::new(Format::NpzEvents, Sensor::new(128, 128))
        },
    )
    .expect("a writer");
    let mut events = EventBuffer::default();
    (0..90_000).for_each(|k| events.push(k, 3, 5, k % 2 == 0));

    writer.write(&events).expect("events");
    writer.finish().expect("a file");
    let mut bytes = fs::read(&path).expect("a file");
    // The last array is that of the polarities, a byte for each.
    let directory = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02");
    let wrong = directory.expect("a directory") - 60_000;
    bytes[wrong] = 9;
    fs::write(&path, bytes).expect("a file");
    let (recording, error) = read_undamaged(&path, &Options::default()).expect("it opens");
    let error = error.expect("an error");
    let ErrorKind::Damaged { offset, .. } = *error.kind else {
        panic!("{error}");
    };
    assert_eq!(offset, wrong as u64, "{error}");
    assert!(error.to_string().contains("event 30000: p 9"), "{error}");
    assert_eq!(recording.events.len(), 30_000);
}

#[test]
fn windows_of_gestures_are_read_or_an_error_names_the_value() {
    let mut count = 0;
    let items = manifest("corrupt").into_iter();
    for item in items.filter(|item| item["format"] == "gesture-csv") {
        count += 1;
        let file = item["file"].as_str().expect("a file");
        let found = gesture_windows(fixtures().join(file)).map_err(|error| error.to_string());
        let window = |label, start, end| GestureWindow { label, start, end };
        let first = window(0, 60_000, 900_000);
        let expected = match file.trim_start_matches("corrupt/gesture/user01_led_labels.") {
            "label_12.csv" => Err("line 2: class 12 is not 1 … 11"),
            "end_before_start.csv" => Err("ends at 60000, before its start at 90000"),
            "no_header.csv" => Err("not `class,startTime_usec,endTime_usec`"),
            "outside.csv" => Ok(vec![first, window(1, 4_000_000, 5_000_000)]),
            "overlap.csv" => Ok(vec![first, window(1, 500_000, 1_500_000)]),
            "crlf_bom.csv" => Ok(vec![first]),
            other => panic!("{other}"),
        };
        match (found, expected) {
            (Err(found), Err(words)) => assert!(found.contains(words), "{file}: {found}"),
            (found, expected) => assert_eq!(found, expected.map_err(String::from), "{file}"),
        }
    }
    assert_eq!(count, 6);
}

#[test]
fn content_tells_the_formats_that_have_a_first_line() {
    let has_first_line = ["aedat2-dvs128", "aedat2-davis", "aedat3.1", "aedat4", "es"];
    for (file, item) in recordings("formats") {
        let name = item["format"].as_str().expect("a format");
        let mut start = fs::read(fixtures().join(&file)).expect("a file");
        start.truncate(Format::START);
        match Format::detect(&start, None) {
            Ok(format) => assert_eq!(format.name(), name, "{file}"),
            Err(error) => assert!(!has_first_line.contains(&name), "{file}: {error}"),
        }
    }
}
