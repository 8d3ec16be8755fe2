//! A pack: all samples of a data set in one compressed file, read in any order.
//!
//! Event files of a data set are packed once; frames are computed from the events on the fly. A sample is read with one
//! access to the file, of its own bytes only. Bytes that many processes read are in memory once, in the page cache.
//!
//! ```
//! use spikelet_events::pack::{Pack, PackInfo, SampleInfo, Writer};
//! use spikelet_events::{EventBuffer, Sensor, Split};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("own.events");
//! let mut events = EventBuffer::default();
//! events.push(40, 3, 7, true);
//! let info = PackInfo {
//!     name: "own".into(),
//!     sensor: Some(Sensor::new(34, 34)),
//!     classes: vec!["cat".into()],
//! };
//! let mut writer = Writer::create(&path, &info)?;
//! writer.push(&events, SampleInfo::new(Split::Train, Some(0)))?;
//! writer.finish()?;
//!
//! let pack = Pack::open(&path)?;
//! assert_eq!((pack.len(), pack.samples()[0].info.label), (1, Some(0)));
//! let mut first = EventBuffer::default();
//! pack.read(0, &mut first)?;
//! assert_eq!(first, events);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! All numbers are little endian.
//!
//! | part | bytes | |
//! |---|---|---|
//! | magic | 8 | `SPKPACK` and the version, 1 |
//! | samples | | one after the other, without gaps |
//! | index | | [`PackInfo`]; for each sample its bytes, events, CRC-32, label, split and speaker |
//! | end | 20 | bytes of the index (u64), CRC-32 of the index (u32), magic |
//!
//! A sample is a sequence of blocks of up to 65,536 events. A block has the columns of its events: differences of times
//! above the smallest difference, as variable-length integers (LEB128); the low and the high bytes of x and of y;
//! polarities, one bit each. All but the polarities are compressed with Deflate where that makes them smaller. The
//! polarities are never compressed, so that a sample of n bytes has at most 8 n events, whatever the file claims.

mod block;
mod data_set;
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod reader;
mod writer;

pub use data_set::{PackProgress, pack_data_set};
pub use index::{PackInfo, PackedSample, SampleInfo};
pub use reader::Pack;
pub use writer::Writer;

use crate::error::Error;

const NAME: &str = "pack";

/// The first and the last bytes of a file; the last of them is the version.
const MAGIC: [u8; 8] = *b"SPKPACK\x01";

/// The bytes after the index.
const END: usize = 8 + 4 + MAGIC.len();

/// An error in the bytes of a file.
fn damaged(offset: u64, problem: impl Into<String>, help: &'static str) -> Error {
    Error::damaged(NAME, offset, problem, help)
}
