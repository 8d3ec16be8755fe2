//! Generated digits: a data set without files or a network connection.
//!
//! Each digit has three skeletons, the path of a pen in a few strokes. For each image one of them
//! is randomly bent, sheared, rotated, scaled and shifted, drawn with a random stroke width and pressure, and
//! noise is added. The result looks like handwriting, has the shape and roughly the statistics of MNIST, and
//! is about as hard for a small network. Accuracy on it does not predict accuracy on handwritten digits.

mod pen;
mod skeleton;

use spikelet_expr::DType;
use spikelet_random::{Generator, Stream};
use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::field::Field;
use crate::named::{DataOptions, NamedDataset, Origin};
use crate::parallel;
use crate::sets::InMemory;
use crate::split::Split;
use pen::{Nib, Paper, Point};
use skeleton::DIGITS;

/// The digits by name.
#[derive(Debug)]
pub(crate) struct Digits;

pub(crate) const ENTRY: Digits = Digits;

/// The name in checkpoints.
const TITLE: &str = "synthetic digits";

/// The numbers of training and test images.
const SIZES: [usize; 2] = [60_000, 10_000];

/// Height and width of an image in pixels.
pub const SIDE: usize = 28;

/// Channels, height and width of an image.
const SHAPE: [usize; 3] = [1, SIDE, SIDE];

const PIXELS: usize = SIDE * SIDE;

/// The streams of random numbers of a part of the data set.
struct Streams {
    /// For the images; the step is the image.
    images: u32,
    /// For the order of the labels; the step is the group of ten.
    labels: u32,
}

const TRAIN: Streams = Streams {
    images: 0xda7a_0010,
    labels: 0xda7a_0020,
};

const TEST: Streams = Streams {
    images: 0xda7a_0011,
    labels: 0xda7a_0021,
};

/// 60,000 training images and 10,000 test images, like MNIST.
///
/// The same seed always gives the same bytes. Image `i` depends only on the seed, its part (training or test) and
/// `i`, not on the number of threads or images.
///
/// ```no_run
/// let digits = spikelet_data::synthetic::digits(0);
/// assert_eq!((digits.train.len(), digits.test.len()), (60_000, 10_000));
/// ```
#[must_use]
pub fn digits(seed: u64) -> Split {
    let [train, test] = SIZES;
    digits_of(seed, train, test)
}

/// As [`digits`], with `train` and `test` images: the first ones of [`digits`].
///
/// The classes are balanced: each group of ten images has every digit once.
///
/// ```
/// let digits = spikelet_data::synthetic::digits_of(7, 20, 10);
/// assert_eq!(digits.train.sample(0)?.require("images")?.shape, [1, 28, 28]);
/// assert_eq!(digits.train.labels()?.iter().filter(|&&label| label == 3).count(), 2);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[must_use]
pub fn digits_of(seed: u64, train: usize, test: usize) -> Split {
    Split::new(
        Arc::new(part(seed, TRAIN, train)),
        Arc::new(part(seed, TEST, test)),
    )
}

/// The names of the classes.
fn classes() -> Vec<String> {
    (0..10).map(|digit| digit.to_string()).collect()
}

impl NamedDataset for Digits {
    fn name(&self) -> &'static str {
        "synthetic"
    }

    fn summary(&self) -> &'static str {
        "Generated digits in the format of MNIST; needs no files"
    }

    fn title(&self) -> String {
        TITLE.into()
    }

    fn origin(&self) -> Origin {
        Origin::Generated
    }

    fn fields(&self, _: &DataOptions) -> Result<Vec<Field>> {
        Ok(vec![
            Field::image("images", SHAPE),
            Field::new("labels", DType::I64, []),
        ])
    }

    fn classes(&self, _: &DataOptions) -> Result<Vec<String>> {
        Ok(classes())
    }

    fn is_in(&self, _: &Path) -> bool {
        false
    }

    fn read(&self, options: &DataOptions) -> Result<Split> {
        let [train, test] = SIZES;
        let first = |wanted: Option<usize>, all: usize| wanted.unwrap_or(all).min(all);
        let (train, test) = (first(options.train, train), first(options.test, test));
        Ok(digits_of(options.seed, train, test))
    }
}

fn part(seed: u64, streams: Streams, len: usize) -> InMemory {
    let mut labels: Vec<i64> = Vec::with_capacity(len.next_multiple_of(10));
    for group in 0..len.div_ceil(10) {
        let mut ten = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        generator(seed, streams.labels, group).shuffle(&mut ten);
        labels.extend(ten);
    }
    labels.truncate(len);

    let mut images = vec![0; len * PIXELS];
    parallel::map_chunks(&mut images, PIXELS, |index, image| {
        let random = generator(seed, streams.images, index);
        write_digit(labels[index] as usize, random, image);
    });
    let data = InMemory::new(TITLE).with(Field::image("images", SHAPE), images);
    let data = data.and_then(|data| data.with(Field::new("labels", DType::I64, []), labels));
    data.expect("there are as many labels as images")
        .classes("labels", classes())
}

