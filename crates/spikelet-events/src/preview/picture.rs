//! Counts of events as pictures of few colors.

use png::{BitDepth, ColorType, Encoder};

use super::palette::{self, LEVELS};

/// The counts of ON and OFF events of each pixel.
pub(super) struct Counts {
    pub width: usize,
    pub height: usize,
    /// OFF and ON.
    counts: [Vec<u16>; 2],
}

impl Counts {
    pub fn new(width: usize, height: usize) -> Self {
        let counts = [vec![0; width * height], vec![0; width * height]];
        Self {
            width,
            height,
            counts,
        }
    }

    /// Counts an event, whose pixel is inside.
    pub fn add(&mut self, x: usize, y: usize, is_on: bool) {
        let count = &mut self.counts[usize::from(is_on)][y * self.width + x];
        *count = count.saturating_add(1);
    }

    /// The pixels: more events than usual are brighter.
    pub fn picture(&self) -> Picture {
        let [off, on] = &self.counts;
        let (mut sum, mut pixels) = (0, 0);
        for (&off, &on) in off.iter().zip(on) {
            sum += u64::from(off.max(on));
            pixels += u64::from(off > 0 || on > 0);
        }
        let mean = sum as f64 / pixels.max(1) as f64;
        let level = |count: u16| match f64::from(count) / mean {
            ratio if ratio < 0.5 => 1,
            ratio if ratio < 1.5 => 2,
            _ => LEVELS,
        };
        let color = |(&off, &on): (&u16, &u16)| match (off, on) {
            (0, 0) => 0,
            _ if on >= off => level(on),
            _ => LEVELS + level(off),
        };
        Picture {
            width: self.width,
            height: self.height,
            pixels: off.iter().zip(on).map(color).collect(),
        }
    }
}

/// An image of the colors of the palette.
pub(super) struct Picture {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

impl Picture {
    /// A PNG file of 4 bits a pixel. The background is transparent, or opaque.
    pub fn png(&self, is_opaque: bool) -> Vec<u8> {
        let mut bytes = vec![];
        let mut packed = Vec::with_capacity(self.height * self.width.div_ceil(2));
        for row in self.pixels.chunks(self.width) {
            let (pairs, rest) = row.as_chunks::<2>();
            packed.extend(pairs.iter().map(|[left, right]| left << 4 | right));
            packed.extend(rest.iter().map(|left| left << 4));
        }
        let mut encoder = Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(BitDepth::Four);
        let (colors, alphas) = palette::colors(is_opaque);
        encoder.set_palette(colors);
        encoder.set_trns(alphas);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&packed)?;
            writer.finish()
        });
        written.expect("writing to a vector does not fail");
        bytes
    }
}
