//! The command of this process as text.

/// The command of this process, as it is typed in a shell.
pub fn command_line() -> String {
    let words = crate::program::arguments().into_iter();
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    [String::from("spikelet")]
        .into_iter()
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word in single quotes, unless it has only characters without a meaning in a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("--set"), "--set");
        assert_eq!(quoted("rate=fc.*"), "'rate=fc.*'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
