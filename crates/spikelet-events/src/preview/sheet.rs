//! A sheet of frames, row by row from the left.

use super::Preview;
use super::animation::{reduction, strip};
use super::palette::GAP;
use super::picture::Picture;

/// The shortest and the longest side of a frame on the sheet.
const MIN_SIDE: usize = 128;
const MAX_SIDE: usize = 256;

/// The pixels between frames.
const SPACE: usize = 4;

pub(super) fn png(preview: &Preview<'_>) -> Vec<u8> {
    let frames = preview.frames as usize;
    let strip = strip(preview, reduction(preview.sensor, MAX_SIDE));
    let (width, height) = (strip.width, strip.height / frames);
    let scale = MIN_SIDE.div_ceil(width.max(height));
    let [step_x, step_y] = [width, height].map(|side| side * scale + SPACE);
    let columns = columns(frames, step_x, step_y);
    let (total_width, total_height) = (
        columns * step_x - SPACE,
        frames.div_ceil(columns) * step_y - SPACE,
    );
    let mut pixels = vec![GAP; total_width * total_height];
    for (row, line) in strip.pixels.chunks(width).enumerate() {
        let (frame, y) = (row / height, row % height);
        let left = frame % columns * step_x;
        let top = frame / columns * step_y + y * scale;
        let line: Vec<u8> = line
            .iter()
            .flat_map(|&pixel| std::iter::repeat_n(pixel, scale))
            .collect();
        for y in top..top + scale {
            pixels[y * total_width + left..][..line.len()].copy_from_slice(&line);
        }
    }
    let sheet = Picture {
        width: total_width,
        height: total_height,
        pixels,
    };
    sheet.png(true)
}

/// The number of frames in a row, so that the sheet is about 3 : 2.
fn columns(frames: usize, step_x: usize, step_y: usize) -> usize {
    let columns = (1.5 * frames as f64 * step_y as f64 / step_x as f64).sqrt();
    (columns.round() as usize).clamp(1, frames)
}
