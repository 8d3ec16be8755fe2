//! A drawing of pen strokes.

use super::camera::{Shape, round};
use super::path::Pose;

/// The points of the table in a pixel, on each axis.
const POINTS: usize = 4;

/// The width of the soft edge of a stroke in pixels.
const EDGE: f64 = 1.2;

/// Bright strokes, as a table of intensities. The size of a pose is not used.
#[derive(Debug)]
pub(super) struct Drawing {
    /// Half the side of the table in pixels; the drawing is in its middle.
    reach: f64,
    /// The number of points of a side.
    side: usize,
    table: Vec<f32>,
}

impl Drawing {
    /// Draws lines between points. Coordinates and `radius`, half the width of a stroke, are pixels from the middle.
    pub fn new(strokes: &[Vec<[f64; 2]>], radius: f64, contrast: f64) -> Self {
        let coordinates = strokes.iter().flatten().flatten();
        let largest = coordinates.fold(0.0_f64, |most, value| most.max(value.abs()));
        let reach = largest + radius + EDGE;
        let side = (2.0 * reach * POINTS as f64) as usize + 1;
        let lines = || strokes.iter().flat_map(|stroke| stroke.windows(2));
        let at = |k: usize| k as f64 / POINTS as f64 - reach;
        let intensity = |point: [f64; 2]| {
            let squares = lines().map(|line| square_distance(point, [line[0], line[1]]));
            let distance = squares.fold(f64::INFINITY, f64::min).sqrt();
            let inside = ((radius - distance) / EDGE + 0.5).clamp(0.0, 1.0);
            round((contrast * inside) as f32)
        };
        let rows = (0..side).flat_map(|y| (0..side).map(move |x| [x, y]));
        Self {
            reach,
            side,
            table: rows.map(|[x, y]| intensity([at(x), at(y)])).collect(),
        }
    }
}

fn square_distance(point: [f64; 2], line: [[f64; 2]; 2]) -> f64 {
    let along = [line[1][0] - line[0][0], line[1][1] - line[0][1]];
    let from = [point[0] - line[0][0], point[1] - line[0][1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let dot = from[0] * along[0] + from[1] * along[1];
    let u = (dot / length.max(1e-12)).clamp(0.0, 1.0);
    let rest = [from[0] - u * along[0], from[1] - u * along[1]];
    rest[0] * rest[0] + rest[1] * rest[1]
}

impl Shape for Drawing {
    fn reach(&self, _: &Pose) -> f64 {
        self.reach
    }

    fn row(&self, pose: &Pose, y: usize, left: usize, intensities: &mut [f32]) {
        // The nearest point of the table; negative numbers wrap to large ones, outside of it.
        let index = |pixel: usize, center: f64| {
            ((pixel as f64 - center + self.reach) * POINTS as f64 + 0.5).floor() as isize as usize
        };
        let row = index(y, pose.y);
        let row = self.table.get(row.saturating_mul(self.side)..);
        let row = row.and_then(|rest| rest.get(..self.side)).unwrap_or(&[]);
        let left = index(left, pose.x);
        for (x, intensity) in intensities.iter_mut().enumerate() {
            let point = left.wrapping_add(x * POINTS);
            *intensity = row.get(point).copied().unwrap_or(0.0);
        }
    }
}
