//! Event files are read and written: recordings of event cameras and spiking audio.
//!
//! [`read`] reads a file; [`open`] reads it in blocks, so that a recording may be larger than memory;
//! [`EventReader::from_stream`] reads a socket or standard input. All give events as columns, [`EventBuffer`].
//! [`write()`] and [`EventWriter`] write files. [`frames`] makes dense tensors of events;
//! [`transforms`] changes them; [`synthetic`] generates recordings; [`preview`] draws them.
//!
//! ```
//! use spikelet_events::{EventReader, Format, Options, Sensor};
//!
//! // Two ATIS records: x, y, polarity and 23 bits of time.
//! let file: &[u8] = &[3, 7, 0x80, 0, 40, 5, 8, 0, 0, 90];
//! let options = Options { format: Some(Format::Atis), sensor: Some(Sensor::new(34, 34)), ..Options::default() };
//! for block in EventReader::from_stream(file, &options)? {
//!     let events = block?;
//!     assert_eq!((events.t, events.x, events.y, events.p), (vec![40, 90], vec![3, 5], vec![7, 8], vec![1, 0]));
//! }
//! # Ok::<(), spikelet_events::Error>(())
//! ```
//!
//! No input makes a reader panic, allocate what a header merely claims, or run without an end.

mod archive;
mod buffer;
mod checksum;
mod error;
mod faults;
mod format;
mod formats;
pub mod frames;
mod gesture;
mod options;
pub mod pack;
pub mod preview;
mod random;
mod reader;
mod recording;
mod sensor;
mod sets;
mod settings;
#[cfg(feature = "hdf5")]
mod spiking_audio;
pub mod synthetic;
pub mod transforms;
mod trigger;
mod writer;

pub use archive::{Unpacked, unpack};
pub use buffer::EventBuffer;
pub use error::{Error, ErrorKind, Result};
pub use faults::{Fault, Faults};
pub use format::Format;
pub use formats::npz::{Frames, read_frames};
pub use gesture::{GestureWindow, gesture_windows};
pub use options::{Options, Orientation};
pub use random::EventRandom;
pub use reader::{EventReader, open};
pub use recording::{Recording, read, read_undamaged};
pub use sensor::Sensor;
pub use sets::{
    Checksum, ClassOrder, Download, EventDataset, EventSample, EventSet, SamplePart, Split,
    Verification, VerifiedRecordings, VerifyOptions, VerifyProgress, event_sets, recording_folder,
    recording_list, split_classes,
};
#[cfg(feature = "hdf5")]
pub use spiking_audio::{
    SpikingAudio, read_spiking_audio, read_spiking_recording, spiking_audio_classes,
};
pub use trigger::Trigger;
pub use writer::{EventWriter, WriteOptions, write};
