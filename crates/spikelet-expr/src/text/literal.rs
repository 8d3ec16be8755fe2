//! Exact literals of C and C++.

/// An f32 as a literal of C and C++, which binds as tightly as an identifier, except for a leading
/// minus; `None` for infinities and NaN.
///
/// Decimal if the digits are exact, so that a parser via double reads the same value; otherwise an
/// integer hexadecimal significand and a power of two.
pub(super) fn finite(value: f32) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let decimal = format!("{value:?}");
    if decimal.parse::<f64>() == Ok(f64::from(value)) {
        return Some(format!("{decimal}f"));
    }
    const FRACTION: u32 = 0x007f_ffff;
    let bits = value.abs().to_bits();
    let (significand, exponent) = match bits >> 23 {
        0 => (bits, -149),
        biased => (bits & FRACTION | (FRACTION + 1), biased as i32 - 150),
    };
    let zeros = significand.trailing_zeros();
    let sign = if value < 0.0 { "-" } else { "" };
    let exponent = exponent + zeros as i32;
    Some(format!("{sign}{:#x}p{exponent}f", significand >> zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a literal.
    fn read(text: &str) -> f32 {
        let number = text.strip_suffix('f').unwrap();
        match number.split_once("0x") {
            None => number.parse().unwrap(),
            Some((sign, hexadecimal)) => {
                let (significand, exponent) = hexadecimal.split_once('p').unwrap();
                let significand = u32::from_str_radix(significand, 16).unwrap();
                let exponent: i32 = exponent.parse().unwrap();
                let value = f64::from(significand) * 2.0_f64.powi(exponent);
                (if sign == "-" { -value } else { value }) as f32
            }
        }
    }

    #[test]
    fn every_number_is_written_exactly() {
        let every = (0..100_000_u32).map(|k| f32::from_bits(k.wrapping_mul(0x9e37_79b1)));
        let special = [0.0, -0.0, 1.0, 0.1, -0.1, f32::MAX, f32::MIN_POSITIVE];
        for value in every.chain(special).chain([1e-45]) {
            if let Some(text) = finite(value) {
                assert_eq!(read(&text).to_bits(), value.to_bits(), "{value:?}: {text}");
            }
        }
        assert_eq!(finite(f32::INFINITY), None);
        assert_eq!(finite(f32::NAN), None);
    }

    #[test]
    fn literals_are_decimal_where_that_is_exact() {
        let texts = [0.5, -1.0, 3.0, 0.1, 1e-45].map(finite);
        let expected = ["0.5f", "-1.0f", "3.0f", "0xcccccdp-27f", "0x1p-149f"];
        assert_eq!(texts, expected.map(|text| Some(text.to_string())));
    }
}
