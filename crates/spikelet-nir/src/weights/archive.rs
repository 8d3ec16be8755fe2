//! Zip archives of records that are stored without compression, their bytes aligned to 64.
//!
//! Source: PKWARE, *APPNOTE.TXT*; PyTorch, `caffe2/serialize/inline_container.cc`.

use std::io::{self, Write};

use flate2::Crc;

/// What records are aligned to.
const ALIGNMENT: u64 = 64;

/// A zip archive that is written from its start to its end.
pub(super) struct Archive<'a> {
    file: &'a mut dyn Write,
    position: u64,
    directory: Vec<u8>,
    count: u64,
}

impl<'a> Archive<'a> {
    /// An archive without records.
    pub fn new(file: &'a mut dyn Write) -> Self {
        Self {
            file,
            position: 0,
            directory: vec![],
            count: 0,
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Writes a record, whose name has at most 65,535 bytes. Sizes and positions are in fields of 64 bits, which every
    /// record has.
    pub fn record(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut crc = Crc::new();
        crc.update(bytes);
        let (start, len) = (self.position, bytes.len() as u64);
        // Version 4.5, text in UTF-8, stored, 1980-01-01.
        let mut fields = vec![45, 0, 0, 8, 0, 0, 0, 0, 0x21, 0];
        fields.extend(crc.sum().to_le_bytes());
        fields.extend([0xff; 8]);
        fields.extend((name.len() as u16).to_le_bytes());
        let mut sizes = vec![1, 0, 16, 0];
        sizes.extend(len.to_le_bytes());
        sizes.extend(len.to_le_bytes());
        // PyTorch's own field fills up to the alignment.
        let head = start + 30 + name.len() as u64 + sizes.len() as u64 + 4;
        let padding = (head.next_multiple_of(ALIGNMENT) - head) as u16;
        self.put(b"PK\x03\x04")?;
        self.put(&fields)?;
        self.put(&(sizes.len() as u16 + 4 + padding).to_le_bytes())?;
        self.put(name.as_bytes())?;
        self.put(&sizes)?;
        self.put(b"FB")?;
        self.put(&padding.to_le_bytes())?;
        self.put(&vec![b'Z'; padding.into()])?;
        self.put(bytes)?;
        let mut extra = vec![1, 0, 24, 0];
        extra.extend(len.to_le_bytes());
        extra.extend(len.to_le_bytes());
        extra.extend(start.to_le_bytes());
        self.directory.extend(b"PK\x01\x02\x2d\0");
        self.directory.extend(&fields);
        self.directory.extend((extra.len() as u16).to_le_bytes());
        // Comment, disk, attributes; the position is in the field of 64 bits.
        self.directory.extend([0; 10]);
        self.directory.extend([0xff; 4]);
        self.directory.extend(name.as_bytes());
        self.directory.extend(extra);
        self.count += 1;
        Ok(())
    }

    /// Writes the directory.
    pub fn finish(mut self) -> io::Result<()> {
        let (start, directory) = (self.position, std::mem::take(&mut self.directory));
        self.put(&directory)?;
        let (len, end) = (directory.len() as u64, self.position);
        // The end record of 64 bits, its locator, and the end record, which points to them.
        self.put(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0")?;
        for value in [self.count, self.count, len, start] {
            self.put(&value.to_le_bytes())?;
        }
        self.put(b"PK\x06\x07\0\0\0\0")?;
        self.put(&end.to_le_bytes())?;
        self.put(b"\x01\0\0\0")?;
        self.put(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0")
    }
}
