//! Event Stream 2 (`.es`), of Loris and its relatives.
//!
//! `Event Stream`, three bytes of the version, a byte of the type, u16 width and height; then events with times as
//! differences, little-endian:
//!
//! | type | byte c | then |
//! |---|---|---|
//! | 1, DVS | 255: time + 127; 254: nothing; else time + (c >> 1), polarity c & 1 | u16 x, u16 y |
//! | 2, ATIS | upper six bits 1: time + 63 · (c & 3); else time + (c >> 2), exposure c & 1, polarity c >> 1 & 1 | u16 x, u16 y |
//!
//! Exposure events of ATIS are left out. The types 0 (generic: no pixels) and 4 (color: no polarities) are not read.
//!
//! Source: A. Marcireau, the event stream specification, <https://github.com/neuromorphic-paris/event_stream>.

use super::header_lines::excerpt;
use super::{Decoder, Encoder, Entry, Events, Input, Open, Output, Unwritable, damaged};
use crate::error::Result;
use crate::{Fault, Format, Sensor};

const NAME: &str = Format::Es.name();
const MAGIC: &[u8] = b"Event Stream";
const HEADER: usize = 20;
const EVENT: usize = 5;
const DVS: u8 = 1;

/// The longest time between events that is written, as a byte is needed for every 127 µs.
const MAX_GAP: i64 = 3_600_000_000;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &["es"],
    detect: |start| start.starts_with(MAGIC),
    open: Open::Stream(|_| Ok(Box::new(Es::default()))),
    encoder: Some(|options, out| {
        options.check_sensor(Sensor::new(65535, 65535))?;
        let Sensor { width, height } = options.sensor;
        out.extend_from_slice(MAGIC);
        out.extend([2, 0, 0, DVS]);
        out.extend((width as u16).to_le_bytes());
        out.extend((height as u16).to_le_bytes());
        Ok(Box::new(EsEncoder { last: 0 }))
    }),
};

#[derive(Default)]
struct Es {
    header: Option<(Kind, Sensor)>,
    time: i64,
}

#[derive(Clone, Copy)]
enum Kind {
    Dvs,
    Atis,
}

fn read_header(header: &[u8; HEADER]) -> Result<(Kind, Sensor), String> {
    let [major, minor, patch, kind, w0, w1, h0, h1] = *header.last_chunk().unwrap_or(&[0; 8]);
    if !header.starts_with(MAGIC) {
        return Err(format!(
            "the file begins with `{}`, not with `Event Stream`",
            excerpt(header)
        ));
    }
    if major != 2 {
        return Err(format!(
            "the version {major}.{minor}.{patch}; only 2 can be read"
        ));
    }
    let kind = match kind {
        DVS => Kind::Dvs,
        2 => Kind::Atis,
        0 => return Err("the type 0 (generic), whose events have no pixels".into()),
        4 => return Err("the type 4 (color), whose events have no polarities".into()),
        other => {
            return Err(format!(
                "the type {other}; 1 (DVS) and 2 (ATIS) can be read"
            ));
        }
    };
    let [width, height] = [[w0, w1], [h0, h1]].map(|size| u32::from(u16::from_le_bytes(size)));
    Ok((kind, Sensor::new(width, height)))
}

impl Decoder for Es {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let Some((kind, _)) = self.header else {
            let Some(header) = input.bytes.first_chunk() else {
                // A generic stream may be shorter than the header of the others; so may a file of another format.
                let problem = format!("the file ends inside its header of {HEADER} bytes");
                return match input.is_last {
                    true => Err(damaged(NAME, 0, problem)),
                    false => Ok(0),
                };
            };
            let header = read_header(header).map_err(|problem| damaged(NAME, 0, problem))?;
            self.header = Some(header);
            return Ok(HEADER);
        };
        let whole = match kind {
            Kind::Dvs => self.dvs(input.bytes, out),
            Kind::Atis => self.atis(input.bytes, out),
        };
        input.check_end(NAME, EVENT, whole)?;
        Ok(whole)
    }

    fn sensor(&self) -> Option<Sensor> {
        self.header.map(|(_, sensor)| sensor)
    }
}

impl Es {
    fn dvs(&mut self, bytes: &[u8], out: &mut Output) -> usize {
        out.events.reserve(bytes.len() / EVENT);
        let mut rest = bytes;
        while let Some((&c, after)) = rest.split_first() {
            if c >= 0xfe {
                self.time += if c == 0xff { 127 } else { 0 };
                rest = after;
            } else if let Some((&[_, x0, x1, y0, y1], after)) = rest.split_first_chunk() {
                self.time += i64::from(c >> 1);
                let [x, y] = [[x0, x1], [y0, y1]].map(u16::from_le_bytes);
                out.events.push(self.time, x, y, c & 1 == 1);
                rest = after;
            } else {
                break;
            }
        }
        bytes.len() - rest.len()
    }

    fn atis(&mut self, bytes: &[u8], out: &mut Output) -> usize {
        let mut exposures = 0;
        let mut rest = bytes;
        while let Some((&c, after)) = rest.split_first() {
            if c >= 0xfc {
                self.time += 63 * i64::from(c & 3);
                rest = after;
            } else if let Some((&[_, x0, x1, y0, y1], after)) = rest.split_first_chunk() {
                self.time += i64::from(c >> 2);
                let [x, y] = [[x0, x1], [y0, y1]].map(u16::from_le_bytes);
                match c & 1 {
                    0 => out.events.push(self.time, x, y, c & 2 != 0),
                    _ => exposures += 1,
                }
                rest = after;
            } else {
                break;
            }
        }
        out.faults.add(Fault::OtherRecords, exposures);
        bytes.len() - rest.len()
    }
}

/// Writes DVS events.
struct EsEncoder {
    last: i64,
}

impl Encoder for EsEncoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        for (at, (t, x, y, p)) in events.iter().enumerate() {
            let last = self.last;
            let gap = t
                .checked_sub(last)
                .filter(|gap| (0..=MAX_GAP).contains(gap));
            let Some(gap) = gap else {
                let problem =
                    format!("time {t} is not 0 … {MAX_GAP} µs after {last}, the time before it");
                return Err(match last {
                    0 => Unwritable::time(at, problem),
                    _ => Unwritable::value(at, problem),
                });
            };
            let (overflows, rest) = (gap / 127, gap % 127);
            out.resize(out.len() + overflows as usize, 0xff);
            out.push((rest as u8) << 1 | p);
            out.extend(x.to_le_bytes());
            out.extend(y.to_le_bytes());
            self.last = t;
        }
        Ok(())
    }
}
