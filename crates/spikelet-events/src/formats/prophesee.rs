//! The header of Prophesee's files: lines `% key value`, before DAT, EVT2, EVT2.1 and EVT3.
//!
//! The header ends after a line `% end`, or before the first two bytes that are not `% `.
//!
//! Source: docs.prophesee.ai, *File formats*; OpenEB's reader of headers, which also has the sizes of the sensors by
//! `system_ID`.

use super::Input;
use crate::error::{Error, Result};
use crate::{Sensor, WriteOptions};

/// The longest header.
const MAX_HEADER: usize = 1 << 16;

/// The header of a file.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The keys and their values, in the order of the file.
    lines: Vec<(String, String)>,
    /// The number of bytes; 0 if there is no header.
    pub len: usize,
}

impl Header {
    /// The header at the start of a file; `None` if more bytes are needed.
    ///
    /// # Errors
    /// If the header does not end.
    pub fn parse(format: &'static str, input: Input<'_>) -> Result<Option<Self>> {
        let mut header = Self::default();
        loop {
            let rest = &input.bytes[header.len..];
            match rest {
                [b'%', b' ', line @ ..] => {
                    let Some(end) = line.iter().position(|&byte| byte == b'\n') else {
                        if input.is_last || rest.len() > MAX_HEADER {
                            let problem =
                                format!("a line of the header has no end in {} bytes", line.len());
                            return Err(super::damaged(format, header.len as u64, problem));
                        }
                        return Ok(None);
                    };
                    header.len += 2 + end + 1;
                    let line = String::from_utf8_lossy(&line[..end]);
                    let line = line.trim();
                    if line == "end" {
                        return Ok(Some(header));
                    }
                    let (key, value) = line.split_once(' ').unwrap_or((line, ""));
                    header.lines.push((key.to_owned(), value.trim().to_owned()));
                    if header.len > MAX_HEADER {
                        let problem = format!("the header has more than {MAX_HEADER} bytes");
                        return Err(super::damaged(format, 0, problem));
                    }
                }
                // One byte does not tell whether another line follows.
                [] | [b'%'] if !input.is_last => return Ok(None),
                _ => return Ok(Some(header)),
            }
        }
    }

    /// The header in the first bytes of a file, as far as it is there.
    fn start(bytes: &[u8]) -> Self {
        let end = bytes.iter().rposition(|&byte| byte == b'\n');
        let bytes = &bytes[..end.map_or(0, |end| end + 1)];
        let input = Input {
            bytes,
            position: 0,
            is_last: true,
        };
        Self::parse("", input).ok().flatten().unwrap_or_default()
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        let known = self.lines.iter().find(|(own, _)| own == key);
        known.map(|(_, value)| value.as_str())
    }

    /// The number at a key.
    ///
    /// # Errors
    /// If it is no number.
    pub fn number(&self, format: &'static str, key: &str) -> Result<Option<u32>> {
        let number = self.value(key).map(|value| {
            let invalid = |_| invalid(format, format!("`% {key} {value}` has no number"));
            value.parse().map_err(invalid)
        });
        number.transpose()
    }

    /// A property in the line `format`: `height` of `EVT3;height=720;width=1280`.
    pub fn property(&self, name: &str) -> Option<&str> {
        let properties = self.value("format")?.split(';').skip(1);
        properties
            .filter_map(|property| property.split_once('='))
            .find_map(|(own, value)| (own.trim() == name).then_some(value.trim()))
    }

    /// What the header calls the encoding of a RAW file, and its name here if it is known.
    fn encoding(&self) -> Option<(&str, Option<&'static str>)> {
        let named = |name: &str| match name {
            "EVT2" | "2.0" => Some("evt2"),
            "EVT21" | "EVT2.1" | "2.1" => Some("evt2.1"),
            "EVT3" | "3.0" => Some("evt3"),
            _ => None,
        };
        let format = self.value("format").and_then(|text| text.split(';').next());
        if let Some(name) = format.map(str::trim).or_else(|| self.value("evt")) {
            return Some((name, named(name)));
        }
        let (_, name) = self.system()?;
        Some((self.value("system_ID")?, Some(name)))
    }

