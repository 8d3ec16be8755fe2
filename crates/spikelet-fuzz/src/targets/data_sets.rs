//! Readers of data sets of one's own: arrays in files, tables, and images. An input that is read is also collated.

use super::written;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::Value;
use spikelet::data::{
    ArrayFiles, Augment, Colors, CsvTable, DataLoader, Dataset, DecodeLimits, Field, ImageFolder,
    LoaderConfig, RandomResizedCrop, Result, decode_image,
};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The files of the tests of a crate's readers, of all types and versions.
macro_rules! test_data {
    ($($name:literal),* $(,)?) => {
        vec![$(include_bytes!(concat!("../../../spikelet-data/tests/data/", $name)).to_vec()),*]
    };
}

/// Reads everything that a data set has, and a batch of it.
fn read_all(data: Result<impl Dataset + 'static>, crop: bool) {
    let Ok(data) = data else {
        return;
    };
    let _ = (data.check(), data.digest());
    for index in [0, data.len().saturating_sub(1), data.len()] {
        let _ = data.sample(index);
    }
    let image = data.fields().iter().any(|field| field.image);
    let augment = Augment {
        flip: true,
        crop_padding: 2,
        rotate: 10.0,
        ..Augment::default()
    };
    let config = LoaderConfig {
        batch_size: 2,
        threads: 1,
        augment: if image { augment } else { Augment::default() },
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(Arc::new(data), config);
    let loader = match crop {
        true => loader.and_then(|loader| loader.transform(RandomResizedCrop::new([8, 6]))),
        false => loader,
    };
    if let Ok(loader) = loader {
        let _ = loader.epoch(0, 0).next();
    }
}

/// Reads arrays as they are, and with each description of the array `name`.
fn read_arrays(name: &str, open: impl Fn() -> Result<ArrayFiles>) {
    let describe = |change: fn(Field) -> Field| open()?.describe(name, change);
    read_all(open(), false);
    read_all(describe(Field::sequence), false);
    read_all(describe(Field::as_image), false);
    read_all(describe(|field| field.sequence().as_image()), false);
    read_all(describe(|field| field.pad(1.0).variable_axis(0)), false);
}

pub(super) fn npy_corpus(_: &Path) -> Vec<Vec<u8>> {
    test_data![
        "bool.npy",
        "f2_little.npy",
        "f4_big.npy",
        "f8_little.npy",
        "fortran.npy",
        "i1_little.npy",
        "i2_little.npy",
        "i4_little.npy",
        "i8_big.npy",
        "labels.npy",
        "structured.npy",
        "u1_little.npy",
        "u2_little.npy",
        "u4_little.npy",
        "u8_little.npy",
        "version_2.npy",
        "no_elements.npy",
    ]
}

pub(super) fn npy(bytes: &[u8], folder: &Path) {
    let path = written(folder, "x.npy", bytes);
    read_arrays("x", || ArrayFiles::npy("x", [("x", &path)]));
}

pub(super) fn npz_corpus(_: &Path) -> Vec<Vec<u8>> {
    test_data!["stored.npz", "compressed.npz"]
}

pub(super) fn npz(bytes: &[u8], folder: &Path) {
    let path = written(folder, "x.npz", bytes);
    read_arrays("x", || ArrayFiles::npz(&path, &[]));
    read_arrays("x", || ArrayFiles::npz(&path, &["x", "y"]));
}

pub(super) fn safetensors_corpus(_: &Path) -> Vec<Vec<u8>> {
    let files: Vec<Vec<u8>> = test_data!["tensors.safetensors"];
    let apart = files.iter().map(|file| super::apart(file)).collect();
    [files, apart].concat()
}

pub(super) fn safetensors(bytes: &[u8], folder: &Path) {
    let path = written(folder, "x.safetensors", &super::together(bytes));
    read_arrays("x", || ArrayFiles::safetensors(&path, &[]));
    read_arrays("x", || ArrayFiles::safetensors(&path, &["x", "y"]));
}

pub(super) fn csv_corpus(_: &Path) -> Vec<Vec<u8>> {
    let tables = [
        "a,b,c,name\n1,2.5,3,cat\n4,NaN,-6,dog\n7,1e3,9,cat\n",
        "\u{feff}name;c;b;a\r\n\"a \"\"quoted\"\"\nname\";1;0.5;2\r\n;9223372036854775807;-inf;3\r\n",
        "a,b,c,name",
    ];
    tables.map(Vec::from).into()
}

pub(super) fn csv(bytes: &[u8], folder: &Path) {
    let path = written(folder, "x.csv", bytes);
    for delimiter in [b',', b';', b'\n', b'"'] {
        let table = || CsvTable::new(&path).delimiter(delimiter);
        let all = table().f32("x", ["a", "b"]).i64("y", ["c"]);
        read_all(all.classes("labels", "name").read(), false);
        read_all(table().label("labels", "c").read(), false);
        read_all(table().classes("labels", "name").read(), false);
        read_all(table().read(), false);
    }
}

/// Images of 22 × 30 pixels of each type, whose first bytes are these.
fn images(first: &[u8]) -> Vec<Vec<u8>> {
    let text = include_str!("../../../spikelet-data/tests/references/files.json");
    let content: Value = serde_json::from_str(text).expect("the references are JSON");
    let files = content["files"].as_array().expect("a list");
    let files = files.iter().map(|case| {
        let text = case["file"].as_str().expect("hexadecimal digits");
        let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
        (0..text.len()).step_by(2).map(byte).collect::<Vec<u8>>()
    });
    files.filter(|file| file.starts_with(first)).collect()
}

/// Decodes an image by itself, within small limits, and in a folder.
fn image(bytes: &[u8], folder: &Path) {
    let small = DecodeLimits {
        max_side: 64,
        max_pixels: 1000,
        max_file_bytes: 1 << 12,
    };
    for limits in [small, DecodeLimits::default()] {
        for colors in [Colors::Rgb, Colors::Gray] {
            if let Ok(image) = decode_image(bytes, colors, &limits) {
                let [channels, height, width] = image.shape();
                assert_eq!(channels, colors.channels());
                assert!(height.max(width) <= limits.max_side);
                assert!(height * width <= limits.max_pixels);
            }
        }
    }
    let root = folder.join("images");
    let class = root.join("class");
    std::fs::create_dir_all(&class).expect("the folder can be written");
    written(&class, "x.png", bytes);
    read_all(ImageFolder::open(&root), true);
}

pub(super) fn jpeg_corpus(_: &Path) -> Vec<Vec<u8>> {
    images(&[0xff, 0xd8])
}

pub(super) fn jpeg(bytes: &[u8], folder: &Path) {
    image(bytes, folder);
}

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The files, and their chunks without signature and checksums, so that changes of these chunks pass the checks. The
/// decompressed pixels of a file are one chunk, which is compressed again.
pub(super) fn png_corpus(_: &Path) -> Vec<Vec<u8>> {
    let files = images(PNG_SIGNATURE);
    let chunks = files.iter().map(|file| {
        let (mut out, mut pixels) = (vec![], vec![]);
        let mut rest = &file[PNG_SIGNATURE.len()..];
        while let Some((head, after)) = rest.split_first_chunk::<8>() {
            let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let (data, after) = after.split_at(length);
            match &head[4..] {
                b"IDAT" => pixels.extend(data),
                b"IEND" => {
                    let mut decoder = flate2::write::ZlibDecoder::new(vec![]);
                    decoder.write_all(&pixels).expect("memory can be written");
                    let pixels = decoder.finish().expect("it is a valid file");
                    push_chunk(&mut out, b"IDAT", &pixels);
                }
                _ => push_chunk(&mut out, &head[4..], data),
            }
            rest = &after[4..];
        }
        out
    });
    let chunks = chunks.collect();
    [files, chunks].concat()
}

/// Appends the length, the type and the data of a chunk.
fn push_chunk(out: &mut Vec<u8>, kind: &[u8], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend(data);
}

/// The file of some chunks, with the end chunk.
fn png_file(chunks: &[u8]) -> Vec<u8> {
    let mut file = PNG_SIGNATURE.to_vec();
    let mut push = |kind: &[u8], data: &[u8]| {
        let start = file.len() + 4;
        push_chunk(&mut file, kind, data);
        let mut crc = flate2::Crc::new();
        crc.update(&file[start..]);
        file.extend(crc.sum().to_be_bytes());
    };
    let mut rest = chunks;
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (data, after) = after.split_at(length.min(after.len()));
        if &head[4..] == b"IDAT" {
            let mut encoder = ZlibEncoder::new(vec![], Compression::fast());
            encoder.write_all(data).expect("memory can be written");
            let data = encoder.finish().expect("memory can be written");
            push(&head[4..], &data);
        } else {
            push(&head[4..], data);
        }
        rest = after;
    }
    push(b"IEND", &[]);
    file
}

pub(super) fn png(bytes: &[u8], folder: &Path) {
    match bytes.starts_with(PNG_SIGNATURE) {
        true => image(bytes, folder),
        false => image(&png_file(bytes), folder),
    }
}
