//! Recordings that are read in blocks.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Blocks, Decoder, Input, Open, Output};
use crate::{EventBuffer, Faults, Format, Options, Sensor, Trigger};

/// The bytes that are read at first; small files need no more.
const FIRST_READ: usize = 1 << 16;

/// The bytes that are read at once: they and their events are in the cache until the events are given out.
const READ: usize = 1 << 18;

/// The most bytes of one record or packet.
const MAX_PACKET: usize = 256 << 20;

/// The bytes of a file for whose events memory is reserved.
const MAX_RESERVE: u64 = 1 << 30;

/// Opens a file to read it in blocks.
///
/// # Errors
/// [`ErrorKind::Open`], [`ErrorKind::Read`], [`ErrorKind::UnknownFormat`], [`ErrorKind::Damaged`].
pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<EventReader> {
    let path = path.as_ref();
    let in_file = |error: Error| error.in_file(path);
    let mut file = File::open(path).map_err(|error| in_file(ErrorKind::Open(error).into()))?;
    let start = read_start(&mut file).map_err(in_file)?;
    let bytes = file.metadata().map_or(0, |file| file.len());
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = options
        .format
        .map_or_else(|| Format::detect(&start, extension), Ok)
        .map_err(in_file)?;
    let blocks: Box<dyn Blocks> = match format.entry().open {
        Open::Stream(decoder) => {
            let decoder = decoder(options).map_err(in_file)?;
            Box::new(Stream::new(Box::new(file), start.clone(), decoder))
        }
        Open::Container(container) => {
            let back = file.seek(SeekFrom::Start(0));
            back.map_err(|source| {
                in_file(
                    ErrorKind::Read {
                        position: 0,
                        source,
                    }
                    .into(),
                )
            })?;
            container(Box::new(file), options).map_err(in_file)?
        }
    };
    let mut reader = EventReader::new(blocks, format, options);
    reader.is_by_name = options.format.is_none() && Format::detect(&start, None).is_err();
    reader.bytes = bytes;
    reader.path = Some(path.to_owned());
    Ok(reader)
}

/// The first bytes of a stream.
fn read_start(stream: &mut dyn Read) -> Result<Vec<u8>> {
    let mut start = Vec::with_capacity(Format::START);
    let read = stream.take(Format::START as u64).read_to_end(&mut start);
    let failed = |source| ErrorKind::Read {
        position: 0,
        source,
    };
    read.map_err(failed)?;
    Ok(start)
}

/// A recording that is read in blocks, as an iterator of [`EventBuffer`].
///
/// Memory is that of a block: at most 256 KiB of the file at a time, or one packet of formats with packets, and its
/// events. Of a damaged recording, the events before the damage are given first, then the error, then nothing.
pub struct EventReader {
    blocks: Box<dyn Blocks>,
    format: Format,
    given_sensor: Option<Sensor>,
    path: Option<std::path::PathBuf>,
    /// Whether only the extension of the file tells the format.
    is_by_name: bool,
    /// The bytes of the file; 0 for streams.
    bytes: u64,
    out: Output,
    error: Option<Error>,
    is_over: bool,
}

impl EventReader {
    fn new(blocks: Box<dyn Blocks>, format: Format, options: &Options) -> Self {
        Self {
            blocks,
            format,
            given_sensor: options.sensor,
            path: None,
            is_by_name: false,
            bytes: 0,
            out: Output::default(),
            error: None,
            is_over: false,
        }
    }

    /// Reads a socket, standard input or bytes. The format comes from [`Options::format`] or the first bytes.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownFormat`], also for formats that must be searched, such as zip files; [`ErrorKind::Read`].
    pub fn from_stream(stream: impl Read + Send + 'static, options: &Options) -> Result<Self> {
        let mut stream: Box<dyn Read + Send> = Box::new(stream);
        let (format, start) = match options.format {
            Some(format) => (format, vec![]),
            None => {
                let start = read_start(&mut stream)?;
                (Format::detect(&start, None)?, start)
            }
        };
        let Open::Stream(decoder) = format.entry().open else {
            let problem = format!("{format} can only be read from a file");
            return Err(ErrorKind::UnknownFormat { problem }.into());
        };
        let blocks = Stream::new(stream, start, decoder(options)?);
        Ok(Self::new(Box::new(blocks), format, options))
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The size of the sensor: that of [`Options::sensor`], or of the header, which the first block decodes.
    #[must_use]
    pub fn sensor(&self) -> Option<Sensor> {
        self.given_sensor.or_else(|| self.blocks.sensor())
    }

    /// The faults so far.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.out.faults
    }

    /// The triggers so far that were not taken yet.
    pub fn take_triggers(&mut self) -> Vec<Trigger> {
        std::mem::take(&mut self.out.triggers)
    }

    /// Appends all events that were not given out yet to `events`; gives their number.
    ///
    /// Memory is reserved once, for the events that the file can have. Fresh memory takes more time than decoding: to read many
    /// files, clear the same columns and use them again.
    ///
    /// ```
    /// use spikelet_events::{EventBuffer, Options, open};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut events = EventBuffer::default();
    /// for (number, record) in [[3, 7, 0x80, 0, 40], [5, 8, 0, 0, 90]].into_iter().enumerate() {
    ///     let path = folder.path().join(format!("{number}.bin"));
    ///     std::fs::write(&path, record)?;
    ///     events.clear();
    ///     assert_eq!(open(&path, &Options::default())?.read_to_end(&mut events)?, 1);
    ///     assert_eq!(events.t, [i64::from(record[4])]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Self::read_block`]. The events before the damage were appended.
    pub fn read_to_end(&mut self, events: &mut EventBuffer) -> Result<usize> {
        let before = events.len();
        events.reserve(self.blocks.most_events(self.bytes.min(MAX_RESERVE)));
        while self.read_block(events)? {}
        Ok(events.len() - before)
    }

