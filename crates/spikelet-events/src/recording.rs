//! Whole recordings.

use std::path::Path;

use crate::error::{Error, Result};
use crate::reader::open;
use crate::{EventBuffer, Faults, Format, Options, Sensor, Trigger};

/// A recording in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The events, in the order of the file.
    pub events: EventBuffer,
    /// The external triggers.
    pub triggers: Vec<Trigger>,
    /// The format of the file.
    pub format: Format,
    /// The size of the sensor, if the options or the header say it.
    pub sensor: Option<Sensor>,
    /// What was wrong and could be handled.
    pub faults: Faults,
}

/// Reads a file.
///
/// ```
/// use spikelet_events::{Options, read};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("one.bin");
/// std::fs::write(&path, [3, 7, 0x80, 0, 40])?;
/// assert_eq!(read(&path, &Options::default())?.events.t, [40]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`open`], and of [`EventReader::read_block`](crate::EventReader::read_block).
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<Recording> {
    match read_undamaged(path, options)? {
        (recording, None) => Ok(recording),
        (_, Some(error)) => Err(error),
    }
}

/// Reads a file as far as it is whole; gives the error that ended it.
///
/// # Errors
/// Those of [`open`].
pub fn read_undamaged(
    path: impl AsRef<Path>,
    options: &Options,
) -> Result<(Recording, Option<Error>)> {
    let mut reader = open(path, options)?;
    let mut events = EventBuffer::default();
    let error = reader.read_to_end(&mut events).err();
    // Memory was reserved for as many events as the file can have.
    events.shrink();
    let recording = Recording {
        events,
        triggers: reader.take_triggers(),
        format: reader.format(),
        sensor: reader.sensor(),
        faults: reader.faults().clone(),
    };
    Ok((recording, error))
}
