//! TFRecord framing: length (u64), its checksum, the data, their checksum; all little-endian.

/// CRC-32C as TFRecord stores it: rotated and shifted, so that a checksum of data with checksums
/// is not weakened.
fn masked_checksum(data: &[u8]) -> u32 {
    crc32c::crc32c(data)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
}

/// `data` with its frame.
pub(super) fn frame(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(data.len() + 16);
    record.extend_from_slice(&length);
    record.extend_from_slice(&masked_checksum(&length).to_le_bytes());
    record.extend_from_slice(data);
    record.extend_from_slice(&masked_checksum(data).to_le_bytes());
    record
}

/// The first record of `bytes`: its data and the rest. `None` at the end, and where a
/// record is truncated or a checksum is wrong: the rest of such a file is not reliable.
pub(super) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*checksum) != masked_checksum(length) {
        return None;
    }
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (data, rest) = rest.split_at_checked(length)?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    (u32::from_le_bytes(*checksum) == masked_checksum(data)).then_some((data, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_framed_record_has_the_bytes_that_tensorflow_writes() {
        // The first record of every event file since 2016: 24 bytes, checksum 0xa37f4b22.
        let record = frame(&[0; 24]);
        assert_eq!(
            record[..12],
            [24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22]
        );
        assert_eq!(record.len(), 40);
    }

    #[test]
    fn records_come_back_in_order_until_the_first_that_is_damaged() {
        let mut bytes = [frame(b"one"), frame(b""), frame(b"three")].concat();
        let (first, rest) = split(&bytes).unwrap();
        let (second, rest) = split(rest).unwrap();
        let (third, rest) = split(rest).unwrap();
        assert_eq!(
            (first, second, third, rest),
            (&b"one"[..], &b""[..], &b"three"[..], &b""[..])
        );
        assert_eq!(split(rest), None);

        for end in 0..16 + 3 {
            assert_eq!(split(&bytes[..end]), None, "cut off after {end} bytes");
        }
        for at in 0..16 + 3 {
            bytes[at] ^= 4;
            assert_eq!(split(&bytes), None, "byte {at} changed");
            bytes[at] ^= 4;
        }
    }
}
