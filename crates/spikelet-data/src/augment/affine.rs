//! Rotation, scaling, shear and shift as one affine map.
//!
//! A pixel p of the image goes to M + s·R·S·(p − M) + t: M is the center, s the scale, R the rotation,
//! S = (1, tan φ; 0, 1) the shear, t the shift. Each pixel of the result is mapped back by the inverse map and
//! interpolated bilinearly between its four neighbors. The image is black outside.

use spikelet_expr::math::{cos_2pi, sin_2pi};
use spikelet_expr::vectorized;

use super::{Augment, Draws, Purpose};

/// The map from pixels of the result to positions in the image: x ↦ linear · x + origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Map {
    linear: [[f32; 2]; 2],
    origin: [f32; 2],
}

impl Map {
    /// The inverse of the random map for an image of `height` and `width`.
    pub(super) fn draw(draws: &Draws, augment: &Augment, [height, width]: [usize; 2]) -> Self {
        let size = 1.0 + augment.scale * draws.around_zero(Purpose::Scale);
        let turn = augment.rotate / 360.0 * draws.around_zero(Purpose::Rotate);
        let slant = augment.shear / 360.0 * draws.around_zero(Purpose::Shear);
        let shift = [
            augment.shift * width as f32 * draws.around_zero(Purpose::ShiftX),
            augment.shift * height as f32 * draws.around_zero(Purpose::ShiftY),
        ];
        let (sine, cosine) = (sin_2pi(turn), cos_2pi(turn));
        let tangent = sin_2pi(slant) / cos_2pi(slant);
        // S⁻¹ · R⁻¹ / s
        let linear = [
            [cosine + tangent * sine, sine - tangent * cosine],
            [-sine, cosine],
        ]
        .map(|row| row.map(|entry| entry / size));
        let middle = [width, height].map(|side| (side as f32 - 1.0) / 2.0);
        let from = [middle[0] + shift[0], middle[1] + shift[1]];
        let origin = [0, 1]
            .map(|axis| middle[axis] - (linear[axis][0] * from[0] + linear[axis][1] * from[1]));
        Self { linear, origin }
    }

    /// This map after a crop at `corner` and, before that, a mirror image of `width`.
    pub(super) fn after(self, corner: [isize; 2], flipped: bool, width: usize) -> Self {
        let Self { linear, origin } = self;
        let [x, y] = corner.map(|corner| corner as f32);
        let mut after = Self {
            linear,
            origin: [0, 1].map(|axis| origin[axis] + linear[axis][0] * x + linear[axis][1] * y),
        };
        if flipped {
            let last = width as f32 - 1.0;
            after.origin = [0, 1].map(|axis| after.origin[axis] + linear[axis][0] * last);
            after.linear = linear.map(|[along, across]| [-along, across]);
        }
        after
    }
}

/// Interpolates images bilinearly. Reuses its memory for the next image.
#[derive(Clone, Debug)]
pub(super) struct Resampler {
    shape: [usize; 3],
    /// The image with a black pixel around each channel.
    framed: Vec<f32>,
    /// For each pixel of a row of the result: its upper left neighbor in `framed`, and how far
    /// it lies to the right of and below that one.
    corners: Vec<u32>,
    right: Vec<f32>,
    down: Vec<f32>,
}

impl Resampler {
    pub(super) fn new(shape: [usize; 3]) -> Self {
        let [channels, height, width] = shape;
        Self {
            shape,
            framed: vec![0.0; channels * (height + 2) * (width + 2)],
            corners: vec![0; width],
            right: vec![0.0; width],
            down: vec![0.0; width],
        }
    }

    /// Writes `image`, its values looked up in `shades`, through `map` into `out`.
    pub(super) fn resample(
        &mut self,
        image: &[u8],
        shades: &[f32; 256],
        map: Map,
        out: &mut [f32],
    ) {
        let [channels, height, width] = self.shape;
        let stride = width + 2;
        let frame = (height + 2) * stride;
        for (plane, framed) in image
            .chunks_exact(height * width)
            .zip(self.framed.chunks_exact_mut(frame))
        {
            let inner = framed[stride..].chunks_exact_mut(stride);
            for (row, framed) in plane.chunks_exact(width).zip(inner) {
                for (framed, &pixel) in framed[1..=width].iter_mut().zip(row) {
                    *framed = shades[usize::from(pixel)];
                }
            }
        }
        for y in 0..height {
            self.locate(map, y);
            for channel in 0..channels {
                let framed = &self.framed[channel * frame..][..frame];
                let out = &mut out[(channel * height + y) * width..][..width];
                let places = self.corners.iter().zip(&self.right).zip(&self.down);
                for (out, ((&corner, &right), &down)) in out.iter_mut().zip(places) {
                    let four = &framed[corner as usize..][..stride + 2];
                    let above = between(four[0], four[1], right);
                    let below = between(four[stride], four[stride + 1], right);
                    *out = between(above, below, down);
                }
            }
        }
    }

    /// The positions in the image of the row `y` of the result.
    fn locate(&mut self, map: Map, y: usize) {
        let [_, height, width] = self.shape;
        vectorized(
            (
                (&mut self.corners, &mut self.right, &mut self.down),
                (map, y as f32, height, width),
            ),
            #[inline(always)]
            |((corners, right, down), (map, y, height, width))| {
                let (lowest, rightmost) = (height as i32, width as i32);
                let Map { linear, origin } = map;
                let places = corners.iter_mut().zip(right).zip(down);
                for (x, ((corner, right), down)) in places.enumerate() {
                    let x = x as i32 as f32;
                    // The frame moves everything by one.
                    let column = linear[0][0] * x + linear[0][1] * y + origin[0] + 1.0;
                    let row = linear[1][0] * x + linear[1][1] * y + origin[1] + 1.0;
                    // Outside the frame the image is black too.
                    let column = column.max(0.0).min((rightmost + 1) as f32);
                    let row = row.max(0.0).min((lowest + 1) as f32);
                    let left = (column as i32).min(rightmost);
                    let upper = (row as i32).min(lowest);
                    *corner = (upper * (rightmost + 2) + left) as u32;
                    *right = column - left as f32;
                    *down = row - upper as f32;
                }
            },
        );
    }
}

