//! Frames as SpikingJelly 2.0.0 and tonic 1.7.0 make them, and settings that cannot be right.
//!
//! `fixtures/frames/MANIFEST.json` names the events, the function of the other library and its arguments.

use crate::common;
mod sound;

use common::{Tensors, events, items, sensor};
use serde_json::Value;
use spikelet_events::EventRandom;
use spikelet_events::frames::{
    AveragedTimeSurface, BitFrames, ByDuration, ByNumber, ByTime, CountFrames, Decay, DropFrames,
    EventBins, EventCounts, FRAME_RULES, FrameRule, Interpolation, Resize, SLICINGS, Slicing,
    TimeBins, TimeSurface, TimeWindows, VoxelGrid,
};
use spikelet_events::{ErrorKind, EventBuffer, Frames, Sensor};
use spikelet_schema::Member;
use std::sync::Arc;

fn number(args: &Value, name: &str) -> Option<u64> {
    args[name].as_u64()
}

fn float(args: &Value, name: &str) -> f64 {
    args[name].as_f64().unwrap_or(0.0)
}

/// The slicing of another library's arguments.
fn slicing(args: &Value) -> Arc<dyn Slicing> {
    let include_incomplete = args["include_incomplete"] == true;
    let count = |name| number(args, name).map(|count| count as usize);
    if let Some(frames) = count("frames_num") {
        if args["split_by"] == "number" {
            Arc::new(ByNumber { frames })
        } else {
            Arc::new(ByTime { frames })
        }
    } else if let Some(duration) = number(args, "duration") {
        Arc::new(ByDuration { duration })
    } else if let Some(window) = number(args, "time_window") {
        Arc::new(TimeWindows {
            window,
            overlap: number(args, "overlap").unwrap_or(0),
            include_incomplete,
            start: args["start_time"].as_i64(),
            end: args["end_time"].as_i64(),
        })
    } else if let Some(events) = count("event_count") {
        let overlap = count("overlap").unwrap_or(0);
        Arc::new(EventCounts {
            events,
            overlap,
            include_incomplete,
        })
    } else if let Some(bins) = count("n_time_bins") {
        let overlap = float(args, "overlap");
        Arc::new(TimeBins { bins, overlap })
    } else {
        let bins = count("n_event_bins").expect("event bins");
        let overlap = float(args, "overlap");
        Arc::new(EventBins { bins, overlap })
    }
}

/// The representation of an item.
fn representation(item: &Value, events: &EventBuffer) -> Box<dyn FrameRule> {
    let args = &item["args"];
    let bins = number(args, "n_time_bins").unwrap_or(0) as usize;
    match item["function"].as_str().expect("a function") {
        "tonic.ToVoxelGrid" => Box::new(VoxelGrid { bins }),
        "tonic.ToTimesurface" => Box::new(TimeSurface {
            window: number(args, "dt").expect("dt"),
            tau: float(args, "tau"),
        }),
        "tonic.ToAveragedTimesurface" => Box::new(AveragedTimeSurface {
            cell: number(args, "cell_size").expect("a cell") as usize,
            surface: number(args, "surface_size").expect("a surface") as usize,
            window: float(args, "time_window") as u64,
            tau: float(args, "tau"),
            decay: if args["decay"] == "exp" {
                Decay::Exponential
            } else {
                Decay::Linear
            },
        }),
        name if name.contains("ToBinaRep") => Box::new(BitFrames {
            frames: number(args, "n_frames").expect("frames") as usize,
            bits: number(args, "n_bits").expect("bits") as usize,
        }),
        "tonic.ToImage" => Box::new(CountFrames::new(EventCounts {
            events: events.len(),
            ..EventCounts::default()
        })),
        _ => Box::new(CountFrames {
            slicing: Member(slicing(args)),
            merge_polarities: item["sensor"][2] == 1,
        }),
    }
}

/// Values that are expected, dense.
fn expected(tensors: &Tensors, id: &str, len: usize) -> Vec<f64> {
    let read = |name: &str| tensors.values(&format!("{id}.{name}"));
    read("dense").unwrap_or_else(|| {
        let mut dense = vec![0.0; len];
        let (index, value) = (
            read("index").expect("indices"),
            read("value").expect("values"),
        );
        for (index, value) in index.into_iter().zip(value) {
            dense[index as usize] = value;
        }
        dense
    })
}

/// Checks values: counts exactly, others up to the precision of 32 bits.
fn assert_values(id: &str, found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{id}: elements");
    for (at, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let is_count = expected.fract() == 0.0;
        let tolerance = if is_count {
            1e-6
        } else {
            1e-6 * expected.abs().max(1.0)
        };
        let difference = (f64::from(found) - expected).abs();
        assert!(
            difference <= tolerance,
            "{id}, element {at}: {found}, expected {expected}"
        );
    }
}