    /// Appends the next block to `events`, which keeps its memory; `false` at the end.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`], [`ErrorKind::Outside`], [`ErrorKind::Read`], once. What is whole was given before.
    pub fn read_block(&mut self, events: &mut EventBuffer) -> Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.is_over {
            return Ok(false);
        }
        // Formats append to the caller's columns, without a copy.
        std::mem::swap(events, &mut self.out.events);
        self.out.start = self.out.events.len();
        let decoded = self.decode_events();
        std::mem::swap(events, &mut self.out.events);
        decoded
    }

    /// Decodes until there are events; `false` at the end.
    fn decode_events(&mut self) -> Result<bool> {
        while !self.is_over {
            let decoded = self.blocks.next_block(&mut self.out);
            // The error of an earlier event is the one to give.
            let decoded = self.check_inside().and(decoded);
            self.is_over = !matches!(decoded, Ok(true));
            let error = decoded.err().map(|error| self.located(error));
            if self.out.len() > 0 {
                self.out.before += self.out.len() as u64;
                self.error = error;
                return Ok(true);
            }
            if let Some(error) = error {
                return Err(error);
            }
        }
        Ok(false)
    }

    fn located(&self, mut error: Error) -> Error {
        if let ErrorKind::Damaged { .. } | ErrorKind::Outside { .. } = *error.kind {
            error.by_name = self.is_by_name.then_some(self.format);
        }
        match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    /// Checks that the decoded events are inside the sensor; keeps those before the first outside.
    fn check_inside(&mut self) -> Result<()> {
        let Some(sensor) = self.sensor() else {
            return Ok(());
        };
        let Some(outside) = sensor.first_outside(&self.out.events, self.out.start) else {
            return Ok(());
        };
        self.out.events.truncate(self.out.start + outside.at);
        Err(outside.error(self.out.before, sensor).into())
    }
}

impl Iterator for EventReader {
    type Item = Result<EventBuffer>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut events = EventBuffer::default();
        match self.read_block(&mut events) {
            Ok(true) => Some(Ok(events)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl fmt::Debug for EventReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReader")
            .field("format", &self.format)
            .field("sensor", &self.sensor())
            .field("faults", &self.out.faults)
            .finish_non_exhaustive()
    }
}

/// A stream and its decoder.
struct Stream {
    stream: Box<dyn Read + Send>,
    decoder: Box<dyn Decoder>,
    /// Those before `filled` were read, and of these, those before `decoded` are decoded.
    bytes: Vec<u8>,
    filled: usize,
    decoded: usize,
    /// The position of `bytes` in the file.
    position: u64,
    is_last: bool,
    is_over: bool,
    /// Whether nothing whole is left to decode.
    needs_more: bool,
    /// The bytes to read next.
    wanted: usize,
}

impl Stream {
    fn new(stream: Box<dyn Read + Send>, start: Vec<u8>, decoder: Box<dyn Decoder>) -> Self {
        Self {
            stream,
            decoder,
            filled: start.len(),
            bytes: start,
            decoded: 0,
            position: 0,
            is_last: false,
            is_over: false,
            needs_more: true,
            wanted: FIRST_READ,
        }
    }

    /// Reads on. A stream that has fewer bytes at the moment gives those.
    fn fill(&mut self) -> Result<()> {
        self.bytes.copy_within(self.decoded..self.filled, 0);
        self.filled -= self.decoded;
        self.position += self.decoded as u64;
        self.decoded = 0;
        let end = self.filled + self.wanted;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let read = loop {
            match self.stream.read(&mut self.bytes[self.filled..end]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let position = self.position + self.filled as u64;
        let read = read.map_err(|source| ErrorKind::Read { position, source })?;
        self.filled += read;
        self.is_last = read == 0;
        Ok(())
    }
}

impl Blocks for Stream {
    fn next_block(&mut self, out: &mut Output) -> Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        if self.needs_more {
            self.fill()?;
        }
        let input = Input {
            bytes: &self.bytes[self.decoded..self.filled],
            position: self.position + self.decoded as u64,
            is_last: self.is_last,
        };
        let decoded = self.decoder.decode(input, out)?;
        self.decoded += decoded;
        let rest = self.filled - self.decoded;
        self.needs_more = decoded == 0 || rest == 0;
        if rest > MAX_PACKET {
            let problem = format!("a record or packet of more than {} MiB", MAX_PACKET >> 20);
            return Err(crate::formats::damaged("the file", self.position, problem));
        }
        // A large packet is read in few pieces: each as large as what is there of it.
        self.wanted = READ.max(rest);
        self.is_over = self.is_last && self.needs_more;
        Ok(true)
    }

    fn sensor(&self) -> Option<Sensor> {
        self.decoder.sensor()
    }

    fn most_events(&self, bytes: u64) -> usize {
        bytes as usize / self.decoder.event_bytes()
    }
}
