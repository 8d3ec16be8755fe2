//! Renders the shapes of a page to pixels, for PNG files.

use super::font::{self, ADVANCE, HEIGHT, WIDTH};
use super::image::Picture;
use super::png;
use super::svg::{Anchor, Area, TextStyle};

/// A white page in color.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

/// Red, green and blue of `#rrggbb`; black for anything else.
fn color(text: &str) -> [u8; 3] {
    let part = |k: usize| {
        let digits = text.strip_prefix('#')?.get(2 * k..2 * k + 2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    [0, 1, 2].map(|k| part(k).unwrap_or(0))
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        Self {
            width,
            height,
            pixels: vec![255; 3 * width * height],
        }
    }

    /// Sets a pixel, if it is on the page.
    fn set(&mut self, x: usize, y: usize, color: [u8; 3]) {
        if x < self.width && y < self.height {
            let at = 3 * (y * self.width + x);
            self.pixels[at..at + 3].copy_from_slice(&color);
        }
    }

    /// The left, right, top and bottom of an area in pixels; at least one pixel wide and high.
    fn pixels_of(area: Area) -> [usize; 4] {
        let whole = |from: f64, to: f64| {
            let (from, to) = (from.round().max(0.0) as usize, to.round().max(0.0) as usize);
            [from, to.max(from + 1)]
        };
        let [[left, right], [top, bottom]] =
            [whole(area.x, area.right()), whole(area.y, area.bottom())];
        [left, right, top, bottom]
    }

    pub(super) fn rectangle(&mut self, area: Area, fill: &str) {
        if area.width <= 0.0 || area.height <= 0.0 {
            return;
        }
        let [left, right, top, bottom] = Self::pixels_of(area);
        let color = color(fill);
        for y in top..bottom.min(self.height) {
            for x in left..right.min(self.width) {
                self.set(x, y, color);
            }
        }
    }

    pub(super) fn picture(&mut self, area: Area, picture: &Picture) {
        let plane = picture.width * picture.height;
        let channels = picture.pixels.len() / plane.max(1);
        if channels == 0 {
            return;
        }
        let [left, right, top, bottom] = Self::pixels_of(area);
        for y in top..bottom.min(self.height) {
            let row = (y - top) * picture.height / (bottom - top);
            for x in left..right.min(self.width) {
                let column = (x - left) * picture.width / (right - left);
                let at = channels * (row * picture.width + column);
                // A gray value is that of all three colors.
                let value = |k: usize| picture.pixels[at + k.min(channels - 1)];
                self.set(x, y, [value(0), value(1), value(2)]);
            }
        }
    }

    /// Draws text in the built-in font, scaled by an integer.
    pub(super) fn text(&mut self, at: [f64; 2], style: TextStyle, text: &str) {
        let scale = ((style.size / (HEIGHT + 1) as f64).round() as usize).max(1);
        let width = (text.chars().count() * ADVANCE * scale) as f64;
        let left = match style.anchor {
            Anchor::Start => at[0],
            Anchor::Middle => at[0] - width / 2.0,
            Anchor::End => at[0] - width,
        };
        let left = left.round().max(0.0) as usize;
        // The last row of a letter is below the base line.
        let top = (at[1].round() as usize).saturating_sub((HEIGHT - 1) * scale);
        let color = color(style.color);
        for (k, letter) in text.chars().enumerate() {
            let rows = font::glyph(letter);
            for (y, x) in (0..HEIGHT * scale).flat_map(|y| (0..WIDTH * scale).map(move |x| (y, x)))
            {
                if rows[y / scale] >> (WIDTH - 1 - x / scale) & 1 == 1 {
                    self.set(left + k * ADVANCE * scale + x, top + y, color);
                }
            }
        }
    }

    /// The page as a PNG file.
    pub(super) fn finish(self) -> Vec<u8> {
        png::encode(self.width, self.height, &self.pixels).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(canvas: &Canvas, x: usize, y: usize) -> [u8; 3] {
        let at = 3 * (y * canvas.width + x);
        [0, 1, 2].map(|k| canvas.pixels[at + k])
    }

    #[test]
    fn a_rectangle_is_filled_and_cut_off_at_the_edges() {
        let mut canvas = Canvas::new(4, 3);
        let area = Area {
            x: 2.0,
            y: 1.0,
            width: 9.0,
            height: 1.0,
        };
        canvas.rectangle(area, "#0072b2");
        assert_eq!(pixel(&canvas, 3, 1), [0x00, 0x72, 0xb2]);
        assert_eq!(pixel(&canvas, 1, 1), [255; 3]);
        assert_eq!(pixel(&canvas, 3, 2), [255; 3]);
    }

    #[test]
    fn a_picture_keeps_its_pixels_square() {
        let mut canvas = Canvas::new(4, 4);
        let area = Area {
            x: 0.0,
            y: 0.0,
            width: 4.0,
            height: 4.0,
        };
        let picture = Picture {
            width: 2,
            height: 2,
            pixels: vec![10, 20, 30, 40],
        };
        canvas.picture(area, &picture);
        let corners = [(0, 0), (3, 0), (0, 3), (3, 3)].map(|(x, y)| pixel(&canvas, x, y)[0]);
        assert_eq!(corners, [10, 20, 30, 40]);
    }

    #[test]
    fn text_stands_on_its_base_line_and_may_leave_the_page() {
        let mut canvas = Canvas::new(20, 12);
        canvas.text([0.0, 9.0], TextStyle::caption(10.0), "I_IIIIII");
        assert_ne!(pixel(&canvas, 2, 8), [255; 3]);
        assert_eq!(pixel(&canvas, 2, 9), [255; 3]);
    }
}
