//! ATIS: records of 5 bytes without a header, of N-MNIST and N-Caltech101.
//!
//! | bits | |
//! |---|---|
//! | byte 0 | x |
//! | byte 1 | y |
//! | byte 2, bit 7 | polarity, 1 = ON |
//! | byte 2, bits 6–0, bytes 3 and 4 | time in microseconds, 23 bits, big-endian |
//!
//! A record with y = 240 is no event: it and all later records are 8,192 µs later than their time says. Neither data set
//! has such a row.
//!
//! Source: G. Orchard et al., Converting static image datasets to spiking neuromorphic datasets using saccades, 2015, and
//! the reader of <https://github.com/gorchard/event-Python>.

use super::{Decoder, Encoder, Entry, Events, Input, Open, Output, Unwritable};
use crate::error::Result;
use crate::{EventBuffer, Fault, Format};

const NAME: &str = Format::Atis.name();
const RECORD: usize = 5;
const OVERFLOW_ROW: u8 = 240;
const OVERFLOW: i64 = 1 << 13;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &["bin"],
    detect: |_| false,
    open: Open::Stream(|_| Ok(Box::new(Atis::default()))),
    encoder: Some(|_, _| Ok(Box::new(AtisEncoder))),
};

#[derive(Default)]
struct Atis {
    /// The time of all overflow records so far.
    overflow: i64,
}

impl Decoder for Atis {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let (records, _) = input.bytes.as_chunks::<RECORD>();
        let mut overflows = 0;
        // Overflow records are rare: the records between them are decoded column by column.
        for piece in records.split_inclusive(|record| record[1] == OVERFLOW_ROW) {
            match piece.split_last() {
                Some((last, before)) if last[1] == OVERFLOW_ROW => {
                    append(before, self.overflow, &mut out.events);
                    self.overflow += OVERFLOW;
                    overflows += 1;
                }
                _ => append(piece, self.overflow, &mut out.events),
            }
        }
        out.faults.add(Fault::OverflowRecords, overflows);
        let whole = records.len() * RECORD;
        input.check_end(NAME, RECORD, whole)?;
        Ok(whole)
    }
}

/// Appends records, none of which is an overflow record.
fn append(records: &[[u8; RECORD]], overflow: i64, events: &mut EventBuffer) {
    let time = |[_, _, high, middle, low]: &[u8; RECORD]| {
        overflow + i64::from(u32::from_be_bytes([0, high & 0x7f, *middle, *low]))
    };
    events.t.extend(records.iter().map(time));
    events
        .x
        .extend(records.iter().map(|record| u16::from(record[0])));
    events
        .y
        .extend(records.iter().map(|record| u16::from(record[1])));
    events.p.extend(records.iter().map(|record| record[2] >> 7));
}

struct AtisEncoder;

impl Encoder for AtisEncoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        out.reserve(events.t.len() * RECORD);
        for (at, (t, x, y, p)) in events.iter().enumerate() {
            let unwritable = |problem| Unwritable::value(at, problem);
            let x = u8::try_from(x).map_err(|_| unwritable(format!("x {x} > 255")))?;
            let y = u8::try_from(y).map_err(|_| unwritable(format!("y {y} > 255")))?;
            if y == OVERFLOW_ROW {
                let problem = "y 240, which marks an overflow of the time".to_string();
                return Err(unwritable(problem));
            }
            if !(0..1 << 23).contains(&t) {
                let problem = format!("time {t} is not in 0 … 8388607 µs, the 23 bits that it has");
                return Err(Unwritable::time(at, problem));
            }
            let [.., high, middle, low] = t.to_be_bytes();
            out.extend([x, y, p << 7 | high, middle, low]);
        }
        Ok(())
    }
}
