//! Compute capabilities on the command line.

/// A compute capability: `90`, `9.0` or `sm_90` is (9, 0).
pub fn capability(text: &str) -> Result<(i32, i32), String> {
    let digits = text.strip_prefix("sm_").unwrap_or(text);
    let parts = digits
        .split_once('.')
        .or_else(|| digits.split_at_checked(digits.len().checked_sub(1)?));
    let number = |digits: &str| digits.parse::<u8>().ok().map(i32::from);
    match parts.map(|(major, minor)| (number(major), number(minor))) {
        Some((Some(major @ 1..=99), Some(minor @ 0..=9))) => Ok((major, minor)),
        _ => Err("write a compute capability such as 90, or 9.0".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::capability;

    #[test]
    fn a_capability_is_written_with_a_point_or_without() {
        for (text, expected) in [
            ("90", (9, 0)),
            ("9.0", (9, 0)),
            ("sm_75", (7, 5)),
            ("120", (12, 0)),
            ("10.3", (10, 3)),
        ] {
            assert_eq!(capability(text), Ok(expected), "{text}");
        }
        for text in [
            "", "9", "ninety", "9.x", "90a", "-90", "sm_", "9.10", "3000", "９０", "é",
        ] {
            assert!(capability(text).is_err(), "{text}");
        }
    }
}
