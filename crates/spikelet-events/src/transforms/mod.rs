//! Transforms of events: crops, filters, augmentation. [`EVENT_TRANSFORMS`] lists them.
//!
//! Random transforms give the same events for the same seed, epoch, sample and position in the chain
//! ([`EventRandom`](crate::EventRandom)).
//!
//! ```
//! use spikelet_events::transforms::{EventTransform, apply_all};
//! use spikelet_events::{EventBuffer, EventRandom, Sensor};
//! use spikelet_schema::Member;
//!
//! let chain: [Member<dyn EventTransform>; 2] = ["flip-x=1".parse()?, "crop-time min=5".parse()?];
//! let (mut events, mut sensor) = (EventBuffer::default(), Sensor::new(34, 34));
//! events.push(0, 1, 2, true);
//! events.push(9, 3, 4, false);
//! apply_all(&chain, &mut events, &mut sensor, &EventRandom::new(0, 0, 17))?;
//! assert_eq!((events.t, events.x), (vec![9], vec![30]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Transforms without random numbers give tonic's events exactly. Differences to tonic, on purpose: `CropTime` without an end
//! has no end, where tonic keeps that of the first recording; `DropEvents` of an interval, `RandomCrop` and `SpatialJitter` as
//! each says; `DropEvents` of a box reaches every position; `UniformNoise` and `SortByTime` keep the order of events at one
//! time.
//!
//! Source: G. Lenz et al., Tonic, 2021.

mod edit;
mod transform;

pub use transform::{EventTransform, apply_all};

spikelet_schema::members! {
    /// All transforms of events.
    pub static EVENT_TRANSFORMS: dyn EventTransform = "transform of events" {
        center_crop: CenterCrop;
        random_crop: RandomCrop;
        crop_time: CropTime;
        denoise: Denoise;
        decimation: Decimation;
        refractory_period: RefractoryPeriod;
        downsample: Downsample;
        time_skew: TimeSkew;
        time_alignment: TimeAlignment;
        sort_by_time: SortByTime;
        merge_polarities: MergePolarities;
        flip_events: FlipEvents, FlipAxis;
        time_reversal: TimeReversal;
        drop_pixels: DropPixels;
        drop_events: DropEvents, DropOf;
        event_drop: EventDrop;
        uniform_noise: UniformNoise;
        time_jitter: TimeJitter;
        spatial_jitter: SpatialJitter;
        snn_augment: SnnAugment;
        nda: Nda;
    } or {
        "flip-x" = "flip-events", "axis = 'x'";
        "flip-y" = "flip-events", "axis = 'y'";
        "flip-polarity" = "flip-events", "axis = 'polarity'";
        "drop-hot-pixels" = "drop-pixels", "frequency = 1000.0";
        "drop-random-pixels" = "drop-events", "of = 'pixels'";
        "drop-by-time" = "drop-events", "of = 'time'";
        "drop-by-area" = "drop-events", "of = 'area'";
    }
}
