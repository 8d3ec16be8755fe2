//! Lists in error messages.

/// Items as an indented list, one per line.
pub(crate) fn lines(items: impl Iterator<Item = impl std::fmt::Display>) -> String {
    items.map(|item| format!("    {item}\n")).collect()
}
