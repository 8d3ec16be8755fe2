//! Lists in error messages.

/// Items as an indented list, one per line.
pub(crate) fn lines(items: impl Iterator<Item = impl std::fmt::Display>) -> String {
    items.map(|item| format!("    {item}\n")).collect()
}

/// The first eight names, and the number of the others.
pub(crate) fn first_names(names: &[String]) -> String {
    match names.split_at_checked(8) {
        Some((first, others)) if others.len() > 1 => {
            format!("{} and {} others", first.join(", "), others.len())
        }
        _ => names.join(", "),
    }
}