fn generator(seed: u64, id: u32, step: usize) -> Generator {
    // A data set cannot have more than 2³² images.
    let step = step as u32;
    Generator::new(Stream { seed, id, step })
}

/// A random number from −`spread` to `spread` with a bell-shaped density without tails, so that no digit is distorted by
/// an extreme value.
fn around_zero(random: &mut Generator, spread: f32) -> f32 {
    let sum = random.unit() + random.unit() + random.unit();
    (sum - 1.5) * (spread / 1.5)
}

fn between(random: &mut Generator, low: f32, high: f32) -> f32 {
    low + (high - low) * random.unit()
}

/// The random map from the points of a skeleton to the image.
struct Hand {
    /// Quadratic bend of x and y, by x², xy and y².
    bend: [[f32; 3]; 2],
    /// Sine-like sway of x and y along y and x.
    sway: [f32; 2],
    /// Linear map to pixels: scale, shear and rotation.
    map: [[f32; 2]; 2],
    /// The position of the center of the digit, in pixels.
    middle: Point,
}

impl Hand {
    fn new(random: &mut Generator) -> Self {
        let bend = [(); 2].map(|()| [(); 3].map(|()| around_zero(random, 0.48)));
        let sway = [(); 2].map(|()| around_zero(random, 0.48));
        // Half the height of the digit in pixels, and its aspect ratio.
        let height = 9.2 + around_zero(random, 2.0);
        let width = height * (1.0 + around_zero(random, 0.42));
        // Handwriting leans to the right more often than to the left.
        let lean = -0.15 + around_zero(random, 0.62);
        // A rotation by the angle whose half has this tangent, without sine and cosine.
        let half = around_zero(random, 0.22);
        let (cos, sin) = (
            (1.0 - half * half) / (1.0 + half * half),
            2.0 * half / (1.0 + half * half),
        );
        let lean = lean * height;
        let center = 0.5 * (SIDE as f32 - 1.0);
        Self {
            bend,
            sway,
            map: [
                [cos * width, cos * lean - sin * height],
                [sin * width, sin * lean + cos * height],
            ],
            middle: (
                center + around_zero(random, 3.0),
                center + around_zero(random, 2.6),
            ),
        }
    }

    /// From coordinates of the skeleton to pixels.
    fn place(&self, (x, y): Point) -> Point {
        let bent = |[xx, xy, yy]: [f32; 3]| xx * x * x + xy * x * y + yy * (y * y - 0.4);
        // t (1 − t²) rises, falls and rises like a sine, and is cheap.
        let u = x + bent(self.bend[0]) + self.sway[0] * y * (1.0 - y * y);
        let v = y + 0.5 * bent(self.bend[1]) + self.sway[1] * x * (1.0 - x * x);
        (
            self.middle.0 + self.map[0][0] * u + self.map[0][1] * v,
            self.middle.1 + self.map[1][0] * u + self.map[1][1] * v,
        )
    }
}

/// Writes one digit into `image`, which is all 0.
fn write_digit(digit: usize, mut random: Generator, image: &mut [u8]) {
    let ways = DIGITS[digit];
    let strokes = ways[random.below(ways.len() as u64) as usize];
    let hand = Hand::new(&mut random);
    let nib = Nib {
        radius: 1.3 + around_zero(&mut random, 0.65),
        swell: around_zero(&mut random, 0.5),
        softness: between(&mut random, 1.1, 1.8),
    };
    let shake = between(&mut random, 0.04, 0.2);

    let mut paper = Paper::<SIDE>::new();
    // A point of several strokes is moved once, so that the strokes stay connected.
    let mut shaken: Vec<(Point, Point)> = Vec::new();
    for &stroke in strokes {
        let path = pen::trace(stroke, |point| {
            if let Some(&(_, placed)) = shaken.iter().find(|(known, _)| *known == point) {
                return placed;
            }
            let moved = (
                point.0 + around_zero(&mut random, shake),
                point.1 + around_zero(&mut random, shake),
            );
            let placed = hand.place(moved);
            shaken.push((point, placed));
            placed
        });
        paper.draw(&path, nib);
    }

    let strength = between(&mut random, 200.0, 290.0);
    let grain = between(&mut random, 0.0, 0.16);
    for (pixel, &ink) in image.iter_mut().zip(paper.rows().as_flattened()) {
        if ink > 0.0 {
            let grey = strength * ink * (1.0 - grain * random.unit());
            *pixel = grey.min(255.0) as u8;
        }
    }
    for _ in 0..random.below(5) {
        let place = random.below(PIXELS as u64) as usize;
        image[place] = image[place].max(16 + random.below(64) as u8);
    }
}
