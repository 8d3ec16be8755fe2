//! Mel filter banks against torchaudio's values from `tools/baselines/time_series.py`, and WAV files.

use hound::{SampleFormat, WavSpec, WavWriter};
use serde_json::Value;
use spikelet_data::Error;
use spikelet_data::encode::{EncodeError, MelConfig, MelFilterBank, MelWindow, read_wav};

fn references() -> Value {
    serde_json::from_str(include_str!("references/time_series.json")).unwrap()
}

fn floats(list: &Value) -> Vec<f32> {
    let values = list.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap() as f32).collect()
}

fn configs() -> [(&'static str, MelConfig); 3] {
    let hamming = MelConfig {
        shape: MelWindow::Hamming,
        ..MelConfig::kaldi(8000, 12)
    };
    let hann = MelConfig {
        window: 160,
        hop: 60,
        low: 100.0,
        high: 3000.0,
        preemphasis: 0.0,
        remove_mean: false,
        shape: MelWindow::Hann,
        log: false,
        ..MelConfig::kaldi(8000, 12)
    };
    [
        ("povey", MelConfig::kaldi(8000, 40)),
        ("hamming", hamming),
        ("hann", hann),
    ]
}

#[test]
fn frames_are_those_of_torchaudio() {
    let references = references();
    let chirp = floats(&references["chirp"]);
    for (name, config) in configs() {
        let frames = MelFilterBank::new(config).unwrap().encode(&chirp).unwrap();
        let expected = floats(&references["mel"][name]["values"]);
        assert_eq!(frames.len(), expected.len(), "{name}");
        for (at, (a, b)) in frames.iter().zip(&expected).enumerate() {
            // torchaudio's filters are f32.
            assert!(
                (a - b).abs() <= 2e-5 * b.abs().max(1.0),
                "{name} {at}: {a} and {b}"
            );
        }
    }
}

#[test]
fn a_stream_in_any_chunks_has_the_frames_of_the_recording() {
    let chirp = floats(&references()["chirp"]);
    let far = MelConfig {
        window: 50,
        hop: 170,
        ..MelConfig::kaldi(8000, 6)
    };
    let mut configs = configs().map(|(_, config)| config).to_vec();
    configs.push(far);
    for config in configs {
        let mut mel = MelFilterBank::new(config).unwrap();
        let whole = mel.encode(&chirp).unwrap();
        for size in [1, 7, 60, 61, 333] {
            let mut frames = Vec::new();
            for chunk in chirp.chunks(size) {
                mel.push(chunk, &mut frames).unwrap();
            }
            mel.reset();
            assert_eq!(frames, whole, "{mel:?} {size}");
        }
        let (window, hop) = (mel.config().window, mel.config().hop);
        let expected = 1 + (chirp.len() - window) / hop;
        assert_eq!(whole.len(), expected * mel.config().filters);
    }
}

#[test]
fn mel_settings_out_of_range_are_named() {
    let good = MelConfig::kaldi(8000, 40);
    let cases = [
        (
            "sample_rate",
            MelConfig {
                sample_rate: 0.0,
                ..good.clone()
            },
        ),
        (
            "window",
            MelConfig {
                window: 1,
                ..good.clone()
            },
        ),
        (
            "window",
            MelConfig {
                window: usize::MAX,
                ..good.clone()
            },
        ),
        (
            "hop",
            MelConfig {
                hop: 0,
                ..good.clone()
            },
        ),
        (
            "filters",
            MelConfig {
                filters: 0,
                ..good.clone()
            },
        ),
        (
            "low",
            MelConfig {
                low: 5000.0,
                ..good.clone()
            },
        ),
        (
            "high",
            MelConfig {
                high: 4001.0,
                ..good.clone()
            },
        ),
        (
            "preemphasis",
            MelConfig {
                preemphasis: f64::NAN,
                ..good.clone()
            },
        ),
    ];
    for (name, config) in cases {
        let error = MelFilterBank::new(config).unwrap_err();
        let named =
            matches!(&error, Error::Encode(EncodeError::Range { field, .. }) if *field == name);
        assert!(named, "{name}: {error}");
    }
    // The largest jump from frame to frame is no overflow.
    let mut far = MelFilterBank::new(MelConfig {
        hop: usize::MAX,
        ..good.clone()
    })
    .unwrap();
    assert_eq!(far.encode(&[0.1; 1000]).unwrap().len(), 40);
    let mut mel = MelFilterBank::new(good).unwrap();
    assert!(mel.encode(&[0.0, f32::NAN]).is_err());
    assert!(
        mel.encode(&[f32::MAX; 200])
            .unwrap()
            .iter()
            .all(|x| !x.is_nan())
    );
}

fn write<S: hound::Sample + Copy>(
    path: &std::path::Path,
    bits: u16,
    format: SampleFormat,
    samples: &[S],
) {
    let spec = WavSpec {
        channels: 2,
        sample_rate: 16000,
        bits_per_sample: bits,
        sample_format: format,
    };
    let mut writer = WavWriter::create(path, spec).unwrap();
    samples
        .iter()
        .for_each(|sample| writer.write_sample(*sample).unwrap());
    writer.finalize().unwrap();
}

#[test]
fn wav_files_of_all_kinds_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.wav");
    for bits in [8, 16, 24, 32] {
        let half = 1_i32 << (bits - 2);
        write(
            &path,
            bits,
            SampleFormat::Int,
            &[0, half, -half, -2 * (half - 1) - 2],
        );
        let wav = read_wav(&path).unwrap();
        assert_eq!((wav.channels, wav.sample_rate), (2, 16000));
        assert_eq!(wav.samples, [0.0, 0.5, -0.5, -1.0], "{bits} bits");
    }
    write(&path, 32, SampleFormat::Float, &[0.1_f32, -3.5]);
    assert_eq!(read_wav(&path).unwrap().samples, [0.1, -3.5]);
}

#[test]
fn damaged_wav_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.wav");
    assert!(matches!(read_wav(&path), Err(Error::Open { .. })));
    write(&path, 16, SampleFormat::Int, &[1_i16, 2, 3, 4]);
    let whole = std::fs::read(&path).unwrap();
    for len in 0..whole.len() {
        std::fs::write(&path, &whole[..len]).unwrap();
        let error = read_wav(&path).unwrap_err();
        let named = matches!(&error, Error::Encode(EncodeError::Wav { .. }));
        assert!(
            named && error.to_string().contains("x.wav"),
            "{len}: {error}"
        );
    }
    // Any byte of the header may be wrong: an error or samples, never a panic.
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            std::fs::write(&path, &damaged).unwrap();
            let _ = read_wav(&path);
        }
    }
}
