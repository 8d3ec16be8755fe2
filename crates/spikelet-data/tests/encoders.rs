//! Encoders of time series: values of snnTorch and of plain definitions, from `tools/baselines/time_series.py`.

use proptest::prelude::*;
use serde_json::Value;
use spikelet_data::Error;
use spikelet_data::encode::{
    Bins, Cochlea, CochleaConfig, Delta, EncodeError, FirstSample, GaussianFields,
    GaussianFieldsConfig, LevelCrossing, ReferenceLevel, SignalEncoder, SpikeEvents,
};

fn references() -> Value {
    serde_json::from_str(include_str!("references/time_series.json")).unwrap()
}

fn floats(list: &Value) -> Vec<f32> {
    let values = list.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap() as f32).collect()
}

fn events(entry: &Value) -> SpikeEvents {
    let column = |name: &str| entry[name].as_array().unwrap().iter();
    SpikeEvents {
        time: column("time").map(|t| t.as_u64().unwrap()).collect(),
        unit: column("unit")
            .map(|unit| unit.as_u64().unwrap() as u32)
            .collect(),
    }
}

fn gaussian_fields(entry: &Value, channels: usize) -> GaussianFields {
    let number = |name: &str| entry[name].as_f64().unwrap();
    let config = GaussianFieldsConfig {
        channels,
        fields: number("fields") as usize,
        low: number("low"),
        high: number("high"),
        beta: number("beta"),
        steps: number("steps") as u32,
    };
    GaussianFields::new(config).unwrap()
}

/// An encoder of every kind, for two channels or one.
fn encoders() -> Vec<Box<dyn SignalEncoder>> {
    let levels = LevelCrossing::new(2, 0.2).unwrap();
    let fields = GaussianFieldsConfig {
        channels: 2,
        ..GaussianFieldsConfig::new(5, -1.0, 1.0)
    };
    let cochlea = CochleaConfig {
        channels: 12,
        gain: 2.0,
        ..CochleaConfig::default()
    };
    vec![
        Box::new(Delta::new(2, 0.3).unwrap()),
        Box::new(
            Delta::new(2, 0.3)
                .unwrap()
                .first_sample(FirstSample::Itself),
        ),
        Box::new(levels.clone()),
        Box::new(
            levels
                .clone()
                .reference(ReferenceLevel::Step { max_events: 3 })
                .unwrap(),
        ),
        Box::new(levels.reference(ReferenceLevel::Sample).unwrap()),
        Box::new(GaussianFields::new(fields).unwrap()),
        Box::new(Cochlea::new(cochlea).unwrap()),
    ]
}

#[test]
fn delta_is_that_of_snntorch() {
    let references = references();
    let x = floats(&references["x"]["values"]);
    for case in references["delta"].as_array().unwrap() {
        let threshold = case["threshold"].as_f64().unwrap() as f32;
        let first = match case["padding"].as_bool().unwrap() {
            true => FirstSample::Itself,
            false => FirstSample::Zero,
        };
        let mut encoder = Delta::new(3, threshold).unwrap().first_sample(first);
        assert_eq!(encoder.encode(&x).unwrap(), events(case), "{first:?}");
    }
}

#[test]
fn level_crossing_is_its_definition() {
    let references = references();
    let x = floats(&references["x"]["values"]);
    for case in references["level_crossing"].as_array().unwrap() {
        let reference = match case["most"].as_u64() {
            Some(most) => ReferenceLevel::Step {
                max_events: most as u32,
            },
            None => ReferenceLevel::Sample,
        };
        let step = case["step"].as_f64().unwrap() as f32;
        let encoder = LevelCrossing::new(3, step).unwrap();
        let found = encoder.reference(reference).unwrap().encode(&x).unwrap();
        assert_eq!(found, events(case), "{reference:?}");
    }
}

