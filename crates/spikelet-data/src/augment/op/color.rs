//! Saturation: blending with the grayscale image.

use spikelet_expr::vectorized;

use super::blend;
use crate::augment::image::Image;

/// The brightness of a color: 0.299 R + 0.587 G + 0.114 B, in Pillow's fixed point.
#[inline(always)]
pub(crate) fn luma(red: u8, green: u8, blue: u8) -> u8 {
    let sum = u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471;
    ((sum + 0x8000) >> 16) as u8
}

/// Blends with the grayscale image.
pub(super) fn saturation(image: &mut Image, factor: f32) {
    let Some([red, green, blue]) = image.colors_mut() else {
        return;
    };
    vectorized(
        (red, green, blue, factor),
        #[inline(always)]
        |(red, green, blue, factor)| {
            for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
                let gray = i32::from(luma(*red, *green, *blue));
                for color in [red, green, blue] {
                    *color = blend(gray, i32::from(*color), factor);
                }
            }
        },
    );
}
