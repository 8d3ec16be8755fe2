//! FSDD: clips, splits, spikes that are kept, damaged files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::sequences::{data_folder, known, load, number, safetensors};
use spikelet_data::encode::{Bins, Cochlea, CochleaConfig, pcm16};
use spikelet_data::fsdd::Division;
use spikelet_data::{
    ArrayFormat, ArraySpec, ArrayType, ArrayWriter, DataLoader, DataOptions, Dataset, Error,
    LoaderConfig, Split, find, fsdd,
};
use tempfile::TempDir;

const SPEAKERS: [&str; 6] = ["george", "jackson", "lucas", "nicolas", "theo", "yweweler"];

/// The samples of a clip: its length and values depend on digit, speaker and take.
fn clip(digit: u8, speaker: u8, take: u8) -> Vec<i16> {
    let base = i16::from(digit) * 100 + i16::from(speaker) * 10;
    let samples = 3 + i16::from(digit + take) % 5;
    (0..samples).map(|at| base - 500 + at).collect()
}

/// Takes 0, 4, 5, 39 and 40 of digits 0 and 9 by each speaker, as WAV files.
fn wav_files(folder: &Path) {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: 8000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    fs::create_dir_all(folder).unwrap();
    for (digit, speaker, take) in clips() {
        let name = format!("{digit}_{}_{take}.wav", SPEAKERS[usize::from(speaker)]);
        let mut writer = hound::WavWriter::create(folder.join(name), spec).unwrap();
        for sample in clip(digit, speaker, take) {
            writer.write_sample(sample).unwrap();
        }
        writer.finalize().unwrap();
    }
    fs::write(folder.join("notes_of_mine.wav"), b"no clip").unwrap();
}

/// Digit, speaker and take in the order of takes, speakers and digits.
fn clips() -> Vec<(u8, u8, u8)> {
    let takes = [0, 4, 5, 39, 40].into_iter();
    let each = takes.flat_map(|take| (0..6).map(move |speaker| (speaker, take)));
    each.flat_map(|(speaker, take)| [0, 9].map(|digit| (digit, speaker, take)))
        .collect()
}

/// The same clips in one file.
fn packed() -> Vec<u8> {
    let clips = clips();
    let (mut audio, mut offsets) = (vec![], vec![0_i64]);
    for &(digit, speaker, take) in &clips {
        audio.extend(
            clip(digit, speaker, take)
                .into_iter()
                .flat_map(i16::to_le_bytes),
        );
        offsets.push(audio.len() as i64 / 2);
    }
    let offsets: Vec<u8> = offsets
        .iter()
        .flat_map(|offset| offset.to_le_bytes())
        .collect();
    let n = clips.len();
    safetensors(&[
        ("audio", "I16", vec![audio.len() / 2], audio.clone()),
        ("offset", "I64", vec![n + 1], offsets),
        (
            "label",
            "U8",
            vec![n],
            clips.iter().map(|clip| clip.0).collect(),
        ),
        (
            "speaker",
            "U8",
            vec![n],
            clips.iter().map(|clip| clip.1).collect(),
        ),
        (
            "take",
            "U8",
            vec![n],
            clips.iter().map(|clip| clip.2).collect(),
        ),
    ])
}

