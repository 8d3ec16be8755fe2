//! Rules by which events become dense tensors.

use std::fmt::Debug;

use spikelet_schema::Record;

use super::FrameEnd;
use super::slicing::DeviceSlicing;
use crate::settings::{check, check_settings};
use crate::{ErrorKind, EventBuffer, Frames, Result, Sensor};

/// The most elements of a tensor that is allocated here: 1 GiB.
const MAX_ELEMENTS: usize = 1 << 28;

/// A rule by which the events of a recording become a dense tensor. A rule is one file with its declaration, and a line in
/// [`FRAME_RULES`](super::FRAME_RULES).
///
/// ```
/// use spikelet_events::frames::FrameRule;
/// use spikelet_schema::Member;
///
/// let rule: Member<dyn FrameRule> = "number=16".parse()?;
/// assert_eq!((rule.to_string().as_str(), rule.steps()), ("number frames=16", Some(16)));
/// assert!("numbers=16".parse::<Member<dyn FrameRule>>().is_err());
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
pub trait FrameRule: Record + Debug + Send + Sync {
    /// The shape: time (or cells), polarity, rows, columns.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`], [`ErrorKind::Unsorted`], [`ErrorKind::TooLarge`].
    fn shape(&self, events: &EventBuffer, sensor: Sensor) -> Result<[usize; 4]>;

    /// Writes the tensor, row-major, over a buffer of as many elements as `shape` has.
    ///
    /// # Errors
    /// Those of [`shape`](Self::shape); [`ErrorKind::Outside`], [`ErrorKind::Columns`], [`ErrorKind::BufferLength`],
    /// [`ErrorKind::NoDuration`].
    fn fill(&self, events: &EventBuffer, sensor: Sensor, out: &mut [f32]) -> Result<()>;

    /// Refuses settings that do not fit together.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`].
    fn fits(&self) -> Result<()> {
        Ok(())
    }

    /// The number of frames, if it is the same for all recordings.
    fn steps(&self) -> Option<usize> {
        None
    }

    /// The rule by which a device makes the same frames, if it can.
    fn on_device(&self) -> Option<DeviceSlicing> {
        None
    }

    /// When a frame of a stream ends; `None` if frames need the end of the recording.
    fn end_in_stream(&self) -> Option<FrameEnd> {
        None
    }

    /// The tensor in memory of its own.
    ///
    /// # Errors
    /// Those of [`fill`](Self::fill); [`ErrorKind::TooLarge`] above 2²⁸ elements (1 GiB).
    fn tensor(&self, events: &EventBuffer, sensor: Sensor) -> Result<Frames> {
        let shape = self.shape(events, sensor)?;
        let help = "use fewer or longer slices, or write slices one by one with `CountFrames::fill_slices`";
        let len = element_count(self.declaration().name, shape, help)?;
        let mut values = vec![0.0; len];
        self.fill(events, sensor, &mut values)?;
        Ok(Frames {
            shape: shape.to_vec(),
            values,
        })
    }
}

/// Refuses settings out of range.
pub(super) fn check_rule<R: FrameRule + ?Sized>(rule: &R) -> Result<()> {
    check_settings(rule)?;
    rule.fits()
}

/// The number of elements, up to 2²⁸.
pub(super) fn element_count(
    of: &'static str,
    shape: [usize; 4],
    help: &'static str,
) -> Result<usize> {
    let count = shape.iter().map(|&size| size as u128);
    let count = count.fold(1_u128, u128::saturating_mul);
    let found = usize::try_from(count)
        .ok()
        .filter(|&count| count <= MAX_ELEMENTS);
    found.ok_or_else(|| {
        let [a, b, c, d] = shape;
        ErrorKind::TooLarge {
            of,
            given: format!("{count} ({a} × {b} × {c} × {d})"),
            unit: "elements",
            limit: MAX_ELEMENTS,
            help,
        }
        .into()
    })
}

/// Checks the length of a buffer.
pub(super) fn check_buffer(of: &'static str, out: &[f32], shape: [usize; 4]) -> Result<()> {
    let expected = shape
        .iter()
        .fold(1_usize, |product, &size| product.saturating_mul(size));
    if out.len() == expected {
        return Ok(());
    }
    Err(ErrorKind::BufferLength {
        of,
        given: out.len(),
        expected,
    }
    .into())
}

/// Checks that the columns have one length and that all events are on the sensor, which has pixels.
pub(crate) fn check_events(of: &'static str, events: &EventBuffer, sensor: Sensor) -> Result<()> {
    check_columns(events)?;
    check_sensor(of, sensor)?;
    match sensor.first_outside(events, 0) {
        Some(outside) => Err(outside.error(0, sensor).into()),
        None => Ok(()),
    }
}

/// Checks that the columns have one length.
pub(crate) fn check_columns(events: &EventBuffer) -> Result<()> {
    let lens = [
        events.t.len(),
        events.x.len(),
        events.y.len(),
        events.p.len(),
    ];
    if lens == [lens[0]; 4] {
        Ok(())
    } else {
        Err(ErrorKind::Columns { lens }.into())
    }
}

/// Checks that a sensor has pixels, and not more than coordinates can name.
pub(crate) fn check_sensor(of: &'static str, sensor: Sensor) -> Result<()> {
    let expected = "a width and a height from 1 to 65536";
    let holds = |size: u32| (1..=1 << 16).contains(&size);
    let is_valid = holds(sensor.width) && holds(sensor.height);
    check(is_valid, of, "sensor", sensor, expected)
}
