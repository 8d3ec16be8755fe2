//! DAT: decoded events of Prophesee's cameras, of N-CARS, Gen1 and 1 Mpx.
//!
//! A header of lines `% key value`, a byte for the type of the events (0 or 12: events, 14: triggers), a byte for their
//! size (8), then little-endian words of 64 bits. Bits 31–0 are the time in microseconds; the upper half has
//!
//! | | x | y | polarity |
//! |---|---|---|---|
//! | version 2 | bits 13–0 | bits 27–14 | bits 31–28 |
//! | version 1 | bits 8–0 | bits 16–9 | bit 17 |
//! | triggers | | 12–8 input | bit 0 level |
//!
//! The time exceeds 32 bits after 71.6 min: a fall by more than 3 · 2³⁰ µs is taken as that, a smaller one stays. A file
//! without a header has no type and size either, and events of version 2.
//!
//! Source: docs.prophesee.ai, *DAT File Format*; the reader of Prophesee's automotive data sets for version 1 and
//! files without a header.

use super::clock::Clock;
use super::prophesee::{Header, check_size, invalid, is_dat};
use super::{Decoder, Encoder, Entry, Events, Input, Open, Output, Unwritable, damaged};
use crate::error::Result;
use crate::{EventBuffer, Format, Options, Sensor, Trigger, WriteOptions};

const NAME: &str = Format::Dat.name();
const RECORD: usize = 8;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &[],
    detect: is_dat,
    encoder: Some(new_encoder),
    open: Open::Stream(|options| Ok(Box::new(Dat::new(options)))),
};

/// What the records are.
#[derive(Clone, Copy)]
enum Records {
    Version1,
    Version2,
    Triggers,
}

struct Dat {
    sensor: Option<Sensor>,
    /// The records, once the header was decoded.
    records: Option<Records>,
    clock: Clock,
}

impl Dat {
    fn new(options: &Options) -> Self {
        Self {
            sensor: options.sensor,
            records: None,
            clock: Clock::default(),
        }
    }

    /// The records that the header announces, and the number of bytes before them; `None` if more bytes are needed.
    fn parse_header(&mut self, input: Input<'_>) -> Result<Option<(Records, usize)>> {
        let Some(header) = Header::parse(NAME, input)? else {
            return Ok(None);
        };
        if header.len == 0 {
            return Ok(Some((Records::Version2, 0)));
        }
        let number = |key| header.number(NAME, key);
        if let Some((width, height)) = number("Width")?.zip(number("Height")?) {
            let sensor = check_size(NAME, Sensor::new(width, height))?;
            self.sensor.get_or_insert(sensor);
        }
        let events = match number("Version")?.unwrap_or(2) {
            1 => Records::Version1,
            2 => Records::Version2,
            version => {
                let problem = format!("version {version}; 1 and 2 are known");
                return Err(invalid(NAME, problem));
            }
        };
        let end = header.len as u64;
        let records = match (input.bytes[header.len..].get(..2), input.is_last) {
            (Some(&[_, size]), _) if usize::from(size) != RECORD => {
                let problem = format!("events of {size} bytes; {RECORD} bytes are expected");
                return Err(damaged(NAME, end + 1, problem));
            }
            (Some([0x00 | 0x0c, _]), _) => events,
            (Some([0x0e, _]), _) => Records::Triggers,
            (Some(&[kind, ..]), _) => {
                let problem = format!(
                    "events of type {kind:#04x}; 0x00 and 0x0c (events) and 0x0e (triggers) are known"
                );
                return Err(damaged(NAME, end, problem));
            }
            (_, true) => {
                let problem = "the file ends before the type and the size of the events";
                return Err(damaged(NAME, end, problem));
            }
            (_, false) => return Ok(None),
        };
        Ok(Some((records, header.len + 2)))
    }

    fn append(&mut self, kind: Records, records: &[[u8; RECORD]], out: &mut Output) {
        let words = records.iter().map(|&record| u64::from_le_bytes(record));
        let times = words.clone().map(|word| word as u32);
        let values = words.map(|word| (word >> 32) as u32);
        let EventBuffer { t, x, y, p } = &mut out.events;
        match kind {
            Records::Version2 => {
                self.clock.extend(times, t);
                x.extend(values.clone().map(|value| (value & 0x3fff) as u16));
                y.extend(values.clone().map(|value| (value >> 14 & 0x3fff) as u16));
                p.extend(values.map(|value| u8::from(value >> 28 != 0)));
            }
            Records::Version1 => {
                self.clock.extend(times, t);
                x.extend(values.clone().map(|value| (value & 0x1ff) as u16));
                y.extend(values.clone().map(|value| (value >> 9 & 0xff) as u16));
                p.extend(values.map(|value| (value >> 17 & 1) as u8));
            }
            Records::Triggers => {
                let mut wide = Vec::with_capacity(records.len());
                self.clock.extend(times, &mut wide);
                let triggers = wide.into_iter().zip(values);
                out.triggers.extend(triggers.map(|(t, value)| Trigger {
                    t,
                    id: (value >> 8 & 0x1f) as u16,
                    value: (value & 1) as u8,
                }));
            }
        }
    }
}

impl Decoder for Dat {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let (kind, start) = match self.records {
            Some(records) => (records, 0),
            None => match self.parse_header(input)? {
                Some(header) => header,
                None => return Ok(0),
            },
        };
        self.records = Some(kind);
        let (records, _) = input.bytes[start..].as_chunks::<RECORD>();
        self.append(kind, records, out);
        let whole = start + records.len() * RECORD;
        input.check_end(NAME, RECORD, whole)?;
        Ok(whole)
    }

    fn event_bytes(&self) -> usize {
        RECORD
    }

    fn sensor(&self) -> Option<Sensor> {
        self.sensor
    }
}

/// The largest sensor: 14 bits for each coordinate.
const LIMIT: Sensor = Sensor::new(1 << 14, 1 << 14);

fn new_encoder(options: &WriteOptions, bytes: &mut Vec<u8>) -> Result<Box<dyn Encoder>> {
    options.check_sensor(LIMIT)?;
    let Sensor { width, height } = options.sensor;
    let header = format!(
        "% Data file containing CD events\n% Version 2\n% Width {width}\n% Height {height}\n% end\n"
    );
    bytes.extend(header.as_bytes());
    bytes.extend([0x0c, RECORD as u8]);
    Ok(Box::new(DatEncoder))
}

struct DatEncoder;

impl Encoder for DatEncoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        out.reserve(events.t.len() * RECORD);
        for (at, (t, x, y, p)) in events.iter().enumerate() {
            let time = u32::try_from(t).map_err(|_| {
                let range = "0 … 4294967295 µs, the 32 bits that it has";
                Unwritable::time(at, format!("time {t} is not in {range}"))
            })?;
            let pixel = u32::from(x) | u32::from(y) << 14 | u32::from(p) << 28;
            out.extend(time.to_le_bytes());
            out.extend(pixel.to_le_bytes());
        }
        Ok(())
    }
}
