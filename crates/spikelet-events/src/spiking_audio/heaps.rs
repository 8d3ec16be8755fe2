//! Global heaps of HDF5, which have the values of elements of variable length.
//!
//! An element of a variable-length data set is a reference: the number of values u32, the position of a global heap
//! u64, the number of an object in it u32. A heap is `GCOL`, 4 bytes, its size u64, then objects: number u16, 6 bytes,
//! length u64, data, padded to 8 bytes.
//!
//! Source: The HDF Group, *HDF5 File Format Specification*, section III.E.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use half::f16;

use super::{damaged_at, read_error};
use crate::error::Result;

/// The number of channels of the cochlea.
const CHANNELS: u16 = 700;

/// The bytes of a reference.
pub(super) const REFERENCE: usize = 16;

/// The bytes before the objects of a heap.
const HEAD: usize = 16;

/// The values of a recording.
pub(super) struct Values<'a> {
    recording: usize,
    count: usize,
    /// The position of the bytes in the file.
    position: u64,
    bytes: &'a [u8],
}

impl Values<'_> {
    /// Appends the values as times, of 2, 4 or 8 bytes each.
    pub fn append_times(&self, out: &mut Vec<f32>) -> Result<()> {
        let (before, bytes) = (out.len(), self.bytes);
        let size = bytes.len().checked_div(self.count).unwrap_or(0);
        match size {
            0 if self.count == 0 => {}
            2 => out.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&time| f16::from_le_bytes(time).to_f32()),
            ),
            4 => out.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&time| f32::from_le_bytes(time)),
            ),
            8 => out.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&time| f64::from_le_bytes(time) as f32),
            ),
            _ => {
                let problem = format!("{} times in {} bytes", self.count, bytes.len());
                return self.damaged(0, &problem);
            }
        }
        match out[before..].iter().position(|time| !time.is_finite()) {
            Some(at) => self.damaged(at * size, &format!("the time {}", out[before + at])),
            None => Ok(()),
        }
    }

    /// Appends the values as units, one for each of the times.
    pub fn append_units(&self, times: usize, out: &mut Vec<u16>) -> Result<()> {
        if self.count != times {
            return self.damaged(0, &format!("{times} times and {} units", self.count));
        }
        if self.bytes.len() != 2 * self.count {
            let len = self.bytes.len();
            let problem = format!("{} units in {len} bytes; u16 is expected", self.count);
            return self.damaged(0, &problem);
        }
        let before = out.len();
        let (units, _) = self.bytes.as_chunks();
        out.extend(units.iter().map(|&unit| u16::from_le_bytes(unit)));
        match out[before..].iter().position(|&unit| unit >= CHANNELS) {
            Some(at) => {
                let problem = format!("the unit {} >= {CHANNELS}", out[before + at]);
                self.damaged(2 * at, &problem)
            }
            None => Ok(()),
        }
    }

    fn damaged<T>(&self, at: usize, problem: &str) -> Result<T> {
        let problem = format!("recording {} has {problem}", self.recording);
        Err(damaged_at(self.position + at as u64, problem))
    }
}

/// The global heaps of a file, of which one is in memory.
pub(super) struct Heaps {
    file: File,
    len: u64,
    /// The position of address 0.
    base: u64,
    position: u64,
    heap: Vec<u8>,
    objects: HashMap<u32, Range<usize>>,
    /// The bytes that objects may still have: an object belongs to one recording.
    left: u64,
}

impl Heaps {
    /// The heaps of a file of `len` bytes, whose addresses begin at `base`.
    pub fn new(file: File, len: u64, base: u64) -> Self {
        Self {
            file,
            len,
            base,
            position: u64::MAX,
            heap: vec![],
            objects: HashMap::new(),
            left: len,
        }
    }

    /// Allows all objects to be read again.
    pub fn allow_all(&mut self) {
        self.left = self.len;
    }

    /// The values of recording `at`.
    pub fn values(&mut self, reference: &[u8; REFERENCE], at: usize) -> Result<Values<'_>> {
        let [a, b, c, d, position @ .., e, f, g, h] = *reference;
        let count = u32::from_le_bytes([a, b, c, d]);
        let (position, number) = (
            u64::from_le_bytes(position),
            u32::from_le_bytes([e, f, g, h]),
        );
        let position = position.saturating_add(self.base);
        let mut values = Values {
            recording: at,
            count: count as usize,
            position,
            bytes: &[],
        };
        if count == 0 {
            return Ok(values);
        }
        if position != self.position {
            self.load(position, at)?;
        }
        let range = self.objects.get(&number).cloned();
        let range = range
            .ok_or_else(|| damaged_at(position, format!("recording {at} is not in its heap")))?;
        self.left = self.left.checked_sub(range.len() as u64).ok_or_else(|| {
            let problem = "the recordings have more bytes than the file: they overlap";
            damaged_at(position, problem)
        })?;
        values.position += (HEAD + range.start) as u64;
        values.bytes = &self.heap[range];
        Ok(values)
    }

    /// Reads a heap.
    fn load(&mut self, position: u64, at: usize) -> Result<()> {
        let damaged = || damaged_at(position, format!("recording {at} has no heap here"));
        let mut head = [0; HEAD];
        if position
            .checked_add(HEAD as u64)
            .is_none_or(|end| end > self.len)
        {
            return Err(damaged());
        }
        let seek = self.file.seek(SeekFrom::Start(position));
        seek.map_err(read_error(position))?;
        self.file
            .read_exact(&mut head)
            .map_err(read_error(position))?;
        let [b'G', b'C', b'O', b'L', 1, _, _, _, size @ ..] = head else {
            return Err(damaged());
        };
        let size = u64::from_le_bytes(size);
        if size < HEAD as u64 || size > self.len - position {
            return Err(damaged());
        }
        self.position = u64::MAX;
        self.heap.resize(size as usize - HEAD, 0);
        self.file
            .read_exact(&mut self.heap)
            .map_err(read_error(position))?;
        self.objects.clear();
        let mut at = 0;
        while let Some(object) = self.heap.get(at..at + 16) {
            let number = u16::from_le_bytes([object[0], object[1]]);
            let mut len = [0; 8];
            len.copy_from_slice(&object[8..]);
            let len = usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX);
            let begin = at + 16;
            // Number 0 is the free space at the end.
            if number == 0 {
                break;
            }
            if len > self.heap.len() - begin {
                return Err(damaged());
            }
            self.objects.insert(number.into(), begin..begin + len);
            at = begin + len.next_multiple_of(8);
        }
        self.position = position;
        Ok(())
    }
}
