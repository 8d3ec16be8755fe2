//! A block of events as bytes.
//!
//! | field | type | |
//! |---|---|---|
//! | events | u32 | 1 to 65,536 |
//! | first time | i64 | |
//! | smallest difference of two successive times | i64 | |
//! | bytes of the differences before compression | u32 | |
//! | bytes in the file of the differences, x low, x high, y low, y high | 5 × u32 | 31 bits, and the highest: whether compressed; 0 if all values are 0 |
//! | the columns | | |
//! | polarities | | ⌈events / 8⌉ bytes, the first event in the lowest bit |

use flate2::{
    Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status as Deflate,
};

use crate::EventBuffer;
use crate::formats::Events;

/// The most events in a block.
pub(super) const MAX_EVENTS: usize = 1 << 16;

/// The bytes before the columns.
const HEADER: usize = 4 + 8 + 8 + 4 + 5 * 4;

const COMPRESSED: u32 = 1 << 31;

/// The longest variable-length integer.
const MAX_VARINT: usize = 10;

/// Encodes blocks, with memory that is used again.
pub(super) struct Encoder {
    deflate: Compress,
    column: Vec<u8>,
    compressed: Vec<u8>,
}

impl Encoder {
    pub fn new() -> Self {
        // The fastest level: higher ones take 3 to 7 times as long, and save 0 to 10 percent of the bytes of events.
        Self {
            deflate: Compress::new(Compression::fast(), false),
            column: vec![],
            compressed: vec![],
        }
    }

    /// Appends a block of 1 to [`MAX_EVENTS`] events, all of whose polarities are 0 or 1.
    pub fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) {
        let header = out.len();
        out.extend((events.t.len() as u32).to_le_bytes());
        let differences = || events.t.windows(2).map(|t| t[1].wrapping_sub(t[0]));
        let smallest = differences().min().unwrap_or(0);
        out.extend(events.t[0].to_le_bytes());
        out.extend(smallest.to_le_bytes());
        let sizes = out.len();
        out.resize(header + HEADER, 0);

        self.column.clear();
        for difference in differences() {
            put_varint(difference.wrapping_sub(smallest) as u64, &mut self.column);
        }
        let len = self.column.len() as u32;
        out[sizes..sizes + 4].copy_from_slice(&len.to_le_bytes());
        self.put_column(sizes + 4, out);
        for (k, values) in [events.x, events.y].into_iter().enumerate() {
            for (part, shift) in [0, 8].into_iter().enumerate() {
                self.column.clear();
                let bytes = values.iter().map(|value| (value >> shift) as u8);
                self.column.extend(bytes);
                self.put_column(sizes + 8 + 4 * (2 * k + part), out);
            }
        }
        let bits = |p: &[u8]| (0..).zip(p).fold(0, |byte, (k, p)| byte | p << k);
        out.extend(events.p.chunks(8).map(bits));
    }

    /// Appends the column and sets its size in the header.
    fn put_column(&mut self, size: usize, out: &mut Vec<u8>) {
        if self.column.iter().all(|&byte| byte == 0) {
            return;
        }
        self.compressed.clear();
        self.compressed.reserve(self.column.len());
        self.deflate.reset();
        let Self {
            deflate,
            column,
            compressed,
        } = self;
        let ended = deflate.compress_vec(column, compressed, FlushCompress::Finish);
        let is_smaller = matches!(ended, Ok(Deflate::StreamEnd)) && compressed.len() < column.len();
        let (bytes, flag) = match is_smaller {
            true => (compressed, COMPRESSED),
            false => (column, 0),
        };
        out.extend_from_slice(bytes);
        let field = bytes.len() as u32 | flag;
        out[size..size + 4].copy_from_slice(&field.to_le_bytes());
    }
}

/// Decodes blocks, with memory that is used again.
struct Decoder {
    deflate: Decompress,
    column: Vec<u8>,
}

impl Decoder {
    fn new() -> Self {
        Self {
            deflate: Decompress::new(false),
            column: vec![],
        }
    }

