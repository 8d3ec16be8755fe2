//! EVT3: RAW files of 16-bit words, type in bits 15–12, which change a state.
//!
//! | type | | bits |
//! |---|---|---|
//! | 0 | EVT_ADDR_Y | 10–0 y |
//! | 2 | EVT_ADDR_X, an event | 10–0 x; 11 polarity |
//! | 3 | VECT_BASE_X | 10–0 x of the first pixel; 11 polarity |
//! | 4, 5 | VECT_12, VECT_8 | an event for each set bit of 12 or 8; the next vector follows on the right |
//! | 6 | EVT_TIME_LOW | time, bits 11–0 |
//! | 8 | EVT_TIME_HIGH | time, bits 23–12 |
//! | 10 | trigger | 11–8 input; 0 level |
//! | 7, 14, 15 | continued, others | skipped |
//!
//! Events before the first EVT_TIME_HIGH and EVT_ADDR_Y are left out, but other words count from the beginning of the
//! file. A new EVT_TIME_HIGH sets the lower bits to 0. The 24 bits are exceeded after 16.8 s: an EVT_TIME_HIGH that falls by
//! half the range or more is taken as that, as in OpenEB; readers that wait for a fall by nearly the whole range miss it
//! in recordings with pauses. Rows outside the sensor, which cameras send now and then, are left out.
//!
//! Source: docs.prophesee.ai, *EVT 3.0 Format*.

use std::hint::select_unpredictable;

use super::evt::{Raw, Words};
use super::prophesee::{self, Header};
use super::{Entry, Open, Output, evt3_encoder};
use crate::{EventBuffer, Fault, Format, Sensor, Trigger};

const NAME: &str = Format::Evt3.name();

/// The range of EVT_TIME_HIGH.
const RANGE: u16 = 1 << 12;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &[],
    detect: |start| prophesee::is_raw(start, NAME),
    encoder: Some(evt3_encoder::new_encoder),
    open: Open::Stream(|options| Ok(Box::new(Raw::<Evt3, 2>::new(options)))),
};

#[derive(Clone, Copy)]
struct Evt3 {
    /// The number of rows of the sensor, or all.
    height: u16,
    /// The row of the next events, and the number of rows whose events are given out: none before the first
    /// EVT_TIME_HIGH.
    y: u16,
    rows: u16,
    /// EVT_TIME_HIGH, and the time of all its ranges before.
    high: u16,
    loops: i64,
    time: i64,
    /// The first pixel of the next vector, and its polarity.
    x: u16,
    p: u8,
    /// The number of staged events.
    staged: usize,
}

/// The number of rows that EVT_ADDR_Y can name.
const ROWS: u16 = 1 << 11;

/// The row before the first EVT_ADDR_Y.
const NO_ROW: u16 = u16::MAX;

impl Default for Evt3 {
    fn default() -> Self {
        Self {
            height: ROWS,
            y: NO_ROW,
            rows: 0,
            high: 0,
            loops: 0,
            time: 0,
            x: 0,
            p: 0,
            staged: 0,
        }
    }
}

/// The number of events that are staged, so that the columns grow by many events at once.
const STAGED: usize = 1024;

/// The staged events.
struct Staged {
    t: [i64; STAGED],
    x: [u16; STAGED],
    y: [u16; STAGED],
    p: [u8; STAGED],
}

impl Staged {
    fn append(&self, len: usize, events: &mut EventBuffer) {
        events.t.extend_from_slice(&self.t[..len]);
        events.x.extend_from_slice(&self.x[..len]);
        events.y.extend_from_slice(&self.y[..len]);
        events.p.extend_from_slice(&self.p[..len]);
    }
}

impl Evt3 {
    /// Stages an event of the row and the time, if it is one.
    #[inline(always)]
    fn stage(&mut self, x: u16, p: u8, is_event: bool, staged: &mut Staged) {
        let at = self.staged % STAGED;
        (staged.t[at], staged.x[at]) = (self.time, x);
        (staged.y[at], staged.p[at]) = (self.y, p);
        self.staged += usize::from(is_event);
    }

