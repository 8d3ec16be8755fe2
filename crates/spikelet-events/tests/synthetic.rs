//! Synthetic recordings: the same on every machine, on the sensor, sorted, and classes that differ in time only.

use sha2::{Digest as _, Sha256};
use spikelet_events::synthetic::SyntheticSet;
use spikelet_events::{EventBuffer, Sensor, Split};
use spikelet_schema::Member;

const SETS: [&str; 4] = [
    "synthetic-gestures",
    "synthetic-gestures size=34",
    "synthetic-moving-digits",
    "synthetic-spoken-digits",
];

fn set(text: &str) -> Member<dyn SyntheticSet> {
    text.parse().expect("a set")
}

#[test]
fn recordings_are_the_same_on_every_machine() {
    let digest = |text| {
        let set = set(text);
        let mut hash = Sha256::new();
        for index in (0..set.classes().len() as u32).chain([1 << 31, u32::MAX]) {
            let events = set.events(17, index).expect("events");
            for k in 0..events.len() {
                hash.update(events.t[k].to_le_bytes());
                hash.update(events.x[k].to_le_bytes());
                hash.update(events.y[k].to_le_bytes());
                hash.update([events.p[k]]);
            }
        }
        let digest = hash.finalize();
        digest[..8]
            .iter()
            .fold(0_u64, |all, &byte| all << 8 | u64::from(byte))
    };
    let digests = SETS.map(digest);
    let expected = [
        0xea18_71ac_a956_ad93,
        0xe4fb_9382_530d_dc23,
        0x1ce5_befd_615a_554e,
        0x090a_720c_0bf4_4d0c,
    ];
    assert_eq!(digests, expected, "{digests:#x?}");
}

#[test]
fn events_are_sorted_and_on_the_sensor_for_all_sizes() {
    let texts = [
        "synthetic-gestures size=16",
        "synthetic-gestures size=200 noise=1 hot_pixels=20",
        "synthetic-gestures noise=0 hot_pixels=0",
        "synthetic-moving-digits size=16",
        "synthetic-moving-digits size=128",
        "synthetic-spoken-digits channels=30",
        "synthetic-spoken-digits channels=65536 noise=1",
    ];
    for text in texts.into_iter().chain(SETS) {
        let set = set(text);
        let Sensor { width, height } = set.sensor();
        for index in (0..24).chain(u32::MAX - 3..=u32::MAX) {
            let events = set.events(1, index).expect("events");
            assert!(events.len() > 100, "{text}, {index}: {}", events.len());
            assert!(events.t.is_sorted() && events.t[0] >= 0, "{text}, {index}");
            assert!(events.x.iter().all(|&x| u32::from(x) < width), "{text}");
            assert!(events.y.iter().all(|&y| u32::from(y) < height), "{text}");
            assert!(events.p.iter().all(|&p| p < 2), "{text}");
        }
    }
}

#[test]
fn classes_are_balanced_and_recordings_differ() {
    for text in SETS {
        let set = set(text);
        for split in [Split::Train, Split::Test] {
            let mut counts = vec![0; set.classes().len()];
            for index in set.indices(split) {
                counts[set.label(index) as usize] += 1;
            }
            assert!(counts.iter().all(|&count| count == counts[0]), "{text}");
        }
        let first = |seed, split| set.events(seed, set.indices(split).start).expect("events");
        assert_ne!(first(1, Split::Train), first(2, Split::Train), "{text}");
        assert_ne!(first(1, Split::Train), first(1, Split::Test), "{text}");
        assert!(set.indices(Split::Valid).is_empty());
    }
}

#[test]
fn speakers_4_and_5_are_among_the_test_samples_only() {
    let set = set("synthetic-spoken-digits");
    let speakers = |split| {
        let mut speakers: Vec<_> = set.indices(split).map(|k| set.speaker(k)).collect();
        speakers.sort_unstable();
        speakers.dedup();
        speakers
    };
    let all: Vec<_> = (0..12).map(Some).collect();
    assert_eq!(speakers(Split::Test), all);
    assert_eq!(speakers(Split::Train), [&all[..4], &all[6..]].concat());
}

