//! AEDAT 1.0: records of 6 bytes of a DVS128, behind a header of `#` lines or without one.
//!
//! The format is only read when it is named, or when the header says it: without a header, nothing tells it.
//!
//! Source: docs.inivation.com, AEDAT 1.0; jAER's `extractRetina128EventsFromAddr.m` for the default orientation.

use super::clock::Clock;
use super::header_lines::{HeaderLine, header_line};
use super::{Decoder, Entry, Input, Open, Output, damaged, dvs128};
use crate::error::Result;
use crate::{Format, Options, Orientation, Sensor};

const NAME: &str = Format::Aedat1.name();
const RECORD: usize = 6;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &[],
    detect: |start| start.starts_with(b"#!AER-DAT1"),
    open: Open::Stream(|options| Ok(Box::new(Aedat1::new(options)))),
    encoder: None,
};

struct Aedat1 {
    orientation: Orientation,
    in_header: bool,
    clock: Clock,
}

impl Aedat1 {
    fn new(options: &Options) -> Self {
        Self {
            orientation: options.orientation.unwrap_or(Orientation::Jaer),
            in_header: true,
            clock: Clock::default(),
        }
    }
}

impl Decoder for Aedat1 {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let mut at = 0;
        while self.in_header {
            match header_line(NAME, input, at)? {
                HeaderLine::Line(line, next) => {
                    if let Some(version) = line.strip_prefix("#!AER-DAT")
                        && !version.starts_with("1.")
                    {
                        let problem = format!("the version is {version}, not 1.0");
                        return Err(damaged(NAME, input.position + at as u64, problem));
                    }
                    at = next;
                }
                HeaderLine::End => self.in_header = false,
                HeaderLine::Incomplete => return Ok(at),
            }
        }
        let (records, _) = input.bytes[at..].as_chunks::<RECORD>();
        dvs128::append(records, self.orientation, &mut self.clock, out);
        let whole = at + records.len() * RECORD;
        input.check_end(NAME, RECORD, whole)?;
        Ok(whole)
    }

    fn sensor(&self) -> Option<Sensor> {
        Some(dvs128::SENSOR)
    }
}
