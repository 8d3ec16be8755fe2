//! MD5 checksums of files, which the authors of data sets publish. They find damage, not intent.

use std::fs::File;
use std::io::{ErrorKind as Kind, Read};
use std::path::Path;

use md5::{Digest, Md5};

use crate::error::{Error, ErrorKind, Result};

/// The MD5 checksum of a file in hexadecimal digits. `progress` is called with the bytes that were read, and all of them.
pub(crate) fn md5_of(path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<String> {
    let in_file = |kind: ErrorKind| Error::from(kind).in_file(path);
    let mut file = File::open(path).map_err(|error| in_file(ErrorKind::Open(error)))?;
    let len = file.metadata().map_or(0, |file| file.len());
    let (mut digest, mut position) = (Md5::new(), 0);
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == Kind::Interrupted => continue,
            Err(source) => return Err(in_file(ErrorKind::Read { position, source })),
        };
        digest.update(&buffer[..read]);
        position += read as u64;
        progress(position.min(len), len);
    }
    let bytes = digest.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
