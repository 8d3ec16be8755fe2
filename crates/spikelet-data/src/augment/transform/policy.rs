//! The operations of the policies, and their strength at each level.

use crate::augment::op::ImageOp;

/// An operation of a policy, without its strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
    Invert,
}

/// The operations of RandAugment and TrivialAugment.
pub(super) const KINDS: [Kind; 14] = [
    Kind::Identity,
    Kind::ShearX,
    Kind::ShearY,
    Kind::TranslateX,
    Kind::TranslateY,
    Kind::Rotate,
    Kind::Brightness,
    Kind::Color,
    Kind::Contrast,
    Kind::Sharpness,
    Kind::Posterize,
    Kind::Solarize,
    Kind::AutoContrast,
    Kind::Equalize,
];

/// The largest translation.
#[derive(Clone, Copy, Debug)]
pub(super) enum MaxTranslation {
    /// A fraction of the height or width.
    Fraction(f64),
    Pixels(f32),
}

/// The strengths of all operations, linear in the level from 0 to `levels` − 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// At least 2.
    pub levels: usize,
    pub shear: f32,
    pub translation: MaxTranslation,
    pub degrees: f32,
    /// Of brightness, color, contrast and sharpness: the factor is 1 ± this.
    pub enhancement: f32,
    /// The number of bits that `Posterize` removes at the last level.
    pub bits: usize,
}

impl Space {
    /// The space of RandAugment and, with ten levels, of AutoAugment.
    pub(super) const fn rand_augment(levels: usize) -> Self {
        Self {
            levels,
            shear: 0.3,
            translation: MaxTranslation::Fraction(150.0 / 331.0),
            degrees: 30.0,
            enhancement: 0.9,
            bits: 4,
        }
    }

    /// The operation at `level`, in the negative direction if it has one and `negative` is true.
    pub(super) fn op(
        &self,
        kind: Kind,
        level: usize,
        negative: bool,
        [_, height, width]: [usize; 3],
    ) -> ImageOp {
        let signed = |end: f32| {
            let strength = self.linear(end, level);
            if negative { -strength } else { strength }
        };
        let factor = || (1.0 + f64::from(signed(self.enhancement))) as f32;
        let pixels = |side: usize| match self.translation {
            MaxTranslation::Fraction(fraction) => signed((fraction * side as f64) as f32) as i32,
            MaxTranslation::Pixels(pixels) => signed(pixels) as i32,
        };
        match kind {
            Kind::Identity => ImageOp::Identity,
            Kind::ShearX => ImageOp::ShearX(signed(self.shear)),
            Kind::ShearY => ImageOp::ShearY(signed(self.shear)),
            Kind::TranslateX => ImageOp::TranslateX(pixels(width)),
            Kind::TranslateY => ImageOp::TranslateY(pixels(height)),
            Kind::Rotate => ImageOp::Rotate(signed(self.degrees)),
            Kind::Brightness => ImageOp::Brightness(factor()),
            Kind::Color => ImageOp::Color(factor()),
            Kind::Contrast => ImageOp::Contrast(factor()),
            Kind::Sharpness => ImageOp::Sharpness(factor()),
            Kind::Posterize => {
                // The nearest integer; no level is a tie.
                let last = self.levels - 1;
                let bits = (2 * self.bits * level.min(last) + last) / (2 * last);
                ImageOp::Posterize(8 - bits as u32)
            }
            Kind::Solarize => ImageOp::Solarize(255.0 - self.linear(255.0, level)),
            Kind::AutoContrast => ImageOp::AutoContrast,
            Kind::Equalize => ImageOp::Equalize,
            Kind::Invert => ImageOp::Invert,
        }
    }

    /// From 0 at level 0 to `end` at the last level.
    fn linear(&self, end: f32, level: usize) -> f32 {
        let last = self.levels - 1;
        let step = end / last as f32;
        // From both ends and rounded once, as PyTorch's `linspace`: the whole part of a translation depends on it.
        if level < self.levels / 2 {
            step * level as f32
        } else {
            let back = f64::from(step) * (last - level.min(last)) as f64;
            (f64::from(end) - back) as f32
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::{auto_augment, rand_augment, trivial_augment};
    use super::*;

    fn kind(name: &str) -> Kind {
        let mut kinds = KINDS.into_iter().chain([Kind::Invert]);
        kinds.find(|kind| format!("{kind:?}") == name).unwrap()
    }

    /// Compares all levels of all operations with a table of torchvision.
    fn compare(space: &Space, table: &Value) {
        let table = table.as_object().unwrap();
        assert!(table.len() >= KINDS.len());
        for (name, row) in table {
            let values = row["values"].as_array().unwrap().iter();
            let values: Vec<f32> = values.map(|value| value.as_f64().unwrap() as f32).collect();
            let signed = row["signed"].as_bool().unwrap();
            for level in 0..space.levels {
                let value = values[level.min(values.len() - 1)];
                for negative in [false, true] {
                    let value = if signed && negative { -value } else { value };
                    let close = |found: f32, expected: f32| {
                        let tolerance = 1e-6 * expected.abs();
                        assert!((found - expected).abs() <= tolerance, "{name} {level}");
                    };
                    match space.op(kind(name), level, negative, [3, 32, 32]) {
                        ImageOp::ShearX(x) | ImageOp::ShearY(x) => close(x, value),
                        ImageOp::Rotate(x) | ImageOp::Solarize(x) => close(x, value),
                        ImageOp::Brightness(x) | ImageOp::Color(x) => close(x, 1.0 + value),
                        ImageOp::Contrast(x) | ImageOp::Sharpness(x) => close(x, 1.0 + value),
                        ImageOp::TranslateX(x) | ImageOp::TranslateY(x) => {
                            assert_eq!(x, value as i32, "{name} {level}");
                        }
                        ImageOp::Posterize(x) => assert_eq!(x, value as u32),
                        _ => assert_eq!(values, [0.0]),
                    }
                }
            }
        }
    }

    #[test]
    fn strengths_are_those_of_torchvision() {
        let text = include_str!("../../../tests/references/augmentations.json");
        let references: Value = serde_json::from_str(text).unwrap();
        compare(&auto_augment::SPACE, &references["auto_augment"]["space"]);
        compare(&rand_augment::SPACE, &references["rand_augment"]);
        compare(&trivial_augment::SPACE, &references["trivial_augment"]);
    }
}
