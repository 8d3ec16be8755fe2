//! Events become dense tensors: frames of counts, voxel grids, time surfaces.
//!
//! A [`Slicing`] cuts the events of a recording into ranges; each range is counted into a frame
//! `[P, H, W]`. Channel 0 has the OFF events, channel 1 the ON events.
//!
//! | slicing | text | as |
//! |---|---|---|
//! | [`ByNumber`] | `number=16` | SpikingJelly, `split_by="number"` |
//! | [`ByTime`] | `time=16` | SpikingJelly, `split_by="time"` |
//! | [`ByDuration`] | `duration=50000` | SpikingJelly, `data_type="frame"` with `duration` |
//! | [`TimeWindows`] | `time-windows window=50000 overlap=10000` | tonic `ToFrame(time_window=…)` |
//! | [`EventCounts`] | `event-counts=1000` | tonic `ToFrame(event_count=…)` |
//! | [`TimeBins`] | `time-bins=10` | tonic `ToFrame(n_time_bins=…)` |
//! | [`EventBins`] | `event-bins=10` | tonic `ToFrame(n_event_bins=…)` |
//!
//! A [`FrameRule`] is a slicing, whose events are counted, or another one of [`FRAME_RULES`].
//!
//! [`Resize`], [`Nda`](crate::transforms::Nda) and [`DropFrames`] change frames. [`SoundFrames`] has the frames of a cochlea (SHD, SSC), with the rules of published code.
//!
//! ```
//! use spikelet_events::frames::{ByNumber, FrameRule};
//! use spikelet_events::{EventBuffer, Sensor};
//!
//! let mut events = EventBuffer::default();
//! for k in 0..5 {
//!     events.push(10 * k, 1, 0, k % 2 == 1);
//! }
//! let frames = ByNumber { frames: 2 }.tensor(&events, Sensor::new(2, 1))?;
//! assert_eq!(frames.shape, [2, 2, 1, 2]); // [T, P, H, W]
//! assert_eq!(frames.values, [0.0, 1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 1.0]);
//! # Ok::<(), spikelet_events::Error>(())
//! ```
//!
//! Differences to the other libraries, on purpose:
//! - Events outside of the sensor are errors; SpikingJelly counts them at another pixel.
//! - A part of a recording without events is an empty frame, and events at a single time are all in the last frame;
//!   SpikingJelly fails.
//! - Slicing by time refuses times that decrease. tonic searches in them as if they were sorted.
//! - Counts do not wrap at 32,767, and frames without events have the shape of all others; both differ in tonic.
//! - tonic's slices lose the last events; this is the same here.
//!
//! Source: W. Fang et al., SpikingJelly, 2023; G. Lenz et al., Tonic, 2021.

mod averaged_time_surface;
mod bit_frames;
mod count;
mod drop_frames;
mod resize;
mod rule;
mod slicing;
mod sound;
mod sound_rule;
mod sound_steps;
mod stream;
mod time_surface;
mod voxel_grid;

pub(crate) use rule::{check_events, check_sensor};

pub use averaged_time_surface::{AveragedTimeSurface, Decay};
pub use bit_frames::BitFrames;
pub use count::CountFrames;
pub use drop_frames::DropFrames;
pub use resize::{Interpolation, Resize};
pub use rule::FrameRule;
pub use slicing::{
    ByDuration, ByNumber, ByTime, DeviceSlicing, EventBins, EventCounts, SLICINGS, Slicing,
    TimeBins, TimeWindows,
};
pub use sound::SoundFrames;
pub use sound_rule::SoundRule;
pub use sound_steps::SoundSteps;
pub use stream::{FrameEnd, FrameStream};
pub use time_surface::TimeSurface;
pub use voxel_grid::VoxelGrid;

spikelet_schema::registry! {
    /// All rules by which events become frames: the slicings, whose events are counted, and others.
    pub static FRAME_RULES: dyn FrameRule = "rule of frames" {
        ByNumber,
        ByTime,
        ByDuration,
        TimeWindows,
        EventCounts,
        TimeBins,
        EventBins,
        CountFrames,
        VoxelGrid,
        TimeSurface,
        AveragedTimeSurface,
        BitFrames,
        SoundSteps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slicing_is_a_rule_of_frames() {
        for slicing in SLICINGS.names() {
            assert_eq!(
                FRAME_RULES.find(slicing).map(|rule| rule.name()),
                Ok(slicing)
            );
        }
    }
}
