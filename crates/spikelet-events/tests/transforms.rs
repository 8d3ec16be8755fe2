//! Transforms of events: those of tonic 1.7.0 bit for bit where nothing is random, properties of the others, and settings
//! that cannot be right.
//!
//! `fixtures/transforms/MANIFEST.json` names the events, the function of tonic and its arguments.

use crate::common;

use common::{Tensors, events, items, sensor};
use serde_json::Value;
use spikelet_events::EventRandom;
use spikelet_events::transforms::{
    CenterCrop, DropEvents, EVENT_TRANSFORMS, EventTransform, SpatialJitter, TimeSkew, apply_all,
};
use spikelet_events::{ErrorKind, EventBuffer, Sensor};
use spikelet_schema::Member;

type Transform = Member<dyn EventTransform>;

/// The text of an item's transform; `None` if it is not offered.
fn text(item: &Value) -> Option<String> {
    let args = &item["args"];
    let pair = |value: &Value| match value {
        Value::Array(pair) => (pair[0].clone(), pair[1].clone()),
        one => (one.clone(), one.clone()),
    };
    let function = item["function"].as_str().expect("a function");
    Some(match function.trim_start_matches("tonic.") {
        "CenterCrop" => {
            let (width, height) = pair(&args["size"]);
            format!("center-crop width={width} height={height}")
        }
        "CropTime" => format!("crop-time min={} max={}", args["min"], args["max"]),
        "Denoise" => format!("denoise={}", args["filter_time"]),
        "Decimation" => format!("decimation={}", args["n"]),
        "RefractoryPeriod" => format!("refractory-period={}", args["delta"]),
        "Downsample" => {
            let mut text = "downsample".to_string();
            if args["spatial_factor"] != Value::Null {
                let (x, y) = pair(&args["spatial_factor"]);
                text += &format!(" x_factor={x} y_factor={y}");
            }
            if args["target_size"] != Value::Null {
                let (width, height) = pair(&args["target_size"]);
                text += &format!(" width={width} height={height}");
            }
            if args["time_factor"] != Value::Null {
                text += &format!(" time_factor={}", args["time_factor"]);
            }
            text
        }
        "MergePolarities" => "merge-polarities".into(),
        "TimeAlignment" => "time-alignment".into(),
        "TimeSkew" => format!(
            "time-skew coefficient={} offset={}",
            args["coefficient"], args["offset"]
        ),
        "RandomFlipLR" => format!("flip-x={}", args["p"]),
        "RandomFlipUD" => format!("flip-y={}", args["p"]),
        "RandomFlipPolarity" => format!("flip-polarity={}", args["p"]),
        "RandomTimeReversal" => format!(
            "time-reversal p={} flip_polarities={}",
            args["p"], args["flip_polarities"]
        ),
        "DropPixel" => match args["coordinates"].as_array() {
            Some(pixels) => {
                let pixels: Vec<_> = pixels
                    .iter()
                    .map(|pixel| format!("{}:{}", pixel[0], pixel[1]))
                    .collect();
                format!("drop-pixels={}", pixels.join(","))
            }
            None => format!("drop-hot-pixels={}", args["hot_pixel_frequency"]),
        },
        "EventDownsampling" => return None,
        other => panic!("{other}"),
    })
}

fn random(seed: u64) -> EventRandom {
    EventRandom::new(seed, 3, 17)
}

#[test]
fn events_are_those_of_tonic() {
    let tensors = Tensors::read("transforms/expect.safetensors");
    let mut compared = 0;
    for item in items("transforms") {
        let id = item["id"].as_str().expect("an id");
        let Some(text) = text(&item) else { continue };
        let transform: Transform = text.parse().unwrap_or_else(|error| panic!("{id}: {error}"));
        let (mut events, mut size) = (events(&item), sensor(&item));
        let result = transform.apply(&mut events, &mut size, &mut random(0));
        result.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(events, tensors.events(&format!("{id}.")), "{id}");
        let is_inside = |x: u16, size: u32| u32::from(x) < size;
        assert!(events.x.iter().all(|&x| is_inside(x, size.width)), "{id}");
        assert!(events.y.iter().all(|&y| is_inside(y, size.height)), "{id}");
        compared += 1;
    }
    assert!(compared >= 25, "{compared}");
}

