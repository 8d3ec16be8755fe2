//! Arrays in files: NumPy's formats and safetensors, written by `tools/baselines/arrays.py`.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use spikelet_data::{
    ArrayFiles, DType, DataLoader, Dataset, Error, Field, LoaderConfig, Result, SampleTensor,
};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// The elements of sample `index` of an array `[4, 3, 2]` of the script.
fn expected(element: DType, signed: bool, index: usize) -> SampleTensor<'static> {
    let integers = (index * 6..index * 6 + 6).map(|k| k as i64 - if signed { 3 } else { 0 });
    match element {
        DType::F32 => SampleTensor::f32(
            &[3, 2],
            integers.map(|k| k as f32 / 2.0).collect::<Vec<_>>(),
        ),
        DType::I64 => SampleTensor::i64(&[3, 2], integers.collect::<Vec<_>>()),
        _ => SampleTensor::u8(&[3, 2], integers.map(|k| k as u8).collect::<Vec<_>>()),
    }
}

#[test]
fn npy_files_of_every_type_are_read() {
    for (name, element, signed) in [
        ("f4_little", DType::F32, true),
        ("f4_big", DType::F32, true),
        ("f8_little", DType::F32, true),
        ("f2_little", DType::F32, true),
        ("version_2", DType::F32, true),
        ("i8_little", DType::I64, true),
        ("i8_big", DType::I64, true),
        ("i4_little", DType::I64, true),
        ("i2_little", DType::I64, true),
        ("i1_little", DType::I64, true),
        ("u8_little", DType::I64, false),
        ("u4_little", DType::I64, false),
        ("u2_little", DType::I64, false),
        ("u1_little", DType::U8, false),
    ] {
        let data = ArrayFiles::npy(name, [("x", file(&format!("{name}.npy")))]).unwrap();
        assert_eq!(data.len(), 4, "{name}");
        assert_eq!(data.fields(), [Field::new("x", element, [3, 2])], "{name}");
        for index in 0..4 {
            let sample = data.sample(index).unwrap();
            let tensor = sample.require("x").unwrap();
            assert_eq!(*tensor, expected(element, signed, index), "{name}");
        }
        assert!(matches!(data.sample(4), Err(Error::Index { .. })));
    }
    let data = ArrayFiles::npy("bool", [("x", file("bool.npy"))]).unwrap();
    let sample = data.sample(0).unwrap();
    assert_eq!(
        sample.require("x").unwrap().as_u8(),
        Some(&[1, 0, 0, 1, 0, 0][..])
    );
}

#[test]
fn archives_and_safetensors_give_the_same_samples() {
    let npz = |name: &str| ArrayFiles::npz(file(name), &["x", "y"]).unwrap();
    let tensors = ArrayFiles::safetensors(file("tensors.safetensors"), &["x", "y"]).unwrap();
    for data in [npz("stored.npz"), npz("compressed.npz"), tensors] {
        assert_eq!(data.len(), 4);
        for index in 0..4 {
            let sample = data.sample(index).unwrap();
            assert_eq!(
                *sample.require("x").unwrap(),
                expected(DType::F32, true, index)
            );
            assert_eq!(
                sample.require("y").unwrap().as_i64(),
                Some(&[index as i64 - 3][..])
            );
        }
    }
    let all = ArrayFiles::safetensors(file("tensors.safetensors"), &[]).unwrap();
    let names: Vec<String> = all
        .fields()
        .iter()
        .map(|field| field.name.clone())
        .collect();
    assert_eq!(names, ["half", "x", "y"]);
    assert_eq!(all.name(), "tensors");
    // An array of another length must be left out.
    let error = ArrayFiles::npz(file("stored.npz"), &[]).unwrap_err();
    assert!(error.to_string().contains("other: 3"), "{error}");
}

