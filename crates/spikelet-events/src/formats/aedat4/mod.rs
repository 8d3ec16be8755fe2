//! AEDAT 4: a header, then packets of several streams, which may be compressed.
//!
//! | bytes | |
//! |---|---|
//! | 14 | `#!AER-DAT4.0\r\n` |
//! | u32 n, n | the header, a flatbuffer |
//! | i32, i32 n, n | a packet: stream, size, content; and so on |
//! | | a table of the packets, if the header has its position |
//!
//! The content of a packet of events is one LZ4 or Zstandard frame, or is not compressed. It gives a u32 length and a flatbuffer
//! with the identifier `EVTS`, whose field 0 is a vector of events of 16 bytes: i64 time in microseconds, i16 x, i16 y,
//! u8 polarity, 3 unused. Packets of [`triggers`] are read as well, those of other streams skipped; the table is not needed.
//!
//! Source: docs.inivation.com, AEDAT 4.0.

mod decompressor;
mod encoder;
mod flatbuffer;
mod header;
mod triggers;

use self::decompressor::Decompressor;
use self::flatbuffer::Table;
use self::header::Header;
use super::header_lines::excerpt;
use super::{Decoder, Entry, Input, Open, Output, damaged};
use crate::error::{Error, Result};
use crate::{Format, Sensor};

const NAME: &str = Format::Aedat4.name();
const MAGIC: &[u8] = b"#!AER-DAT4.0\r\n";
const EVENT: usize = 16;

/// The most bytes of a header.
const MAX_HEADER: usize = 16 << 20;

/// Events after which a call ends, so that a block has the events of few packets.
const BLOCK: usize = 1 << 18;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &["aedat4"],
    detect: |start| start.starts_with(b"#!AER-DAT4"),
    open: Open::Stream(|_| Ok(Box::new(Aedat4::default()))),
    encoder: Some(encoder::new),
};

#[derive(Default)]
struct Aedat4 {
    header: Option<Header>,
    /// The bytes of a packet of another stream that come next.
    skip: usize,
    /// Whether all packets were read.
    in_table: bool,
    packets: Decompressor,
}

/// Appends events of 16 bytes.
fn append(bytes: &[u8], out: &mut Output) -> Result<(), String> {
    let (mut records, _) = bytes.as_chunks::<EVENT>();
    // Coordinates are signed: the sign is in their upper byte.
    let is_negative = |record: &[u8; EVENT]| (record[9] | record[11]) & 0x80 != 0;
    let signs = records
        .iter()
        .fold(0, |signs, record| signs | record[9] | record[11]);
    let negative = (signs & 0x80 != 0)
        .then(|| records.iter().position(is_negative))
        .flatten();
    records = &records[..negative.unwrap_or(records.len())];
    let events = &mut out.events;
    let time =
        |&[a, b, c, d, e, f, g, h, ..]: &[u8; EVENT]| i64::from_le_bytes([a, b, c, d, e, f, g, h]);
    events.t.extend(records.iter().map(time));
    events
        .x
        .extend(records.iter().map(|r| u16::from_le_bytes([r[8], r[9]])));
    events
        .y
        .extend(records.iter().map(|r| u16::from_le_bytes([r[10], r[11]])));
    events
        .p
        .extend(records.iter().map(|r| u8::from(r[12] != 0)));
    let Some(negative) = negative else {
        return Ok(());
    };
    let record = &bytes[negative * EVENT..];
    let x = i16::from_le_bytes([record[8], record[9]]);
    let y = i16::from_le_bytes([record[10], record[11]]);
    let number = out.before + out.len() as u64;
    Err(format!(
        "event {number} is outside the sensor: x {x}, y {y}"
    ))
}

