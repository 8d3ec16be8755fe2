//! From the bytes of an image to the input of the network.

use std::array;

use super::affine::{Map, Resampler};
use super::image::Image;
use super::{Augment, Draws, Normalize, crop, cutout, flip, noise};
use crate::sample_random::SampleRandom;

/// The position of the first transform of [`Augment::transforms`] among those of the sample: behind all transforms
/// of the loader.
const FIRST_TRANSFORM: usize = 1 << 11;

/// The processing of an image, with its buffers. Each thread has its own.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    augment: Augment,
    normalize: Option<Normalize>,
    shape: [usize; 3],
    seed: u64,
    /// The pixel value of each byte, 0 to 1.
    shades: Box<[f32; 256]>,
    /// The same after normalization, for each channel. Without noise and interpolation, it is the final value.
    normalized: Vec<[f32; 256]>,
    resampler: Resampler,
    noise: Vec<f32>,
    /// The bytes for the transforms, if there are any.
    image: Option<Image>,
}

impl Pipeline {
    /// The processing of images of `shape` in an epoch with `seed`. The configurations have been checked.
    pub(crate) fn new(
        augment: Augment,
        normalize: Option<Normalize>,
        shape: [usize; 3],
        seed: u64,
    ) -> Self {
        let [channels, height, width] = shape;
        let shades = shades();
        let normalized = (0..channels).map(|channel| match &normalize {
            None => shades,
            Some(normalize) => {
                let (mean, std) = normalize.of_channel(channel);
                shades.map(|shade| (shade - mean) / std)
            }
        });
        Self {
            normalized: normalized.collect(),
            shades: Box::new(shades),
            resampler: Resampler::new(shape),
            noise: match augment.noise {
                0.0 => Vec::new(),
                _ => vec![0.0; channels * height * width],
            },
            image: (!augment.transforms.is_empty()).then(|| Image::black(shape)),
            augment,
            normalize,
            shape,
            seed,
        }
    }

    /// Writes the image `index` of the data set, with the bytes `image` and the augmentation of `epoch`, to `out`, which
    /// has the same length.
    pub(crate) fn write(&mut self, image: &[u8], epoch: u64, index: u32, out: &mut [f32]) {
        let draws = Draws::new(self.seed, epoch, index);
        let padding = self.augment.crop_padding;
        let corner = match padding {
            0 => [0, 0],
            _ => crop::draw(&draws, padding),
        };
        let flipped = self.augment.flip && flip::draw(&draws);
        let Some(mut changed) = self.image.take() else {
            return self.convert(image, &draws, corner, flipped, out);
        };
        let [_, height, width] = self.shape;
        let planes = image.chunks_exact(height * width);
        for (plane, changed) in planes.zip(changed.planes_mut()) {
            if corner == [0, 0] && !flipped {
                changed.copy_from_slice(plane);
            } else {
                crop::place(plane, width, corner, flipped, &IDENTITY, changed);
            }
        }
        let random = SampleRandom::of_sample(self.seed, epoch, index);
        for (position, transform) in self.augment.transforms.iter().enumerate() {
            let mut random = random.of_transform(FIRST_TRANSFORM + position);
            let done = transform.augment(&mut changed, &mut random);
            done.expect("transforms with a name accept every shape and keep it");
        }
        self.convert(changed.pixels(), &draws, [0, 0], false, out);
        self.image = Some(changed);
    }

    /// Everything after the transforms.
    fn convert(
        &mut self,
        image: &[u8],
        draws: &Draws,
        corner: [isize; 2],
        flipped: bool,
        out: &mut [f32],
    ) {
        let noisy = self.augment.noise != 0.0;
        if self.augment.is_affine() {
            let [_, height, width] = self.shape;
            let map = Map::draw(draws, &self.augment, [height, width]);
            let map = map.after(corner, flipped, width);
            self.resampler.resample(image, &self.shades, map, out);
        } else {
            self.place(image, corner, flipped, !noisy, out);
        }
        if noisy {
            noise::add(draws, self.augment.noise, &mut self.noise, out);
            if self.normalize.is_none() {
                noise::clamp(out);
            }
        }
        if noisy || self.augment.is_affine() {
            self.normalize(out);
        }
        if self.augment.cutout != 0 {
            cutout::cut(draws, self.augment.cutout, self.shape, out);
        }
    }

    /// Copies the pixels to their positions, normalized if there is no step in between.
    fn place(
        &self,
        image: &[u8],
        corner: [isize; 2],
        flipped: bool,
        normalized: bool,
        out: &mut [f32],
    ) {
        let [_, height, width] = self.shape;
        let planes = image.chunks_exact(height * width);
        let outs = out.chunks_exact_mut(height * width);
        for ((plane, out), table) in planes.zip(outs).zip(&self.normalized) {
            let table = if normalized { table } else { &self.shades };
            if corner == [0, 0] && !flipped {
                for (out, &pixel) in out.iter_mut().zip(plane) {
                    *out = table[usize::from(pixel)];
                }
            } else {
                crop::place(plane, width, corner, flipped, table, out);
            }
        }
    }

    fn normalize(&self, image: &mut [f32]) {
        let Some(normalize) = &self.normalize else {
            return;
        };
        let [_, height, width] = self.shape;
        for (channel, plane) in image.chunks_exact_mut(height * width).enumerate() {
            let (mean, std) = normalize.of_channel(channel);
            for pixel in plane {
                *pixel = (*pixel - mean) / std;
            }
        }
    }
}

/// Every byte itself.
static IDENTITY: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte as u8;
        byte += 1;
    }
    table
};

/// The bytes as pixels from 0 (black) to 1 (white).
pub(super) fn shades() -> [f32; 256] {
    array::from_fn(|byte| byte as f32 / 255.0)
}
