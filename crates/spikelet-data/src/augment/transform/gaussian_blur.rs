//! Gaussian blur, as torchvision's `GaussianBlur`.

use spikelet_expr::math::exp;

use super::{ImageTransform, check_ordered, check_range};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// Blurs an image by a Gaussian of random width. The image is mirrored at its edges, without the edges themselves.
///
/// The weight of a pixel at distance d is exp(−d² / 2σ²), divided by the sum of all weights of the kernel; σ is uniform from the
/// first to the second value of `sigma`. Results are rounded to the nearest byte.
///
/// ```
/// use spikelet_data::{GaussianBlur, Image, ImageTransform, SampleRandom};
///
/// let mut image = Image::new(vec![0, 0, 0, 0, 255, 0, 0, 0, 0], [1, 3, 3])?;
/// let blur = GaussianBlur { kernel_size: 3, sigma: [1.0, 1.0] };
/// blur.augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))?;
/// assert_eq!(image.pixels()[4], 52); // 255 · 0.4519²
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(check = ImageTransform::fits)]
pub struct GaussianBlur {
    /// The height and width of the kernel, an odd number.
    #[schema(main, default = 5, at_least = 1, at_most = 255, unit = "pixels")]
    pub kernel_size: usize,
    /// The smallest and the largest standard deviation.
    #[schema(default = [0.1, 2.0], above = 0, at_most = 1e3, unit = "pixels")]
    pub sigma: [f32; 2],
}

impl ImageTransform for GaussianBlur {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        let kernel = self.kernel(random.between(self.sigma[0], self.sigma[1]));
        let [_, height, width] = image.shape();
        let mut rows = vec![0.0; height * width];
        image.map_planes([height, width], |old, new| {
            for (blurred, row) in rows.chunks_exact_mut(width).zip(old.chunks_exact(width)) {
                for (x, value) in blurred.iter_mut().enumerate() {
                    *value = weighted(&kernel, x, width, |x| f32::from(row[x]));
                }
            }
            for (place, value) in new.iter_mut().enumerate() {
                let (y, x) = (place / width, place % width);
                let sum = weighted(&kernel, y, height, |y| rows[y * width + x]);
                *value = sum.round_ties_even() as u8;
            }
        });
        Ok(())
    }

    fn fits(&self) -> Result<()> {
        let (name, size) = (Self::DECLARATION.name, self.kernel_size);
        check_range(name, "kernel_size", size as f64, size % 2 == 1, "odd")?;
        check_ordered(name, "sigma", self.sigma)
    }
}

impl GaussianBlur {
    /// The weights of an axis.
    fn kernel(&self, sigma: f32) -> Vec<f32> {
        let half = (self.kernel_size / 2) as f32;
        let weight = |at: usize| {
            let distance = (at as f32 - half) / sigma;
            exp(-0.5 * distance * distance)
        };
        let weights: Vec<f32> = (0..self.kernel_size).map(weight).collect();
        let sum: f32 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }
}

/// The weighted sum of the values around a place of an axis with `side` values.
fn weighted(kernel: &[f32], place: usize, side: usize, value: impl Fn(usize) -> f32) -> f32 {
    let half = (kernel.len() / 2) as isize;
    let places = place as isize - half..;
    let pairs = kernel.iter().zip(places);
    pairs
        .map(|(weight, at)| weight * value(mirrored(at, side)))
        .sum()
}

