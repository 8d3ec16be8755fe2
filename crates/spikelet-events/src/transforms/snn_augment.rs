//! One of the geometric augmentations of spiking transformers.

use super::EventTransform;
use super::edit::{drop_box, move_events};
use crate::EventRandom;
use crate::settings::check;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;

/// One of six changes at random: none, a shear of rows by up to ±0.3, a shift by up to ±5 columns or rows, a rotation by up to
/// ±30°, or (unless `cutout` is 0) a square without events, of up to this part of the sensor. Strengths have 31 levels.
///
/// The published programs change the pixels of frames, each of which takes its nearest neighbor; here events move to the
/// nearest pixel, and those that leave the sensor are dropped.
///
/// Source: `SNNAugmentWide` of Z. Zhou et al., *Spikformer*, ICLR 2023, after Y. Li et al., *Neuromorphic data augmentation*,
/// ECCV 2022. The program of M. Yao et al., *Spike-driven transformer*, NeurIPS 2023, has no square.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(check = EventTransform::fits)]
pub struct SnnAugment {
    /// The largest part of the sensor that the square covers, 0 to 1; the smallest is 0.001.
    #[schema(main, default = 0.11, from = 0, to = 1)]
    pub cutout: f64,
}

/// The number of levels of the strength.
const LEVELS: u64 = 31;

/// The smallest part of the sensor that the square covers.
const LEAST: f64 = 0.001;

impl EventTransform for SnnAugment {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        random: &mut EventRandom,
    ) -> Result<()> {
        let kind = random.below(if self.cutout > 0.0 { 6 } else { 5 });
        let level = random.below(LEVELS) as f64 / (LEVELS - 1) as f64;
        let level = if random.chance(0.5) { -level } else { level };
        // torchvision shears about the corner, and rotates about the center.
        match kind {
            0 => {}
            1 => move_events(events, *sensor, |x, y| [x + 0.3 * level * y, y]),
            2 => move_events(events, *sensor, |x, y| [x + (5.0 * level).trunc(), y]),
            3 => move_events(events, *sensor, |x, y| [x, y + (5.0 * level).trunc()]),
            4 => {
                let (sin, cos) = (30.0 * level).to_radians().sin_cos();
                let center =
                    [sensor.width, sensor.height].map(|side| (f64::from(side) - 1.0) / 2.0);
                move_events(events, *sensor, |x, y| {
                    let (x, y) = (x - center[0], y - center[1]);
                    [center[0] + cos * x + sin * y, center[1] - sin * x + cos * y]
                });
            }
            _ => self.cut_out(events, *sensor, random),
        }
        Ok(())
    }

    fn fits(&self) -> Result<()> {
        let fits = self.cutout == 0.0 || self.cutout >= LEAST;
        check(
            fits,
            Self::DECLARATION.name,
            "cutout",
            self.cutout,
            "0, or a part from 0.001 to 1",
        )
    }
}

impl SnnAugment {
    fn cut_out(&self, events: &mut EventBuffer, sensor: Sensor, random: &mut EventRandom) {
        let pixels = f64::from(sensor.width) * f64::from(sensor.height);
        let side = (random.between(LEAST, self.cutout) * pixels).sqrt().round();
        let length = |size: u32| (side as usize).clamp(1, size as usize);
        drop_box(events, sensor, length, random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_pixels(sensor: Sensor) -> EventBuffer {
        let mut events = EventBuffer::default();
        for y in 0..sensor.height {
            for x in 0..sensor.width {
                events.push(i64::from(x + y), x as u16, y as u16, true);
            }
        }
        events
    }

    #[test]
    fn events_stay_on_the_sensor_and_every_change_occurs() {
        let sensor = Sensor::new(20, 16);
        let (mut unchanged, mut fewer) = (0, 0);
        for index in 0..300 {
            let mut events = all_pixels(sensor);
            let mut random = EventRandom::new(1, 0, index);
            let augment = SnnAugment::default();
            augment
                .apply(&mut events, &mut sensor.clone(), &mut random)
                .unwrap();
            assert!(events.x.iter().all(|&x| u32::from(x) < sensor.width));
            assert!(events.y.iter().all(|&y| u32::from(y) < sensor.height));
            assert!(events.len() >= 100, "{}", events.len());
            unchanged += usize::from(events.x == all_pixels(sensor).x);
            fewer += usize::from(events.len() < 320);
        }
        assert!((25..120).contains(&unchanged), "{unchanged} of 300");
        assert!(fewer > 120, "{fewer} of 300");
    }

    #[test]
    fn a_rotation_by_a_quarter_turns_rows_into_columns() {
        let sensor = Sensor::new(5, 5);
        let mut events = EventBuffer::default();
        events.push(0, 4, 2, true);
        move_events(&mut events, sensor, |x, y| {
            [2.0 + (y - 2.0), 2.0 - (x - 2.0)]
        });
        assert_eq!((events.x, events.y), (vec![2], vec![0]));
    }

    #[test]
    fn a_part_outside_its_range_is_refused() {
        for cutout in [-0.1, 0.0005, 1.5, f64::NAN] {
            let mut sensor = Sensor::new(4, 4);
            let mut events = all_pixels(sensor);
            let random = &mut EventRandom::new(1, 0, 0);
            let error = SnnAugment { cutout }.apply(&mut events, &mut sensor, random);
            assert!(error.unwrap_err().to_string().contains("cutout"));
        }
    }
}
