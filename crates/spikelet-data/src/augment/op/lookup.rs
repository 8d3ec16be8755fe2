//! Operations on single bytes: one table for all pixels.

use std::array;

use super::blend;
use crate::augment::image::Image;

/// The new value of each byte.
pub(super) type Table = [u8; 256];

/// Looks up every byte of `plane`.
pub(super) fn look_up(plane: &mut [u8], table: &Table) {
    for pixel in plane {
        *pixel = table[usize::from(*pixel)];
    }
}

pub(super) fn invert(image: &mut Image) {
    for pixel in image.pixels_mut() {
        *pixel = 255 - *pixel;
    }
}

pub(super) fn posterize(image: &mut Image, bits: u32) {
    let mask = !(0xff_u32 >> bits.min(8)) as u8;
    for pixel in image.pixels_mut() {
        *pixel &= mask;
    }
}

pub(super) fn solarize(image: &mut Image, threshold: f32) {
    let table: Table = array::from_fn(|byte| match (byte as f32) < threshold {
        true => byte as u8,
        false => 255 - byte as u8,
    });
    look_up(image.pixels_mut(), &table);
}

/// Adds to pixels in the lower half.
pub(super) fn solarize_add(image: &mut Image, added: u8) {
    for pixel in image.pixels_mut() {
        if *pixel < 128 {
            *pixel = pixel.saturating_add(added);
        }
    }
}

/// Blends with black.
pub(super) fn brightness(image: &mut Image, factor: f32) {
    blend_with(image, 0, factor);
}

/// Blends every channel with a constant.
pub(super) fn blend_with(image: &mut Image, constant: u8, factor: f32) {
    let table: Table = array::from_fn(|byte| blend(i32::from(constant), byte as i32, factor));
    look_up(image.pixels_mut(), &table);
}
