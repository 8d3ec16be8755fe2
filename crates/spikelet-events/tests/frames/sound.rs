//! Frames of cochleas as published code makes them, and settings that cannot be right.

use crate::common::{Tensors, items};
use crate::frames::{assert_values, expected, float, number};
use serde_json::Value;
use spikelet_events::ErrorKind;
use spikelet_events::frames::{SoundFrames, SoundRule};

/// The sound frames of an item.
fn sound(item: &Value) -> SoundFrames {
    let (id, args) = (item["id"].as_str().expect("an id"), &item["args"]);
    let duration = float(args, "duration") as f32;
    let frames = number(args, "frames_num").unwrap_or(0) as usize;
    let plain = SoundFrames::default();
    let grouped = SoundFrames { group: 5, ..plain };
    let with = |frames: SoundFrames, rule| SoundFrames { rule, ..frames };
    match () {
        () if id.starts_with("shd_dcls") => with(grouped, SoundRule::HalfDuration { duration }),
        () if id.starts_with("shd_zenke") => with(
            plain,
            SoundRule::Digitize {
                edges: number(args, "nb_steps").expect("steps") as usize,
                end: float(args, "max_time"),
            },
        ),
        () if id.starts_with("shd_se_adlif") => with(
            grouped,
            SoundRule::Milliseconds {
                window: number(args, "window_ms").expect("a window") as u32,
            },
        ),
        () if id.starts_with("shd_yin") => SoundFrames {
            rule: SoundRule::HalfCeiling {
                step: float(args, "dt"),
            },
            binary: true,
            reversed: true,
            ..plain
        },
        () if args["split_by"] == "number" => with(plain, SoundRule::Number { frames }),
        () if args["split_by"] == "time" => with(plain, SoundRule::HalfTime { frames }),
        () => with(plain, SoundRule::HalfDuration { duration }),
    }
}

#[test]
fn sound_frames_are_those_of_published_code() {
    let tensors = Tensors::read("frames/expect.safetensors");
    let spikes = Tensors::read("frames/events/shd.safetensors");
    let column = |name| spikes.values(name).expect("a column");
    let (offsets, times, units) = (column("offsets"), column("times"), column("units"));
    let is_sound = |item: &&Value| item["id"].as_str().is_some_and(|id| id.starts_with("shd_"));
    let mut compared = 0;
    for item in items("frames").iter().filter(is_sound) {
        let id = item["id"].as_str().expect("an id");
        let sample = number(&item["args"], "sample").expect("a sample") as usize;
        let range = offsets[sample] as usize..offsets[sample + 1] as usize;
        let times: Vec<_> = times[range.clone()]
            .iter()
            .map(|&time| time as f32)
            .collect();
        let units: Vec<_> = units[range].iter().map(|&unit| unit as u16).collect();
        let frames = sound(item).tensor(&times, &units);
        let frames = frames.unwrap_or_else(|error| panic!("{id}: {error}"));
        if item["raises"].is_null() {
            let shape: Vec<_> = item["shape"].as_array().expect("a shape").iter().collect();
            let size = |k: usize| shape[k].as_u64().expect("a size") as usize;
            assert_eq!(frames.shape, [size(0), size(shape.len() - 1)], "{id}");
            assert_values(
                id,
                &frames.values,
                &expected(&tensors, id, frames.values.len()),
            );
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn sound_settings_out_of_range_are_errors() {
    let (times, units) = ([0.0, 0.5], [1, 2]);
    let plain = SoundFrames::default();
    let rules = [
        SoundRule::Steps {
            step: 0.0,
            steps: 1,
        },
        SoundRule::Steps {
            step: 0.1,
            steps: 0,
        },
        SoundRule::HalfDuration { duration: -1.0 },
        SoundRule::HalfDuration { duration: f32::NAN },
        SoundRule::HalfDuration { duration: 1e-9 },
        SoundRule::Number { frames: 0 },
        SoundRule::HalfTime { frames: 0 },
        SoundRule::Digitize { edges: 0, end: 1.4 },
        SoundRule::Digitize {
            edges: usize::MAX,
            end: 1.4,
        },
        SoundRule::Digitize {
            edges: 100,
            end: f64::INFINITY,
        },
        SoundRule::Milliseconds { window: 0 },
        SoundRule::HalfCeiling { step: 1e-12 },
    ];
    for rule in rules {
        let error = SoundFrames { rule, ..plain }
            .tensor(&times, &units)
            .expect_err("a setting");
        assert!(
            matches!(*error.kind, ErrorKind::Setting { .. }),
            "{rule:?}: {error}"
        );
    }
    for wrong in [
        SoundFrames {
            channels: 0,
            ..plain
        },
        SoundFrames {
            channels: 2,
            ..plain
        },
        SoundFrames { group: 3, ..plain },
    ] {
        assert!(wrong.tensor(&times, &units).is_err(), "{wrong:?}");
    }
    assert!(plain.tensor(&[f32::NAN], &[0]).is_err());
    let rule = SoundRule::HalfDuration { duration: 10.0 };
    let error = SoundFrames { rule, ..plain }
        .tensor(&[0.5, 0.0], &[0, 0])
        .expect_err("unsorted");
    assert!(
        matches!(*error.kind, ErrorKind::Unsorted { event: 1, .. }),
        "{error}"
    );
    assert!(plain.tensor(&[0.5, 0.0], &[0, 0]).is_ok());
    assert!(plain.tensor(&[1.0], &[]).is_err());
}