/// The place inside of `side` values that a place outside shows.
fn mirrored(at: isize, side: usize) -> usize {
    let period = 2 * (side as isize - 1).max(1);
    let folded = at.rem_euclid(period);
    (folded.min(period - folded) as usize).min(side - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the two-dimensional kernel over the mirrored image, in 64 bits.
    fn reference(pixels: &[u8], [height, width]: [usize; 2], size: usize, sigma: f64) -> Vec<f64> {
        let half = (size / 2) as isize;
        let weight = |d: isize| (-0.5 * (d as f64 / sigma).powi(2)).exp();
        let total: f64 = (-half..=half).map(weight).sum();
        let reflected = |at: isize, side: usize| {
            let last = side as isize - 1;
            let at = if at < 0 { -at } else { at };
            (if at > last { 2 * last - at } else { at }) as usize
        };
        let blurred = |y: isize, x: isize| {
            let mut sum = 0.0;
            for dy in -half..=half {
                for dx in -half..=half {
                    let pixel = reflected(y + dy, height) * width + reflected(x + dx, width);
                    sum += weight(dy) * weight(dx) * f64::from(pixels[pixel]);
                }
            }
            sum / (total * total)
        };
        let places = 0..height * width;
        let place = |at: usize| blurred((at / width) as isize, (at % width) as isize);
        places.map(place).collect()
    }

    #[test]
    fn pixels_are_those_of_a_sum_in_64_bits() {
        let shape = [3, 9, 14];
        let byte = |k: usize| (k * 7919 % 251) as u8;
        let pixels: Vec<u8> = (0..3 * 9 * 14).map(byte).collect();
        for (kernel_size, sigma) in [(1, 0.5), (3, 0.3), (3, 1.0), (5, 0.8), (7, 2.0), (9, 5.0)] {
            let blur = GaussianBlur {
                kernel_size,
                sigma: [sigma, sigma],
            };
            let mut image = Image::new(pixels.clone(), shape).unwrap();
            blur.augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))
                .unwrap();
            let planes = pixels.chunks_exact(9 * 14);
            for (found, plane) in image.pixels().chunks_exact(9 * 14).zip(planes) {
                let expected = reference(plane, [9, 14], kernel_size, f64::from(sigma));
                for (&found, expected) in found.iter().zip(expected) {
                    let off = (f64::from(found) - expected).abs();
                    assert!(
                        off <= 0.5 + 1e-4,
                        "{kernel_size} {sigma}: {found}, {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_width_is_drawn_uniformly_from_its_range() {
        let blur = GaussianBlur {
            kernel_size: 3,
            ..GaussianBlur::default()
        };
        let mut counts = [0; 4];
        for index in 0..2000 {
            let mut image = Image::new(vec![0, 0, 0, 0, 255, 0, 0, 0, 0], [1, 3, 3]).unwrap();
            let mut random = SampleRandom::of_sample(3, 0, index);
            let mut again = random.clone();
            blur.augment(&mut image, &mut random).unwrap();
            let sigma = again.between(0.1, 2.0);
            let middle = 255.0 * blur.kernel(sigma)[1].powi(2);
            assert!((f32::from(image.pixels()[4]) - middle).abs() < 0.51);
            counts[((sigma - 0.1) / 1.9 * 3.999) as usize] += 1;
        }
        let even = |count: &i32| (430..570).contains(count);
        assert!(counts.iter().all(even), "{counts:?}");
    }

    #[test]
    fn small_images_are_mirrored_as_often_as_needed() {
        let blur = GaussianBlur {
            kernel_size: 9,
            sigma: [2.0, 2.0],
        };
        for shape in [[1, 1, 1], [1, 1, 5], [1, 2, 2]] {
            let mut image = Image::new(vec![7; shape.iter().product()], shape).unwrap();
            blur.augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))
                .unwrap();
            assert!(image.pixels().iter().all(|&pixel| pixel == 7));
        }
        assert_eq!([-3, -1, 4, 5, 9].map(|at| mirrored(at, 4)), [3, 1, 2, 1, 3]);
    }

    #[test]
    fn even_kernels_and_ranges_in_decreasing_order_are_refused() {
        for (kernel_size, sigma) in [
            (4, [0.1, 2.0]),
            (0, [0.1, 2.0]),
            (3, [2.0, 1.0]),
            (3, [0.0, 1.0]),
        ] {
            assert!(GaussianBlur { kernel_size, sigma }.check().is_err());
        }
    }
}
