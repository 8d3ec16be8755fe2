//! QTDB: MATLAB and packed files, labels of time steps, damaged files.

use std::fs;
use std::io::Write;

use crate::sequences::{data_folder, known, load, safetensors};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use spikelet_data::{DataLoader, Error, LoaderConfig, Unlabeled, qtdb};
use tempfile::TempDir;

/// An element of a MATLAB file.
fn element(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// A matrix of a MATLAB file: `values` are those of `class` and `kind`, column-major.
fn matrix(name: &str, class: u8, shape: &[i32], kind: u32, values: &[u8]) -> Vec<u8> {
    let sizes: Vec<u8> = shape.iter().flat_map(|size| size.to_le_bytes()).collect();
    let mut short = (1_u32 | (name.len() as u32) << 16).to_le_bytes().to_vec();
    short.extend(name.as_bytes());
    short.resize(8, 0);
    let parts = [
        element(6, &[class, 0, 0, 0, 0, 0, 0, 0]),
        element(5, &sizes),
        short,
        element(kind, values),
    ];
    element(14, &parts.concat())
}

fn compressed(element: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(vec![], Compression::fast());
    encoder.write_all(element).unwrap();
    let data = encoder.finish().unwrap();
    [
        &15_u32.to_le_bytes()[..],
        &(data.len() as u32).to_le_bytes(),
        &data,
    ]
    .concat()
}

fn mat_file(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![b' '; 124];
    file.extend([0, 1, b'I', b'M']);
    file.extend(elements.concat());
    file
}

/// Input and class of a small set of electrocardiograms; a class of 6 is unlabeled.
fn event(sample: usize, step: usize, channel: usize) -> i64 {
    i64::from((sample + 2 * step + 3 * channel).is_multiple_of(4))
}

fn class(sample: usize, step: usize) -> usize {
    (sample + step) % 7
}

const STEPS: usize = 9;

/// The published form of `samples` samples.
fn qtdb_mat(samples: usize, zip: bool) -> Vec<u8> {
    let (mut x, mut y) = (vec![], vec![]);
    for channel in 0..4 {
        for step in 0..STEPS {
            for sample in 0..samples {
                let end = channel == 0 && step == STEPS - 1;
                let value = if end {
                    -1
                } else {
                    event(sample, step, channel)
                };
                x.extend((value as i16).to_le_bytes());
            }
        }
    }
    for row in 0..6 {
        for step in 0..STEPS {
            y.extend((0..samples).map(|sample| u8::from(class(sample, step) == row)));
        }
    }
    let shape = |last| [samples as i32, STEPS as i32, last];
    let elements = [
        matrix("x", 6, &shape(4), 3, &x),
        matrix("t", 6, &[1, 2], 9, &[0; 16]),
        matrix("y", 6, &shape(6), 2, &y),
    ];
    match zip {
        true => mat_file(&elements.map(|element| compressed(&element))),
        false => mat_file(&elements),
    }
}

/// The same as tensors of one part.
fn qtdb_tensors(part: &str, samples: usize) -> [(String, &'static str, Vec<usize>, Vec<u8>); 2] {
    let (mut x, mut labels) = (vec![], vec![]);
    for sample in 0..samples {
        for step in 0..STEPS {
            let value = |channel| match (channel, step) {
                (0, step) if step == STEPS - 1 => 255,
                _ => event(sample, step, channel) as u8,
            };
            x.extend((0..4).map(value));
            labels.push(if class(sample, step) == 6 {
                255
            } else {
                class(sample, step) as u8
            });
        }
    }
    [
        (format!("{part}.x"), "I8", vec![samples, STEPS, 4], x),
        (format!("{part}.label"), "U8", vec![samples, STEPS], labels),
    ]
}

#[test]
fn electrocardiograms_have_a_class_for_each_step() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("zip/qtdb/QTDB_train.mat", &qtdb_mat(5, true));
    write("zip/qtdb/QTDB_test.mat", &qtdb_mat(2, true));
    write("plain/QTDB_train.mat", &qtdb_mat(5, false));
    write("plain/QTDB_test.mat", &qtdb_mat(2, false));
    let tensors = [qtdb_tensors("train", 5), qtdb_tensors("test", 2)];
    let tensors: Vec<_> = tensors.iter().flatten().cloned().collect();
    let named: Vec<_> = tensors
        .iter()
        .map(|(name, dtype, shape, bytes)| (name.as_str(), *dtype, shape.clone(), bytes.clone()))
        .collect();
    write("packed/qtdb.safetensors", &safetensors(&named));

    let unlabeled = Unlabeled {
        label: qtdb::UNLABELED,
        counted_as: Some(0),
    };
    assert_eq!(known("qtdb").1, Some(unlabeled));
    let load = |form: &str| load("qtdb", folder.path().join(form), None).unwrap();
    let split = load("zip");
    for form in ["plain", "packed"] {
        let other = load(form);
        assert_eq!(
            split.train.digest().unwrap(),
            other.train.digest().unwrap(),
            "{form}"
        );
        assert_eq!(
            split.test.digest().unwrap(),
            other.test.digest().unwrap(),
            "{form}"
        );
    }
    let fields = split.train.fields();
    assert_eq!(fields[1].unlabeled, Some(unlabeled));
    assert!(split.validation.is_none());
    assert_eq!((split.train.len(), split.test.len()), (5, 2));
    assert_eq!(
        split.train.class_names("labels"),
        ["P", "PQ", "QR", "RS", "ST", "TP"]
    );
    for index in 0..5 {
        let sample = split.train.sample(index).unwrap();
        let x = sample.require("x").unwrap().as_u8().unwrap().to_vec();
        let labels = sample.require("labels").unwrap().as_i64().unwrap().to_vec();
        for step in 0..STEPS {
            for channel in 0..4 {
                let end = channel == 0 && step == STEPS - 1;
                let expected = if end { 0 } else { event(index, step, channel) };
                assert_eq!(i64::from(x[4 * step + channel]), expected);
            }
            let expected = match class(index, step) {
                6 => qtdb::UNLABELED,
                class => class as i64,
            };
            assert_eq!(labels[step], expected);
        }
    }
    let config = LoaderConfig {
        batch_size: 2,
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(split.train, config).unwrap();
    let batch = loader.epoch(0, 0).next().unwrap().unwrap();
    assert_eq!(batch.require("x").unwrap().shape, [STEPS, 2, 4]);
    assert_eq!(batch.require("labels").unwrap().shape, [STEPS, 2]);
}

/// The error of a file of training samples, with a good file of test samples.
fn mat_error(train: &[u8]) -> Option<Error> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("QTDB_train.mat"), train).unwrap();
    fs::write(folder.path().join("QTDB_test.mat"), qtdb_mat(1, true)).unwrap();
    qtdb::load(folder.path()).err()
}

