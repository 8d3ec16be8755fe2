//! Files of events are written.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Encoder, Events, Unwritable};
use crate::{EventBuffer, Format, Sensor};

/// The events that are encoded at once.
const CHUNK: usize = 1 << 16;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// The format, one that [`Format::is_writable`].
    pub format: Format,
    /// The size of the sensor. Events outside are errors.
    pub sensor: Sensor,
    /// Whether the file is compressed, in formats that can be; the default is true.
    pub compress: bool,
}

impl WriteOptions {
    /// A format and the size of the sensor, compressed if the format can be.
    #[must_use]
    pub const fn new(format: Format, sensor: Sensor) -> Self {
        Self {
            format,
            sensor,
            compress: true,
        }
    }

    /// Refuses a sensor that the format cannot hold.
    pub(crate) fn check_sensor(&self, limit: Sensor) -> Result<()> {
        let &Self { format, sensor, .. } = self;
        if sensor.width <= limit.width && sensor.height <= limit.height {
            return Ok(());
        }
        Err(ErrorKind::UnwritableSensor {
            format,
            sensor,
            limit,
        }
        .into())
    }
}

/// Writes a file of events. It appears when it is complete; a file that was there is replaced.
///
/// ```
/// use spikelet_events::{EventBuffer, Format, Options, Sensor, read, write};
///
/// let mut events = EventBuffer::default();
/// events.push(40, 3, 7, true);
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("one.bin");
/// write(&path, Format::Atis, Sensor::new(34, 34), &events)?;
/// assert_eq!(read(&path, &Options::default())?.events, events);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`EventWriter`].
pub fn write(
    path: impl AsRef<Path>,
    format: Format,
    sensor: Sensor,
    events: &EventBuffer,
) -> Result<()> {
    let mut writer = EventWriter::create(path, &WriteOptions::new(format, sensor))?;
    writer.write(events)?;
    writer.finish()
}

/// A file that is written block by block. It appears under its path at [`EventWriter::finish`]; without that, nothing
/// is left of it.
pub struct EventWriter {
    path: PathBuf,
    options: WriteOptions,
    file: NamedTempFile,
    encoder: Box<dyn Encoder>,
    /// The number of events that were written.
    before: u64,
    /// Bytes to write.
    bytes: Vec<u8>,
}

impl EventWriter {
    /// A file of no events yet.
    ///
    /// # Errors
    /// [`ErrorKind::NotWritable`] for formats that are only read; [`ErrorKind::Write`];
    /// [`ErrorKind::UnwritableSensor`].
    pub fn create(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Self> {
        let path = path.as_ref();
        let in_file = |kind: ErrorKind| Error::from(kind).in_file(path);
        let format = options.format;
        let encoder = format.entry().encoder;
        let encoder = encoder.ok_or_else(|| in_file(ErrorKind::NotWritable { format }))?;
        let mut bytes = vec![];
        let encoder = encoder(options, &mut bytes).map_err(|error| error.in_file(path))?;
        let file = create_beside(path).map_err(|error| in_file(ErrorKind::Write(error)))?;
        Ok(Self {
            path: path.to_owned(),
            options: *options,
            file,
            encoder,
            before: 0,
            bytes,
        })
    }

    /// Appends events.
    ///
    /// # Errors
    /// [`ErrorKind::Outside`]; [`ErrorKind::Unwritable`] for events that the format cannot hold; [`ErrorKind::Write`].
    /// The file is incomplete then.
    pub fn write(&mut self, events: &EventBuffer) -> Result<()> {
        let written = self.encode(events);
        written.map_err(|kind| Error::from(kind).in_file(&self.path))
    }

    fn encode(&mut self, events: &EventBuffer) -> Result<(), ErrorKind> {
        let (before, format) = (self.before, self.options.format.name());
        check(events, Some(self.options.sensor), before, format)?;
        let all = Events::from(events);
        for start in (0..events.len()).step_by(CHUNK) {
            let part = all.part(start..events.len().min(start + CHUNK));
            let encoded = self.encoder.encode(part, &mut self.bytes);
            encoded.map_err(|Unwritable { at, problem, help }| ErrorKind::Unwritable {
                format,
                event: before + (start + at) as u64,
                problem,
                help,
            })?;
            self.file.write_all(&self.bytes).map_err(ErrorKind::Write)?;
            self.bytes.clear();
        }
        self.before += events.len() as u64;
        Ok(())
    }

    /// Ends the file and makes it appear under its path.
    ///
    /// # Errors
    /// [`ErrorKind::Write`]. A file that was there is unchanged then.
    pub fn finish(mut self) -> Result<()> {
        self.encoder.finish(&mut self.bytes);
        let written = self.file.write_all(&self.bytes);
        let written = written.and_then(|()| self.file.as_file().sync_all());
        let moved = written.and_then(|()| Ok(self.file.persist(&self.path).map(drop)?));
        moved.map_err(|error| Error::from(ErrorKind::Write(error)).in_file(&self.path))
    }
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter")
            .field("path", &self.path)
            .field("options", &self.options)
            .field("events", &self.before)
            .finish_non_exhaustive()
    }
}

/// Checks that columns have the same length, polarities are 0 or 1, and events are inside the sensor. `before` events
/// were written before these.
pub(crate) fn check(
    events: &EventBuffer,
    sensor: Option<Sensor>,
    before: u64,
    format: &'static str,
) -> Result<(), ErrorKind> {
    let unwritable = |at: usize, problem: String| ErrorKind::Unwritable {
        format,
        event: before + at as u64,
        problem,
        help: Unwritable::CORRECT,
    };
    let lens = [
        events.t.len(),
        events.x.len(),
        events.y.len(),
        events.p.len(),
    ];
    if lens.iter().any(|&len| len != lens[0]) {
        let [t, x, y, p] = lens;
        let problem = format!("there are {t} times, {x} x, {y} y and {p} polarities");
        return Err(unwritable(lens.into_iter().min().unwrap_or(0), problem));
    }
    if let Some(at) = events.p.iter().position(|&p| p > 1) {
        let problem = format!("the polarity is {}, not 0 or 1", events.p[at]);
        return Err(unwritable(at, problem));
    }
    let outside = sensor.and_then(|sensor| Some((sensor, sensor.first_outside(events, 0)?)));
    outside.map_or(Ok(()), |(sensor, outside)| {
        Err(outside.error(before, sensor))
    })
}

/// A temporary file in the folder of `path`, because a rename is atomic only within a file system.
pub(crate) fn create_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    create_in(folder.unwrap_or(Path::new(".")))
}

/// A temporary file in `folder`.
pub(crate) fn create_in(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".events.").suffix(".tmp");
    #[cfg(unix)]
    {
        // Temporary files are private by default; this one becomes a regular file, for which the umask applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    // Its writer lives: another process does not remove it as abandoned. Some file systems have no locks.
    let _ = file.as_file().try_lock();
    Ok(file)
}
