//! Small pictures as PNG files, and base64 to put them into text.

/// An 8-bit picture as a PNG file: grey if `pixels` holds one byte a pixel (`[height, width]`),
/// colored if it holds three (`[height, width, 3]`, red first). `None` for any other number of
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

    // Each row as its difference from the one above, the first from black.
    const UP: u8 = 2;
    let mut rows = Vec::with_capacity(pixels.len() + height);
    let mut above = &vec![0; row][..];
    for row in pixels.chunks_exact(row) {
        rows.push(UP);
        rows.extend(row.iter().zip(above).map(|(a, b)| a.wrapping_sub(*b)));
        above = row;
    }
    chunk(&mut file, b"IDAT", &compressed(&rows));
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

/// A zlib stream in which runs of equal bytes are short: one deflate block with the fixed codes, and
/// no distances but 1. Flat pictures become a hundredth of their size, others hardly larger.
fn compressed(data: &[u8]) -> Vec<u8> {
    let mut bits = Bits {
        bytes: vec![0x78, 0x01],
        used: 8,
    };
    bits.put(0b011, 3); // the last block, with fixed codes
    let mut rest = data;
    while let Some((&byte, after)) = rest.split_first() {
        bits.symbol(usize::from(byte));
        let mut run = after.iter().take_while(|&&next| next == byte).count();
        rest = &after[run..];
        while run > 0 {
            match run {
                258.. => run -= bits.repeat(285, 258),
                3.. => {
                    let length = run.min(10);
                    run -= bits.repeat(254 + length, length);
                }
                _ => {
                    bits.symbol(usize::from(byte));
                    run -= 1;
                }
            }
        }
    }
    bits.symbol(256); // the end
    let mut stream = bits.bytes;
    stream.extend_from_slice(&adler32(data).to_be_bytes());
    stream
}

/// Bits of a deflate stream: the lowest bit of a byte comes first.
struct Bits {
    bytes: Vec<u8>,
    /// Bits of the last byte that are taken.
    used: u32,
}

impl Bits {
    /// Adds the lowest `count` bits of `value`, the lowest first.
    fn put(&mut self, value: u32, count: u32) {
        for k in 0..count {
            if self.used == 8 {
                self.bytes.push(0);
                self.used = 0;
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((value >> k & 1) as u8) << self.used;
            }
            self.used += 1;
        }
    }

    /// Adds a literal, the end or a length in its fixed code, the highest bit of which comes first.
    fn symbol(&mut self, symbol: usize) {
        let (code, count) = match symbol {
            0..=143 => (0x30 + symbol, 8),
            144..=255 => (0x190 + symbol - 144, 9),
            256..=279 => (symbol - 256, 7),
            _ => (0xc0 + symbol - 280, 8),
        };
        self.put((code as u32).reverse_bits() >> (32 - count), count);
    }

    /// Repeats the last byte by the symbol of a length that has no extra bits; returns the length.
    fn repeat(&mut self, symbol: usize, length: usize) -> usize {
        self.symbol(symbol);
        self.put(0, 5); // the code of distance 1
        length
    }
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

    /// What a stream says, read code by code as RFC 1951 has it.
    fn inflated(stream: &[u8]) -> Vec<u8> {
        let mut at = 16;
        let mut bit = || {
            at += 1;
            u32::from(stream[(at - 1) / 8] >> ((at - 1) % 8) & 1)
        };
        let head = [bit(), bit(), bit()];
        assert_eq!(head, [1, 1, 0]);
        let mut data = vec![];
        loop {
            let mut code = (0..7).fold(0, |code, _| code << 1 | bit());
            let symbol = if code < 24 {
                256 + code
            } else {
                code = code << 1 | bit();
                match code {
                    0x30..=0xbf => code - 0x30,
                    0xc0..=0xc7 => code - 0xc0 + 280,
                    _ => (code << 1 | bit()) - 0x190 + 144,
                }
            };
            let length = match symbol {
                0..=255 => {
                    data.push(symbol as u8);
                    continue;
                }
                256 => return data,
                285 => 258,
                _ => symbol - 254,
            };
            assert_eq!((0..5).fold(0, |code, _| code << 1 | bit()), 0);
            let last = *data.last().unwrap();
            data.extend(std::iter::repeat_n(last, length as usize));
        }
    }

    #[test]
    fn a_stream_holds_what_was_put_in_and_runs_are_short() {
        for length in [0, 1, 2, 3, 4, 10, 11, 13, 258, 259, 261, 270, 1000, 70_000] {
            for byte in [0, 143, 144, 255] {
                let mut data = vec![byte; length];
                data.push(7);
                let stream = compressed(&data);
                assert_eq!(inflated(&stream), data, "{length} × {byte}");
                assert!(stream.len() < 60 + length / 100, "{length} × {byte}");
            }
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(inflated(&compressed(&all)), all);
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