#[test]
fn a_loader_stacks_arrays_as_they_are_described() {
    let data = ArrayFiles::npy(
        "two",
        [("x", file("f4_little.npy")), ("labels", file("labels.npy"))],
    )
    .and_then(|data| data.describe("x", |field| field.sequence().pad(0.0)))
    .unwrap()
    .classes("labels", ["a", "b", "c", "d"].map(String::from).into());
    assert_eq!(data.class_names("labels").len(), 4);
    let config = LoaderConfig {
        shuffle: false,
        threads: 2,
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(Arc::new(data), config).unwrap();
    let batch = loader.epoch(0, 0).next().unwrap().unwrap();
    assert_eq!(batch.require("x").unwrap().shape, [3, 4, 2]);
    assert_eq!(batch.f32("x").unwrap()[..4], [-1.5, -1.0, 1.5, 2.0]);
    assert_eq!(batch.i64("labels").unwrap(), [0, 1, 2, 3]);

    let open = || ArrayFiles::npy("one", [("x", file("u1_little.npy"))]).unwrap();
    let error = open().describe("x", Field::as_image).unwrap_err();
    assert!(matches!(error, Error::Field { .. }), "{error}");
    let error = open().describe("x", |_| Field::new("x", DType::F32, [3, 2]));
    assert!(matches!(error, Err(Error::Field { .. })));
    let error = open().describe("y", Field::sequence).unwrap_err();
    assert!(error.to_string().contains("there are: x"), "{error}");
}

#[test]
fn what_cannot_be_read_is_an_error_with_file_and_offset() {
    let message = |result: Result<ArrayFiles>| result.unwrap_err().to_string();
    let npy = |name: &str| message(ArrayFiles::npy("x", [("x", file(name))]));
    assert!(npy("fortran.npy").contains("fortran.npy, byte 10: the array is in Fortran order"));
    assert!(npy("structured.npy").contains("unknown type"));
    assert!(npy("no_elements.npy").contains("a sample of shape [3, 0] has no elements"));
    assert!(npy("tensors.safetensors").contains("byte 0: this is not an .npy file"));
    assert!(npy("none.npy").contains("cannot open"));
    let stored = message(ArrayFiles::npz(file("stored.npz"), &["z"]));
    assert!(
        stored.contains("no array `z`; there are: x, y, other"),
        "{stored}"
    );
    let limit = message(ArrayFiles::npz_within(file("compressed.npz"), &["x"], 100));
    assert!(
        limit.contains("takes 224 bytes of memory, 100 are left"),
        "{limit}"
    );
    let tensors = message(ArrayFiles::safetensors(file("tensors.safetensors"), &["z"]));
    assert!(tensors.contains("there are: half, x, y"), "{tensors}");
    message(ArrayFiles::npz(file("labels.npy"), &[]));
    message(ArrayFiles::safetensors(file("labels.npy"), &[]));
}

/// A truncation and any changed byte of a file gives an error or a data set whose samples are read or refused, and
/// never more memory than the file has.
#[test]
fn damaged_files_are_refused_without_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    type Open = fn(&PathBuf) -> Result<ArrayFiles>;
    let cases: [(&str, Open); 4] = [
        ("f4_little.npy", |path| ArrayFiles::npy("x", [("x", path)])),
        ("stored.npz", |path| ArrayFiles::npz(path, &["x", "y"])),
        ("compressed.npz", |path| ArrayFiles::npz(path, &["x", "y"])),
        ("tensors.safetensors", |path| {
            ArrayFiles::safetensors(path, &[])
        }),
    ];
    for (name, open) in cases {
        let good = fs::read(file(name)).unwrap();
        let check = |bytes: &[u8]| -> bool {
            // A file that is truncated and written again is flushed to the disk by some file systems.
            let _ = fs::remove_file(&path);
            fs::write(&path, bytes).unwrap();
            let Ok(data) = open(&path) else {
                return false;
            };
            let _ = data.digest();
            (0..data.len().min(6)).all(|index| data.sample(index).is_ok())
        };
        assert!(check(&good));
        for len in (0..good.len()).step_by(7) {
            assert!(!check(&good[..len]), "{name} of {len} bytes");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= if at.is_multiple_of(2) { 0xff } else { 0x01 };
            check(&bad);
        }
    }
}

