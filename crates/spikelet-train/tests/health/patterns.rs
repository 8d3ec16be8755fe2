//! Other data than digits: gratings, and noisy copies of random patterns.

use crate::health::changed_images::changed_images;
use spikelet_data::{Dataset, InMemory, Split};
use std::f64::consts::PI;
use std::sync::Arc;

/// Random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// On [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    /// Standard normal, nearly.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

fn dataset(
    name: &str,
    shape: [usize; 3],
    classes: usize,
    len: usize,
    random: &mut Random,
    mut pixels: impl FnMut(usize, &mut Random) -> Vec<f64>,
) -> Arc<dyn Dataset> {
    let (mut images, mut labels) = (vec![], vec![]);
    for k in 0..len {
        let class = k % classes;
        let values = pixels(class, random);
        images.extend(values.iter().map(|v| v.clamp(0.0, 255.0) as u8));
        labels.push(class as u32);
    }
    let classes = (0..classes).map(|k| format!("class {k}")).collect();
    let data = InMemory::images(name, images, labels, shape, classes);
    Arc::new(data.expect("a sound data set"))
}

/// Sine gratings of two cycles and any phase; the class is the orientation.
pub fn gratings(seed: u64, classes: usize, size: usize, noise: f64, lens: [usize; 2]) -> Split {
    let mut random = Random::new(seed);
    let [train, test] = lens.map(|len| {
        let image = |class: usize, random: &mut Random| {
            let angle = PI * class as f64 / classes as f64;
            let (phase, frequency) = (2.0 * PI * random.uniform(), 4.0 * PI / size as f64);
            let at = |k: usize| {
                let (y, x) = ((k / size) as f64, (k % size) as f64);
                (frequency * (x * angle.cos() + y * angle.sin()) + phase).sin()
            };
            let mut pixel = |k| 128.0 + 60.0 * at(k) + noise * random.normal();
            (0..size * size).map(&mut pixel).collect()
        };
        dataset(
            "gratings",
            [1, size, size],
            classes,
            len,
            &mut random,
            image,
        )
    });
    Split::new(train, test)
}

/// Noisy copies of a random pattern of each class.
pub fn prototypes(
    seed: u64,
    classes: usize,
    shape: [usize; 3],
    noise: f64,
    lens: [usize; 2],
) -> Split {
    let mut random = Random::new(seed);
    let pixels: usize = shape.iter().product();
    let patterns: Vec<Vec<f64>> = (0..classes)
        .map(|_| (0..pixels).map(|_| 40.0 * random.normal()).collect())
        .collect();
    let [train, test] = lens.map(|len| {
        let image = |class: usize, random: &mut Random| {
            let own = patterns[class].iter();
            own.map(|v| 128.0 + v + noise * random.normal()).collect()
        };
        dataset("prototypes", shape, classes, len, &mut random, image)
    });
    Split::new(train, test)
}

/// The same images; this fraction of the training labels is replaced by random ones.
pub fn with_label_noise(split: &Split, fraction: f64, seed: u64) -> Split {
    Split::new(relabeled(&*split.train, fraction, seed), split.test.clone())
}

/// The same images; all labels are random.
pub fn with_random_labels(split: &Split, seed: u64) -> Split {
    Split::new(
        relabeled(&*split.train, 1.0, seed),
        relabeled(&*split.test, 1.0, seed + 1),
    )
}

fn relabeled(data: &dyn Dataset, fraction: f64, seed: u64) -> Arc<dyn Dataset> {
    let mut random = Random::new(seed);
    let classes = data.class_names("labels").len();
    changed_images(data, |_, labels| {
        for label in labels {
            if random.uniform() < fraction {
                *label = random.below(classes) as u32;
            }
        }
    })
}
