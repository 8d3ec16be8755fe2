//! AEDAT 2.0: a header of `#` lines, then records of an address and a time in microseconds, each 32 bits, big-endian.
//!
//! The address of a DVS128 is in [`dvs128`]. That of a DAVIS:
//!
//! | bits | |
//! |---|---|
//! | 31 | 1: a sample of the image or the IMU |
//! | 30–22 | y, 0 at the bottom |
//! | 21–12 | x |
//! | 11 | polarity, 1 = ON |
//! | 10 | with bit 31 = 0: 1 is a special event |
//!
//! The camera is in the line `# AEChip: …`. A file without it is read as that of a DVS128, as long as its addresses have 16
//! bits. A time that falls by more than 3 · 2³⁰ µs is a wrap of the clock.
//!
//! Source: docs.inivation.com, AEDAT 2.0.

use super::clock::Clock;
use super::header_lines::{HeaderLine, excerpt, header_line, sensor_of};
use super::{Decoder, Encoder, Entry, Events, Input, Open, Output, Unwritable, dvs128};
use crate::error::{Error, Result};
use crate::{Fault, Format, Orientation, Sensor};

const RECORD: usize = 8;
const VERSION: &str = "#!AER-DAT2.0";
const CHIP: &str = "# AEChip:";

pub(crate) const DVS128: Entry = Entry {
    extensions: &[],
    detect: |start| start.starts_with(VERSION.as_bytes()) && camera(start) == Some(Camera::Dvs128),
    open: Open::Stream(|options| Ok(Box::new(Aedat2::new(Camera::Dvs128, options.orientation)))),
    encoder: Some(|options, out| {
        options.check_sensor(dvs128::SENSOR)?;
        out.extend_from_slice(HEADER);
        Ok(Box::new(Dvs128Encoder))
    }),
};

pub(crate) const DAVIS: Entry = Entry {
    extensions: &[],
    detect: |start| start.starts_with(VERSION.as_bytes()) && camera(start) == Some(Camera::Davis),
    open: Open::Stream(|options| Ok(Box::new(Aedat2::new(Camera::Davis, options.orientation)))),
    encoder: None,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Camera {
    Dvs128,
    Davis,
}

impl Camera {
    const fn format(self) -> &'static str {
        match self {
            Self::Dvs128 => Format::Aedat2Dvs128.name(),
            Self::Davis => Format::Aedat2Davis.name(),
        }
    }

    /// The camera of a chip; `None` for other cameras.
    fn of_chip(chip: &str) -> Option<Self> {
        let chip = chip.to_ascii_lowercase();
        if chip.contains("davis") {
            Some(Self::Davis)
        } else {
            chip.contains("dvs128").then_some(Self::Dvs128)
        }
    }
}

/// The camera of a file that begins so; `None` for unknown cameras.
fn camera(start: &[u8]) -> Option<Camera> {
    let start = String::from_utf8_lossy(start);
    let mut header = start.lines().take_while(|line| line.starts_with('#'));
    match header.find_map(|line| line.strip_prefix(CHIP)) {
        Some(chip) => Camera::of_chip(chip),
        None => Some(Camera::Dvs128),
    }
}

struct Aedat2 {
    camera: Camera,
    orientation: Orientation,
    in_header: bool,
    has_version: bool,
    has_chip: bool,
    sensor: Option<Sensor>,
    clock: Clock,
}

impl Aedat2 {
    fn new(camera: Camera, orientation: Option<Orientation>) -> Self {
        Self {
            camera,
            orientation: orientation.unwrap_or(Orientation::SpikingJelly),
            in_header: true,
            has_version: false,
            has_chip: false,
            sensor: (camera == Camera::Dvs128).then_some(dvs128::SENSOR),
            clock: Clock::default(),
        }
    }

    fn error(&self, offset: u64, problem: String, help: &'static str) -> Error {
        Error::damaged(self.camera.format(), offset, problem, help)
    }

    fn line(&mut self, line: &str, offset: u64) -> Result<()> {
        if let Some(chip) = line.strip_prefix(CHIP) {
            let chip = chip.trim();
            if let Some(camera) = Camera::of_chip(chip)
                && camera != self.camera
            {
                let problem = format!("the camera is {chip}, which is read as {}", camera.format());
                return Err(self.error(offset, problem, "name that format, or none"));
            }
            self.has_chip = true;
            if self.camera == Camera::Davis {
                self.sensor = sensor_of(chip);
            }
        }
        Ok(())
    }

