//! Compression, for files as a server sends them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}
