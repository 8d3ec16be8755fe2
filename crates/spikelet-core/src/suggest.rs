//! "Did you mean …?"

use std::cmp::Reverse;
use strsim::osa_distance;

/// The name closest to `given`, if one is within a third of its length.
///
/// ```
/// use spikelet_core::suggest::closest;
/// assert_eq!(closest("tua", ["tau", "v_reset"]), Some("tau"));
/// assert_eq!(closest("color", ["tau", "v_reset"]), None);
/// ```
pub fn closest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = given.chars().count().div_ceil(3).max(1) + 1;
    // Of two names at the same distance, the one with the longer common beginning: typing errors are
    // rarer at the start of a word.
    names
        .into_iter()
        .map(|name| {
            (
                osa_distance(given, name),
                Reverse(common_start(given, name)),
                name,
            )
        })
        .filter(|(distance, ..)| *distance < far)
        .min()
        .map(|(.., name)| name)
}

/// The length of the common prefix.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognized() {
        let names = ["tau", "v_reset", "v_threshold", "decay_input"];
        assert_eq!(closest("tua", names), Some("tau"));
        assert_eq!(closest("v_treshold", names), Some("v_threshold"));
        assert_eq!(closest("decay", names), None);
        assert_eq!(closest("color", names), None);
    }

    #[test]
    fn of_two_equally_close_names_the_one_with_the_longer_common_prefix_is_suggested() {
        assert_eq!(closest("liff", ["liaf", "lif", "plif"]), Some("lif"));
    }
}
