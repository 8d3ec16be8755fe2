//! What several of the tests need.

// Each test file is a program of its own and uses a part of this.
#![allow(dead_code)]

pub mod server;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// An IDX file of bytes.
pub fn idx_file(dims: &[u32], data: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, dims.len() as u8];
    for dim in dims {
        file.extend(dim.to_be_bytes());
    }
    file.extend(data);
    file
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}