    /// The size and the encoding of the sensor of `system_ID`.
    fn system(&self) -> Option<(Sensor, &'static str)> {
        Some(match self.value("system_ID")?.parse().ok()? {
            0x15 | 0x1C | 0x17 | 0x97 | 0x19 | 0x99 | 0x1D | 0x21 | 0xA1 | 0x22 | 0xA2 | 0x23
            | 0x29 => (Sensor::new(640, 480), "evt2"),
            0x1A | 0x1F | 0x27 => (Sensor::new(1280, 720), "evt2"),
            0x1E | 0x2E | 0x30..=0x32 => (Sensor::new(1280, 720), "evt3"),
            0x28 => (Sensor::new(640, 480), "evt3"),
            _ => return None,
        })
    }

    /// Checks that this is the header of a RAW file of this encoding, or does not name one.
    ///
    /// # Errors
    /// If it names another.
    pub fn check_encoding(&self, format: &'static str) -> Result<()> {
        match self.encoding() {
            Some((name, known)) if known != Some(format) => {
                let known =
                    known.map_or("not implemented".into(), |known| format!("read as {known}"));
                let problem = format!("the header says `{name}`, which is {known}");
                Err(invalid(format, problem))
            }
            _ => Ok(()),
        }
    }

    /// The size of the sensor of a RAW file: that of `format`, `geometry` or `system_ID`.
    ///
    /// # Errors
    /// If it is not a size.
    pub fn raw_sensor(&self, format: &'static str) -> Result<Option<Sensor>> {
        let sizes = self.property("width").zip(self.property("height"));
        let geometry = || self.value("geometry")?.split_once('x');
        let Some((width, height)) = sizes.or_else(geometry) else {
            return Ok(self.system().map(|(sensor, _)| sensor));
        };
        let (Ok(width), Ok(height)) = (width.parse(), height.parse()) else {
            let problem = format!("the header has the width {width} and the height {height}");
            return Err(invalid(format, problem));
        };
        check_size(format, Sensor::new(width, height)).map(Some)
    }
}

/// Checks that a sensor has pixels.
pub(super) fn check_size(format: &'static str, sensor: Sensor) -> Result<Sensor> {
    if sensor.width == 0 || sensor.height == 0 {
        let problem = format!("the header has the sensor {sensor}, which has no pixels");
        return Err(invalid(format, problem));
    }
    Ok(sensor)
}

/// An error in the header.
pub(super) fn invalid(format: &'static str, problem: String) -> Error {
    let help = "correct the header, which is text, or get the file again";
    Error::damaged(format, 0, problem, help)
}

/// Whether a file begins with the header of a RAW file of this encoding.
pub(super) fn is_raw(start: &[u8], name: &str) -> bool {
    Header::start(start)
        .encoding()
        .is_some_and(|(_, known)| known == Some(name))
}

/// Whether a file begins with a header that is not that of a RAW file.
pub(super) fn is_dat(start: &[u8]) -> bool {
    let header = Header::start(start);
    let is_named = |key| header.value(key).is_some();
    header.encoding().is_none() && (is_named("Version") || is_named("Data"))
}

/// Appends the header of a RAW file, whose words have 11 bits for each coordinate.
///
/// # Errors
/// If the sensor has more pixels.
pub(super) fn write_header(
    options: &WriteOptions,
    encoding: &str,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    options.check_sensor(Sensor::new(1 << 11, 1 << 11))?;
    let Sensor { width, height } = options.sensor;
    let header = format!(
        "% format {encoding};height={height};width={width}\n% geometry {width}x{height}\n% end\n"
    );
    bytes.extend(header.as_bytes());
    Ok(())
}