/// The spikes of the same clips: `x` of clip i is i everywhere.
fn write_bins(path: &Path) {
    let clips = clips();
    let spec = |name: &str, shape: &[usize]| ArraySpec {
        name: name.into(),
        element: ArrayType::U8,
        shape: shape.to_vec(),
    };
    let n = clips.len();
    let specs = [
        spec("X", &[n, 100, 140]),
        spec("y", &[n]),
        spec("speaker", &[n]),
        spec("take", &[n]),
    ];
    let mut options = fs::File::options();
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .unwrap();
    let mut writer = ArrayWriter::new(file, ArrayFormat::Npz, specs.into()).unwrap();
    let bins: Vec<u8> = (0..n)
        .flat_map(|clip| vec![clip as u8; 100 * 140])
        .collect();
    let column = |of: fn(&(u8, u8, u8)) -> u8| clips.iter().map(of).collect::<Vec<u8>>();
    let columns = [bins, column(|c| c.0), column(|c| c.1), column(|c| c.2)];
    for (array, bytes) in columns.iter().enumerate() {
        writer.write(array, 0, bytes).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn wav_files_and_the_packed_file_have_the_same_clips() {
    let folder = TempDir::new().unwrap();
    let wavs = folder.path().join("wavs/fsdd/recordings");
    wav_files(&wavs);
    let packed_in = folder.path().join("packed");
    fs::create_dir_all(&packed_in).unwrap();
    fs::write(packed_in.join("fsdd.safetensors"), packed()).unwrap();

    let from_wav = fsdd::read_clips(folder.path().join("wavs")).unwrap();
    let from_packed = fsdd::read_clips(&packed_in).unwrap();
    assert_eq!(from_wav, from_packed);
    assert_eq!(from_wav.len(), 60);
    assert_eq!(from_wav.speaker_names(), SPEAKERS);
    for (index, (digit, speaker, take)) in clips().into_iter().enumerate() {
        let found = from_wav.clip(index).unwrap();
        assert_eq!(
            (found.label, found.speaker, found.take),
            (digit, speaker, take)
        );
        assert_eq!(found.audio, clip(digit, speaker, take));
    }
    assert_eq!(from_wav.clip(60), None);
}

#[test]
fn clips_are_audio_padded_to_the_longest_of_a_batch() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("fsdd.safetensors"), packed()).unwrap();
    let clips = fsdd::read_clips(folder.path()).unwrap();
    let audio = Arc::new(clips.audio().unwrap());
    assert_eq!(audio.class_names("speaker"), SPEAKERS);
    assert_eq!(audio.class_names("labels").len(), 10);
    let config = LoaderConfig {
        batch_size: 4,
        shuffle: false,
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(audio, config).unwrap();
    let batch = loader.epoch(0, 0).next().unwrap().unwrap();
    // Clips 0 and 1: digits 0 and 9 by speaker 0, take 0, of 3 and 7 samples.
    assert_eq!(batch.require("audio").unwrap().shape, [7, 4]);
    assert_eq!(batch.i64("audio_length").unwrap(), [3, 7, 3, 7]);
    assert_eq!(batch.i64("labels").unwrap(), [0, 9, 0, 9]);
    let first: Vec<f32> = batch
        .f32("audio")
        .unwrap()
        .chunks(4)
        .map(|step| step[0])
        .collect();
    let expected = [-500.0, -499.0, -498.0, 0.0, 0.0, 0.0, 0.0].map(|v: f32| v / 32768.0);
    assert_eq!(first, expected);
}

/// The takes and speakers of a part.
fn takes_and_speakers(part: &dyn Dataset) -> Vec<(i64, i64)> {
    let of = |index| (number(part, index, "take"), number(part, index, "speaker"));
    (0..part.len()).map(of).collect()
}

/// Checks that the three parts have the given clips of all.
fn check_parts(split: &Split, test: impl Fn(i64, i64) -> bool) {
    let parts = [
        Some(&split.train),
        split.validation.as_ref(),
        Some(&split.test),
    ];
    let parts = parts.map(|part| takes_and_speakers(&**part.unwrap()));
    assert!(
        parts[0]
            .iter()
            .all(|&(take, speaker)| !test(take, speaker) && take < 40)
    );
    assert!(
        parts[1]
            .iter()
            .all(|&(take, speaker)| !test(take, speaker) && take >= 40)
    );
    assert!(parts[2].iter().all(|&(take, speaker)| test(take, speaker)));
    assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 60);
}

#[test]
fn spoken_digits_are_divided_by_takes_or_by_a_speaker() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("fsdd")).unwrap();
    write_bins(&folder.path().join("fsdd/fsdd_bins.npz"));
    let fsdd = find("fsdd").unwrap();
    assert_eq!(fsdd.splits()[0], "takes");
    assert_eq!(fsdd.classes(&DataOptions::default()).unwrap().len(), 10);
    let (shape, unlabeled) = known("fsdd");
    assert_eq!(unlabeled, None);

    let load = |split: Option<&str>| load("fsdd", folder.path(), split).unwrap();
    let takes = load(None);
    check_parts(&takes, |take, _| take < 5);
    let held_out = load(Some("held-out-theo"));
    check_parts(&held_out, |_, speaker| speaker == 4);

    let pair = load(Some("held-out-theo-validated-by-lucas"));
    let speakers = |part: &dyn Dataset| -> Vec<i64> {
        let mut speakers: Vec<i64> = (0..part.len())
            .map(|k| number(part, k, "speaker"))
            .collect();
        speakers.dedup();
        speakers.sort_unstable();
        speakers.dedup();
        speakers
    };
    assert_eq!(speakers(&*pair.train), [0, 1, 3, 5]);
    assert_eq!(speakers(&*pair.validation.unwrap()), [2]);
    assert_eq!((speakers(&*pair.test), pair.test.len()), (vec![4], 10));

    // Clip 24 of all is the first of take 5; its spikes are 24 everywhere.
    let sample = takes.train.sample(0).unwrap();
    let x = sample.require("x").unwrap();
    assert_eq!(shape, [100, 140].map(Some));
    assert_eq!(x.shape, [100, 140]);
    assert!(x.as_u8().unwrap().iter().all(|&count| count == 24));
    let loader = DataLoader::new(takes.train, LoaderConfig::default());
    let loader = loader.and_then(|_| {
        let config = LoaderConfig {
            batch_size: 2,
            ..LoaderConfig::default()
        };
        DataLoader::new(held_out.train, config)
    });
    let batch = loader.unwrap().epoch(0, 0).next().unwrap().unwrap();
    assert_eq!(batch.require("x").unwrap().shape, [100, 2, 140]);
}

