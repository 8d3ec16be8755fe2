//! Indentation of the lines of a text.

/// Spaces of a level.
const STEP: usize = 4;

/// The lines of a text at a level of indentation, with their relative indentation; empty lines at the
/// start and the end are removed.
pub(crate) fn indented(text: &str, level: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let Some(first) = lines.iter().position(|line| !line.is_empty()) else {
        return String::new();
    };
    let last = lines
        .iter()
        .rposition(|line| !line.is_empty())
        .unwrap_or(first);
    let lines = &lines[first..=last];
    let own = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().filter(|l| !l.is_empty()).map(own).min();
    let common = common.unwrap_or(0);
    let spaces = " ".repeat(STEP * level);
    lines
        .iter()
        .map(|line| match line.get(common..) {
            Some(rest) if !rest.is_empty() => format!("{spaces}{rest}\n"),
            _ => "\n".to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_relative_indentation() {
        let text = "\n      if (a) {\n        b;\n\n      }\n  \n";
        assert_eq!(indented(text, 1), "    if (a) {\n      b;\n\n    }\n");
        assert_eq!(indented("a;", 0), "a;\n");
        assert_eq!(indented(" \n\n", 2), "");
        assert_eq!(indented("\ta;", 0), "\ta;\n");
    }
}
