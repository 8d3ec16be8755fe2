//! The cochlea's events against its specification, `tools/baselines/cochlea.py`, bit for bit.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::Value;
use spikelet_data::encode::{
    Bins, Cochlea, CochleaCoefficients, CochleaConfig, SignalEncoder, SpikeEvents, pcm16,
};
use spikelet_data::{ArrayFiles, Dataset};

/// The tensors of a safetensors file.
struct Tensors {
    data: Vec<u8>,
    begin: usize,
    header: BTreeMap<String, Value>,
}

impl Tensors {
    fn new(data: Vec<u8>) -> Self {
        let begin = 8 + u64::from_le_bytes(data[..8].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&data[8..begin]).unwrap();
        Self {
            data,
            begin,
            header,
        }
    }

    fn bytes(&self, name: &str, dtype: &str) -> &[u8] {
        let entry = &self.header[name];
        assert_eq!(entry["dtype"], dtype, "{name}");
        let offset = |k: usize| self.begin + entry["data_offsets"][k].as_u64().unwrap() as usize;
        &self.data[offset(0)..offset(1)]
    }

    fn i16(&self, name: &str) -> Vec<i16> {
        let (values, _) = self.bytes(name, "I16").as_chunks::<2>();
        values
            .iter()
            .map(|bytes| i16::from_le_bytes(*bytes))
            .collect()
    }

    fn i64(&self, name: &str) -> Vec<i64> {
        let (values, _) = self.bytes(name, "I64").as_chunks::<8>();
        values
            .iter()
            .map(|bytes| i64::from_le_bytes(*bytes))
            .collect()
    }

    fn f64(&self, name: &str) -> Vec<f64> {
        let (values, _) = self.bytes(name, "F64").as_chunks::<8>();
        values
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect()
    }

    fn events(&self, name: &str) -> SpikeEvents {
        let column = |column: &str| self.i16(&format!("{name}.{column}")).into_iter();
        SpikeEvents {
            time: column("time").map(|time| time as u64).collect(),
            unit: column("unit").map(|unit| unit as u32).collect(),
        }
    }
}

fn golden() -> Tensors {
    Tensors::new(include_bytes!("data/cochlea.safetensors").to_vec())
}

/// 100 steps of 10 ms, five neighboring channels an input.
const BINS: Bins = Bins {
    steps: 100,
    step_samples: 80,
    group: 5,
    binary: false,
};

#[test]
fn events_of_recordings_are_those_of_the_specification() {
    let golden = golden();
    let mut cochlea = Cochlea::new(CochleaConfig::default()).unwrap();
    for clip in ["a", "b"] {
        let audio = pcm16(&golden.i16(&format!("{clip}.audio")));
        let events = cochlea.encode_clip(&audio).unwrap();
        assert_eq!(events, golden.events(clip), "{clip}");
        let counts = BINS.count(&events, 700).unwrap();
        let expected = golden.bytes(&format!("{clip}.bins"), "U8").iter();
        assert_eq!(
            counts,
            expected.map(|n| f32::from(*n)).collect::<Vec<_>>(),
            "{clip}"
        );
    }
}

#[test]
fn events_with_other_settings_are_those_of_the_specification() {
    let golden = golden();
    let config = CochleaConfig {
        channels: 64,
        low: 150.0,
        high: 3400.0,
        beta: 0.6,
        gain: 0.3,
        tau_membrane: 0.006,
        refractory: 24,
        ..CochleaConfig::default()
    };
    let list = |name: &str| golden.f64(&format!("other.coef.{name}"));
    let coefficients = CochleaCoefficients {
        frequencies: list("f"),
        re: list("re"),
        im: list("im"),
        gains: list("g"),
        slow: list("slow")[0],
        leak: list("leak")[0],
    };
    let computed = CochleaCoefficients::of(&config);
    let pairs = computed.re.iter().zip(&coefficients.re);
    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-13));
    let mut cochlea = Cochlea::with_coefficients(config.clone(), coefficients).unwrap();
    let events = cochlea.encode_clip(&pcm16(&golden.i16("a.audio"))).unwrap();
    assert_eq!(events, golden.events("other"));

    let short = CochleaCoefficients {
        re: vec![0.0],
        ..computed
    };
    let error = Cochlea::with_coefficients(config, short)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("1 coefficients `re` for 64 channels"),
        "{error}"
    );
}

#[test]
fn a_stream_of_a_recording_has_its_events() {
    let golden = golden();
    let audio = pcm16(&golden.i16("b.audio"));
    let mut cochlea = Cochlea::new(CochleaConfig::default()).unwrap();
    cochlea
        .set_scale(cochlea.scale_of(&audio).unwrap())
        .unwrap();
    let mut events = SpikeEvents::default();
    let (mut rest, mut size) = (&audio[..], 1);
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        cochlea.push(chunk, &mut events).unwrap();
        (rest, size) = (after, size * 5 % 377 + 1);
    }
    assert_eq!(events, golden.events("b"));
}

#[test]
fn silence_has_no_events() {
    let mut cochlea = Cochlea::new(CochleaConfig::default()).unwrap();
    assert!(cochlea.encode_clip(&[0.0; 100]).unwrap().is_empty());
    assert!(cochlea.encode_clip(&[]).unwrap().is_empty());
}

#[test]
#[ignore = "needs fsdd.safetensors and fsdd_bins.npz in the folder SPIKELET_FSDD"]
fn all_recordings_of_spoken_digits_have_the_specified_counts() {
    let Some(folder) = std::env::var_os("SPIKELET_FSDD").map(PathBuf::from) else {
        panic!("SPIKELET_FSDD is not set");
    };
    let recordings = Tensors::new(std::fs::read(folder.join("fsdd.safetensors")).unwrap());
    let (audio, offsets) = (recordings.i16("audio"), recordings.i64("offset"));
    let bins = ArrayFiles::npz(folder.join("fsdd_bins.npz"), &["X"]).unwrap();
    assert_eq!(bins.len(), offsets.len() - 1);
    let cochlea = Cochlea::new(CochleaConfig::default()).unwrap();
    let total: u64 = (0..bins.len())
        .into_par_iter()
        .map_with(cochlea, |cochlea, clip| {
            let range = offsets[clip] as usize..offsets[clip + 1] as usize;
            let events = cochlea.encode_clip(&pcm16(&audio[range])).unwrap();
            let counts = BINS.count(&events, 700).unwrap();
            let sample = bins.sample(clip).unwrap();
            let expected = sample.require("X").unwrap().as_u8().unwrap();
            let same = counts
                .iter()
                .zip(expected)
                .all(|(a, b)| *a == f32::from(*b));
            assert!(same && counts.len() == expected.len(), "recording {clip}");
            expected.iter().map(|n| u64::from(*n)).sum::<u64>()
        })
        .sum();
    println!("{} recordings, {total} events", bins.len());
}
