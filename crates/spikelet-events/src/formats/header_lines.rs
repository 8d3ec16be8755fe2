//! Header lines of AEDAT 1 to 3, which start with `#`.
//!
//! Versions before 3.1 have no mark at the end of the header, and an event may start with the byte of `#`. So a line
//! counts as header only if it is text up to its end.

use super::{Input, damaged};
use crate::Sensor;
use crate::error::Result;

/// The longest header line.
const MAX_LINE: usize = 8192;

/// What is at a position of a header.
pub(crate) enum HeaderLine {
    /// A line without its end, and the position behind it.
    Line(String, usize),
    /// No header line: the header is over.
    End,
    /// The piece ends before this can be said.
    Incomplete,
}

/// The header line at byte `at` of a piece.
///
/// # Errors
/// For lines that do not end.
pub(crate) fn header_line(format: &'static str, input: Input<'_>, at: usize) -> Result<HeaderLine> {
    let rest = &input.bytes[at..];
    match rest.first() {
        None if !input.is_last => return Ok(HeaderLine::Incomplete),
        Some(b'#') => {}
        _ => return Ok(HeaderLine::End),
    }
    let rest = &rest[..rest.len().min(MAX_LINE)];
    let is_control = |&byte: &u8| byte < b' ' && byte != b'\t' && byte != b'\r';
    match rest.iter().position(is_control) {
        Some(end) if rest[end] == b'\n' => {
            let line = String::from_utf8_lossy(&rest[..end]);
            Ok(HeaderLine::Line(line.trim_end().to_string(), at + end + 1))
        }
        Some(_) => Ok(HeaderLine::End),
        None if rest.len() == MAX_LINE || input.is_last => {
            let problem = format!(
                "a header line never ends: there is no end of line in {} bytes",
                rest.len()
            );
            Err(damaged(format, input.position + at as u64, problem))
        }
        None => Ok(HeaderLine::Incomplete),
    }
}

/// The first bytes of a file as text, for messages.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or(bytes);
    let line = String::from_utf8_lossy(&line[..line.len().min(40)]);
    line.trim_end().escape_debug().to_string()
}

/// The size of a camera's sensor, by the name of its chip.
pub(crate) fn sensor_of(chip: &str) -> Option<Sensor> {
    let chip = chip.to_ascii_lowercase();
    let sizes = [
        ("dvs128", 128, 128),
        ("davis128", 128, 128),
        ("davis208", 208, 192),
        ("davis240", 240, 180),
        ("davis346", 346, 260),
        ("davis640", 640, 480),
    ];
    let known = sizes.iter().find(|(name, ..)| chip.contains(name));
    known.map(|&(_, width, height)| Sensor::new(width, height))
}
