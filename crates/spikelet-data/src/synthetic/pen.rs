//! From the path of a pen to gray pixels.
//!
//! Only +, −, ×, ÷ and √ are used, which round the same everywhere: an image has the same bytes on
//! every machine.

use super::skeleton::Stroke;

/// The number of line segments between two points of a curve.
const PIECES: usize = 6;

/// A point of the image, in pixels.
pub(super) type Point = (f32, f32);

/// The points of a stroke, close enough to be connected by line segments. `place` is applied to the control points of
/// the stroke first.
pub(super) fn trace(stroke: Stroke, mut place: impl FnMut(Point) -> Point) -> Vec<Point> {
    let mut placed = |points: &[Point]| points.iter().map(|&point| place(point)).collect();
    let (points, closed): (Vec<Point>, bool) = match stroke {
        Stroke::Line(points) => return placed(points),
        Stroke::Curve(points) => (placed(points), false),
        Stroke::Loop(points) => (placed(points), true),
    };
    let len = points.len() as isize;
    // Beyond its ends an open curve is constant and a closed one is periodic.
    let at = |index: isize| {
        let index = if closed {
            index.rem_euclid(len)
        } else {
            index.clamp(0, len - 1)
        };
        points[index as usize]
    };
    let spans = if closed { len } else { len - 1 };
    let mut path = Vec::with_capacity(spans as usize * PIECES + 1);
    path.push(at(0));
    for span in 0..spans {
        let around = [at(span - 1), at(span), at(span + 1), at(span + 2)];
        for piece in 1..=PIECES {
            let t = piece as f32 / PIECES as f32;
            path.push((
                catmull_rom(around.map(|point| point.0), t),
                catmull_rom(around.map(|point| point.1), t),
            ));
        }
    }
    path
}

/// The smooth curve from `p[1]` (t = 0) to `p[2]` (t = 1) between neighbors `p[0]` and `p[3]`.
fn catmull_rom(p: [f32; 4], t: f32) -> f32 {
    let slope = p[2] - p[0];
    let square = 2.0 * p[0] - 5.0 * p[1] + 4.0 * p[2] - p[3];
    let cube = 3.0 * (p[1] - p[2]) + p[3] - p[0];
    p[1] + 0.5 * t * (slope + t * (square + t * cube))
}

/// The profile of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nib {
    /// Half the width at the beginning of the stroke, in pixels.
    pub(super) radius: f32,
    /// The increase of this at the end of the stroke, in pixels.
    pub(super) swell: f32,
    /// Width of the soft edge, in pixels.
    pub(super) softness: f32,
}

/// A square image; 0 is the background, 1 is full ink.
pub(super) struct Paper<const SIDE: usize> {
    ink: [[f32; SIDE]; SIDE],
}

impl<const SIDE: usize> Paper<SIDE> {
    pub(super) fn new() -> Self {
        Self {
            ink: [[0.0; SIDE]; SIDE],
        }
    }

    pub(super) fn rows(&self) -> &[[f32; SIDE]; SIDE] {
        &self.ink
    }

    /// Draws the line segments between the points of `path`.
    pub(super) fn draw(&mut self, path: &[Point], nib: Nib) {
        let pieces = path.len().saturating_sub(1).max(1) as f32;
        for (index, ends) in path.windows(2).enumerate() {
            let along = (index as f32 + 0.5) / pieces;
            self.draw_line(
                ends[0],
                ends[1],
                nib.radius + nib.swell * along,
                nib.softness,
            );
        }
    }

    /// Draws the line from `a` to `b`. A pixel is 1 at a distance of up to `radius` minus half the soft edge and decreases to
    /// 0 at `radius` plus half the soft edge.
    fn draw_line(&mut self, a: Point, b: Point, radius: f32, softness: f32) {
        let reach = radius + 0.5 * softness;
        let rows = Self::pixels(a.1.min(b.1) - reach, a.1.max(b.1) + reach);
        let columns = Self::pixels(a.0.min(b.0) - reach, a.0.max(b.0) + reach);
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let square = dx * dx + dy * dy;
        let inverse = if square > 0.0 { 1.0 / square } else { 0.0 };
        for y in rows {
            let py = y as f32 - a.1;
            for x in columns.clone() {
                let px = x as f32 - a.0;
                let nearest = ((px * dx + py * dy) * inverse).clamp(0.0, 1.0);
                let (qx, qy) = (px - nearest * dx, py - nearest * dy);
                let distance = (qx * qx + qy * qy).sqrt();
                let ink = ((reach - distance) / softness).clamp(0.0, 1.0);
                self.ink[y][x] = self.ink[y][x].max(ink);
            }
        }
    }

    /// The pixels with centers from `low` to `high`, clipped at the edges of the image.
    fn pixels(low: f32, high: f32) -> std::ops::Range<usize> {
        let first = low.clamp(0.0, SIDE as f32).ceil() as usize;
        let end = (high + 1.0).clamp(0.0, SIDE as f32).floor() as usize;
        first..end.max(first)
    }
}