#[test]
fn level_crossing_follows_the_signal_within_a_step() {
    let x: Vec<f32> = (0..500)
        .map(|n| (n as f32 * 0.07).sin() * 3.0 + 1e6)
        .collect();
    let reference = ReferenceLevel::Step { max_events: 100 };
    let encoder = LevelCrossing::new(1, 0.25).unwrap();
    let found = encoder.reference(reference).unwrap().encode(&x).unwrap();
    let (mut level, mut at) = (f64::from(x[0]), 0);
    for (n, x) in x.iter().enumerate() {
        while found.time.get(at).is_some_and(|time| *time == n as u64) {
            level += if found.unit[at] == 0 { 0.25 } else { -0.25 };
            at += 1;
        }
        assert!((level - f64::from(*x)).abs() < 0.25, "sample {n}");
    }
}

#[test]
fn a_constant_signal_has_no_crossings_at_any_offset() {
    for offset in [1e30_f32, -1e30, f32::MAX] {
        let mut encoder = LevelCrossing::new(1, 1e-3).unwrap();
        assert!(encoder.encode(&[offset; 5]).unwrap().is_empty());
    }
}

#[test]
fn gaussian_fields_are_their_definition() {
    let references = references();
    let x = floats(&references["short"]["values"]);
    let case = &references["gaussian_fields"];
    let mut encoder = gaussian_fields(case, 2);
    assert_eq!(encoder.encode(&x).unwrap(), events(case));
    let responses = encoder.responses(&x).unwrap();
    let expected = floats(&case["activations"]);
    assert_eq!(responses.len(), expected.len());
    for (a, b) in responses.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-6, "{a} and {b}");
    }
}

#[test]
fn events_are_ordered_by_time_then_unit() {
    let x: Vec<f32> = (0..400).map(|n| (n as f32 * 0.3).sin()).collect();
    for mut encoder in encoders() {
        let found = encoder.encode(&x).unwrap();
        assert!(!found.is_empty(), "{encoder:?}");
        let pairs: Vec<_> = found.time.iter().zip(&found.unit).collect();
        assert!(pairs.is_sorted(), "{encoder:?}");
        assert!(
            found
                .unit
                .iter()
                .all(|unit| (*unit as usize) < encoder.units())
        );
    }
}

#[test]
fn bad_samples_are_errors_and_change_nothing() {
    let x: Vec<f32> = (0..200).map(|n| (n as f32 * 0.3).sin()).collect();
    for mut encoder in encoders() {
        let whole = encoder.encode(&x).unwrap();
        let mut stream = SpikeEvents::default();
        encoder.push(&x[..100], &mut stream).unwrap();
        let before = stream.clone();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = encoder.push(&[0.1, bad], &mut stream).unwrap_err();
            let named = matches!(
                error,
                Error::Encode(EncodeError::NotFinite { index: 1, .. })
            );
            assert!(named, "{error}");
        }
        if encoder.channels() == 2 {
            let error = encoder.push(&[0.1], &mut stream).unwrap_err();
            let named = matches!(
                error,
                Error::Encode(EncodeError::Channels { samples: 1, .. })
            );
            assert!(named, "{error}");
        }
        assert_eq!(stream, before);
        encoder.push(&x[100..], &mut stream).unwrap();
        assert_eq!(stream, whole, "{encoder:?}");
    }
}

