//! Generated images of any size and number of classes, to train and time deep networks without files.

use std::sync::Arc;

use spikelet_expr::DType;
use spikelet_random::{Generator, Stream};

use super::LazyImages;
use super::patterns::Pattern;
use crate::augment::Normalize;
use crate::dataset::{Dataset, check_index};
use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::named::{DataOptions, NamedDataset};
use crate::sample::{Sample, SampleTensor};
use crate::split::Split;

/// The numbers of training and test images by default.
const SIZES: [usize; 2] = [10_000, 1_000];

/// The seed. It is not that of a run, so that runs are comparable.
const SEED: u64 = 0;

/// The random stream of the patterns of the classes; the step is the class.
const PATTERNS: u32 = 0xda7a_0030;

/// The random streams of training and test images; the step is the image.
const IMAGES: [u32; 2] = [0xda7a_0031, 0xda7a_0032];

/// The mean and the standard deviation of the pixels, about the same in every channel.
const MEAN: f32 = 0.5;
const STD: f32 = 0.16;

/// Generated images of any shape and number of classes. A class is a pattern of colored waves, and each image shows another
/// cut of it, with noise.
///
/// Image `i` depends only on its part (training or test), its shape, the number of classes and `i`: it is the same on every
/// machine. It is computed when it is needed. Its class is `i` modulo the number of classes.
///
/// ```
/// use spikelet_data::{DataOptions, find};
///
/// let options = DataOptions { image: [3, 64, 48], classes: 100, train: Some(1_000_000), ..DataOptions::default() };
/// let images = find("synthetic-images")?.load(&options)?;
/// let sample = images.train.sample(999_999)?;
/// assert_eq!(sample.require("images")?.shape, [3, 64, 48]);
/// assert_eq!(sample.require("labels")?.as_i64(), Some(&[99][..]));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SyntheticImages {
    name: String,
    shape: [usize; 3],
    classes: Arc<[String]>,
    patterns: Arc<[Pattern]>,
    len: usize,
    stream: u32,
}

impl SyntheticImages {
    /// Both parts.
    pub(super) fn split(options: &DataOptions) -> Result<Split> {
        let (shape, classes) = (options.image, options.classes);
        let name = LazyImages::Synthetic.title();
        let wrong = shape.contains(&0) || classes == 0;
        let pattern = |class| Pattern::new(shape[0], &mut generator(PATTERNS, class));
        let patterns: Arc<[Pattern]> = (0..classes).map(pattern).collect();
        let names: Arc<[String]> = (0..classes)
            .map(|class| format!("pattern {class}"))
            .collect();
        let part = |number: usize, wanted: Option<usize>| -> Result<Arc<dyn Dataset>> {
            let len = wanted.unwrap_or(SIZES[number]);
            if wrong || u32::try_from(len).is_err() {
                let dataset = name.clone();
                return Err(Error::Shape {
                    dataset,
                    len,
                    shape,
                });
            }
            Ok(Arc::new(Self {
                name: name.clone(),
                shape,
                classes: names.clone(),
                patterns: patterns.clone(),
                len,
                stream: IMAGES[number],
            }))
        };
        let normalize = Normalize {
            mean: vec![MEAN],
            std: vec![STD],
        };
        let split = Split::new(part(0, options.train)?, part(1, options.test)?);
        Ok(split.with_normalize(normalize))
    }
}

fn generator(id: u32, step: usize) -> Generator {
    Generator::new(Stream {
        seed: SEED,
        id,
        // There are fewer than 2³² images.
        step: step as u32,
    })
}

impl Dataset for SyntheticImages {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            Field::image("images", self.shape),
            Field::new("labels", DType::I64, []),
        ]
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let class = index % self.patterns.len();
        let mut random = generator(self.stream, index);
        let pixels = self.patterns[class].draw(self.shape, &mut random);
        Ok(Sample::new()
            .with("images", SampleTensor::u8(&self.shape, pixels))
            .with("labels", SampleTensor::i64(&[], vec![class as i64])))
    }

    fn digest(&self) -> Result<[u8; 32]> {
        let digest = Parts::of("synthetic images, version 1")
            .values(&self.shape, |size| (size as u64).to_le_bytes())
            .number(self.classes.len())
            .number(self.stream as usize);
        Ok(digest.number(self.len).finish())
    }

    fn class_names(&self, field: &str) -> &[String] {
        match field {
            "labels" => &self.classes,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_have_about_the_mean_and_deviation_of_the_normalization() {
        let options = DataOptions {
            image: [3, 32, 32],
            classes: 50,
            train: Some(200),
            test: Some(1),
            ..DataOptions::default()
        };
        let split = SyntheticImages::split(&options).unwrap();
        let mut pixels = vec![];
        for index in 0..200 {
            let sample = split.train.sample(index).unwrap();
            let image = sample.require("images").unwrap();
            pixels.extend(image.as_u8().unwrap().iter().map(|&x| f64::from(x) / 255.0));
        }
        let count = pixels.len() as f64;
        let mean = pixels.iter().sum::<f64>() / count;
        let variance = pixels.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        assert!((mean - f64::from(MEAN)).abs() < 0.03, "{mean}");
        assert!(
            (variance.sqrt() - f64::from(STD)).abs() < 0.04,
            "{variance}"
        );
    }
}
