//! EVT2.1: RAW files of 64-bit words, whose upper half is a word of EVT2 and whose lower half has a bit for each of 32
//! neighboring pixels, from x to the right.
//!
//! With `endianness=legacy` in the header, or without `endianness`, the two halves are swapped.
//!
//! Source: docs.prophesee.ai, *EVT 2.1 Format*; OpenEB's decoder for the halves.

use super::evt::{Raw, Time, Words};
use super::evt2::{low_time, other_word};
use super::prophesee::{self, Header};
use super::{Entry, Open, Output};
use crate::{Fault, Format, Sensor};

const NAME: &str = Format::Evt21.name();

pub(crate) const ENTRY: Entry = Entry {
    extensions: &[],
    detect: |start| prophesee::is_raw(start, NAME),
    encoder: None,
    open: Open::Stream(|options| Ok(Box::new(Raw::<Evt21, 8>::new(options)))),
};

#[derive(Default)]
struct Evt21 {
    time: Time,
    is_little_endian: bool,
}

impl Words<8> for Evt21 {
    const NAME: &'static str = NAME;

    fn start(&mut self, header: &Header, _sensor: Option<Sensor>) {
        let endianness = header
            .property("endianness")
            .or_else(|| header.value("endianness"));
        self.is_little_endian = endianness == Some("little");
    }

    fn decode(&mut self, words: &[[u8; 8]], out: &mut Output) {
        let rotate = if self.is_little_endian { 0 } else { 32 };
        for &word in words {
            let word = u64::from_le_bytes(word).rotate_left(rotate);
            let (group, mut pixels) = ((word >> 32) as u32, word as u32);
            if group >> 28 > 1 {
                other_word(group, &mut self.time, out);
                continue;
            }
            let Some(base) = self.time.base else {
                let events = u64::from(pixels.count_ones());
                out.faults.add(Fault::EventsBeforeTime, events);
                continue;
            };
            let (t, is_on) = (base + low_time(group), group >> 28 == 1);
            let (x, y) = ((group >> 11 & 0x7ff) as u16, (group & 0x7ff) as u16);
            while pixels != 0 {
                out.events
                    .push(t, x + pixels.trailing_zeros() as u16, y, is_on);
                pixels &= pixels - 1;
            }
        }
    }

    fn has_time(&self) -> bool {
        self.time.base.is_some()
    }
}
