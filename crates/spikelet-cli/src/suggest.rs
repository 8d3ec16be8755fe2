//! "Did you mean …?"

use std::cmp::Reverse;

/// The name that `given` is most likely meant to be, if one is close.
pub fn closest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = given.chars().count().div_ceil(3).max(1) + 1;
    // Of two that are as close, the one that begins alike for longer is meant: slips come late.
    names
        .into_iter()
        .map(|name| {
            (
                distance(given, name),
                Reverse(common_start(given, name)),
                name,
            )
        })
        .filter(|(distance, ..)| *distance < far)
        .min()
        .map(|(.., name)| name)
}

/// How many letters two words share from their beginning.
fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Edits (insert, remove, replace, exchange neighbors) that turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognized() {
        let names = ["tau", "v_reset", "v_threshold", "decay_input"];
        assert_eq!(closest("tua", names), Some("tau"));
        assert_eq!(closest("v_treshold", names), Some("v_threshold"));
        assert_eq!(closest("decay", names), None);
        assert_eq!(closest("color", names), None);
    }

    #[test]
    fn of_two_names_as_close_the_one_that_begins_alike_is_meant() {
        assert_eq!(closest("liff", ["liaf", "lif", "plif"]), Some("lif"));
    }
}
