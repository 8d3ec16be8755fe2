//! "Did you mean …?"

use std::cmp::Reverse;
use strsim::osa_distance;

/// A name without the case and the separators in which people differ: `CIFAR-10`, `soft_pulse_lif`.
fn plain(name: &str) -> String {
    name.replace(['-', '_'], "").to_lowercase()
}

/// The name that is `given`, or the only one that differs from it in case, `-` and `_` alone.
///
/// ```
/// use spikelet_schema::suggest::find;
/// assert_eq!(find("CIFAR-10", ["mnist", "cifar10"]), Some("cifar10"));
/// assert_eq!(find("cifr10", ["mnist", "cifar10"]), None);
/// ```
pub fn find<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let meant = plain(given);
    let alike = names.into_iter().filter(|name| plain(name) == meant);
    let alike: Vec<&str> = alike.collect();
    match alike[..] {
        [only] => Some(only),
        _ => alike.into_iter().find(|name| *name == given),
    }
}

/// The name closest to `given`, if one is within a third of its length.
///
/// ```
/// use spikelet_schema::suggest::closest;
/// assert_eq!(closest("tua", ["tau", "v_reset"]), Some("tau"));
/// assert_eq!(closest("color", ["tau", "v_reset"]), None);
/// assert_eq!(closest("MNIST-CF", ["csnn", "mnist-fc"]), Some("mnist-fc"));
/// ```
pub fn closest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = &given.to_lowercase();
    let far = given.chars().count().div_ceil(3).max(1) + 1;
    // Of two names at the same distance, the one with the longer common beginning: typing errors are
    // rarer at the start of a word.
    names
        .into_iter()
        .map(|name| {
            (
                osa_distance(given, &name.to_lowercase()),
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
