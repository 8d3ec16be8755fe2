//! Written arrays against the readers of this crate.

use super::{ArrayFormat, ArraySpec, ArrayType, ArrayWriter};
use crate::{ArrayFiles, Dataset};
use std::fs::File;
use std::io;
use std::path::Path;

fn specs() -> Vec<ArraySpec> {
    let spec = |name: &str, element, shape: &[usize]| ArraySpec {
        name: name.to_string(),
        element,
        shape: shape.to_vec(),
    };
    vec![
        spec("fc.τ.spike_seq", ArrayType::U8, &[2, 3, 5]),
        spec("v", ArrayType::F32, &[2, 3]),
        spec("labels", ArrayType::I64, &[3]),
        spec("empty", ArrayType::F32, &[3, 1, 1]),
    ]
}

fn open(path: &Path) -> File {
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    options.open(path).expect("a file")
}

fn write(path: &Path, format: ArrayFormat) -> io::Result<()> {
    let mut writer = ArrayWriter::new(open(path), format, specs())?;
    for row in [4, 0, 5, 2, 1, 3] {
        let bytes: Vec<u8> = (0..5).map(|k| row * 5 + k).collect();
        writer.write(0, u64::from(row) * 5, &bytes)?;
    }
    for (first, value) in [(3, 0.5_f32), (0, -1.25)] {
        writer.write(1, first, &[value.to_le_bytes(); 3].concat())?;
    }
    writer.write(
        2,
        1,
        &[7_i64.to_le_bytes(), (-8_i64).to_le_bytes()].concat(),
    )?;
    assert!(writer.write(2, 2, &[0; 16]).is_err());
    assert!(writer.write(4, 0, &[]).is_err());
    assert!(writer.write(0, u64::MAX, &[0; 2]).is_err());
    writer.finish().map(drop)
}

#[test]
fn arrays_are_read_as_they_were_written() -> crate::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    for format in [ArrayFormat::Npz, ArrayFormat::Safetensors] {
        let path = folder.path().join("some");
        write(&path, format).expect("written");
        let read = |name: &str| match format {
            ArrayFormat::Npz => ArrayFiles::npz(&path, &[name]),
            ArrayFormat::Safetensors => ArrayFiles::safetensors(&path, &[name]),
        };
        let spikes = read("fc.τ.spike_seq")?;
        let row: Vec<u8> = (15..30).collect();
        let sample = spikes.sample(1)?;
        assert_eq!(sample.require("fc.τ.spike_seq")?.shape, [3, 5]);
        assert_eq!(sample.require("fc.τ.spike_seq")?.as_u8(), Some(&row[..]));
        let v = read("v")?;
        assert_eq!(v.sample(0)?.require("v")?.as_f32(), Some(&[-1.25; 3][..]));
        assert_eq!(v.sample(1)?.require("v")?.as_f32(), Some(&[0.5; 3][..]));
        let labels = read("labels")?;
        let labels: Vec<i64> = (0..3)
            .map(|k| Ok(labels.sample(k)?.require("labels")?.as_i64().expect("i64")[0]))
            .collect::<crate::Result<_>>()?;
        assert_eq!(labels, [0, 7, -8]);
        let empty = read("empty")?;
        assert_eq!(
            empty.sample(2)?.require("empty")?.as_f32(),
            Some(&[0.0][..])
        );
    }
    Ok(())
}

#[test]
fn the_same_arrays_are_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    write(&a, ArrayFormat::Npz).expect("written");
    write(&b, ArrayFormat::Npz).expect("written");
    let [a, b] = [a, b].map(|path| std::fs::read(path).expect("written"));
    assert_eq!(a, b);
}

/// Arrays of more than 4 GiB; the file has holes.
#[cfg(unix)]
#[test]
#[ignore = "reads 8 GiB for the checksums"]
fn arrays_of_more_than_4_gib_have_the_64_bit_extension() -> crate::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.npz");
    let spec = |name: &str| ArraySpec {
        name: name.to_string(),
        element: ArrayType::U8,
        shape: vec![4097, 1 << 20],
    };
    let mut writer =
        ArrayWriter::new(open(&path), ArrayFormat::Npz, vec![spec("a"), spec("b")]).expect("begun");
    writer.write(1, (4097 << 20) - 1, &[9]).expect("written");
    writer.finish().expect("written");
    let data = ArrayFiles::npz(&path, &["b"])?;
    let sample = data.sample(4096)?;
    assert_eq!(
        sample.require("b")?.as_u8().expect("bytes")[(1 << 20) - 1],
        9
    );
    Ok(())
}

#[test]
fn two_arrays_of_a_name_are_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("twice");
    let twice = [specs(), specs()].concat();
    let error = ArrayWriter::new(open(&path), ArrayFormat::Npz, twice).expect_err("two of a name");
    assert!(error.to_string().contains("`fc.τ.spike_seq`"), "{error}");
}
