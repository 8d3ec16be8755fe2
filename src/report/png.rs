//! Small pictures as PNG files, uncompressed, and base64 to put them into text.

/// An 8-bit picture as a PNG file: grey if `pixels` holds one byte a pixel (`[height, width]`),
/// coloured if it holds three (`[height, width, 3]`, red first). `None` for any other number of
/// bytes and for an empty picture.
pub fn encode(width: usize, height: usize, pixels: &[u8]) -> Option<Vec<u8>> {
    const GREY: u8 = 0;
    const RGB: u8 = 2;
    let count = width.checked_mul(height).filter(|&count| count > 0)?;
    let (kind, row) = if pixels.len() == count {
        (GREY, width)
    } else if Some(pixels.len()) == count.checked_mul(3) {
        (RGB, 3 * width)
    } else {
        return None;
    };

    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&u32::try_from(width).ok()?.to_be_bytes());
    header.extend_from_slice(&u32::try_from(height).ok()?.to_be_bytes());
    header.extend_from_slice(&[8, kind, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &header);

    let mut rows = Vec::with_capacity(pixels.len() + height);
    for row in pixels.chunks_exact(row) {
        rows.push(0); // no filter
        rows.extend_from_slice(row);
    }
    chunk(&mut file, b"IDAT", &stored(&rows));
    chunk(&mut file, b"IEND", &[]);
    Some(file)
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    file.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend_from_slice(name);
    file.extend_from_slice(data);
    let checksum = crc32(&file[start..]);
    file.extend_from_slice(&checksum.to_be_bytes());
}

/// A zlib stream of stored blocks.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler32(data).to_be_bytes());
    stream
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1, 0), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (a + b) % 65_521)
    });
    b << 16 | a
}

/// `data` in base64.
pub fn base64(data: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(data.len().div_ceil(3) * 4);
    for group in data.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| {
            bits << 8 | u32::from(group.get(i).copied().unwrap_or(0))
        });
        for i in 0..4 {
            if i <= group.len() {
                text.push(LETTERS[(bits >> (18 - 6 * i) & 63) as usize] as char);
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_standard_ones() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn base64_is_padded() {
        let shown = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(shown, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn large_pictures_take_several_blocks() {
        let data = vec![7; 0xffff + 2];
        let stream = stored(&data);
        assert_eq!(stream.len(), 2 + 2 * 5 + data.len() + 4);
        assert_eq!((stream[2], stream[2 + 5 + 0xffff]), (0, 1));
    }

    #[test]
    fn only_whole_pictures_are_encoded() {
        assert!(encode(2, 3, &[0; 6]).is_some());
        assert!(encode(2, 3, &[0; 18]).is_some());
        assert!(encode(2, 3, &[0; 7]).is_none());
        assert!(encode(0, 3, &[]).is_none());
        assert!(encode(usize::MAX, 2, &[0; 4]).is_none());
    }
}
