//! Neuromorphic data augmentation.

use super::EventTransform;
use crate::settings::{check_settings, invalid};
use crate::{EventBuffer, EventRandom, Frames, Result, Sensor};
use spikelet_schema::Schema;

/// Neuromorphic data augmentation of frames `[…, H, W]`: one of roll, rotation and horizontal shear, with equal chance, the
/// same for all frames of a recording.
///
/// Pixels are read from the nearest one; a roll wraps round, else what comes from outside is 0. The center of rotation and
/// shear is the center of the frame.
///
/// ```
/// use spikelet_events::transforms::{EventTransform, Nda};
/// use spikelet_events::{EventRandom, Frames};
///
/// let mut frames = Frames { shape: vec![1, 2, 48, 48], values: vec![1.0; 4608] };
/// Nda::default().change_frames(&mut frames, &mut EventRandom::new(0, 0, 17))?;
/// assert_eq!(frames.values.len(), 4608);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: Y. Li et al., Neuromorphic data augmentation for training spiking neural networks, 2022, and its code.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Nda {
    /// The largest roll in pixels (N-Caltech101: 3).
    #[schema(main, default = 5)]
    pub roll: u32,
    /// The largest angle of rotation and shear in degrees, below 90 (N-Caltech101: 15).
    #[schema(default = 30.0, at_least = 0, below = 90)]
    pub degrees: f64,
}

impl EventTransform for Nda {
    fn change(&self, _: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        let expected = "frames, as in the augmentation of a training";
        Err(invalid(
            Self::DECLARATION.name,
            "the input",
            "events",
            expected,
        ))
    }

    fn is_of_frames(&self) -> bool {
        true
    }

    fn change_frames(&self, frames: &mut Frames, random: &mut EventRandom) -> Result<()> {
        check_settings(self)?;
        let elements = frames
            .shape
            .iter()
            .try_fold(1_usize, |n, &size| n.checked_mul(size));
        let shape = || {
            invalid(
                Self::DECLARATION.name,
                "shape",
                format!("{:?}", frames.shape),
                "[…, H, W], as many elements as values",
            )
        };
        let ([.., height, width], Some(elements)) = (&frames.shape[..], elements) else {
            return Err(shape());
        };
        if elements != frames.values.len() {
            return Err(shape());
        }
        let (height, width) = (*height, *width);
        if elements == 0 {
            return Ok(());
        }
        let source = self.draw(height, width, random);
        let mut before = vec![0.0; height * width];
        for frame in frames.values.chunks_exact_mut(height * width) {
            before.copy_from_slice(frame);
            for (value, source) in frame.iter_mut().zip(&source) {
                *value = source.map_or(0.0, |source| before[source]);
            }
        }
        Ok(())
    }
}

impl Nda {
    /// Where each pixel of a frame is read.
    fn draw(&self, height: usize, width: usize, random: &mut EventRandom) -> Vec<Option<usize>> {
        let kind = random.below(3);
        let mut offset =
            || random.below(2 * u64::from(self.roll) + 1) as i64 - i64::from(self.roll);
        let roll = [offset(), offset()];
        let angle = random.between(-self.degrees, self.degrees).to_radians();
        let (center_y, center_x) = ((height - 1) as f64 / 2.0, (width - 1) as f64 / 2.0);
        let read = |at: usize| {
            let (y, x) = (at / width, at % width);
            if kind == 0 {
                let wrap = |at: usize, by: i64, size: usize| {
                    (at as i64 - by).rem_euclid(size as i64) as usize
                };
                return Some(wrap(y, roll[1], height) * width + wrap(x, roll[0], width));
            }
            let (dy, dx) = (y as f64 - center_y, x as f64 - center_x);
            let (from_y, from_x) = if kind == 1 {
                let (sin, cos) = angle.sin_cos();
                (
                    center_y - sin * dx + cos * dy,
                    center_x + cos * dx + sin * dy,
                )
            } else {
                (y as f64, center_x + dx + angle.tan() * dy)
            };
            let (y, x) = (from_y.round_ties_even(), from_x.round_ties_even());
            let inside = (0.0..height as f64).contains(&y) && (0.0..width as f64).contains(&x);
            inside.then(|| y as usize * width + x as usize)
        };
        (0..height * width).map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_frames_move_alike_and_settings_of_zero_change_nothing() {
        let image: Vec<f32> = (0..35).map(|k| k as f32).collect();
        let frames = Frames {
            shape: vec![2, 1, 5, 7],
            values: [&image[..], &image].concat(),
        };
        let augmented = |nda: Nda, seed| {
            let mut frames = frames.clone();
            nda.change_frames(&mut frames, &mut EventRandom::new(seed, 0, 0))
                .expect("frames");
            frames
        };
        let none = Nda {
            roll: 0,
            degrees: 0.0,
        };
        for seed in 0..20 {
            let moved = augmented(Nda::default(), seed);
            assert_eq!(moved.values[..35], moved.values[35..]);
            assert_eq!(augmented(Nda::default(), seed), moved);
            assert_eq!(augmented(none, seed), frames);
        }
        assert!((0..20).any(|seed| augmented(Nda::default(), seed) != frames));
    }

    #[test]
    fn angles_and_shapes_that_cannot_be_are_errors() {
        let random = || EventRandom::new(0, 0, 0);
        let mut frames = Frames {
            shape: vec![1, 2, 2],
            values: vec![0.0; 4],
        };
        for degrees in [-1.0, 90.0, f64::NAN] {
            assert!(
                Nda { roll: 1, degrees }
                    .change_frames(&mut frames, &mut random())
                    .is_err()
            );
        }
        for shape in [vec![], vec![4], vec![5, 1], vec![usize::MAX, 2]] {
            frames.shape = shape;
            assert!(
                Nda::default()
                    .change_frames(&mut frames, &mut random())
                    .is_err()
            );
        }
    }
}
