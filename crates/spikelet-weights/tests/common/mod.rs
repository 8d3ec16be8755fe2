//! The fixtures.
#![allow(dead_code, reason = "no test uses all of it")]

pub mod mutation;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use spikelet_weights::arrays::{Source, zip};

/// A file of the fixtures.
pub fn fixture(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(file)
}

/// The bytes of a file, decompressed if its name ends in `.gz`.
pub fn bytes(path: &Path) -> Vec<u8> {
    let stored = fs::read(path).expect("a fixture");
    if path.extension().is_none_or(|end| end != "gz") {
        return stored;
    }
    let mut bytes = vec![];
    GzDecoder::new(&stored[..])
        .read_to_end(&mut bytes)
        .expect("gzip");
    bytes
}

/// A JSON file, compressed or not.
pub fn json(file: &str) -> Value {
    serde_json::from_slice(&bytes(&fixture(file))).expect("JSON")
}

/// The names and bytes of all files of a folder with an ending, without `.gz`.
pub fn files(folder: &str, endings: &[&str]) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(fixture(folder)).expect("a folder");
    let mut files: Vec<(String, Vec<u8>)> = entries
        .filter_map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()?
                .to_str()?
                .trim_end_matches(".gz")
                .to_owned();
            let ends = |ending: &&str| name.ends_with(ending);
            endings.iter().any(ends).then(|| (name, bytes(&path)))
        })
        .collect();
    files.sort();
    files
}

/// A zip archive of stored members, as numpy.savez writes it.
pub fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (vec![], vec![]);
    for (name, bytes) in members {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        fields.extend(crc.sum().to_le_bytes());
        fields.extend((bytes.len() as u32).to_le_bytes());
        fields.extend((bytes.len() as u32).to_le_bytes());
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0; 2]);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&fields);
        out.extend(name.as_bytes());
        out.extend(bytes);
    }
    let (start, count) = (out.len() as u32, members.len() as u16);
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

/// The names and bytes of the members of an archive whose members are stored.
pub fn members(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let source = Bytes(archive);
    let entries = zip::entries(&source).expect("an archive");
    let member = |entry: zip::Entry| {
        let offset = zip::data_offset(&source, &entry).expect("a member");
        let bytes = source
            .read(offset, entry.compressed as usize)
            .expect("a member");
        (entry.name, bytes)
    };
    entries.into_iter().map(member).collect()
}

struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    type Error = String;

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, String> {
        let part = self.0.get(offset as usize..offset as usize + len);
        part.map(<[u8]>::to_vec).ok_or("the end".into())
    }

    fn invalid(&self, _: u64, problem: impl Into<String>, _: &'static str) -> String {
        problem.into()
    }
}