#[test]
fn unknown_splits_and_missing_files_say_which_there_are() {
    let folder = TempDir::new().unwrap();
    let error = load("fsdd", folder.path(), Some("held-out-ada")).unwrap_err();
    assert!(matches!(&error, Error::UnknownSplit { known, .. } if known.len() == 37));
    assert!(error.to_string().contains("held-out-yweweler"), "{error}");
    let error = load("fsdd", folder.path(), None).unwrap_err();
    assert!(error.to_string().contains("fsdd.safetensors"), "{error}");
    let error = fsdd::read_clips(folder.path()).unwrap_err();
    assert!(
        error.to_string().contains("{digit}_{speaker}_{take}.wav"),
        "{error}"
    );
    for name in ["qtdb", "sequential-mnist", "permuted-sequential-mnist"] {
        assert!(load(name, folder.path(), None).is_err());
        let error = load(name, folder.path(), Some("other")).unwrap_err();
        assert!(matches!(error, Error::UnknownSplit { .. }));
    }
    // One speaker alone leaves no training clips.
    wav_files(folder.path());
    let clips = Arc::new(fsdd::read_clips(folder.path()).unwrap().audio().unwrap());
    let error = fsdd::divide(clips, &Division::HeldOut("ada".into())).unwrap_err();
    assert!(error.to_string().contains("held-out-george"), "{error}");
}

#[test]
fn clips_are_encoded_once_and_the_result_is_checked() {
    let folder = TempDir::new().unwrap();
    let recordings = folder.path().join("free-spoken-digit-dataset/recordings");
    wav_files(&recordings);
    // A tone is enough for spikes; the other clips have a few samples.
    let tone: Vec<i16> = (0..2000)
        .map(|n| ((f64::from(n) * 0.4).sin() * f64::from(n) * 8.0) as i16)
        .collect();
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: 8000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(recordings.join("0_george_0.wav"), spec).unwrap();
    tone.iter()
        .for_each(|sample| writer.write_sample(*sample).unwrap());
    writer.finalize().unwrap();

    let load = || {
        let split = load("fsdd", folder.path(), Some("held-out-george"));
        let test = split.unwrap().test;
        assert_eq!(
            (number(&*test, 1, "labels"), number(&*test, 1, "take")),
            (9, 0)
        );
        let sample = test.sample(0).unwrap();
        let x = sample.require("x").unwrap();
        assert_eq!(x.shape, [100, 140]);
        x.as_u8().unwrap().to_vec()
    };
    let mut cochlea = Cochlea::new(CochleaConfig::default()).unwrap();
    let events = cochlea.encode_clip(&pcm16(&tone)).unwrap();
    let bins = Bins {
        group: 5,
        ..Bins::default()
    };
    let expected = bins.count(&events, 700).unwrap();
    let expected: Vec<u8> = expected.into_iter().map(|count| count as u8).collect();
    assert!(expected.iter().any(|&count| count > 0));
    assert_eq!(load(), expected);

    let cache = recordings.join("fsdd_spikes.bin");
    let written = fs::read(&cache).unwrap();
    let changed = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let time = changed(&cache);
    assert_eq!(load(), expected);
    assert_eq!(changed(&cache), time, "the second start reads it");
    fs::write(&cache, &written[..written.len() - 1]).unwrap();
    assert_eq!(load(), expected, "a damaged file is not used");
    assert_eq!(fs::read(&cache).unwrap(), written);
    fs::remove_file(recordings.join("9_george_4.wav")).unwrap();
    assert_eq!(load(), expected, "nor is that of other clips");
    assert_ne!(fs::read(&cache).unwrap(), written);
}