/// What is not compared: padding is done by the data loader; the rest are faults of the other library.
fn is_compared(item: &Value) -> bool {
    let (id, function) = (
        item["id"].as_str().expect("an id"),
        item["function"].as_str().unwrap_or(""),
    );
    let is_fault = id == "to_int16_wrap" || item["args"]["polarity_dtype"] == "bool";
    !(id.contains("pad") || id.contains("mask") || is_fault || function.contains("segment_index"))
        && item["slices"].is_null()
        && !id.starts_with("shd_")
}

#[test]
fn frames_are_those_of_spikingjelly_and_tonic() {
    let tensors = Tensors::read("frames/expect.safetensors");
    let mut compared = 0;
    for item in items("frames").iter().filter(|item| is_compared(item)) {
        let id = item["id"].as_str().expect("an id");
        let (events, sensor) = (events(item), sensor(item));
        let result = representation(item, &events).tensor(&events, sensor);
        if id.contains("outside") {
            let error = result.expect_err(id);
            assert!(
                matches!(*error.kind, ErrorKind::Outside { .. }),
                "{id}: {error}"
            );
            continue;
        }
        let times_decrease = events.t.windows(2).any(|pair| pair[0] > pair[1]);
        if times_decrease && item["args"]["split_by"] != "number" {
            let error = result.expect_err(id);
            assert!(
                matches!(*error.kind, ErrorKind::Unsorted { .. }),
                "{id}: {error}"
            );
            continue;
        }
        if id == "to_one_voxel" || id == "to_same_time_voxel" {
            let error = result.expect_err(id);
            assert!(
                matches!(*error.kind, ErrorKind::NoDuration { .. }),
                "{id}: {error}"
            );
            continue;
        }
        let frames = result.unwrap_or_else(|error| panic!("{id}: {error}"));
        if item["raises"].is_string() {
            // A part of the recording without events: all events are in frames, none is counted twice.
            let count: f32 = frames.values.iter().sum();
            assert_eq!(count as usize, events.len(), "{id}");
            continue;
        }
        let mut shape: Vec<_> = item["shape"].as_array().expect("a shape").iter().collect();
        let last = shape.len() - 1;
        if id.starts_with("to_none") {
            shape.swap(last, last - 1);
        }
        let shape: Vec<_> = shape
            .iter()
            .map(|size| size.as_u64().expect("a size") as usize)
            .collect();
        let skip = usize::from(shape.len() == 3);
        assert_eq!(frames.shape[skip..], shape, "{id}");
        assert_values(
            id,
            &frames.values,
            &expected(&tensors, id, frames.values.len()),
        );
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn slices_are_those_of_spikingjelly_and_tonic() {
    for item in items("frames")
        .iter()
        .filter(|item| item["slices"].is_array())
    {
        let mut args = item["args"].clone();
        let name = if item["function"] == "tonic.SliceByTimeBins" {
            "n_time_bins"
        } else {
            "n_event_bins"
        };
        args[name] = args["bin_count"].clone();
        let slices = slicing(&args).slices(&events(item).t).expect("slices");
        let slices: Vec<_> = slices
            .into_iter()
            .map(|slice| [slice.start, slice.end])
            .collect();
        assert_eq!(
            serde_json::to_value(slices).expect("JSON"),
            item["slices"],
            "{}",
            item["id"]
        );
    }
}

#[test]
fn counts_do_not_wrap() {
    let events = EventBuffer {
        t: (0..40_000).collect(),
        x: vec![0; 40_000],
        y: vec![0; 40_000],
        p: vec![1; 40_000],
    };
    let counts = CountFrames::new(ByNumber { frames: 1 });
    let frames = counts.tensor(&events, Sensor::new(1, 1)).expect("frames");
    assert_eq!(
        frames,
        Frames {
            shape: vec![1, 2, 1, 1],
            values: vec![0.0, 40_000.0]
        }
    );
}

#[test]
fn averaged_time_surfaces_count_all_earlier_events_of_a_pixel() {
    // Four pixels of one cell fire again and again: each is many times within the window.
    let mut events = EventBuffer::default();
    for k in 0..400_u16 {
        events.push(i64::from(k) * 7, k % 2, (k / 2) % 2, k % 3 == 0);
    }
    let settings = AveragedTimeSurface {
        cell: 4,
        surface: 3,
        window: 300,
        tau: 200.0,
        ..AveragedTimeSurface::default()
    };
    let found = settings.tensor(&events, Sensor::new(4, 4)).expect("frames");
    assert_eq!(found.shape, [1, 2, 3, 3]);
    // The definition: the mean over the events of a polarity of the surfaces, of which each is a sum over pairs.
    for p in 0..2 {
        let own: Vec<usize> = (0..400)
            .filter(|&k| usize::from(events.p[k]) == p)
            .collect();
        for (place, &value) in found.values[9 * p..][..9].iter().enumerate() {
            let [dy, dx] = [place / 3, place % 3].map(|at| at as i32 - 1);
            let mut sum = 0.0;
            for &k in &own {
                let is_there = |&&j: &&usize| {
                    i32::from(events.x[j]) == i32::from(events.x[k]) + dx
                        && i32::from(events.y[j]) == i32::from(events.y[k]) + dy
                };
                for &j in own.iter().filter(is_there).filter(|&&j| j <= k) {
                    let age = events.t[k] - events.t[j];
                    if age <= 300 {
                        sum += (-age as f64 / 200.0).exp();
                    }
                }
            }
            let expected = sum / own.len() as f64;
            assert!(
                (f64::from(value) - expected).abs() < 1e-5 * expected.max(1.0),
                "{place}: {value}, {expected}"
            );
        }
    }
    assert!(found.values.iter().any(|&value| value > 2.0), "{found:?}");
}

fn two_events(times: [i64; 2]) -> EventBuffer {
    let mut events = EventBuffer::default();
    events.push(times[0], 0, 0, false);
    events.push(times[1], 0, 0, true);
    events
}

#[test]
fn settings_out_of_range_are_not_read() {
    for text in [
        "number=0",
        "time=0",
        "duration=0",
        "time-windows=0",
        "time-windows window=5 overlap=5",
        "event-counts=0",
        "event-counts events=2 overlap=3",
        "time-bins=0",
        "time-bins overlap=1",
        "time-bins overlap=NaN",
        "event-bins=0",
        "event-bins overlap=-0.5",
        "voxel-grid=0",
        "time-surface=0",
        "time-surface tau=0",
        "time-surface tau=inf",
        "averaged-time-surface=0",
        "averaged-time-surface surface=4",
        "averaged-time-surface surface=13",
        "bit-frames=0",
        "bit-frames bits=25",
        "sound step=0",
        "counts slicing={name=\"number\",frames=0}",
        "number=-1",
        "number=2.5",
        "duration=",
        "time-windows windows=3",
        "frames=3",
        "",
    ] {
        assert!(text.parse::<Member<dyn FrameRule>>().is_err(), "{text}");
    }
}

#[test]
fn settings_of_programs_are_checked_where_frames_are_made() {
    let events = two_events([0, 10]);
    let wrong: [&dyn FrameRule; 4] = [
        &ByNumber { frames: 0 },
        &TimeWindows {
            window: 5,
            overlap: 5,
            ..TimeWindows::default()
        },
        &TimeSurface {
            tau: f64::NAN,
            ..TimeSurface::default()
        },
        &AveragedTimeSurface {
            surface: 4,
            ..AveragedTimeSurface::default()
        },
    ];
    for rule in wrong {
        let error = rule.tensor(&events, Sensor::new(2, 2));
        let error = error.expect_err("out of range");
        assert!(matches!(*error.kind, ErrorKind::Setting { .. }), "{error}");
    }
    let counts = CountFrames::new(ByNumber { frames: 1 });
    for sensor in [
        Sensor::new(0, 2),
        Sensor::new(2, 0),
        Sensor::new(u32::MAX, 1),
    ] {
        let error = counts.tensor(&events, sensor).expect_err("no pixels");
        assert!(matches!(*error.kind, ErrorKind::Setting { .. }), "{error}");
    }
}

#[test]
fn frames_that_do_not_fit_in_memory_are_errors() {
    let hours = two_events([0, 4 * 3_600_000_000]);
    let ends = two_events([i64::MIN, i64::MAX]);
    let sensor = Sensor::new(1280, 720);
    for events in [&hours, &ends] {
        for text in [
            "duration=1",
            "time-windows=1",
            "time-bins=1000000000",
            "number=9000000000000000000",
        ] {
            let slicing: Member<dyn Slicing> = text.parse().expect(text);
            let error = slicing.slices(&events.t).expect_err(text);
            assert!(
                matches!(*error.kind, ErrorKind::TooLarge { .. }),
                "{text}: {error}"
            );
        }
        let counts = CountFrames::new(ByNumber { frames: 4_000_000 });
        let error = counts.tensor(events, sensor).expect_err("too large");
        assert!(error.to_string().contains("fill_slices"), "{error}");
        for text in [
            "voxel-grid=100000",
            "bit-frames=100000",
            "time-surface window=1",
        ] {
            let rule: Member<dyn FrameRule> = text.parse().expect(text);
            let error = rule.tensor(events, sensor).expect_err(text);
            assert!(
                matches!(*error.kind, ErrorKind::TooLarge { .. }),
                "{text}: {error}"
            );
        }
    }
    let whole = CountFrames::new(TimeBins {
        bins: 3,
        overlap: 0.5,
    });
    assert!(whole.tensor(&ends, Sensor::new(1, 1)).is_ok());
}

#[test]
fn columns_of_different_lengths_and_short_buffers_are_errors() {
    let mut events = two_events([0, 1]);
    let counts = CountFrames::new(ByNumber { frames: 1 });
    let error = counts
        .fill(&events, Sensor::new(1, 1), &mut [0.0; 3])
        .expect_err("a short buffer");
    assert!(
        matches!(
            *error.kind,
            ErrorKind::BufferLength {
                given: 3,
                expected: 2,
                ..
            }
        ),
        "{error}"
    );
    events.p.pop();
    let error = counts
        .tensor(&events, Sensor::new(1, 1))
        .expect_err("columns");
    assert!(matches!(*error.kind, ErrorKind::Columns { .. }), "{error}");
}

#[test]
fn the_text_of_a_rule_gives_the_same_rule() {
    for name in FRAME_RULES.names() {
        let rule: Member<dyn FrameRule> = name.parse().expect("the defaults");
        let again: Member<dyn FrameRule> = rule.to_string().parse().expect("its text");
        assert_eq!(again, rule);
    }
}

#[test]
fn slicings_are_rules_with_the_counts_of_their_slices() {
    let (events, sensor) = (two_events([0, 10]), Sensor::new(2, 2));
    for name in SLICINGS.names() {
        let rule: Member<dyn FrameRule> = name.parse().expect("a rule");
        let counts = CountFrames {
            slicing: name.parse().expect("a slicing"),
            merge_polarities: false,
        };
        assert_eq!(counts.steps(), rule.steps(), "{name}");
        let frames = counts.tensor(&events, sensor).expect(name);
        assert_eq!(frames, rule.tensor(&events, sensor).expect(name), "{name}");
    }
}

#[test]
fn frames_are_resized_as_pytorch_does() {
    let frames = Frames {
        shape: vec![1, 1, 2, 3],
        values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    };
    let resized = |width, height, interpolation| {
        let resize = Resize {
            width,
            height,
            interpolation,
        };
        resize.apply(&frames).expect("frames").values
    };
    assert_eq!(resized(2, 1, Interpolation::Nearest), [0.0, 1.0]);
    assert_eq!(resized(3, 2, Interpolation::Bilinear), frames.values);
    // interpolate(x, size=(1, 2), mode="bilinear", align_corners=False): columns at 0.25 and 1.75, the row at 0.5.
    assert_eq!(resized(2, 1, Interpolation::Bilinear), [1.75, 3.25]);
    for (width, height) in [(0, 1), (1, 0), (65_537, 1)] {
        let resize = Resize {
            width,
            height,
            ..Resize::default()
        };
        assert!(resize.apply(&frames).is_err());
    }
    let wrong = Frames {
        shape: vec![2, 3],
        values: vec![0.0],
    };
    assert!(Resize::default().apply(&wrong).is_err());
    let empty = Frames {
        shape: vec![1, 0, 3],
        values: vec![],
    };
    assert!(Resize::default().apply(&empty).is_err());
}

#[test]
fn frames_that_remain_keep_their_order() {
    let frames = Frames {
        shape: vec![16, 2],
        values: (0..32).map(|k| k as f32).collect(),
    };
    let mut counts = [0; 16];
    for seed in 0..200 {
        let mut rest = frames.clone();
        let drop = DropFrames { remain: 12 };
        drop.apply(&mut rest, &mut EventRandom::new(seed, 0, 0))
            .expect("frames");
        assert_eq!((rest.shape, rest.values.len()), (vec![12, 2], 24));
        assert!(rest.values.is_sorted());
        rest.values
            .iter()
            .step_by(2)
            .for_each(|&value| counts[value as usize / 2] += 1);
    }
    // Each frame remains in three of four.
    assert!(
        counts.iter().all(|count| (120..=180).contains(count)),
        "{counts:?}"
    );
    for (remain, shape) in [
        (0, vec![16, 2]),
        (17, vec![16, 2]),
        (1, vec![]),
        (1, vec![0]),
        (1, vec![5]),
    ] {
        let mut wrong = Frames {
            shape,
            ..frames.clone()
        };
        assert!(
            DropFrames { remain }
                .apply(&mut wrong, &mut EventRandom::new(0, 0, 0))
                .is_err()
        );
    }
}