/// 525 events of 34 × 34 pixels.
fn recording() -> (EventBuffer, Sensor) {
    let items = items("transforms");
    (events(&items[0]), sensor(&items[0]))
}

fn applied(text: &str, seed: u64) -> (EventBuffer, Sensor) {
    let (mut events, mut sensor) = recording();
    let transform: Transform = text.parse().expect(text);
    transform
        .apply(&mut events, &mut sensor, &mut random(seed))
        .expect(text);
    (events, sensor)
}

#[test]
fn random_transforms_depend_on_the_seed_only_and_stay_on_the_sensor() {
    let (before, _) = recording();
    let texts = [
        "random-crop width=20 height=20",
        "drop-events=0.3",
        "drop-by-time=0.25",
        "drop-by-area=0.2",
        "drop-random-pixels=0.1",
        "uniform-noise=100",
        "time-jitter=100",
        "spatial-jitter",
        "spatial-jitter covariance=-1",
        "time-skew coefficient=0.5 coefficient_max=2",
    ];
    for text in texts {
        let (events, sensor) = applied(text, 1);
        assert_eq!(applied(text, 1).0, events, "{text}");
        assert!(
            (2..12).any(|seed| applied(text, seed).0 != events),
            "{text}"
        );
        assert_ne!(events, before, "{text}");
        assert!(
            events.x.iter().all(|&x| u32::from(x) < sensor.width),
            "{text}"
        );
        assert!(
            events.y.iter().all(|&y| u32::from(y) < sensor.height),
            "{text}"
        );
    }
}

#[test]
fn random_transforms_drop_and_add_what_they_say() {
    let (before, _) = recording();
    for seed in 0..20 {
        assert_eq!(applied("drop-events=0.3", seed).0.len(), 525 - 158);
        assert_eq!(applied("drop-events=1", seed).0.len(), 0);
        assert_eq!(applied("uniform-noise=100", seed).0.len(), 625);
        let (noisy, _) = applied("uniform-noise=100", seed);
        assert!(noisy.t.is_sorted() && noisy.t[0] == before.t[0]);
        assert_eq!(applied("drop-by-time=0", seed).0, before);
        // The events that remain are those outside of an interval of a quarter of the duration.
        let (rest, _) = applied("drop-by-time=0.25", seed);
        let duration = before.t[524] - before.t[0];
        let dropped: Vec<_> = before.t.iter().filter(|t| !rest.t.contains(t)).collect();
        let longest = dropped
            .iter()
            .max()
            .zip(dropped.iter().min())
            .map_or(0, |(last, first)| **last - **first);
        assert!(longest as f64 <= 0.25 * duration as f64);
        let (rest, _) = applied("drop-by-area=0.2", seed);
        assert!(rest.len() > 525 / 2);
    }
    // Times move by about the standard deviation.
    let (moved, _) = applied("time-jitter std=100 drop_negative=false", 1);
    let square = |(a, b): (&i64, &i64)| ((a - b) * (a - b)) as f64;
    let variance = moved.t.iter().zip(&before.t).map(square).sum::<f64>() / 525.0;
    assert!((60.0..140.0).contains(&variance.sqrt()), "{variance}");
    // One in four recordings is left as it is by EventDrop.
    let unchanged = (0..200)
        .filter(|&seed| applied("event-drop", seed).0 == before)
        .count();
    assert!((25..80).contains(&unchanged), "{unchanged}");
}

