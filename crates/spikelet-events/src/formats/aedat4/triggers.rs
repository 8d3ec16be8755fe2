//! Packets of triggers: a flatbuffer with the identifier `TRIG`, whose field 0 is a vector of tables.
//!
//! Field 0 of a table is the time in microseconds, i64; field 1 the kind, u8:
//!
//! | kind | |
//! |---|---|
//! | 0 | the time was set to 0 |
//! | 1, 2, 3 | rising edge, falling edge, pulse at the input |
//! | 4, 5 | rising edge, falling edge of the generator |
//! | 6, 7 | start, end of an image |
//! | 8, 9 | start, end of an exposure |
//!
//! Source: iniVation, dv-processing 2.0, `trigger.fbs`.

use super::flatbuffer::Table;
use crate::Trigger;

/// Appends the triggers of a packet: the kind is [`Trigger::id`].
pub(super) fn append(bytes: &[u8], triggers: &mut Vec<Trigger>) -> Result<(), String> {
    for table in Table::root(bytes, "TRIG")?.tables(0)? {
        let table = table?;
        let kind = table.u8(1)?;
        triggers.push(Trigger {
            t: table.i64(0)?.unwrap_or(0),
            id: kind.into(),
            value: u8::from(matches!(kind, 1 | 3 | 4 | 6 | 8)),
        });
    }
    Ok(())
}