    /// The first line has the version.
    fn check_version(&mut self, input: Input<'_>) -> Result<()> {
        if !self.has_version && !input.bytes.starts_with(VERSION.as_bytes()) {
            let start = excerpt(input.bytes);
            let problem = format!("the file begins with `{start}`, not with `{VERSION}`");
            let help =
                "without this line, a file can only be AEDAT 1: name the format aedat1 if it is";
            return Err(self.error(input.position, problem, help));
        }
        self.has_version = true;
        Ok(())
    }

    fn davis(&mut self, records: &[[u8; RECORD]], out: &mut Output) {
        let before = out.events.len();
        let is_other = |record: &[u8; RECORD]| record[0] & 0x80 != 0 || record[2] & 4 != 0;
        for piece in records.split(is_other) {
            let events = &mut out.events;
            let address = piece
                .iter()
                .map(|&[a, b, c, d, ..]| u32::from_be_bytes([a, b, c, d]));
            let time = |&[.., a, b, c, d]: &[u8; RECORD]| u32::from_be_bytes([a, b, c, d]);
            self.clock.extend(piece.iter().map(time), &mut events.t);
            events
                .x
                .extend(address.clone().map(|a| (a >> 12 & 0x3ff) as u16));
            events
                .y
                .extend(address.clone().map(|a| (a >> 22 & 0x1ff) as u16));
            events.p.extend(address.map(|a| (a >> 11 & 1) as u8));
        }
        let decoded = out.events.len() - before;
        let skipped = (records.len() - decoded) as u64;
        out.faults.add(Fault::OtherRecords, skipped);
    }
}

impl Decoder for Aedat2 {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        if input.bytes.len() < VERSION.len() && !input.is_last && !self.has_version {
            return Ok(0);
        }
        self.check_version(input)?;
        let format = self.camera.format();
        let mut at = 0;
        while self.in_header {
            match header_line(format, input, at)? {
                HeaderLine::Line(line, next) => {
                    self.line(&line, input.position + at as u64)?;
                    at = next;
                }
                HeaderLine::End => self.in_header = false,
                HeaderLine::Incomplete => return Ok(at),
            }
        }
        let (mut records, _) = input.bytes[at..].as_chunks::<RECORD>();
        let whole = at + records.len() * RECORD;
        let is_long = |record: &[u8; RECORD]| record[0] | record[1] != 0;
        let long = match self.camera {
            Camera::Dvs128 if !self.has_chip => records.iter().position(is_long),
            _ => None,
        };
        records = &records[..long.unwrap_or(records.len())];
        match self.camera {
            Camera::Dvs128 => dvs128::append(records, self.orientation, &mut self.clock, out),
            Camera::Davis => self.davis(records, out),
        }
        if long.is_some() {
            let offset = at + records.len() * RECORD;
            let [a, b, c, d] = input.bytes[offset..]
                .first_chunk()
                .copied()
                .unwrap_or_default();
            let problem = format!(
                "the header names no camera, and the address {:#010x} has more than the 16 bits of a DVS128",
                u32::from_be_bytes([a, b, c, d])
            );
            let help = "name the format aedat2-davis if the camera is a DAVIS";
            return Err(self.error(input.position + offset as u64, problem, help));
        }
        input.check_end(format, RECORD, whole)?;
        Ok(whole)
    }

    fn event_bytes(&self) -> usize {
        RECORD
    }

    fn sensor(&self) -> Option<Sensor> {
        self.sensor
    }
}

const HEADER: &[u8] = b"#!AER-DAT2.0\r\n\
    # This is a raw AE data file - do not edit\r\n\
    # Data format is int32 address, int32 timestamp (8 bytes total), repeated for each event\r\n\
    # Timestamps tick is 1 us\r\n\
    # AEChip: ch.unizh.ini.jaer.chip.retina.DVS128\r\n";

/// Writes events so that the default orientation reads them back.
struct Dvs128Encoder;

impl Encoder for Dvs128Encoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        out.reserve(events.t.len() * RECORD);
        for (at, (t, x, y, p)) in events.iter().enumerate() {
            let Ok(time) = u32::try_from(t) else {
                let problem =
                    format!("time {t} is not in 0 … 4294967295 µs, the 32 bits that it has");
                return Err(Unwritable::time(at, problem));
            };
            let address = (127 - x) << 8 | (127 - y) << 1 | u16::from(1 - p);
            out.extend(u32::from(address).to_be_bytes());
            out.extend(time.to_be_bytes());
        }
        Ok(())
    }
}