#[test]
fn settings_out_of_range_are_not_read() {
    for text in [
        "synthetic-gestures size=15",
        "synthetic-gestures size=513",
        "synthetic-gestures noise=11",
        "synthetic-gestures noise=NaN",
        "synthetic-gestures hot_pixels=101",
        "synthetic-gestures train=4294967295",
        "synthetic-moving-digits size=257",
        "synthetic-spoken-digits channels=29",
        "synthetic-spoken-digits channels=65537",
        "synthetic-spoken-digits noise=-1",
    ] {
        assert!(text.parse::<Member<dyn SyntheticSet>>().is_err(), "{text}");
    }
}

/// Square roots of counts in equal parts of the duration and a grid of cells, scaled to length 1.
fn features(events: &EventBuffer, sensor: Sensor, bins: usize) -> Vec<f32> {
    let cells = if sensor.height == 1 { [70, 1] } else { [8, 8] };
    let end = events.t.last().map_or(1, |t| t + 1);
    let mut counts = vec![0.0_f32; bins * 2 * cells[0] * cells[1]];
    for k in 0..events.len() {
        let bin = events.t[k] as usize * bins / end as usize;
        let x = usize::from(events.x[k]) * cells[0] / sensor.width as usize;
        let y = usize::from(events.y[k]) * cells[1] / sensor.height as usize;
        let channel = bin * 2 + usize::from(events.p[k]);
        counts[(channel * cells[1] + y) * cells[0] + x] += 1.0;
    }
    let norm = (events.len() as f32).sqrt();
    counts.iter().map(|count| count.sqrt() / norm).collect()
}

/// The accuracy on test samples of a classifier by the nearest mean of training samples.
fn accuracy(set: &dyn SyntheticSet, bins: usize) -> f32 {
    let samples = |split, each| {
        let indices = set.indices(split).take(each * set.classes().len());
        indices.map(|index| {
            let events = set.events(0, index).expect("events");
            (
                features(&events, set.sensor(), bins),
                set.label(index) as usize,
            )
        })
    };
    let mut means: Vec<Vec<f32>> = vec![vec![]; set.classes().len()];
    for (sample, label) in samples(Split::Train, 20) {
        means[label].resize(sample.len(), 0.0);
        means[label]
            .iter_mut()
            .zip(&sample)
            .for_each(|(mean, value)| *mean += value / 20.0);
    }
    let distance = |sample: &[f32], mean: &[f32]| -> f32 {
        sample
            .iter()
            .zip(mean)
            .map(|(a, b)| (a - b) * (a - b))
            .sum()
    };
    let (mut right, mut all) = (0, 0);
    for (sample, label) in samples(Split::Test, 10) {
        let nearest = (0..means.len())
            .min_by(|&a, &b| distance(&sample, &means[a]).total_cmp(&distance(&sample, &means[b])));
        right += usize::from(nearest == Some(label));
        all += 1;
    }
    right as f32 / all as f32
}

#[test]
fn gestures_are_told_by_their_time_course() {
    let set = set("synthetic-gestures size=34");
    let [summed, binned] = [1, 8].map(|bins| accuracy(&*set, bins));
    println!("gestures: {summed} summed over time, {binned} in 8 parts");
    assert!(summed < 0.6, "{summed}");
    assert!(binned > summed + 0.2, "{summed}, {binned}");
}

#[test]
fn spoken_digits_are_told_by_their_time_course() {
    let set = set("synthetic-spoken-digits");
    let [summed, binned] = [1, 8].map(|bins| accuracy(&*set, bins));
    println!("spoken digits: {summed} summed over time, {binned} in 8 parts");
    assert!(summed < 0.15, "{summed}");
    assert!(binned > 0.8, "{binned}");
}

#[test]
fn moving_digits_are_told_by_their_places() {
    let summed = accuracy(&*set("synthetic-moving-digits"), 1);
    println!("moving digits: {summed} summed over time");
    assert!(summed > 0.6, "{summed}");
}
