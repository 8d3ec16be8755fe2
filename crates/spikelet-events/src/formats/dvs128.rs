//! Records of a DVS128, as AEDAT 1 and 2 have them: the last six bytes are an address and a time, big-endian.
//!
//! | bits of the address | |
//! |---|---|
//! | 15 | external event, which has no pixel |
//! | 14–8 | y |
//! | 7–1 | x |
//! | 0 | polarity; jAER takes 0 as ON |
//!
//! Source: docs.inivation.com, AEDAT 1.0 and 2.0; jAER's `extractRetina128EventsFromAddr.m`.

use super::Output;
use super::clock::Clock;
use crate::{Fault, Orientation, Sensor};

pub(crate) const SENSOR: Sensor = Sensor::new(128, 128);

/// Appends the events of records of `N` bytes.
pub(crate) fn append<const N: usize>(
    records: &[[u8; N]],
    orientation: Orientation,
    clock: &mut Clock,
    out: &mut Output,
) {
    let before = out.events.len();
    // External events are rare: the records between them are decoded column by column.
    for piece in records.split(|record| record[N - 6] & 0x80 != 0) {
        let events = &mut out.events;
        let time = |r: &[u8; N]| u32::from_be_bytes([r[N - 4], r[N - 3], r[N - 2], r[N - 1]]);
        clock.extend(piece.iter().map(time), &mut events.t);
        let x = piece.iter().map(|record| u16::from(record[N - 5] >> 1));
        let y = piece.iter().map(|record| u16::from(record[N - 6] & 127));
        let bit = piece.iter().map(|record| record[N - 5] & 1);
        match orientation {
            Orientation::Fields => {
                events.x.extend(x);
                events.y.extend(y);
                events.p.extend(bit);
            }
            Orientation::Jaer => {
                events.x.extend(x.map(|x| 127 - x));
                events.y.extend(y);
                events.p.extend(bit.map(|bit| 1 - bit));
            }
            Orientation::SpikingJelly => {
                events.x.extend(y.map(|y| 127 - y));
                events.y.extend(x.map(|x| 127 - x));
                events.p.extend(bit.map(|bit| 1 - bit));
            }
        }
    }
    let decoded = out.events.len() - before;
    let skipped = (records.len() - decoded) as u64;
    out.faults.add(Fault::OtherRecords, skipped);
}