#[test]
fn lengths_in_headers_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge");
    let npy = |shape: &str| {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        fs::write(&path, bytes).unwrap();
        ArrayFiles::npy("x", [("x", &path)]).unwrap_err()
    };
    for shape in [
        "1000000000000,",
        "4611686018427387904, 8",
        "99999999999999999999999,",
        "",
        // No elements: any number of samples or steps fits into the file.
        "4294967295, 0",
        "1, 4611686018427387904, 0",
    ] {
        let error = npy(shape);
        assert!(matches!(error, Error::Format { .. }), "{error}");
    }
    for len in [u64::MAX, 1 << 62, 99_999_999] {
        fs::write(&path, [&len.to_le_bytes()[..], b"{}"].concat()).unwrap();
        let error = ArrayFiles::safetensors(&path, &[]).unwrap_err();
        assert!(matches!(error, Error::Format { .. }), "{error}");
    }
}

#[test]
fn a_file_of_thousands_of_arrays_is_read_by_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.safetensors");
    let entries = (0..5000).map(|k| {
        format!(
            r#""x{k}":{{"dtype":"U8","shape":[1],"data_offsets":[{k},{}]}}"#,
            k + 1
        )
    });
    let header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend((0..5000).map(|k| k as u8));
    fs::write(&path, bytes).unwrap();
    let error = ArrayFiles::safetensors(&path, &[]).unwrap_err();
    assert!(error.to_string().contains("5000 arrays"), "{error}");
    let named = ArrayFiles::safetensors(&path, &["x7", "x4999"]).unwrap();
    let sample = named.sample(0).unwrap();
    assert_eq!(
        sample.require("x4999").unwrap().as_u8(),
        Some(&[4999_u32 as u8][..])
    );
}

#[test]
fn the_length_of_a_compressed_array_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.npz");
    let mut bytes = fs::read(file("compressed.npz")).unwrap();
    // The uncompressed size in the first record of the directory.
    let record = (bytes.windows(4))
        .position(|four| four == b"PK\x01\x02")
        .unwrap();
    bytes[record + 24..record + 28].copy_from_slice(&1_000_000_000_u32.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let error = ArrayFiles::npz(&path, &["x"]).unwrap_err().to_string();
    assert!(error.contains("cannot have 1000000000 bytes"), "{error}");
}

/// A sparse file of 64 GiB: only the samples that are asked for are read.
#[test]
fn a_file_larger_than_memory_is_read_sample_by_sample() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.npy");
    let (len, row) = (1_u64 << 24, 4096_u64);
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({len}, {row}), }}\n");
    let mut out = fs::File::create(&path).unwrap();
    out.write_all(b"\x93NUMPY\x01\x00").unwrap();
    out.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
    out.write_all(header.as_bytes()).unwrap();
    let start = 10 + header.len() as u64;
    if out.set_len(start + len * row).is_err() {
        // The file system has no sparse files.
        return;
    }
    out.seek(SeekFrom::Start(start + 9_999_999 * row)).unwrap();
    out.write_all(&[7; 4096]).unwrap();
    let data = ArrayFiles::npy("large", [("x", &path)]).unwrap();
    assert_eq!(data.len(), 1 << 24);
    let sum = |index| {
        let sample = data.sample(index).unwrap();
        let bytes = sample.require("x").unwrap().as_u8().unwrap().to_vec();
        bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>()
    };
    assert_eq!((sum(9_999_999), sum((1 << 24) - 1)), (7 * 4096, 0));
    data.digest().unwrap();

    // The file is cut while the data set is in use.
    out.set_len(start + 10 * row).unwrap();
    assert!(matches!(data.sample(10), Err(Error::Read { .. })));
    data.sample(9).unwrap();
}