#[test]
fn a_transform_keeps_its_random_numbers_when_another_is_added() {
    let chain = |texts: &[&str]| {
        let (mut events, mut sensor) = recording();
        let chain: Vec<Transform> = texts.iter().map(|text| text.parse().expect(text)).collect();
        apply_all(&chain, &mut events, &mut sensor, &random(5)).expect("a chain");
        events
    };
    assert_eq!(
        chain(&["flip-x=0", "drop-events=0.5"]),
        chain(&["drop-pixels", "drop-events=0.5"])
    );
}

#[test]
fn settings_that_do_not_fit_the_sensor_are_errors_and_leave_the_events() {
    let (before, size) = recording();
    let texts = ["random-crop=35", "downsample x_factor=1e9", "nda"];
    for text in texts {
        let transform: Transform = text.parse().expect(text);
        let (mut events, mut sensor) = (before.clone(), size);
        let error = transform
            .apply(&mut events, &mut sensor, &mut random(0))
            .expect_err(text);
        assert!(
            matches!(*error.kind, ErrorKind::Setting { .. }),
            "{text}: {error}"
        );
        assert_eq!((events, sensor), (before.clone(), size), "{text}");
    }
}

#[test]
fn settings_of_programs_are_checked_where_they_are_applied() {
    let (mut events, mut sensor) = recording();
    let wrong: [&dyn EventTransform; 4] = [
        &DropEvents {
            p: f64::NAN,
            ..DropEvents::default()
        },
        &CenterCrop {
            width: 0,
            height: Some(4),
        },
        &TimeSkew {
            offset: f64::INFINITY,
            ..TimeSkew::default()
        },
        &SpatialJitter {
            covariance: 2.0,
            ..SpatialJitter::default()
        },
    ];
    for transform in wrong {
        let error = transform
            .apply(&mut events, &mut sensor, &mut random(0))
            .expect_err("out of range");
        assert!(matches!(*error.kind, ErrorKind::Setting { .. }), "{error}");
    }
}

#[test]
fn settings_out_of_range_are_not_read() {
    for text in [
        "center-crop=0",
        "center-crop=65537",
        "random-crop=0",
        "crop-time min=5 max=4",
        "decimation=0",
        "downsample x_factor=0",
        "downsample x_factor=-1",
        "downsample y_factor=NaN",
        "downsample width=0",
        "downsample time_factor=inf",
        "time-skew=inf",
        "time-skew coefficient=2 coefficient_max=1",
        "flip-x=1.5",
        "flip-y=-0.1",
        "flip-polarity=NaN",
        "time-reversal=2",
        "drop-hot-pixels=-1",
        "drop-random-pixels=2",
        "drop-events=1.01",
        "drop-by-time=-1",
        "drop-by-area=2",
        "uniform-noise=100000000000",
        "time-jitter=-1",
        "time-jitter=NaN",
        "spatial-jitter var_x=-1",
        "spatial-jitter covariance=2",
        "snn-augment=0.0005",
        "nda degrees=90",
        "denoise=-1",
        "flip",
        "drop-pixels=1",
        "drop-pixels=1:2:3",
        "crop-time middle=3",
        "decimation n=",
        "",
    ] {
        assert!(text.parse::<Transform>().is_err(), "{text}");
    }
}

#[test]
fn earlier_names_and_keys_are_read() {
    for (earlier, today) in [
        ("flip-x=0.3", "flip-events p=0.3 axis=x"),
        ("flip-y", "flip-events axis=y"),
        ("flip-polarity p=1", "flip-events=1 axis=polarity"),
        ("drop-by-time ratio=0.2", "drop-events=0.2 of=time"),
        ("drop-by-area=0.2", "drop-events=0.2 of=area"),
        ("drop-random-pixels=0.2", "drop-events=0.2 of=pixels"),
        ("drop-hot-pixels", "drop-pixels frequency=1000"),
        ("drop-hot-pixels=5", "drop-pixels frequency=5"),
        ("drop-hot-pixels frequency=5", "drop-pixels frequency=5"),
        ("drop-pixels=0:0,33:32", "drop-pixels=[[0, 0], [33, 32]]"),
    ] {
        let read = |text: &str| text.parse::<Transform>().expect(text);
        assert_eq!(read(earlier), read(today), "{earlier}");
    }
}

