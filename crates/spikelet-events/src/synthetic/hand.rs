//! A bright disk with a soft edge.

use super::camera::{Shape, round};
use super::path::Pose;

/// A hand; the size of its pose is the radius.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hand {
    /// The intensity of the disk.
    pub contrast: f32,
}

fn edge(pose: &Pose) -> f64 {
    (0.3 * pose.size).max(1.0)
}

impl Shape for Hand {
    fn reach(&self, pose: &Pose) -> f64 {
        pose.size + edge(pose)
    }

    fn row(&self, pose: &Pose, y: usize, left: usize, intensities: &mut [f32]) {
        let (radius, slope) = (pose.size as f32, (1.0 / edge(pose)) as f32);
        let dx = (left as f64 - pose.x) as f32;
        let dy = (y as f64 - pose.y) as f32;
        for (x, intensity) in intensities.iter_mut().enumerate() {
            let dx = dx + x as f32;
            let distance = (dx * dx + dy * dy).sqrt();
            let inside = ((radius - distance) * slope + 0.5).clamp(0.0, 1.0);
            *intensity = round(self.contrast * inside);
        }
    }
}
