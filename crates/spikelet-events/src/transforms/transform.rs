//! Transforms with names, and chains of them.

use super::*;
use crate::EventRandom;
use crate::frames::check_events;
use crate::settings::{Settings, registry};
use crate::{EventBuffer, Result, Sensor};

/// What a transform does; events are on the sensor.
pub(super) trait Apply {
    /// Changes the events, and the sensor if its size changes.
    fn apply(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()>;
}

macro_rules! transforms {
    ($($variant:ident,)*) => {
        registry! {
            /// A transform of events with a name: `denoise=10000`, `time-skew coefficient=0.9 coefficient_max=1.1`.
            ///
            /// ```
            /// use spikelet_events::transforms::EventTransform;
            ///
            /// let transform: EventTransform = "random-crop width=24 height=20".parse()?;
            /// assert_eq!(transform.to_string(), "random-crop width=24 height=20");
            /// assert!("random-crop width=-1".parse::<EventTransform>().is_err());
            /// # Ok::<(), spikelet_events::Error>(())
            /// ```
            EventTransform, "transforms" { $($variant($variant),)* }
        }

        impl EventTransform {
            /// Changes the events in place, and the size of the sensor if the transform has another.
            ///
            /// # Errors
            /// [`Setting`](crate::ErrorKind::Setting) for a setting or sensor out of range,
            /// [`Columns`](crate::ErrorKind::Columns), [`Outside`](crate::ErrorKind::Outside) for an event outside of the
            /// sensor, [`TooLarge`](crate::ErrorKind::TooLarge) for a sensor with more than 2²⁶ pixels where each needs
            /// memory. The events are then unchanged.
            pub fn apply(&self, events: &mut EventBuffer, sensor: &mut Sensor, random: &mut EventRandom) -> Result<()> {
                match self {
                    $(Self::$variant(transform) => {
                        check_events($variant::NAME, events, *sensor)?;
                        transform.apply(events, sensor, random)
                    })*
                }
            }
        }
    };
}

transforms! {
    CenterCrop,
    RandomCrop,
    CropTime,
    Denoise,
    Decimation,
    RefractoryPeriod,
    Downsample,
    TimeSkew,
    TimeAlignment,
    SortByTime,
    MergePolarities,
    FlipX,
    FlipY,
    FlipPolarity,
    TimeReversal,
    DropPixels,
    DropHotPixels,
    DropRandomPixels,
    DropEvents,
    DropByTime,
    DropByArea,
    EventDrop,
    UniformNoise,
    TimeJitter,
    SpatialJitter,
    SnnAugment,
}

/// Applies transforms one after the other; each has random numbers of its own.
///
/// # Errors
/// Those of [`EventTransform::apply`].
pub fn apply_all(
    transforms: &[EventTransform],
    events: &mut EventBuffer,
    sensor: &mut Sensor,
    random: &EventRandom,
) -> Result<()> {
    for (position, transform) in transforms.iter().enumerate() {
        transform.apply(events, sensor, &mut random.of_transform(position))?;
    }
    Ok(())
}
