//! AEDAT 3.0 and 3.1: a header of `#` lines, then packets, little-endian. DVS128 Gesture has it.
//!
//! A packet has a header of 28 bytes and `capacity` slots of `size` bytes, of which the first `number` are events:
//!
//! | bytes | type | |
//! |---|---|---|
//! | 0 | i16 | type of the events: 1 polarity; the others are skipped |
//! | 2 | i16 | source |
//! | 4 | i32 | size of an event |
//! | 8 | i32 | position of the time in an event |
//! | 12 | i32 | overflows of the time |
//! | 16, 20, 24 | i32 | capacity, number, number of valid events |
//!
//! A polarity event has 8 bytes: u32 with valid (bit 0), polarity (bit 1), y (bits 16–2), x (bits 31–17), then the lower 31
//! bits of the time in microseconds. Invalid events are left out. Version 3.1 ends its header with `#!END-HEADER` and has row 0
//! at the top, 3.0 at the bottom; rows are given as they are.
//!
//! Source: docs.inivation.com, AEDAT 3.0 and 3.1; libcaer's `events/polarity.h`.

use super::header_lines::{HeaderLine, excerpt, header_line, sensor_of};
use super::{Decoder, Entry, Input, Open, Output, damaged};
use crate::error::Result;
use crate::{EventBuffer, Fault, Format, Sensor};

const NAME: &str = Format::Aedat3.name();
const VERSIONS: [&str; 2] = ["#!AER-DAT3.1", "#!AER-DAT3.0"];
const END: &str = "#!END-HEADER";
const POLARITY: i16 = 1;
const PACKET_HEADER: usize = 28;
const EVENT: usize = 8;

pub(crate) const ENTRY: Entry = Entry {
    // `.aedat` is also that of versions 1 and 2: the first line tells them apart.
    extensions: &[],
    detect: |start| start.starts_with(b"#!AER-DAT3"),
    open: Open::Stream(|_| Ok(Box::new(Aedat3::default()))),
    encoder: None,
};

#[derive(Default)]
struct Aedat3 {
    part: Part,
    /// The number of header lines.
    lines: usize,
    needs_end: bool,
    /// The size of the sensor, if there is one source.
    sources: Vec<Option<Sensor>>,
}

/// The part of the file that comes next.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    Header,
    PacketHeader,
    Events(Packet),
    /// Bytes of no interest, and those of the packet in all.
    Skip {
        left: u64,
        packet: Packet,
    },
}

/// A packet of events.
#[derive(Clone, Copy)]
struct Packet {
    size: u64,
    overflow: i64,
    number: u64,
    capacity: u64,
    /// Events that were not decoded yet.
    left: u64,
}

impl Aedat3 {
    /// Reads a header line; true at the end of the header.
    fn line(&mut self, line: &str, offset: u64) -> Result<bool> {
        let damaged = |problem| Err(damaged(NAME, offset, problem));
        self.lines += 1;
        if self.lines == 1 {
            if !VERSIONS.contains(&line) {
                let line = excerpt(line.as_bytes());
                return damaged(format!(
                    "the version line is `{line}`; 3.0 and 3.1 can be read"
                ));
            }
            self.needs_end = line == VERSIONS[0];
        } else if let Some(format) = line.strip_prefix("#Format:") {
            let format = format.trim();
            if format != "RAW" {
                let format = excerpt(format.as_bytes());
                return damaged(format!(
                    "the packets have the format `{format}`; only RAW can be read"
                ));
            }
        } else if let Some((_, name)) = line
            .strip_prefix("#Source ")
            .and_then(|l| l.split_once(':'))
        {
            self.sources.push(sensor_of(name));
        }
        Ok(line == END)
    }

    fn packet_header(&self, header: &[u8; PACKET_HEADER], offset: u64) -> Result<Part> {
        let damaged = |problem| Err(damaged(NAME, offset, problem));
        let word = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            i32::from_le_bytes(bytes)
        };
        let kind = i16::from_le_bytes([header[0], header[1]]);
        let [size, overflow, capacity, number] = [4, 12, 16, 20].map(word);
        let (Ok(of_size), Ok(slots), Ok(used)) = (
            u64::try_from(size),
            u64::try_from(capacity),
            u64::try_from(number),
        ) else {
            return damaged(format!(
                "a packet with a negative count: event size {size}, capacity {capacity}, number {number}"
            ));
        };
        if of_size == 0 {
            return damaged("a packet with events of size 0".into());
        }
        if used > slots {
            return damaged(format!(
                "a packet of {number} events, above its capacity of {capacity}"
            ));
        }
        let packet = Packet {
            size: of_size,
            overflow: i64::from(overflow) << 31,
            number: used,
            capacity: slots,
            left: used,
        };
        if kind != POLARITY {
            let left = of_size * slots;
            return Ok(Part::Skip { left, packet });
        }
        if of_size != EVENT as u64 {
            return damaged(format!(
                "polarity events of {size} bytes; they have {EVENT}"
            ));
        }
        if overflow < 0 {
            return damaged(format!("a packet with {overflow} overflows of the time"));
        }
        Ok(Part::Events(packet))
    }

    /// The error of a file that ends in this part.
    fn check_end(&self, input: Input<'_>, at: usize) -> Result<()> {
        let rest = input.bytes.len() - at;
        let problem = match self.part {
            Part::Header => format!("the header never ends: there is no line `{END}`"),
            Part::PacketHeader if rest == 0 => return Ok(()),
            Part::PacketHeader => {
                format!(
                    "the file ends inside a packet header: it has {rest} of the {PACKET_HEADER} bytes"
                )
            }
            Part::Events(packet) => {
                let unused = (packet.capacity - packet.number) * packet.size;
                packet.ends_early(packet.left * packet.size + unused - rest as u64)
            }
            Part::Skip { left, packet } => packet.ends_early(left),
        };
        Err(damaged(NAME, input.position + at as u64, problem))
    }
}

