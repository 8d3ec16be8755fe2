//! EVT2: RAW files of 32-bit words, type in bits 31–28.
//!
//! | type | | bits |
//! |---|---|---|
//! | 0, 1 | OFF, ON event | 27–22 time, bits 5–0; 21–11 x; 10–0 y |
//! | 8 | EVT_TIME_HIGH | 27–0 time, bits 33–6 |
//! | 10 | trigger | 27–22 time, bits 5–0; 12–8 input; 0 level |
//! | 13, 14, 15 | IMU, others, continued | skipped |
//!
//! Events before the first EVT_TIME_HIGH have no time and are left out; so are words of other types.
//!
//! Source: docs.prophesee.ai, *EVT 2.0 Format*.

use super::evt::{Raw, Time, Words};
use super::{Encoder, Entry, Events, Open, Output, Unwritable, prophesee};
use crate::error::Result;
use crate::{EventBuffer, Fault, Format, Trigger, WriteOptions};

const NAME: &str = Format::Evt2.name();

pub(crate) const ENTRY: Entry = Entry {
    extensions: &[],
    detect: |start| prophesee::is_raw(start, NAME),
    encoder: Some(new_encoder),
    open: Open::Stream(|options| Ok(Box::new(Raw::<Evt2, 4>::new(options)))),
};

#[derive(Default)]
struct Evt2 {
    time: Time,
}

impl Words<4> for Evt2 {
    const NAME: &'static str = NAME;

    fn decode(&mut self, mut words: &[[u8; 4]], out: &mut Output) {
        let is_event = |word: &[u8; 4]| word[3] >> 4 <= 1;
        // The events between two other words are decoded column by column.
        while !words.is_empty() {
            let other = words.iter().position(|word| !is_event(word));
            let (events, rest) = words.split_at(other.unwrap_or(words.len()));
            match self.time.base {
                Some(base) => append(events, base, &mut out.events),
                None => out.faults.add(Fault::EventsBeforeTime, events.len() as u64),
            }
            words = rest;
            if let Some((&word, rest)) = rest.split_first() {
                words = rest;
                other_word(u32::from_le_bytes(word), &mut self.time, out);
            }
        }
    }

    fn has_time(&self) -> bool {
        self.time.base.is_some()
    }
}

/// Takes a word that is no event; EVT2.1 has the same in its upper half.
pub(super) fn other_word(word: u32, time: &mut Time, out: &mut Output) {
    match (word >> 28, time.base) {
        (8, _) => time.set(word & 0xfff_ffff),
        (10, Some(base)) => out.triggers.push(Trigger {
            t: base + low_time(word),
            id: (word >> 8 & 0x1f) as u16,
            value: (word & 1) as u8,
        }),
        (10 | 13..=15, _) => {}
        _ => out.faults.add(Fault::UnknownWords, 1),
    }
}

/// The lower bits of the time of an event.
pub(super) fn low_time(word: u32) -> i64 {
    i64::from(word >> 22 & 0x3f)
}

fn append(words: &[[u8; 4]], base: i64, events: &mut EventBuffer) {
    let words = words.iter().map(|&word| u32::from_le_bytes(word));
    events
        .t
        .extend(words.clone().map(|word| base + low_time(word)));
    events
        .x
        .extend(words.clone().map(|word| (word >> 11 & 0x7ff) as u16));
    events
        .y
        .extend(words.clone().map(|word| (word & 0x7ff) as u16));
    events.p.extend(words.map(|word| (word >> 28) as u8));
}

fn new_encoder(options: &WriteOptions, bytes: &mut Vec<u8>) -> Result<Box<dyn Encoder>> {
    prophesee::write_header(options, "EVT2", bytes)?;
    Ok(Box::new(Evt2Encoder { high: None }))
}

struct Evt2Encoder {
    /// The last EVT_TIME_HIGH.
    high: Option<u32>,
}

impl Encoder for Evt2Encoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        out.reserve(events.t.len() * 4);
        for (at, (t, x, y, p)) in events.iter().enumerate() {
            if !(0..1 << 34).contains(&t) {
                let problem = format!("time {t} is not in 0 … 2³⁴ − 1 µs, the 34 bits that it has");
                return Err(Unwritable::time(at, problem));
            }
            let high = (t >> 6) as u32;
            if self.high != Some(high) {
                // A reader takes a fall by more than half the range as a wrap of the time.
                if self
                    .high
                    .is_some_and(|before| before.saturating_sub(high) > 1 << 27)
                {
                    let problem = format!("time {t} is more than 2³³ µs before the last");
                    return Err(Unwritable::value(at, problem));
                }
                self.high = Some(high);
                out.extend((8 << 28 | high).to_le_bytes());
            }
            let (x, y, p) = (u32::from(x), u32::from(y), u32::from(p));
            let word = p << 28 | (t as u32 & 0x3f) << 22 | x << 11 | y;
            out.extend(word.to_le_bytes());
        }
        Ok(())
    }
}