#[test]
fn no_events_extreme_events_and_events_outside_do_not_panic() {
    let extremes = EventBuffer {
        t: vec![i64::MIN, 0, i64::MAX],
        x: vec![0, 65_535, 5],
        y: vec![0, 1, 0],
        p: vec![0, 1, 255],
    };
    for name in EVENT_TRANSFORMS.names() {
        let transform: Transform = name.parse().expect("the defaults");
        assert_eq!(
            transform.to_string().parse::<Transform>().expect("text"),
            transform
        );
        for seed in 0..8 {
            for events in [&extremes, &EventBuffer::default()] {
                let (mut events, mut sensor) = (events.clone(), Sensor::new(65_536, 2));
                let result = transform.apply(&mut events, &mut sensor, &mut random(seed));
                let refuses = ["random-crop", "nda"].contains(&name);
                assert_eq!(result.is_err(), refuses, "{name}: {result:?}");
                let is_inside = events.x.iter().all(|&x| u32::from(x) < sensor.width);
                assert!(is_inside, "{name}");
            }
        }
        let mut outside = extremes.clone();
        let error = transform
            .apply(&mut outside, &mut Sensor::new(6, 2), &mut random(0))
            .expect_err(name);
        assert!(
            matches!(*error.kind, ErrorKind::Outside { .. }),
            "{name}: {error}"
        );
        outside.p.pop();
        let error = transform
            .apply(&mut outside, &mut Sensor::new(65_536, 2), &mut random(0))
            .expect_err(name);
        assert!(
            matches!(*error.kind, ErrorKind::Columns { .. }),
            "{name}: {error}"
        );
    }
    let large: Transform = "decimation".parse().expect("decimation");
    let error = large.apply(
        &mut EventBuffer::default(),
        &mut Sensor::new(65_536, 65_536),
        &mut random(0),
    );
    assert!(matches!(
        *error.expect_err("too large").kind,
        ErrorKind::TooLarge { .. }
    ));
}

#[test]
fn the_changes_are_the_same_in_every_version() {
    let texts = [
        "center-crop width=20 height=24",
        "random-crop width=20 height=20",
        "flip-x",
        "flip-y=0.7",
        "flip-polarity",
        "time-reversal",
        "time-reversal p=0.7 flip_polarities=false",
        "drop-events",
        "drop-events p=0.3",
        "drop-by-time",
        "drop-by-time ratio=0.25",
        "drop-by-area",
        "drop-by-area=0.2",
        "drop-random-pixels",
        "drop-random-pixels=0.3",
        "drop-pixels=3:4,5:6",
        "drop-hot-pixels",
        "drop-hot-pixels=40",
        "event-drop",
        "uniform-noise=100",
        "time-jitter",
        "spatial-jitter covariance=-0.5",
        "time-skew coefficient=0.5 coefficient_max=2 offset_max=9",
        "snn-augment",
        "snn-augment cutout=0",
    ];
    // FNV-1a, a number at a time.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: u64| digest = (digest ^ number).wrapping_mul(0x0100_0000_01b3);
    for text in texts {
        for seed in 0..6 {
            let (events, sensor) = applied(text, seed);
            add(u64::from(sensor.width) << 32 | u64::from(sensor.height));
            for k in 0..events.len() {
                let place = u64::from(events.x[k]) << 32 | u64::from(events.y[k]) << 8;
                add(events.t[k] as u64);
                add(place | u64::from(events.p[k]));
            }
        }
    }
    assert_eq!(digest, 0xb974_fc14_ac8b_05d0, "{digest:#x}");
}
