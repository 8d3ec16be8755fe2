//! Transforms of events: crops, filters, augmentation.
//!
//! | transform | text | |
//! |---|---|---|
//! | [`CenterCrop`] | `center-crop` | The center of the sensor. |
//! | [`RandomCrop`] | `random-crop` | A random part of the sensor. |
//! | [`CropTime`] | `crop-time` | A part of the duration. |
//! | [`Denoise`] | `denoise` | Events without a neighbor are dropped. |
//! | [`Decimation`] | `decimation` | Every n-th event of a pixel. |
//! | [`RefractoryPeriod`] | `refractory-period` | A refractory period of pixels. |
//! | [`Downsample`] | `downsample` | Coarser coordinates and times. |
//! | [`TimeSkew`] | `time-skew` | Times are stretched and shifted. |
//! | [`TimeAlignment`] | `time-alignment` | Times start at 0. |
//! | [`SortByTime`] | `sort-by-time` | Events in the order of their times. |
//! | [`MergePolarities`] | `merge-polarities` | One polarity. |
//! | [`FlipX`] | `flip-x` | Left and right are exchanged. |
//! | [`FlipY`] | `flip-y` | Top and bottom are exchanged. |
//! | [`FlipPolarity`] | `flip-polarity` | ON and OFF are exchanged. |
//! | [`TimeReversal`] | `time-reversal` | Time runs backwards. |
//! | [`DropPixels`] | `drop-pixels` | Chosen pixels are dropped. |
//! | [`DropHotPixels`] | `drop-hot-pixels` | Pixels with too many events are dropped. |
//! | [`DropRandomPixels`] | `drop-random-pixels` | Random pixels are dropped. |
//! | [`DropEvents`] | `drop-events` | Random events are dropped. |
//! | [`DropByTime`] | `drop-by-time` | The events of a random interval are dropped. |
//! | [`DropByArea`] | `drop-by-area` | The events of a random box are dropped. |
//! | [`EventDrop`] | `event-drop` | EventDrop. |
//! | [`UniformNoise`] | `uniform-noise` | Random events are added. |
//! | [`TimeJitter`] | `time-jitter` | Times vary. |
//! | [`SpatialJitter`] | `spatial-jitter` | Coordinates vary. |
//! | [`SnnAugment`] | `snn-augment` | One of the geometric augmentations of spiking transformers. |
//!
//! Random transforms give the same events for the same seed, epoch, sample and position in the chain ([`EventRandom`](crate::EventRandom)).
//!
//! ```
//! use spikelet_events::transforms::{EventTransform, apply_all};
//! use spikelet_events::{EventBuffer, EventRandom, Sensor};
//!
//! let chain: Vec<EventTransform> = vec!["flip-x=1".parse()?, "crop-time min=5".parse()?];
//! let (mut events, mut sensor) = (EventBuffer::default(), Sensor::new(34, 34));
//! events.push(0, 1, 2, true);
//! events.push(9, 3, 4, false);
//! apply_all(&chain, &mut events, &mut sensor, &EventRandom::new(0, 0, 17))?;
//! assert_eq!((events.t, events.x), (vec![9], vec![30]));
//! # Ok::<(), spikelet_events::Error>(())
//! ```
//!
//! Transforms without random numbers give tonic's events exactly. Differences to tonic, on purpose: `CropTime` without an end
//! has no end, where tonic keeps that of the first recording; `DropByTime`, `RandomCrop` and `SpatialJitter` as each says;
//! `DropByArea` reaches every position; `UniformNoise` and `SortByTime` keep the order of events at one time.
//!
//! Source: G. Lenz et al., Tonic, 2021.

mod center_crop;
mod crop_time;
mod decimation;
mod denoise;
mod downsample;
mod drop_by_area;
mod drop_by_time;
mod drop_events;
mod drop_hot_pixels;
mod drop_pixels;
mod drop_random_pixels;
mod edit;
mod event_drop;
mod flip_polarity;
mod flip_x;
mod flip_y;
mod merge_polarities;
mod random_crop;
mod refractory_period;
mod snn_augment;
mod sort_by_time;
mod spatial_jitter;
mod time_alignment;
mod time_jitter;
mod time_reversal;
mod time_skew;
mod transform;
mod uniform_noise;

pub use center_crop::CenterCrop;
pub use crop_time::CropTime;
pub use decimation::Decimation;
pub use denoise::Denoise;
pub use downsample::Downsample;
pub use drop_by_area::DropByArea;
pub use drop_by_time::DropByTime;
pub use drop_events::DropEvents;
pub use drop_hot_pixels::DropHotPixels;
pub use drop_pixels::{DropPixels, Pixels};
pub use drop_random_pixels::DropRandomPixels;
pub use event_drop::EventDrop;
pub use flip_polarity::FlipPolarity;
pub use flip_x::FlipX;
pub use flip_y::FlipY;
pub use merge_polarities::MergePolarities;
pub use random_crop::RandomCrop;
pub use refractory_period::RefractoryPeriod;
pub use snn_augment::SnnAugment;
pub use sort_by_time::SortByTime;
pub use spatial_jitter::SpatialJitter;
pub use time_alignment::TimeAlignment;
pub use time_jitter::TimeJitter;
pub use time_reversal::TimeReversal;
pub use time_skew::TimeSkew;
pub use transform::{EventTransform, apply_all};
pub use uniform_noise::UniformNoise;
