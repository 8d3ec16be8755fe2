//! What is written is read back; what a format cannot hold is an error.

use proptest::prelude::*;
use spikelet_events::{
    ErrorKind, EventBuffer, EventWriter, Format, Options, Sensor, WriteOptions, read, write,
};

/// What a format can hold.
struct Limits {
    format: Format,
    sensor: Sensor,
    compress: bool,
    /// The largest time.
    time: i64,
}

fn writable() -> Vec<Limits> {
    let limits = |format, width, height, compress, time| Limits {
        format,
        sensor: Sensor::new(width, height),
        compress,
        time,
    };
    vec![
        limits(Format::Dat, 1 << 14, 1 << 14, true, 1 << 30),
        limits(Format::Evt2, 1 << 11, 1 << 11, true, (1 << 34) - 1),
        limits(Format::Evt3, 1 << 11, 1 << 11, true, (1 << 34) - 1),
        limits(Format::NpzEvents, 1 << 16, 1 << 16, true, i64::MAX),
        limits(Format::NpzEvents, 1 << 16, 1 << 16, false, i64::MAX),
        limits(Format::Csv, 1 << 16, 1 << 16, true, i64::MAX),
        limits(Format::Atis, 256, 240, true, (1 << 23) - 1),
        limits(Format::Aedat2Dvs128, 128, 128, true, 1 << 31),
        limits(Format::Aedat4, 346, 260, true, 1 << 50),
        limits(Format::Aedat4, 1280, 720, false, 1 << 50),
        limits(Format::Es, 320, 240, true, 100_000),
    ]
}

/// Events of a format, sorted by time.
fn events(limits: &Limits) -> impl Strategy<Value = EventBuffer> + use<> {
    let Sensor { width, height, .. } = limits.sensor;
    let event = (0..=limits.time, 0..width, 0..height, any::<bool>());
    proptest::collection::vec(event, 0..300).prop_map(|mut list| {
        list.sort_by_key(|event| event.0);
        let mut events = EventBuffer::default();
        for (t, x, y, on) in list {
            events.push(t, x as u16, y as u16, on);
        }
        events
    })
}

#[test]
fn every_writable_format_is_tested() {
    let tested = writable();
    for format in Format::ALL.iter().filter(|format| format.is_writable()) {
        assert!(tested.iter().any(|t| t.format == *format), "{format}");
    }
}

#[test]
fn what_is_written_in_blocks_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for limits in writable() {
        let path = folder.path().join("file");
        let name = limits.format;
        proptest!(ProptestConfig::with_cases(64), |(events in events(&limits), cut in 0_usize..300)| {
            let options = WriteOptions {
                compress: limits.compress,
                ..WriteOptions::new(limits.format, limits.sensor)
            };
            let mut writer = EventWriter::create(&path, &options).unwrap();
            let mut first = events.clone();
            first.truncate(cut);
            writer.write(&first).unwrap();
            let mut rest = EventBuffer::default();
            for k in first.len()..events.len() {
                rest.push(events.t[k], events.x[k], events.y[k], events.p[k] == 1);
            }
            writer.write(&rest).unwrap();
            writer.finish().unwrap();
            let read_options = Options { format: Some(limits.format), ..Options::default() };
            prop_assert_eq!(&read(&path, &read_options).unwrap().events, &events, "{}", name);
        });
    }
}

/// The error of writing one event.
fn refused(format: Format, t: i64, x: u16, y: u16) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut events = EventBuffer::default();
    events.push(0, 0, 0, true);
    events.push(t, x, y, true);
    let error = write(&path, format, Sensor::new(65535, 65535), &events).unwrap_err();
    assert!(!path.exists(), "an incomplete file is left");
    error.to_string()
}

#[test]
fn values_that_a_format_cannot_hold_are_named() {
    for (error, words) in [
        (refused(Format::Atis, 0, 256, 0), "event 1: x 256 > 255"),
        (refused(Format::Atis, 0, 0, 256), "event 1: y 256 > 255"),
        (refused(Format::Atis, 0, 0, 240), "event 1: y 240"),
        (refused(Format::Atis, 1 << 23, 0, 0), "time 8388608"),
        (refused(Format::Atis, -1, 0, 0), "time -1"),
        (refused(Format::Es, -1, 0, 0), "time -1"),
        (refused(Format::Es, 1 << 40, 0, 0), "time 1099511627776"),
    ] {
        assert!(error.contains(words), "`{words}` is not in: {error}");
    }
}

#[test]
fn events_of_a_row_are_written_as_vectors_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.raw");
    let sensor = Sensor::new(1280, 720);
    let mut events = EventBuffer::default();
    for k in 0..600_u16 {
        // Gaps, other rows, and pixels that are not in order.
        let x = if k % 50 == 49 {
            3
        } else {
            600 + k % 50 + k / 25
        };
        events.push(i64::from(k / 100) * 9_000_000, x, k / 50, k % 200 < 150);
    }
    write(&path, Format::Evt3, sensor, &events).unwrap();
    let found = read(&path, &Options::default()).unwrap();
    assert_eq!((&found.events, found.sensor), (&events, Some(sensor)));
    // A word for each event would have 1,200 bytes.
    assert!(std::fs::metadata(&path).unwrap().len() < 500);
}

#[test]
fn times_that_evt3_cannot_hold_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.raw");
    for (second, words) in [
        (1 << 34, "time 17179869184"),
        (-1, "time -1"),
        ((1 << 24) - 1, "time 16777215"),
        (
            (1 << 25) - (1 << 23) - 1,
            "time 25165823 is more than 8.38 s",
        ),
    ] {
        let mut events = EventBuffer::default();
        events.push((1 << 25) - 1, 0, 0, true);
        events.push(second, 0, 0, true);
        let error = write(&path, Format::Evt3, Sensor::new(8, 8), &events).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(words) && error.contains("event 1"),
            "`{words}` is not in: {error}"
        );
    }
}

#[test]
fn events_outside_the_sensor_and_columns_of_unequal_length_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut events = EventBuffer::default();
    events.push(0, 34, 0, true);
    let error = write(&path, Format::Atis, Sensor::new(34, 34), &events).unwrap_err();
    assert!(
        matches!(*error.kind, ErrorKind::Outside { value: 34, .. }),
        "{error}"
    );
    // A transposed size that has the events is named.
    for (sensor, help) in [
        (
            Sensor::new(34, 40),
            "perhaps transposed, since width 40, height 34 has the event",
        ),
        (Sensor::new(34, 34), "another size"),
        (Sensor::new(20, 30), "another size"),
    ] {
        let error = write(&path, Format::Atis, sensor, &events).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(help) && error.contains(&format!("the sensor has {sensor}")),
            "{error}"
        );
    }
    events.x[0] = 3;
    events.p[0] = 2;
    let error = write(&path, Format::Atis, Sensor::new(34, 34), &events).unwrap_err();
    assert!(error.to_string().contains("the polarity is 2"), "{error}");
    events.p.clear();
    let error = write(&path, Format::Atis, Sensor::new(34, 34), &events).unwrap_err();
    assert!(error.to_string().contains("0 polarities"), "{error}");
}

#[test]
fn sensors_that_a_format_cannot_hold_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for (format, limit) in [
        (Format::Aedat2Dvs128, "width 128, height 128"),
        (Format::Aedat4, "width 32768, height 32768"),
        (Format::Es, "width 65535, height 65535"),
    ] {
        let options = WriteOptions::new(format, Sensor::new(65536, 8));
        let error = EventWriter::create(&path, &options)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(limit) && error.contains("width 65536, height 8"),
            "{error}"
        );
    }
}
