//! Numbers as C++ prints them: exactly.

/// An f32 as a C++ expression that binds as tightly as an identifier, but for a leading minus.
///
/// Decimal where a parser that goes through double must read the same number, else a whole
/// hexadecimal significand and a power of two; bits for what has no literal.
///
/// ```
/// use spikelet_expr::cuda::literal;
/// assert_eq!([4.0, 0.1].map(literal), ["4.0f", "0xcccccdp-27f"]);
/// ```
pub fn literal(value: f32) -> String {
    if value.is_nan() {
        return "__uint_as_float(0x7fc00000u)".to_string();
    }
    if value.is_infinite() {
        return format!("__uint_as_float({:#010x}u)", value.to_bits());
    }
    let decimal = format!("{value:?}");
    if decimal.parse::<f64>() == Ok(f64::from(value)) {
        return format!("{decimal}f");
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
    format!("{sign}{:#x}p{exponent}f", significand >> zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads what [`literal`] writes.
    fn read(text: &str) -> f32 {
        if let Some(bits) = text.strip_prefix("__uint_as_float(0x") {
            let bits = bits.trim_end_matches("u)");
            return f32::from_bits(u32::from_str_radix(bits, 16).unwrap());
        }
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
        let special = special
            .into_iter()
            .chain([1e-45, f32::INFINITY, f32::NEG_INFINITY]);
        for value in every.chain(special) {
            let text = literal(value);
            let same = read(&text).to_bits() == value.to_bits();
            assert!(same || value.is_nan(), "{value:?} is written as {text}");
        }
    }

    #[test]
    fn numbers_are_written_as_people_write_them_where_that_is_exact() {
        let texts = [0.5, -1.0, 3.0, 0.1, 1e-45, f32::NEG_INFINITY].map(literal);
        assert_eq!(
            texts,
            [
                "0.5f",
                "-1.0f",
                "3.0f",
                "0xcccccdp-27f",
                "0x1p-149f",
                "__uint_as_float(0xff800000u)"
            ]
        );
    }
}
