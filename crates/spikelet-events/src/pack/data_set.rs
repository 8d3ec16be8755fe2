//! A data set is packed.

use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::index::{PackInfo, SampleInfo};
use super::writer::{EncodedSample, SampleEncoder, Writer};
use crate::EventDataset;
use crate::error::Result;

/// The encoded samples that a thread may be ahead of the file.
const AHEAD: usize = 2;

/// What was packed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackProgress {
    /// The samples that were packed.
    pub samples: usize,
    /// All samples.
    pub of: usize,
    /// The events of these samples.
    pub events: u64,
    /// The bytes of the pack.
    pub bytes: u64,
}

/// Packs all samples of a data set, in their order. Several threads read and compress; memory is that of a few samples for
/// each of them. The file does not depend on the number of threads.
///
/// ```
/// use spikelet_events::pack::{Pack, pack_data_set};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::create_dir(folder.path().join("cat"))?;
/// std::fs::write(folder.path().join("cat/1.bin"), [3, 7, 0x80, 0, 40])?;
/// let data = spikelet_events::recording_folder(folder.path(), &Default::default())?;
/// let path = folder.path().join("cats.events");
/// let threads = std::thread::available_parallelism()?;
/// pack_data_set(&data, &path, threads, |progress| println!("{} of {}", progress.samples, progress.of))?;
/// assert_eq!(Pack::open(&path)?.info().classes, ["cat"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`EventDataset::read`] and [`Writer::push`]. No file is left then.
pub fn pack_data_set(
    data: &EventDataset,
    path: impl AsRef<Path>,
    threads: NonZero<usize>,
    mut progress: impl FnMut(PackProgress),
) -> Result<()> {
    let info = PackInfo {
        name: data.name().to_owned(),
        sensor: data.sensor(),
        classes: data.classes().to_owned(),
    };
    let mut writer = Writer::create(path, &info)?;
    let of = data.samples().len();
    let threads = threads.get().min(of).max(1);
    thread::scope(|scope| -> Result<()> {
        // Thread k encodes the samples k, k + threads, …: their order needs no index.
        let encoded: Vec<Receiver<Result<EncodedSample>>> = (0..threads)
            .map(|first| {
                let (send, receive) = sync_channel(AHEAD);
                scope.spawn(move || {
                    let mut encoder = SampleEncoder::new();
                    for index in (first..of).step_by(threads) {
                        // Without a receiver, another sample had an error.
                        if send.send(encode(data, index, &mut encoder)).is_err() {
                            break;
                        }
                    }
                });
                receive
            })
            .collect();
        let mut events = 0;
        for (index, sample) in data.samples().iter().enumerate() {
            // A thread that panics passes its panic on at the end of the scope.
            let Ok(encoded) = encoded[index % threads].recv() else {
                return Ok(());
            };
            let encoded = encoded?;
            writer.push_encoded(&encoded, SampleInfo::from(sample))?;
            events += encoded.events;
            progress(PackProgress {
                samples: index + 1,
                of,
                events,
                bytes: writer.position(),
            });
        }
        Ok(())
    })?;
    writer.finish()
}

fn encode(data: &EventDataset, index: usize, encoder: &mut SampleEncoder) -> Result<EncodedSample> {
    let events = data.read(index)?;
    let encoded = encoder.encode(&events, data.sensor());
    let path = data.folder().join(&data.samples()[index].file);
    encoded.map_err(|kind| crate::Error::from(kind).in_file(&path))
}
