//! An event camera that watches one moving shape.
//!
//! A pixel stores the logarithm of the intensity of its last event, and sends one when the intensity differs from it by the
//! threshold. Intensities change linearly between two poses, which are at most 0.75 pixels apart.
//!
//! A shape that returns to its first pose gives as many ON as OFF events in each pixel.
//!
//! Source: H. Rebecq et al., ESIM: an Open Event Camera Simulator, 2018.

use super::path::{Key, Pose, between};
use super::spikes::Spikes;
use crate::Sensor;

/// The largest distance of two poses in pixels.
const STEP: f64 = 0.75;

/// Rounds to a multiple of 1/256: sums and differences of intensities are exact.
#[inline]
pub(super) fn round(intensity: f32) -> f32 {
    (intensity + 32768.0) - 32768.0
}

/// A bright shape.
pub(super) trait Shape {
    /// The distance in pixels beyond which the shape is dark.
    fn reach(&self, pose: &Pose) -> f64;

    /// The intensities of the pixels `left`, `left` + 1, … of row `y`: the logarithm in thresholds above the background, as
    /// [`round`] gives it.
    fn row(&self, pose: &Pose, y: usize, left: usize, intensities: &mut [f32]);
}

/// The pixels that a shape may light.
#[derive(Clone, Copy)]
struct Frame {
    left: usize,
    right: usize,
    top: usize,
    bottom: usize,
}

impl Frame {
    fn of(pose: &Pose, reach: f64, sensor: Sensor) -> Self {
        let clamp = |value: f64, limit: u32| value.clamp(0.0, f64::from(limit)) as usize;
        Self {
            left: clamp(pose.x - reach, sensor.width),
            right: clamp(pose.x + reach + 2.0, sensor.width),
            top: clamp(pose.y - reach, sensor.height),
            bottom: clamp(pose.y + reach + 2.0, sensor.height),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            right: self.right.max(other.right),
            top: self.top.min(other.top),
            bottom: self.bottom.max(other.bottom),
        }
    }
}

/// The pixels of a camera.
struct Pixels<'a, S> {
    shape: &'a S,
    sensor: Sensor,
    intensities: Vec<f32>,
    /// The intensities at the last events.
    references: Vec<f32>,
    row: Vec<f32>,
}

/// Appends the events of a shape that moves. Key frames are in units of the sensor's width and height, times are
/// microseconds.
pub(super) fn watch(shape: &impl Shape, keys: &[Key], sensor: Sensor, spikes: &mut Spikes) {
    let in_pixels = |key: &Key| Key {
        t: key.t,
        pose: Pose {
            x: key.pose.x * f64::from(sensor.width),
            y: key.pose.y * f64::from(sensor.height),
            size: key.pose.size * f64::from(sensor.width),
        },
    };
    let pixels = (sensor.width * sensor.height) as usize;
    let mut camera = Pixels {
        shape,
        sensor,
        intensities: vec![0.0; pixels],
        references: vec![0.0; pixels],
        row: vec![0.0; sensor.width as usize],
    };
    let mut keys = keys.iter().map(in_pixels);
    let Some(mut start) = keys.next() else {
        return;
    };
    let mut last = camera.first(&start.pose);
    for end in keys {
        let (a, b) = (start.pose, end.pose);
        let moved = (a.x - b.x)
            .abs()
            .max((a.y - b.y).abs())
            .max((a.size - b.size).abs());
        let steps = (moved / STEP) as u32 + 1;
        let (mut pose, mut t) = (a, start.t);
        for step in 1..=steps {
            let u = f64::from(step) / f64::from(steps);
            let next = if step == steps { b } else { between(a, b, u) };
            let next_t = start.t + (end.t - start.t) * u;
            if next != pose {
                last = camera.step(last, &next, [t, next_t], spikes);
            }
            (pose, t) = (next, next_t);
        }
        start = end;
    }
}

impl<S: Shape> Pixels<'_, S> {
    fn frame(&self, pose: &Pose) -> Frame {
        Frame::of(pose, self.shape.reach(pose), self.sensor)
    }

    /// Sets the intensities without events.
    fn first(&mut self, pose: &Pose) -> Frame {
        let frame = self.frame(pose);
        let width = self.sensor.width as usize;
        for y in frame.top..frame.bottom {
            let row = &mut self.intensities[y * width..][frame.left..frame.right];
            self.shape.row(pose, y, frame.left, row);
        }
        self.references.copy_from_slice(&self.intensities);
        frame
    }

    /// Moves the shape to another pose.
    fn step(&mut self, last: Frame, pose: &Pose, t: [f64; 2], spikes: &mut Spikes) -> Frame {
        let next = self.frame(pose);
        let both = last.and(next);
        let width = self.sensor.width as usize;
        let row = &mut self.row[..both.right - both.left];
        for y in both.top..both.bottom {
            self.shape.row(pose, y, both.left, row);
            let here = y * width + both.left..y * width + both.right;
            let references = &mut self.references[here.clone()];
            for (x, (&now, reference)) in row.iter().zip(references).enumerate() {
                while (now - *reference).abs() >= 1.0 {
                    let on = now > *reference;
                    *reference += if on { 1.0 } else { -1.0 };
                    let before = self.intensities[here.start + x];
                    let part = f64::from((*reference - before) / (now - before)).clamp(0.0, 1.0);
                    let t = t[0] + (t[1] - t[0]) * part;
                    spikes.push(t as u32, (both.left + x) as u16, y as u16, on);
                }
            }
            self.intensities[here].copy_from_slice(row);
        }
        next
    }
}
