//! Recordings as pictures: an animation, a sheet of frames, a raster plot of spiking audio.
//!
//! | | events of a camera | spiking audio: a sensor of height 1 |
//! |---|---|---|
//! | [`Preview::svg`] | animation of frames of equal duration | raster plot: time and channels |
//! | [`Preview::png`] | sheet of these frames, row by row | the same without axes |
//!
//! ON events are blue, OFF events orange, which any color vision tells apart on light and dark backgrounds. A large
//! sensor is reduced. An SVG has at most 2 MB.
//!
//! ```
//! use spikelet_events::preview::Preview;
//! use spikelet_events::synthetic::{Gestures, SyntheticSet};
//!
//! let set = Gestures { size: 34, ..Gestures::default() };
//! let events = set.events(0, 0)?;
//! let preview = Preview { title: "circle", ..Preview::new(&events, set.sensor()) };
//! let svg = preview.svg()?;
//! assert!(svg.starts_with("<svg") && svg.len() < 100_000);
//! # Ok::<(), spikelet_events::Error>(())
//! ```

mod animation;
mod palette;
mod picture;
mod raster;
mod sheet;
mod svg;

use std::io::Write;
use std::path::Path;

use spikelet_schema::UnknownName;

use crate::error::{Error, ErrorKind, Result};
use crate::frames::check_events;
use crate::settings::check;
use crate::writer::create_beside;
use crate::{EventBuffer, Sensor};

const NAME: &str = "preview";

/// The pictures of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Preview<'a> {
    /// The events. Their times need not be sorted.
    pub events: &'a EventBuffer,
    /// The size of the sensor. A cochlea has its channels as width, and the height 1.
    pub sensor: Sensor,
    /// The title of an SVG; may be empty.
    pub title: &'a str,
    /// The number of frames, 1 to 100.
    pub frames: u32,
}

impl<'a> Preview<'a> {
    /// Pictures without a title, of 24 frames.
    #[must_use]
    pub fn new(events: &'a EventBuffer, sensor: Sensor) -> Self {
        Self {
            events,
            sensor,
            title: "",
            frames: 24,
        }
    }

    /// An animation, or the raster plot of spiking audio.
    ///
    /// # Errors
    /// [`ErrorKind::Outside`], [`ErrorKind::Columns`]; [`ErrorKind::Setting`] for a number of frames or a sensor out of
    /// range.
    pub fn svg(&self) -> Result<String> {
        self.check()?;
        Ok(match self.is_audio() {
            true => raster::svg(self),
            false => animation::svg(self),
        })
    }

    /// A PNG file with a sheet of frames, or with the raster plot of spiking audio.
    ///
    /// # Errors
    /// As [`Self::svg`].
    pub fn png(&self) -> Result<Vec<u8>> {
        self.check()?;
        Ok(match self.is_audio() {
            true => raster::png(self),
            false => sheet::png(self),
        })
    }

    /// Writes an `.svg` or a `.png` file. A file that was there is replaced when the new one is complete.
    ///
    /// ```
    /// use spikelet_events::preview::Preview;
    /// use spikelet_events::{EventBuffer, Sensor};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut events = EventBuffer::default();
    /// events.push(40, 3, 7, true);
    /// let path = folder.path().join("one.png");
    /// Preview::new(&events, Sensor::new(16, 16)).write(&path)?;
    /// assert!(std::fs::read(&path)?.starts_with(b"\x89PNG"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnknownName`] for other extensions; [`ErrorKind::Write`]; those of [`Self::svg`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let bytes = match &*extension.to_ascii_lowercase() {
            "svg" => self.svg()?.into_bytes(),
            "png" => self.png()?,
            _ => {
                let (family, known) = ("picture format", vec!["svg", "png"]);
                let given = extension.into_owned();
                return Err(Error::from(UnknownName {
                    family,
                    given,
                    known,
                }));
            }
        };
        let written = create_beside(path).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.as_file().sync_all()?;
            Ok(file.persist(path).map(drop)?)
        });
        written.map_err(|error| Error::from(ErrorKind::Write(error)).in_file(path))
    }

    fn check(&self) -> Result<()> {
        let is_valid = (1..=100).contains(&self.frames);
        check(is_valid, NAME, "frames", self.frames, "1 to 100")?;
        check_events(NAME, self.events, self.sensor)
    }

    fn is_audio(&self) -> bool {
        self.sensor.height == 1
    }

    /// The first time and the microseconds up to the last.
    fn span(&self) -> (i64, u64) {
        let times = &self.events.t;
        let first = times.iter().copied().min().unwrap_or(0);
        let last = times.iter().copied().max().unwrap_or(0);
        // The difference of two i64 is a u64.
        (first, last.wrapping_sub(first) as u64)
    }

    /// The part of each event, of `parts` of equal duration.
    fn parts(&self, parts: usize) -> impl Iterator<Item = usize> + use<'a> {
        let (first, span) = self.span();
        let scale = parts as f64 / (span as f64 + 1.0);
        let part = move |&t: &i64| (t.wrapping_sub(first) as u64 as f64 * scale) as usize;
        self.events
            .t
            .iter()
            .map(part)
            .map(move |part| part.min(parts - 1))
    }

    /// The number of events and their duration, in words.
    fn summary(&self) -> String {
        let (_, span) = self.span();
        let seconds = span as f64 / 1e6;
        format!("{} events in {seconds:.3} s", grouped(self.events.len()))
    }
}

/// A number with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