#[test]
fn extreme_samples_are_encoded() {
    for mut encoder in encoders() {
        let found = encoder.encode(&[f32::MAX, f32::MIN, 0.0, 1e-45, f32::MAX, f32::MAX]);
        assert!(found.is_ok());
        assert!(encoder.encode(&[]).unwrap().is_empty());
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let fields = GaussianFieldsConfig::new(5, -1.0, 1.0);
    let cochlea = CochleaConfig::default();
    let with = |change: &dyn Fn(&mut CochleaConfig)| {
        let mut config = cochlea.clone();
        change(&mut config);
        Cochlea::new(config).map(|_| ())
    };
    let fields_with = |change: &dyn Fn(&mut GaussianFieldsConfig)| {
        let mut config = fields.clone();
        change(&mut config);
        GaussianFields::new(config).map(|_| ())
    };
    let levels = LevelCrossing::new(1, 0.1).unwrap();
    let cases = [
        ("channels", Delta::new(0, 0.1).map(|_| ())),
        ("channels", Delta::new(usize::MAX, 0.1).map(|_| ())),
        ("threshold", Delta::new(1, 0.0).map(|_| ())),
        ("threshold", Delta::new(1, f32::NAN).map(|_| ())),
        ("step", LevelCrossing::new(1, -0.1).map(|_| ())),
        ("channels", LevelCrossing::new(0, 0.1).map(|_| ())),
        (
            "max_events",
            levels
                .reference(ReferenceLevel::Step { max_events: 0 })
                .map(|_| ()),
        ),
        ("fields", fields_with(&|c| c.fields = 2)),
        ("channels * fields", fields_with(&|c| c.fields = usize::MAX)),
        ("high", fields_with(&|c| c.high = -1.0)),
        ("low", fields_with(&|c| c.low = f64::NEG_INFINITY)),
        (
            "high",
            fields_with(&|c| (c.low, c.high) = (f64::MIN, f64::MAX)),
        ),
        ("beta", fields_with(&|c| c.beta = 0.0)),
        ("steps", fields_with(&|c| c.steps = 0)),
        ("channels", with(&|c| c.channels = 0)),
        ("sample_rate", with(&|c| c.sample_rate = 0.0)),
        ("high", with(&|c| c.high = 4001.0)),
        ("high", with(&|c| c.high = f64::NAN)),
        ("low", with(&|c| c.low = -1.0)),
        ("order", with(&|c| c.order = 0)),
        ("tau_slow", with(&|c| c.tau_slow = 0.0)),
        ("threshold", with(&|c| c.threshold = f64::NAN)),
        (
            "scale",
            Cochlea::new(cochlea.clone()).unwrap().set_scale(-1.0),
        ),
        (
            "sample_rate",
            SpikeEvents::default().to_events(0).map(|_| ()),
        ),
        (
            "group",
            Bins {
                group: 0,
                ..Bins::default()
            }
            .count(&SpikeEvents::default(), 4)
            .map(|_| ()),
        ),
    ];
    for (name, result) in cases {
        let error = result.unwrap_err();
        let named =
            matches!(&error, Error::Encode(EncodeError::Range { field, .. }) if *field == name);
        assert!(named, "{name}: {error}");
        assert!(error.to_string().contains("help: it must be"), "{error}");
    }
}

#[test]
fn bins_that_cannot_be_counted_are_errors() {
    let found = SpikeEvents {
        time: vec![0, 1],
        unit: vec![0, 7],
    };
    let count = |bins: Bins, units| bins.count(&found, units).unwrap_err();
    let bins = Bins {
        group: 5,
        ..Bins::default()
    };
    assert!(matches!(
        count(bins, 8),
        Error::Encode(EncodeError::Group { units: 8, group: 5 })
    ));
    let error = count(Bins::default(), 7);
    assert!(matches!(
        error,
        Error::Encode(EncodeError::Unit {
            index: 1,
            unit: 7,
            units: 7
        })
    ));
    let bins = Bins {
        steps: usize::MAX,
        ..Bins::default()
    };
    assert!(matches!(
        count(bins, 8),
        Error::Encode(EncodeError::BinsTooLarge { .. })
    ));
    let binary = Bins {
        steps: 1,
        group: 8,
        binary: true,
        ..Bins::default()
    };
    assert_eq!(binary.count(&found, 8).unwrap(), [1.0]);
    let wide = SpikeEvents {
        time: vec![0],
        unit: vec![65536],
    };
    assert!(wide.to_events(1000).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_stream_in_any_chunks_has_the_events_of_the_recording(
        x in prop::collection::vec(-2.0_f32..2.0, 0..200),
        cuts in prop::collection::vec(0_usize..100, 0..6),
    ) {
        let x = &x[..x.len() / 2 * 2];
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (2 * cut).min(x.len())).collect();
        cuts.extend([0, x.len()]);
        cuts.sort_unstable();
        for mut encoder in encoders() {
            let whole = encoder.encode(x).unwrap();
            let mut stream = SpikeEvents::default();
            for pair in cuts.windows(2) {
                encoder.push(&x[pair[0]..pair[1]], &mut stream).unwrap();
            }
            prop_assert_eq!(stream, whole);
        }
    }
}
