//! The interface of transforms of events, and chains of them.

use std::fmt::Debug;

use spikelet_schema::{Member, Record};

use crate::frames::check_events;
use crate::settings::check_settings;
use crate::{EventBuffer, EventRandom, Frames, Result, Sensor};

/// A change of the events of a recording. A transform is one file with its declaration, and a line in
/// [`EVENT_TRANSFORMS`](super::EVENT_TRANSFORMS).
///
/// ```
/// use spikelet_events::transforms::EventTransform;
/// use spikelet_schema::Member;
///
/// let transform: Member<dyn EventTransform> = "random-crop width=24 height=20".parse()?;
/// assert_eq!(transform.to_string(), "random-crop width=24 height=20");
/// assert!("random-crop width=-1".parse::<Member<dyn EventTransform>>().is_err());
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
pub trait EventTransform: Record + Debug + Send + Sync {
    /// Changes the events, and the sensor if its size changes. Settings and events were checked.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()>;

    /// Refuses settings that do not fit together.
    ///
    /// # Errors
    /// [`Setting`](crate::ErrorKind::Setting).
    fn fits(&self) -> Result<()> {
        Ok(())
    }

    /// Whether frames are changed, by [`change_frames`](Self::change_frames), not events.
    fn is_of_frames(&self) -> bool {
        false
    }

    /// Changes the frames that were made of the events.
    ///
    /// # Errors
    /// [`Setting`](crate::ErrorKind::Setting) for a setting out of range, and for frames of another shape. The frames are then
    /// unchanged.
    fn change_frames(&self, frames: &mut Frames, random: &mut EventRandom) -> Result<()> {
        let _ = (frames, random);
        Ok(())
    }

    /// Changes the events in place, and the size of the sensor if the transform has another.
    ///
    /// # Errors
    /// [`Setting`](crate::ErrorKind::Setting) for a setting or sensor out of range,
    /// [`Columns`](crate::ErrorKind::Columns), [`Outside`](crate::ErrorKind::Outside) for an event outside of the
    /// sensor, [`TooLarge`](crate::ErrorKind::TooLarge) for a sensor with more than 2²⁶ pixels where each needs
    /// memory. The events are then unchanged.
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        check_settings(self)?;
        self.fits()?;
        check_events(self.declaration().name, events, *sensor)?;
        self.change(events, sensor, random)
    }
}

/// Applies transforms one after the other; each has random numbers of its own.
///
/// # Errors
/// Those of [`EventTransform::apply`].
pub fn apply_all(
    transforms: &[Member<dyn EventTransform>],
    events: &mut EventBuffer,
    sensor: &mut Sensor,
    random: &EventRandom,
) -> Result<()> {
    for (position, transform) in transforms.iter().enumerate() {
        transform.apply(events, sensor, &mut random.of_transform(position))?;
    }
    Ok(())
}
