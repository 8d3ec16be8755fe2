//! Shear, translation and rotation with the nearest neighbor, in Pillow's fixed point.

use crate::augment::image::Image;

/// The position in the image of a pixel of the result: (x, y) ↦ (a x + b y + c, d x + e y + f), where the center of
/// the upper left pixel is (½, ½).
type Matrix = [f64; 6];

/// The largest coordinate and scale, so that 64 bits of fixed point suffice.
const LIMIT: f64 = 1_048_576.0;

pub(super) fn shear_x(image: &mut Image, slope: f32, fill: u8) {
    warp(image, [1.0, f64::from(slope), 0.0, 0.0, 1.0, 0.0], fill);
}

pub(super) fn shear_y(image: &mut Image, slope: f32, fill: u8) {
    warp(image, [1.0, 0.0, 0.0, f64::from(slope), 1.0, 0.0], fill);
}

/// Moves the image to the right and down.
pub(super) fn translate(image: &mut Image, pixels: [i32; 2], fill: u8) {
    let [right, down] = pixels.map(|pixels| pixels.clamp(-LIMIT as i32, LIMIT as i32));
    let origin = [-f64::from(right), -f64::from(down)];
    warp(image, [1.0, 0.0, origin[0], 0.0, 1.0, origin[1]], fill);
}

/// Rotates the image counterclockwise around its center.
pub(super) fn rotate(image: &mut Image, degrees: f32, fill: u8) {
    let (sine, cosine) = sin_cos(f64::from(degrees));
    let [_, height, width] = image.shape();
    let [x, y] = [width as f64 / 2.0, height as f64 / 2.0];
    let right = x - cosine * x + sine * y;
    let down = y - sine * x - cosine * y;
    warp(image, [cosine, -sine, right, sine, cosine, down], fill);
}

/// Sine and cosine of an angle in degrees, with the same bits on every machine.
fn sin_cos(degrees: f64) -> (f64, f64) {
    let degrees = degrees % 360.0;
    let quarters = (degrees / 90.0).round();
    let angle = (degrees - 90.0 * quarters).to_radians();
    let square = angle * angle;
    // Taylor series in |angle| ≤ π/4, whose first omitted term is below 2⁻⁵³.
    let series = |first: f64, from: u32| {
        let mut sum = 0.0;
        let mut term = first;
        for k in 0..9_u32 {
            sum += term;
            let n = f64::from(2 * k + from);
            term *= -square / (n * (n + 1.0));
        }
        sum
    };
    let (sine, cosine) = (series(angle, 2), series(1.0, 1));
    match (quarters as i32).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

fn warp(image: &mut Image, matrix: Matrix, fill: u8) {
    let [_, height, width] = image.shape();
    let [a, b, c, d, e, f] = matrix.map(|entry| entry.clamp(-LIMIT, LIMIT));
    // 16 bits after the point; the sums of i64 cannot overflow.
    let fixed = |value: f64| (value * 65_536.0 + 0.5).floor() as i64;
    let across = [fixed(a), fixed(d)];
    let down = [fixed(b), fixed(e)];
    let origin = [fixed(c + a * 0.5 + b * 0.5), fixed(f + d * 0.5 + e * 0.5)];
    let [last_x, last_y] = [(width as i64) << 16, (height as i64) << 16];
    image.map_planes([height, width], |old, new| {
        let mut start = origin;
        for row in new.chunks_exact_mut(width) {
            let [mut x, mut y] = start;
            for pixel in row {
                let inside = (0..last_x).contains(&x) && (0..last_y).contains(&y);
                *pixel = match inside {
                    true => old[(y >> 16) as usize * width + (x >> 16) as usize],
                    false => fill,
                };
                x += across[0];
                y += across[1];
            }
            start = [start[0] + down[0], start[1] + down[1]];
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_are_exact_to_the_last_digits() {
        for tenth in -9_000..9_000 {
            let degrees = f64::from(tenth) / 10.0;
            let (sine, cosine) = sin_cos(degrees);
            assert!(
                (sine - degrees.to_radians().sin()).abs() < 4e-15,
                "{degrees}"
            );
            assert!(
                (cosine - degrees.to_radians().cos()).abs() < 4e-15,
                "{degrees}"
            );
        }
        assert_eq!(sin_cos(90.0), (1.0, 0.0));
        assert_eq!(sin_cos(-180.0), (0.0, -1.0));
    }

    #[test]
    fn a_quarter_turn_is_exact() {
        let mut image = Image::new((0..9).collect(), [1, 3, 3]).unwrap();
        rotate(&mut image, 90.0, 99);
        assert_eq!(image.pixels(), [2, 5, 8, 1, 4, 7, 0, 3, 6]);
    }
}
