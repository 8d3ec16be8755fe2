//! Reads files that may be compressed, which is detected by their content, not their name.

use std::io::{self, BufRead, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A reader preceded by its first bytes, which were read before.
type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

/// The uncompressed bytes of a compressed or uncompressed file.
pub(crate) enum Plain<R: BufRead> {
    Raw(Peeked<R>),
    Gzip(Box<MultiGzDecoder<Peeked<R>>>),
}

impl<R: BufRead> Plain<R> {
    /// Decompresses `reader` if its first two bytes are those of gzip.
    pub(crate) fn new(mut reader: R) -> io::Result<Self> {
        let mut head = Vec::with_capacity(GZIP_MAGIC.len());
        reader
            .by_ref()
            .take(GZIP_MAGIC.len() as u64)
            .read_to_end(&mut head)?;
        let gzip = head == GZIP_MAGIC;
        let peeked = Cursor::new(head).chain(reader);
        Ok(if gzip {
            Self::Gzip(Box::new(MultiGzDecoder::new(peeked)))
        } else {
            Self::Raw(peeked)
        })
    }

    /// Reads `reader` without decompression.
    #[cfg(feature = "download")]
    pub(crate) fn raw(reader: R) -> Self {
        Self::Raw(Cursor::new(Vec::new()).chain(reader))
    }

    pub(crate) fn is_gzip(&self) -> bool {
        matches!(self, Self::Gzip(_))
    }
}

impl<R: BufRead> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Raw(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader.read(buffer),
        }
    }
}