/// The header, and the bytes that it has; `None` if more bytes are needed.
fn read_header(input: Input<'_>) -> Result<Option<(Header, usize)>> {
    let bytes = input.bytes;
    let ends = |problem: &str| match input.is_last {
        true => Err(damaged(NAME, bytes.len() as u64, problem)),
        false => Ok(None),
    };
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
        let problem = format!(
            "the file begins with `{}`, not with `#!AER-DAT4.0`",
            excerpt(bytes)
        );
        return Err(damaged(NAME, 0, problem));
    }
    let Some((len, rest)) = bytes
        .get(MAGIC.len()..)
        .and_then(|rest| rest.split_first_chunk())
    else {
        return ends("the file ends before its header");
    };
    let len = u32::from_le_bytes(*len) as usize;
    let offset = MAGIC.len() as u64;
    if len > MAX_HEADER {
        let problem = format!("the header claims {len} bytes; at most {MAX_HEADER} are read");
        return Err(damaged(NAME, offset, problem));
    }
    let Some(header) = rest.get(..len) else {
        return ends("the file ends inside its header");
    };
    let header = Header::parse(header);
    let header = header.map_err(|e| damaged(NAME, offset, format!("the header: {e}")))?;
    Ok(Some((header, MAGIC.len() + 4 + len)))
}

impl Decoder for Aedat4 {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let Some(header) = &self.header else {
            let Some((header, len)) = read_header(input)? else {
                return Ok(0);
            };
            self.header = Some(header);
            return Ok(len);
        };
        let mut at = 0;
        if self.in_table {
            return Ok(input.bytes.len());
        }
        while out.len() < BLOCK {
            let offset = input.position + at as u64;
            let error =
                |problem: String| -> Result<usize, Error> { Err(damaged(NAME, offset, problem)) };
            let rest = &input.bytes[at..];
            let ends = |problem: String| match input.is_last {
                true => error(problem),
                false => Ok(at),
            };
            let skipped = self.skip.min(rest.len());
            if self.skip > 0 {
                if skipped == 0 {
                    return ends(format!(
                        "the file ends inside a packet, of which {} bytes are missing",
                        self.skip
                    ));
                }
                self.skip -= skipped;
                at += skipped;
                continue;
            }
            match header.table {
                Some(table) if offset == table => {
                    self.in_table = true;
                    return Ok(input.bytes.len());
                }
                Some(table) if offset > table => {
                    return error(format!(
                        "a packet reaches into the data table at byte {table}"
                    ));
                }
                None if rest.is_empty() => return Ok(at),
                Some(table) if rest.is_empty() => {
                    return ends(format!(
                        "the file ends before its data table at byte {table}"
                    ));
                }
                _ => {}
            }
            let Some((packet_header, rest)) = rest.split_first_chunk::<8>() else {
                return ends("the file ends inside a packet header".into());
            };
            let [a, b, c, d, e, f, g, h] = *packet_header;
            let stream = i32::from_le_bytes([a, b, c, d]);
            let size = u32::from_le_bytes([e, f, g, h]) as usize;
            if !header.streams.contains(&stream) {
                return error(format!(
                    "a packet of stream {stream}; the header has the streams {:?}",
                    header.streams
                ));
            }
            if size > decompressor::MAX_PACKET {
                return error(format!(
                    "a packet claims {size} bytes; at most {} are read",
                    decompressor::MAX_PACKET
                ));
            }
            let is_trigger = header.triggers.contains(&stream);
            if stream != header.events && !is_trigger {
                self.skip = size;
                at += 8;
                continue;
            }
            let Some(packet) = rest.get(..size) else {
                let here = rest.len();
                return ends(format!(
                    "the file ends inside a packet: it has {here} of the {size} bytes"
                ));
            };
            let content = self.packets.content(header.compression, packet);
            let decoded = content.and_then(|content| match is_trigger {
                true => triggers::append(content, &mut out.triggers),
                false => append(Table::root(content, "EVTS")?.vector(0, EVENT)?, out),
            });
            decoded.or_else(|problem| {
                error(format!("the packet of {size} bytes: {problem}")).map(drop)
            })?;
            at += 8 + size;
        }
        Ok(at)
    }

    fn event_bytes(&self) -> usize {
        EVENT / 2
    }

    fn sensor(&self) -> Option<Sensor> {
        self.header.as_ref()?.sensor
    }
}
