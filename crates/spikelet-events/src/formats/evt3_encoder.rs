//! EVT3 is written: a word for each change of the time and the row, and one for up to 12 events of a row.
//!
//! Three or more events of a time, a row and a polarity in 12 pixels, in order, become a vector.

use super::{Encoder, Events, Unwritable, prophesee};
use crate::WriteOptions;
use crate::error::Result;

/// The range of EVT_TIME_HIGH, and the fall that readers take as the end of a range.
const RANGE: i64 = 1 << 12;
const FALL: i64 = RANGE / 2;

/// The time after the last. A range of 24 bits has two words even without events, so pauses cannot be of any length.
const TIME_END: i64 = 1 << 34;

/// The pixels of a vector.
const PIXELS: u16 = 12;

/// The least events for which a vector, which has two words, is shorter.
const LEAST: usize = 3;

pub(super) fn new_encoder(options: &WriteOptions, bytes: &mut Vec<u8>) -> Result<Box<dyn Encoder>> {
    prophesee::write_header(options, "EVT3", bytes)?;
    Ok(Box::new(Evt3Encoder {
        time: None,
        y: None,
    }))
}

struct Evt3Encoder {
    /// The time of the last word.
    time: Option<i64>,
    /// The row of the last word.
    y: Option<u16>,
}

fn word(kind: u16, value: u16, out: &mut Vec<u8>) {
    out.extend((kind << 12 | value).to_le_bytes());
}

impl Encoder for Evt3Encoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let Events { t, x, y, p } = events;
        out.reserve(t.len() * 2);
        let mut at = 0;
        while at < t.len() {
            if self.time != Some(t[at]) {
                self.set_time(t[at], at, out)?;
            }
            if self.y != Some(y[at]) {
                word(0, y[at], out);
                self.y = Some(y[at]);
            }
            let is_same = |k: usize| (t[k], y[k], p[k]) == (t[at], y[at], p[at]);
            // The events of the vector whose first pixel is `base`, from `first` on.
            let vector = |base: u16, first: usize| {
                let (mut pixels, mut end) = (0_u16, first);
                while end < t.len()
                    && is_same(end)
                    && (base..base + PIXELS).contains(&x[end])
                    && pixels >> (x[end] - base) == 0
                {
                    pixels |= 1 << (x[end] - base);
                    end += 1;
                }
                (pixels, end)
            };
            let polarity = u16::from(p[at]) << 11;
            let (mut pixels, mut end) = vector(x[at], at);
            if end - at < LEAST {
                word(2, polarity | x[at], out);
                at += 1;
                continue;
            }
            word(3, polarity | x[at], out);
            let (mut base, mut first) = (x[at], at);
            while end > first {
                word(4, pixels, out);
                base += PIXELS;
                first = end;
                (pixels, end) = vector(base, first);
            }
            at = end;
        }
        Ok(())
    }
}

impl Evt3Encoder {
    /// Appends the words of the time of the event `at`.
    fn set_time(&mut self, t: i64, at: usize, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        if !(0..TIME_END).contains(&t) {
            let problem = format!("time {t} is not in 0 … 2³⁴ − 1 µs, the times that are written");
            return Err(Unwritable::time(at, problem));
        }
        let target = t >> 12;
        let mut high = self.time.map_or(0, |time| time >> 12);
        if high / RANGE > target / RANGE || high - target >= FALL {
            let problem = format!(
                "time {t} is more than 8.38 s before the last, or before the last multiple of 2²⁴ µs"
            );
            return Err(Unwritable::value(at, problem));
        }
        let mut high_time = |high: i64| word(8, (high % RANGE) as u16, out);
        if self.time.is_none() {
            high_time(0);
        }
        while high / RANGE < target / RANGE {
            // Readers count a range when the value falls far enough.
            if high % RANGE < FALL {
                high_time(RANGE - 1);
            }
            high_time(0);
            high = (high / RANGE + 1) * RANGE;
        }
        if high != target {
            high_time(target);
        }
        word(6, (t & 0xfff) as u16, out);
        self.time = Some(t);
        Ok(())
    }
}
