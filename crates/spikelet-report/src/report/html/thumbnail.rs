//! Small images as data URIs.

use super::super::png;
use base64::prelude::{BASE64_STANDARD, Engine};

/// The largest width and height in pixels.
const LARGEST: usize = 64;

/// An image `[channels, height, width]`, one byte per value, as a PNG file in a data URI. Larger images are reduced:
/// a pixel is the mean of those that it covers. Two channels are red and green; more than three are averaged.
pub fn thumbnail(image: &[u8], [channels, height, width]: [usize; 3]) -> Option<String> {
    let plane = height.checked_mul(width).filter(|&plane| plane > 0)?;
    if channels == 0 || Some(image.len()) != plane.checked_mul(channels) {
        return None;
    }
    let by = height.max(width).div_ceil(LARGEST).max(1);
    let [rows, columns] = [height.div_ceil(by), width.div_ceil(by)];
    let mean = |channel: usize, row: usize, column: usize| {
        let (mut sum, mut count) = (0_u32, 0_u32);
        for y in (row * by..height).take(by) {
            for x in (column * by..width).take(by) {
                sum += u32::from(image[channel * plane + y * width + x]);
                count += 1;
            }
        }
        (sum / count.max(1)) as u8
    };
    let pixels = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let bytes: Vec<u8> = match channels {
        1 | 3 => pixels
            .flat_map(|(row, column)| (0..channels).map(move |c| (c, row, column)))
            .map(|(c, row, column)| mean(c, row, column))
            .collect(),
        2 => pixels
            .flat_map(|(row, column)| [mean(0, row, column), mean(1, row, column), 0])
            .collect(),
        _ => pixels
            .map(|(row, column)| {
                let sum: usize = (0..channels)
                    .map(|c| usize::from(mean(c, row, column)))
                    .sum();
                (sum / channels.max(1)) as u8
            })
            .collect(),
    };
    let file = png::encode(columns, rows, &bytes)?;
    Some(format!(
        "data:image/png;base64,{}",
        BASE64_STANDARD.encode(file)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(uri: &str) -> (u32, u32, Vec<u8>) {
        let text = uri
            .strip_prefix("data:image/png;base64,")
            .expect("a data URI");
        let file = BASE64_STANDARD.decode(text).expect("base 64");
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .expect("a header");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        let frame = reader.next_frame(&mut pixels).expect("pixels");
        (frame.width, frame.height, pixels)
    }

    #[test]
    fn a_small_image_has_its_own_pixels() {
        let image: Vec<u8> = (0..12).collect();
        let (width, height, pixels) = decoded(&thumbnail(&image, [3, 2, 2]).expect("an image"));
        assert_eq!((width, height), (2, 2));
        assert_eq!(pixels, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    }

    #[test]
    fn a_large_image_is_reduced_to_means() {
        let image: Vec<u8> = (0..256 * 100)
            .map(|k| if k % 2 == 0 { 10 } else { 30 })
            .collect();
        let (width, height, pixels) = decoded(&thumbnail(&image, [1, 100, 256]).expect("an image"));
        assert_eq!((width, height), (64, 25));
        assert!(pixels.iter().all(|&pixel| pixel == 20));
    }

    #[test]
    fn any_number_of_channels_is_drawn_and_a_wrong_size_is_not() {
        for channels in [1, 2, 3, 5] {
            assert!(thumbnail(&vec![7; channels * 6], [channels, 2, 3]).is_some());
        }
        assert!(thumbnail(&[0; 5], [1, 2, 3]).is_none());
        assert!(thumbnail(&[], [0, 2, 3]).is_none());
        assert!(thumbnail(&[], [1, 0, 3]).is_none());
    }
}
