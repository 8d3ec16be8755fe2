//! The parts that EVT2, EVT2.1 and EVT3, the encodings of Prophesee's RAW files, have in common: a header, then
//! little-endian words.

use super::prophesee::Header;
use super::{Decoder, Input, Output};
use crate::error::Result;
use crate::{Fault, Options, Sensor};

/// An encoding of words of `SIZE` bytes.
pub(super) trait Words<const SIZE: usize>: Send {
    /// The name of the format.
    const NAME: &'static str;

    /// Takes what the header says.
    fn start(&mut self, _header: &Header, _sensor: Option<Sensor>) {}

    /// Appends the events of words.
    fn decode(&mut self, words: &[[u8; SIZE]], out: &mut Output);

    /// Whether a word has given the upper bits of the time.
    fn has_time(&self) -> bool;
}

/// The decoder of a RAW file.
pub(super) struct Raw<W, const SIZE: usize> {
    sensor: Option<Sensor>,
    has_header: bool,
    words: W,
}

impl<W: Words<SIZE> + Default, const SIZE: usize> Raw<W, SIZE> {
    pub fn new(options: &Options) -> Self {
        Self {
            sensor: options.sensor,
            has_header: false,
            words: W::default(),
        }
    }
}

impl<W: Words<SIZE>, const SIZE: usize> Decoder for Raw<W, SIZE> {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let mut start = 0;
        if !self.has_header {
            let Some(header) = Header::parse(W::NAME, input)? else {
                return Ok(0);
            };
            header.check_encoding(W::NAME)?;
            let sensor = header.raw_sensor(W::NAME)?;
            self.sensor = self.sensor.or(sensor);
            self.words.start(&header, self.sensor);
            self.has_header = true;
            start = header.len;
        }
        let (words, _) = input.bytes[start..].as_chunks();
        self.words.decode(words, out);
        let whole = start + words.len() * SIZE;
        let lost = out.faults.count(Fault::EventsBeforeTime);
        if input.is_last && lost > 0 && !self.words.has_time() {
            let problem = format!("no EVT_TIME_HIGH word: {lost} events have no time");
            let end = input.position + whole as u64;
            return Err(super::damaged(W::NAME, end, problem));
        }
        input.check_end(W::NAME, SIZE, whole)?;
        Ok(whole)
    }

    fn event_bytes(&self) -> usize {
        4
    }

    fn sensor(&self) -> Option<Sensor> {
        self.sensor
    }
}

/// The time of EVT2 and EVT2.1: EVT_TIME_HIGH has bits 33 to 6, an event bits 5 to 0.
///
/// The 34 bits are exceeded after 4 h 46 min: a fall by more than half the range is taken as that.
#[derive(Default)]
pub(super) struct Time {
    high: u32,
    loops: i64,
    /// The time without its lower bits, once it is known.
    pub base: Option<i64>,
}

impl Time {
    /// The time of the bits of an EVT_TIME_HIGH word.
    pub fn set(&mut self, high: u32) {
        const RANGE: u32 = 1 << 28;
        if self.base.is_some() && self.high.saturating_sub(high) > RANGE / 2 {
            self.loops += 1;
        }
        self.high = high;
        self.base = Some((self.loops * i64::from(RANGE) + i64::from(high)) << 6);
    }
}
