//! Frames of another size.

use crate::settings::{check, check_settings};
use crate::{ErrorKind, Frames, Result};
use spikelet_schema::Schema;

/// Resizes the frames `[…, H, W]`, as CIFAR10-DVS is resized to 48 × 48 pixels.
///
/// Output pixel i reads at the input coordinate (i + ½) · size / new size − ½ (bilinear, no antialiasing), or from pixel
/// ⌊i · size / new size⌋ (nearest).
///
/// ```
/// use spikelet_events::Frames;
/// use spikelet_events::frames::{Interpolation, Resize};
///
/// let frames = Frames { shape: vec![1, 1, 1, 4], values: vec![0.0, 2.0, 4.0, 6.0] };
/// let resize = Resize { width: 2, height: 1, interpolation: Interpolation::Bilinear };
/// assert_eq!(resize.apply(&frames)?.values, [1.0, 5.0]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: PyTorch, `torch.nn.functional.interpolate`, modes `nearest` and `bilinear` with `align_corners=False`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct Resize {
    /// The new number of columns.
    #[schema(main, default = 48, at_least = 1, at_most = MAX_SIZE)]
    pub width: usize,
    /// The new number of rows.
    #[schema(default = 48, at_least = 1, at_most = MAX_SIZE)]
    pub height: usize,
    /// How values between pixels are found.
    #[schema(default = Interpolation::Nearest)]
    pub interpolation: Interpolation,
}

/// How values between pixels are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub enum Interpolation {
    /// The value of one pixel: counts stay integers.
    Nearest,
    /// The mean of up to four pixels, by distance.
    Bilinear,
}

/// The largest width and height.
const MAX_SIZE: usize = 1 << 16;

/// Two pixels of an axis, and the weight of the second.
struct Tap {
    pixels: [usize; 2],
    weight: f32,
}

impl Resize {
    /// The resized frames.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for sizes of 0 or above 65536 and frames without two axes of pixels;
    /// [`ErrorKind::BufferLength`] if the values do not match the shape; [`ErrorKind::TooLarge`] above 2²⁸ elements.
    pub fn apply(&self, frames: &Frames) -> Result<Frames> {
        check_settings(self)?;
        let [outer @ .., height, width] = &frames.shape[..] else {
            let shape = format!("{:?}", frames.shape);
            return Err(crate::settings::invalid(
                Self::DECLARATION.name,
                "shape",
                shape,
                "[…, H, W]",
            ));
        };
        let product = |shape: &[usize]| {
            shape
                .iter()
                .try_fold(1_usize, |n, &size| n.checked_mul(size))
        };
        let expected = product(&frames.shape).unwrap_or(usize::MAX);
        if frames.values.len() != expected {
            return Err(ErrorKind::BufferLength {
                of: Self::DECLARATION.name,
                given: frames.values.len(),
                expected,
            }
            .into());
        }
        let (height, width) = (*height, *width);
        let is_valid = height > 0 && width > 0;
        let shape = [
            product(outer).unwrap_or(usize::MAX),
            1,
            self.height,
            self.width,
        ];
        check(
            is_valid,
            Self::DECLARATION.name,
            "shape",
            format!("{:?}", frames.shape),
            "at least one pixel",
        )?;
        let len = super::rule::element_count(Self::DECLARATION.name, shape, "use fewer frames")?;
        let (rows, columns) = (self.taps(height, self.height), self.taps(width, self.width));
        let mut values = Vec::with_capacity(len);
        for frame in frames.values.chunks_exact(height * width) {
            for y in &rows {
                for x in &columns {
                    let row = |k: usize| {
                        let row = &frame[y.pixels[k] * width..][..width];
                        let [left, right] = x.pixels.map(|pixel| row[pixel]);
                        left * (1.0 - x.weight) + right * x.weight
                    };
                    values.push(row(0) * (1.0 - y.weight) + row(1) * y.weight);
                }
            }
        }
        let mut shape = outer.to_vec();
        shape.extend([self.height, self.width]);
        Ok(Frames { shape, values })
    }

    /// Where each new pixel of an axis reads.
    fn taps(&self, size: usize, new: usize) -> Vec<Tap> {
        let tap = |k: usize| match self.interpolation {
            Interpolation::Nearest => Tap {
                pixels: [k * size / new; 2],
                weight: 0.0,
            },
            Interpolation::Bilinear => {
                let at = ((k as f64 + 0.5) * size as f64 / new as f64 - 0.5).max(0.0);
                let pixel = at as usize;
                Tap {
                    pixels: [pixel, (pixel + 1).min(size - 1)],
                    weight: (at - pixel as f64) as f32,
                }
            }
        };
        (0..new).map(tap).collect()
    }
}
