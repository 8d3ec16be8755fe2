//! Images as PNG files.

use png::{BitDepth, ColorType, Encoder};

/// An 8-bit image as a PNG file: gray if `pixels` has one byte per pixel (`[height, width]`), color if
/// it has three (`[height, width, 3]`, red first). `None` for an empty image and for any other number
/// of bytes.
pub(super) fn encode(width: usize, height: usize, pixels: &[u8]) -> Option<Vec<u8>> {
    let count = width.checked_mul(height).filter(|&count| count > 0)?;
    let color = if pixels.len() == count {
        ColorType::Grayscale
    } else if Some(pixels.len()) == count.checked_mul(3) {
        ColorType::Rgb
    } else {
        return None;
    };
    let mut file = vec![];
    let mut encoder = Encoder::new(
        &mut file,
        u32::try_from(width).ok()?,
        u32::try_from(height).ok()?,
    );
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(pixels).ok()?;
    writer.finish().ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_image_has_the_same_pixels() {
        let [width, height] = [5, 3];
        for channels in [1, 3] {
            let pixels: Vec<u8> = (0..width * height * channels)
                .map(|k| (k * 37 % 256) as u8)
                .collect();
            let file = encode(width, height, &pixels).expect("an image");
            let decoder = png::Decoder::new(std::io::Cursor::new(file));
            let mut reader = decoder.read_info().expect("a header");
            let mut decoded = vec![0; pixels.len()];
            let frame = reader.next_frame(&mut decoded).expect("pixels");
            assert_eq!((frame.width, frame.height), (5, 3));
            assert_eq!(decoded, pixels);
        }
    }

    #[test]
    fn images_without_a_byte_for_each_value_are_not_encoded() {
        assert!(encode(2, 3, &[0; 6]).is_some());
        assert!(encode(2, 3, &[0; 18]).is_some());
        assert!(encode(2, 3, &[0; 7]).is_none());
        assert!(encode(0, 3, &[]).is_none());
        assert!(encode(usize::MAX, 2, &[0; 4]).is_none());
    }
}