    /// Appends the events of the block at the start of `bytes`; gives the bytes that it has.
    ///
    /// # Errors
    /// What is wrong. Columns may have been extended then.
    fn decode(&mut self, bytes: &[u8], out: &mut EventBuffer) -> Result<usize, &'static str> {
        const CUT: &str = "a block is longer than the sample";
        let (header, mut rest) = bytes.split_at_checked(HEADER).ok_or(CUT)?;
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| header[at + k]));
        let i64_at = |at: usize| i64::from_le_bytes(std::array::from_fn(|k| header[at + k]));
        let count = u32_at(0) as usize;
        if !(1..=MAX_EVENTS).contains(&count) {
            return Err("a block does not have 1 to 65,536 events");
        }
        let sizes: [u32; 5] = std::array::from_fn(|k| u32_at(24 + 4 * k));
        let mut parts = [&[][..]; 5];
        for (part, size) in parts.iter_mut().zip(sizes) {
            let size = (size & !COMPRESSED) as usize;
            (*part, rest) = rest.split_at_checked(size).ok_or(CUT)?;
        }
        let (bits, rest) = rest.split_at_checked(count.div_ceil(8)).ok_or(CUT)?;

        let len = u32_at(20) as usize;
        if len > MAX_VARINT * (count - 1) {
            return Err("the times of a block are longer than its events");
        }
        let differences = self.column(parts[0], sizes[0], len)?;
        decode_times(differences, i64_at(4), i64_at(12), count, &mut out.t)
            .ok_or("a block has more or fewer times than events")?;
        for (k, values) in [&mut out.x, &mut out.y].into_iter().enumerate() {
            let start = values.len();
            let low = self.column(parts[1 + 2 * k], sizes[1 + 2 * k], count)?;
            values.extend(low.iter().map(|&byte| u16::from(byte)));
            if !parts[2 + 2 * k].is_empty() {
                let high = self.column(parts[2 + 2 * k], sizes[2 + 2 * k], count)?;
                for (value, &byte) in values[start..].iter_mut().zip(high) {
                    *value |= u16::from(byte) << 8;
                }
            }
        }
        let start = out.p.len();
        out.p.extend(bits.iter().flat_map(|&byte| spread(byte)));
        out.p.truncate(start + count);
        Ok(bytes.len() - rest.len())
    }

    /// The `len` bytes of a column.
    fn column<'a>(
        &'a mut self,
        part: &'a [u8],
        size: u32,
        len: usize,
    ) -> Result<&'a [u8], &'static str> {
        const LENGTH: &str = "a column of a block has another length than its events";
        if size & COMPRESSED == 0 && !part.is_empty() {
            return if part.len() == len {
                Ok(part)
            } else {
                Err(LENGTH)
            };
        }
        self.column.clear();
        self.column.resize(len, 0);
        if !part.is_empty() {
            self.deflate.reset(false);
            let (deflate, column) = (&mut self.deflate, &mut self.column);
            let ended = deflate.decompress(part, column, FlushDecompress::Finish);
            match ended {
                Ok(Deflate::StreamEnd) if deflate.total_out() == len as u64 => {}
                Ok(_) => return Err(LENGTH),
                Err(_) => return Err("the compressed bytes of a block are damaged"),
            }
        }
        Ok(&self.column)
    }
}

/// Appends the events of all blocks.
///
/// # Errors
/// The position of a damaged block, and what is wrong. Columns may have been extended then.
pub(super) fn decode_all(bytes: &[u8], out: &mut EventBuffer) -> Result<(), (usize, &'static str)> {
    let (mut decoder, mut at) = (Decoder::new(), 0);
    while at < bytes.len() {
        let decoded = decoder.decode(&bytes[at..], out);
        at += decoded.map_err(|problem| (at, problem))?;
    }
    Ok(())
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `count` times; `None` if `bytes` are not their differences.
fn decode_times(
    mut bytes: &[u8],
    first: i64,
    smallest: i64,
    count: usize,
    out: &mut Vec<i64>,
) -> Option<()> {
    let (mut time, end) = (first, out.len() + count);
    out.reserve(count);
    out.push(time);
    let mut next = |difference: u64| {
        time = time.wrapping_add(smallest).wrapping_add(difference as i64);
        time
    };
    while out.len() < end {
        // Eight differences of one byte.
        if let Some((eight, rest)) = bytes.split_first_chunk::<8>()
            && u64::from_le_bytes(*eight) & 0x8080_8080_8080_8080 == 0
            && out.len() + 8 <= end
        {
            out.extend(eight.map(|byte| next(u64::from(byte))));
            bytes = rest;
            continue;
        }
        let (mut difference, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = bytes.split_first()?;
            bytes = rest;
            difference |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
            if shift > 63 {
                return None;
            }
        }
        out.push(next(difference));
    }
    bytes.is_empty().then_some(())
}

/// The bits of a byte as bytes, the lowest first.
fn spread(byte: u8) -> [u8; 8] {
    // Byte k keeps bit k; then a byte that is not 0 becomes 1.
    let bits = (u64::from(byte) * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    (((bits + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checksums hide the decoder from damaged bytes of a file, so it is given them here.
    #[test]
    fn damaged_blocks_give_bounded_events_or_an_error() {
        let mut state = 1_u64;
        let mut below = |limit: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % limit.max(1)
        };
        let mut wholes = vec![];
        for count in [1, 7, 300, 5000] {
            let mut events = EventBuffer::default();
            for k in 0..count {
                let x = below(900) as u16;
                events.push((k * k) as i64 * 1000, x, below(3) as u16, k % 5 > 1);
            }
            let mut bytes = vec![];
            Encoder::new().encode(Events::from(&events), &mut bytes);
            wholes.push(bytes);
        }
        let mut decoder = Decoder::new();
        for number in 0..20_000 {
            let mut bytes = wholes[number % wholes.len()].clone();
            for _ in 0..=below(4) {
                let range = [HEADER, bytes.len()][below(2)].min(bytes.len());
                let at = below(range);
                match below(4) {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at, below(256) as u8),
                    2 => bytes[at..]
                        .iter_mut()
                        .take(1 + below(8))
                        .for_each(|byte| *byte = 0xff),
                    _ => bytes[at..]
                        .iter_mut()
                        .take(1)
                        .for_each(|byte| *byte ^= 1 << below(8)),
                }
            }
            let mut events = EventBuffer::default();
            if let Ok(len) = decoder.decode(&bytes, &mut events) {
                assert!(len <= bytes.len());
                assert!((1..=8 * len).contains(&events.len()));
                let lens = [events.x.len(), events.y.len(), events.p.len()];
                assert_eq!(lens, [events.len(); 3]);
            }
        }
    }

    #[test]
    fn the_bits_of_a_byte_become_polarities() {
        for byte in 0..=255_u8 {
            assert_eq!(spread(byte), std::array::from_fn(|k| byte >> k & 1));
        }
    }
}