    #[inline(always)]
    fn has_events(&self) -> bool {
        self.y < self.rows
    }

    /// Stages the events of a vector, a bit for each pixel, and goes to the next.
    #[inline(always)]
    fn stage_vector(&mut self, pixels: u16, width: u16, staged: &mut Staged) {
        let mut left = pixels;
        while left != 0 {
            let x = self.x.saturating_add(left.trailing_zeros() as u16);
            self.stage(x, self.p, true, staged);
            left &= left - 1;
        }
        self.x = self.x.saturating_add(width);
    }

    #[inline(always)]
    fn set_high_time(&mut self, high: u16) {
        let is_first = !self.has_time();
        if is_first || self.high != high {
            let is_loop = self.high >= high + RANGE / 2;
            self.loops += i64::from(is_loop && !is_first) * (i64::from(RANGE) << 12);
            // The lower bits that were given before the first EVT_TIME_HIGH count.
            let low = if is_first { self.time } else { 0 };
            self.time = self.loops + (i64::from(high) << 12) + low;
            (self.high, self.rows) = (high, self.height);
        }
    }
}

/// Counts events that are not given out.
#[cold]
fn leave_out(state: Evt3, events: u32, out: &mut Output) {
    let fault = match state.has_time() && state.y != NO_ROW {
        true => Fault::RowsOutside,
        false => Fault::EventsBeforeTime,
    };
    out.faults.add(fault, events.into());
}

impl Words<2> for Evt3 {
    const NAME: &'static str = NAME;

    fn start(&mut self, _header: &Header, sensor: Option<Sensor>) {
        let rows = sensor.map_or(u32::MAX, |sensor| sensor.height);
        self.height = rows.min(ROWS.into()) as u16;
    }

    fn decode(&mut self, words: &[[u8; 2]], out: &mut Output) {
        let mut staged = Staged {
            t: [0; STAGED],
            x: [0; STAGED],
            y: [0; STAGED],
            p: [0; STAGED],
        };
        // A copy, which stays in registers.
        let mut state = *self;
        for &word in words {
            // A word has at most 12 events.
            if state.staged > STAGED - 12 {
                staged.append(state.staged, &mut out.events);
                state.staged = 0;
            }
            let word = u16::from_le_bytes(word);
            let (kind, value, address) = (word >> 12, word & 0xfff, word & 0x7ff);
            let (is_y, is_event, is_time) = (kind == 0, kind == 2, kind == 6);
            if is_y | is_event | is_time {
                // The words of most events, in an order that cannot be predicted: no branches.
                let time = state.time & !0xfff | i64::from(value);
                state.time = select_unpredictable(is_time, time, state.time);
                state.y = select_unpredictable(is_y, address, state.y);
                if is_event & !state.has_events() {
                    leave_out(state, 1, out);
                } else {
                    state.stage(address, (value >> 11) as u8, is_event, &mut staged);
                }
                continue;
            }
            match kind {
                3 => (state.x, state.p) = (address, (value >> 11) as u8),
                4 | 5 => {
                    let (pixels, width) = if kind == 4 {
                        (value, 12)
                    } else {
                        (value & 0xff, 8)
                    };
                    match state.has_events() {
                        true => state.stage_vector(pixels, width, &mut staged),
                        false => leave_out(state, pixels.count_ones(), out),
                    }
                }
                8 => state.set_high_time(value),
                10 if state.has_time() => out.triggers.push(Trigger {
                    t: state.time,
                    id: value >> 8,
                    value: (value & 1) as u8,
                }),
                7 | 10 | 14 | 15 => {}
                _ => out.faults.add(Fault::UnknownWords, 1),
            }
        }
        staged.append(state.staged, &mut out.events);
        state.staged = 0;
        *self = state;
    }

    fn has_time(&self) -> bool {
        self.rows > 0
    }
}