#[test]
fn damaged_clips_name_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("3_theo_7.wav");
    let spec = hound::WavSpec {
        channels: 2,
        sample_rate: 16_000,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(&path, spec).unwrap();
    for sample in [1_i16, 2, 3, 4] {
        writer.write_sample(sample).unwrap();
    }
    writer.finalize().unwrap();
    let error = fsdd::read_clips(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("3_theo_7.wav") && error.contains("16000 Hz, 2 channels"),
        "{error}"
    );
    fs::write(&path, b"RIFF").unwrap();
    assert!(fsdd::read_clips(folder.path()).is_err());

    fs::remove_file(&path).unwrap();
    let path = folder.path().join("fsdd.safetensors");
    for (tensor, dtype, shape, bytes) in [
        (
            "offset",
            "I64",
            vec![2],
            [0_i64, 5].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        ("label", "U8", vec![1], vec![10]),
        ("speaker", "U8", vec![1], vec![6]),
        ("take", "U8", vec![2], vec![0, 0]),
        ("audio", "F32", vec![1], vec![0; 4]),
    ] {
        let ends: Vec<u8> = [0_i64, 2].iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut tensors = vec![
            ("audio", "I16", vec![2], vec![0; 4]),
            ("offset", "I64", vec![2], ends),
            ("label", "U8", vec![1], vec![0]),
            ("speaker", "U8", vec![1], vec![0]),
            ("take", "U8", vec![1], vec![0]),
        ];
        fs::write(&path, safetensors(&tensors)).unwrap();
        assert_eq!(fsdd::read_clips(folder.path()).unwrap().len(), 1);
        let at = tensors
            .iter()
            .position(|(name, ..)| *name == tensor)
            .unwrap();
        tensors[at] = (tensor, dtype, shape, bytes);
        fs::write(&path, safetensors(&tensors)).unwrap();
        let error = fsdd::read_clips(folder.path()).unwrap_err();
        assert!(matches!(error, Error::Format { .. }), "{tensor}: {error}");
    }
}

/// `fsdd` has `fsdd.safetensors.xz`, or WAV files of takes 0 to 44 or more, and `fsdd_bins.npz`.
#[test]
#[ignore = "needs FSDD in the folder SPIKELET_DATA"]
fn the_real_clips_have_the_published_sizes() {
    let clips = fsdd::read_clips(data_folder()).unwrap();
    assert_eq!(clips.speaker_names(), SPEAKERS);
    let mut lengths: Vec<usize> = (0..clips.len())
        .map(|i| clips.clip(i).unwrap().audio.len())
        .collect();
    lengths.sort_unstable();
    let split = fsdd::divide(Arc::new(clips.audio().unwrap()), &Division::Takes).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (2100, 300));
    if clips.len() == 2700 {
        assert_eq!(lengths.iter().sum::<usize>(), 9_450_470);
        assert_eq!(split.validation.unwrap().len(), 300);
        assert!(
            lengths[0] >= 1148 && lengths[2699] <= 18_262,
            "{} {}",
            lengths[0],
            lengths[2699]
        );
    }

    let splits = find("fsdd").unwrap().splits();
    for (k, name) in splits[1..7].iter().enumerate() {
        let split = load("fsdd", data_folder(), Some(name)).unwrap();
        let sizes = [
            split.train.len(),
            split.validation.unwrap().len(),
            split.test.len(),
        ];
        assert_eq!(sizes, [2000, 250, 450], "{name}");
        assert!((0..450).all(|index| number(&*split.test, index, "speaker") == k as i64));
    }
    let all = load("fsdd", data_folder(), None).unwrap();
    let parts = [all.train, all.validation.unwrap(), all.test];
    let spikes = |part: &Arc<dyn Dataset>| -> u64 {
        let of = |index| {
            let sample = part.sample(index).unwrap();
            let x = sample.require("x").unwrap().as_u8().unwrap().to_vec();
            x.into_iter().map(u64::from).sum::<u64>()
        };
        (0..part.len()).map(of).sum()
    };
    assert_eq!(parts.iter().map(spikes).sum::<u64>(), 15_074_779);
}