#[test]
fn damaged_matlab_files_are_errors() {
    let x = |shape: &[i32], values: &[u8]| matrix("x", 9, shape, 2, values);
    let y = |values: &[u8]| matrix("y", 9, &[1, 1, 6], 2, values);
    let good = [x(&[1, 1, 4], &[0, 1, 0, 1]), y(&[0, 1, 0, 0, 0, 0])];
    assert!(mat_error(&mat_file(&good)).is_none());
    let mut complex = good[0].clone();
    complex[17] = 8;
    for (files, text) in [
        (vec![good[0].clone()], "no array `y`"),
        (
            vec![x(&[1, 1, 4], &[0, 2, 0, 0]), good[1].clone()],
            "the input 2",
        ),
        (vec![good[0].clone(), y(&[1, 1, 0, 0, 0, 0])], "not one-hot"),
        (
            vec![x(&[1, 1, 3], &[0, 0, 0]), good[1].clone()],
            "[n, T, 4]",
        ),
        (
            vec![x(&[1, 1, 4], &[0, 0, 0]), good[1].clone()],
            "has 3 values",
        ),
        (vec![x(&[-1, 1, 4], &[0; 4]), good[1].clone()], "damaged"),
        (vec![x(&[i32::MAX; 4], &[0; 4]), good[1].clone()], "damaged"),
        (vec![complex, good[1].clone()], "no real numbers"),
        (
            vec![matrix("x", 6, &[1, 1, 4], 16, &[0; 32]), good[1].clone()],
            "type 16",
        ),
        (
            vec![[15_u32.to_le_bytes(), 4_u32.to_le_bytes(), *b"nope"].concat()],
            "decompressed",
        ),
    ] {
        let error = mat_error(&mat_file(&files)).unwrap().to_string();
        assert!(error.contains(text), "{text}: {error}");
        assert!(error.contains("QTDB_train.mat"), "{error}");
    }
    assert!(mat_error(b"MATLAB 7.3").is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A changed or shortened file is read or rejected, without a panic.
    #[test]
    fn changed_matlab_files_do_not_panic(
        zip in any::<bool>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = qtdb_mat(2, zip);
        let at = at.index(file.len());
        file[at] = byte;
        let _ = mat_error(&file);
        file.truncate(end.index(file.len()));
        let _ = mat_error(&file);
    }
}

/// `qtdb` has the published pair of files or the packed file.
#[test]
#[ignore = "needs QTDB in the folder SPIKELET_DATA"]
fn the_real_electrocardiograms_have_the_published_numbers() {
    let split = load("qtdb", data_folder(), None).unwrap();
    for (part, samples, events, counts) in [
        (
            split.train,
            618,
            248_772,
            [100_530, 49_485, 46_503, 35_776, 242_792, 263_147, 65_785],
        ),
        (
            split.test,
            141,
            57_897,
            [24_153, 10_145, 9_840, 9_065, 55_885, 55_297, 19_056],
        ),
    ] {
        assert_eq!(part.len(), samples);
        let (mut found, mut classes) = (0, [0; 7]);
        for index in 0..samples {
            let sample = part.sample(index).unwrap();
            let x = sample.require("x").unwrap();
            assert_eq!(x.shape, [1301, 4]);
            found += x
                .as_u8()
                .unwrap()
                .iter()
                .map(|&event| usize::from(event))
                .sum::<usize>();
            for &label in sample.require("labels").unwrap().as_i64().unwrap() {
                classes[if label == qtdb::UNLABELED {
                    6
                } else {
                    label as usize
                }] += 1;
            }
        }
        assert_eq!((found, classes), (events, counts));
    }
}
