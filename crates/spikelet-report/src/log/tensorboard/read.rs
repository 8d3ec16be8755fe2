//! Reads the scalars of event files.

use super::event::{self, Field};
use super::{event_files, record};
use spikelet_core::files::{self, FileError};
use std::collections::BTreeMap;
use std::path::Path;

/// The curves of the scalars in the event files of `folder` by their tags: points (step, value) in the order in which
/// they were written. A file that is being written ends with its last complete event. A folder that does not exist
/// has no curves.
///
/// ```
/// # use spikelet_report::log::{SummaryWriter, tensorboard::read_scalars};
/// # let folder = tempfile::tempdir()?;
/// let mut writer = SummaryWriter::create(folder.path())?;
/// writer.add_scalar("loss", 1, 0.5)?;
/// writer.flush()?;
/// assert_eq!(read_scalars(folder.path())?["loss"], [(1, 0.5)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FileError::Io`] if a file cannot be read.
pub fn read_scalars(
    folder: impl AsRef<Path>,
) -> Result<BTreeMap<String, Vec<(u64, f32)>>, FileError> {
    let mut curves = BTreeMap::<String, Vec<(u64, f32)>>::new();
    for path in event_files(folder.as_ref())? {
        let bytes = files::read(&path)?;
        let mut rest = &bytes[..];
        while let Some((data, after)) = record::split(rest) {
            rest = after;
            if let Some(value) = simple_value(data) {
                let tag = event::tag(data).to_string();
                curves
                    .entry(tag)
                    .or_default()
                    .push((event::step(data), value));
            }
        }
    }
    Ok(curves)
}

/// The value of a scalar's event.
fn simple_value(event: &[u8]) -> Option<f32> {
    let summary = inside(event, 5)?;
    let value = inside(summary, 1)?;
    let number = inside(value, 2)?;
    Some(f32::from_le_bytes(number.try_into().ok()?))
}

/// The content of a field of a message.
fn inside(message: &[u8], number: u64) -> Option<&[u8]> {
    event::fields(message).find_map(|field| match field {
        Field::Bytes(n, bytes) | Field::Fixed(n, bytes) if n == number => Some(bytes),
        _ => None,
    })
}