/// From `a` to `b`, exactly `a` at 0 and never beyond the two by more than rounding.
#[inline(always)]
fn between(a: f32, b: f32, share: f32) -> f32 {
    a + share * (b - a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::pipeline::shades;

    /// The map of a linear part around the middle of a square of `side` and a shift.
    fn about_the_middle(linear: [[f32; 2]; 2], shift: [f32; 2], side: usize) -> Map {
        let middle = (side as f32 - 1.0) / 2.0;
        let from = [middle + shift[0], middle + shift[1]];
        let origin = linear.map(|row| middle - row[0] * from[0] - row[1] * from[1]);
        Map { linear, origin }
    }

    fn resampled(image: &[u8], shape: [usize; 3], map: Map) -> Vec<f32> {
        let mut out = vec![9.0; image.len()];
        // Another image before it must leave nothing behind.
        let mut resampler = Resampler::new(shape);
        resampler.resample(&vec![77; image.len()], &shades(), map, &mut out);
        resampler.resample(image, &shades(), map, &mut out);
        out.iter().map(|value| value * 255.0).collect()
    }

    /// Two channels of 5 × 5 pixels.
    fn image() -> Vec<u8> {
        (0..50).map(|index| index * 5).collect()
    }

    const SQUARE: [usize; 3] = [2, 5, 5];
    const SAME: [[f32; 2]; 2] = [[1.0, 0.0], [0.0, 1.0]];

    fn close(found: &[f32], expected: impl Fn(usize, usize, usize) -> f32) {
        for (index, found) in found.iter().enumerate() {
            let (channel, y, x) = (index / 25, index / 5 % 5, index % 5);
            let expected = expected(channel, y, x);
            assert!(
                (found - expected).abs() < 1e-3,
                "channel {channel}, row {y}, column {x}: {found} instead of {expected}"
            );
        }
    }

    fn pixel(channel: usize, y: usize, x: usize) -> f32 {
        f32::from(image()[channel * 25 + y * 5 + x])
    }

    #[test]
    fn the_map_of_nothing_gives_every_pixel_exactly() {
        let draws = Draws::new(1, 2, 3);
        let map = Map::draw(&draws, &Augment::default(), [5, 5]);
        let mut out = [9.0; 50];
        Resampler::new(SQUARE).resample(&image(), &shades(), map, &mut out);
        let expected: Vec<f32> = image().iter().map(|&byte| byte as f32 / 255.0).collect();
        assert_eq!(out[..], expected);
    }

    #[test]
    fn a_shift_by_half_a_pixel_is_the_mean_of_two_and_black_comes_in() {
        let map = about_the_middle(SAME, [0.5, 0.0], 5);
        close(&resampled(&image(), SQUARE, map), |c, y, x| {
            let left = if x == 0 { 0.0 } else { pixel(c, y, x - 1) };
            (left + pixel(c, y, x)) / 2.0
        });
    }

    #[test]
    fn a_quarter_turn_moves_pixels_onto_pixels() {
        let map = about_the_middle([[0.0, 1.0], [-1.0, 0.0]], [0.0, 0.0], 5);
        close(&resampled(&image(), SQUARE, map), |c, y, x| {
            pixel(c, 4 - x, y)
        });
    }

    #[test]
    fn what_lies_far_outside_is_black() {
        for shift in [[1e9, 0.0], [0.0, -1e9], [-6.0, 6.0]] {
            let map = about_the_middle(SAME, shift, 5);
            close(&resampled(&image(), SQUARE, map), |_, _, _| 0.0);
        }
    }

    #[test]
    fn crop_and_mirror_in_the_map_are_crop_and_mirror_of_pixels() {
        let map = Map::draw(&Draws::new(1, 2, 3), &Augment::default(), [5, 5]);
        let out = resampled(&image(), SQUARE, map.after([2, -1], true, 5));
        close(&out, |c, y, x| match (y.checked_sub(1), 4 - x + 2) {
            (Some(y), x @ 0..5) => pixel(c, y, x),
            _ => 0.0,
        });
    }

    #[test]
    fn what_is_drawn_stays_within_its_bounds_and_reaches_them_nearly() {
        let within = |augment: Augment, bound: f32, of: fn(Map) -> f32| {
            let found = (0..1_000)
                .map(|image| of(Map::draw(&Draws::new(5, 0, image), &augment, [9, 9])).abs())
                .fold(0.0, f32::max);
            assert!(
                (0.98 * bound..bound * 1.0001).contains(&found),
                "{found} for {bound}"
            );
        };
        let none = Augment::default;
        // The middle is pixel 4: it comes from where the shift moved it away.
        within(
            Augment {
                shift: 0.2,
                ..none()
            },
            1.8,
            |map| map.origin[0],
        );
        within(
            Augment {
                shift: 0.2,
                ..none()
            },
            1.8,
            |map| map.origin[1],
        );
        within(
            Augment {
                rotate: 30.0,
                ..none()
            },
            0.5,
            |map| map.linear[1][0],
        );
        within(
            Augment {
                scale: 0.25,
                ..none()
            },
            1.0 / 0.75,
            |map| map.linear[0][0],
        );
        within(
            Augment {
                shear: 45.0,
                ..none()
            },
            1.0,
            |map| map.linear[0][1],
        );
    }
}