impl Packet {
    fn ends_early(&self, missing: u64) -> String {
        let bytes = self.capacity * self.size;
        format!(
            "the file ends inside a packet of {} events: it has {} of the {bytes} bytes",
            self.capacity,
            bytes - missing,
        )
    }
}

impl Decoder for Aedat3 {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let mut at = 0;
        loop {
            let rest = &input.bytes[at..];
            let offset = input.position + at as u64;
            match self.part {
                Part::Header => match header_line(NAME, input, at)? {
                    HeaderLine::Line(line, next) => {
                        if self.line(&line, offset)? {
                            self.part = Part::PacketHeader;
                        }
                        at = next;
                    }
                    HeaderLine::End if self.lines == 0 => {
                        let start = excerpt(rest);
                        let problem =
                            format!("the file begins with `{start}`, not with `{}`", VERSIONS[0]);
                        return Err(damaged(NAME, offset, problem));
                    }
                    HeaderLine::End if self.needs_end => {
                        let problem = format!("the header never ends: there is no line `{END}`");
                        return Err(damaged(NAME, offset, problem));
                    }
                    HeaderLine::End => self.part = Part::PacketHeader,
                    HeaderLine::Incomplete => break,
                },
                Part::PacketHeader => {
                    let Some(header) = rest.first_chunk() else {
                        break;
                    };
                    self.part = self.packet_header(header, offset)?;
                    if let Part::Skip { packet, .. } = self.part {
                        out.faults.add(Fault::OtherRecords, packet.number);
                    }
                    at += PACKET_HEADER;
                }
                Part::Events(mut packet) => {
                    let (events, _) = rest.as_chunks::<EVENT>();
                    let here = packet.left.min(events.len() as u64);
                    let events = &events[..here as usize];
                    append(events, packet.overflow, out);
                    at += events.len() * EVENT;
                    packet.left -= here;
                    self.part = Part::Events(packet);
                    if packet.left > 0 {
                        break;
                    }
                    let left = (packet.capacity - packet.number) * packet.size;
                    self.part = Part::Skip { left, packet };
                }
                Part::Skip { left, packet } => {
                    let here = left.min(rest.len() as u64);
                    at += here as usize;
                    let left = left - here;
                    self.part = Part::Skip { left, packet };
                    if left > 0 {
                        break;
                    }
                    self.part = Part::PacketHeader;
                }
            }
        }
        if input.is_last {
            self.check_end(input, at)?;
        }
        Ok(at)
    }

    fn event_bytes(&self) -> usize {
        EVENT
    }

    fn sensor(&self) -> Option<Sensor> {
        match self.sources[..] {
            [sensor] => sensor,
            _ => None,
        }
    }
}

/// Appends the valid events.
fn append(records: &[[u8; EVENT]], overflow: i64, out: &mut Output) {
    let before = out.events.len();
    // Invalid events are rare: the events between them are decoded column by column.
    for piece in records.split(|record| record[0] & 1 == 0) {
        append_valid(piece, overflow, &mut out.events);
    }
    let valid = out.events.len() - before;
    let invalid = (records.len() - valid) as u64;
    out.faults.add(Fault::InvalidEvents, invalid);
}

fn append_valid(records: &[[u8; EVENT]], overflow: i64, events: &mut EventBuffer) {
    let data = records
        .iter()
        .map(|&[a, b, c, d, ..]| u32::from_le_bytes([a, b, c, d]));
    let time = records
        .iter()
        .map(|&[.., a, b, c, d]| u32::from_le_bytes([a, b, c, d]));
    events.t.extend(time.map(|time| overflow | i64::from(time)));
    events
        .x
        .extend(data.clone().map(|data| (data >> 17) as u16));
    events
        .y
        .extend(data.clone().map(|data| (data >> 2 & 0x7fff) as u16));
    events.p.extend(data.map(|data| (data >> 1 & 1) as u8));
}
