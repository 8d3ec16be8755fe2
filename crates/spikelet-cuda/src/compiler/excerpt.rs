//! The lines of a source to which a compiler's log refers.

use super::{Message, Severity};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Lines shown before and after a line with an error.
const AROUND: usize = 2;
/// Errors shown; later ones are often consequences of the first.
const ERRORS: usize = 5;

/// The lines of `file` with errors, numbered, with the lines around them; empty if the log refers to none.
pub(super) fn excerpt(source: &str, file: &str, log: &str) -> String {
    let is_error = |message: &Message| {
        message.severity == Severity::Error && message.file.as_deref() == Some(file)
    };
    let wrong: BTreeSet<usize> = Message::all(log)
        .into_iter()
        .filter(is_error)
        .filter_map(|message| message.line)
        .take(ERRORS)
        .collect();
    let mut text = String::new();
    let mut last = None;
    for (number, line) in (1..).zip(source.lines()) {
        let near = wrong
            .iter()
            .any(|&w| (w.saturating_sub(AROUND)..=w + AROUND).contains(&number));
        if !near {
            continue;
        }
        if last.is_some_and(|last| last + 1 != number) {
            text.push_str("       …\n");
        }
        last = Some(number);
        let mark = if wrong.contains(&number) { '>' } else { ' ' };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mark}{number:>5} | {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    const SOURCE: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";

    #[test]
    fn an_excerpt_shows_the_lines_around_each_error() {
        let log = "k.cu(2): error: no\n  b\n  ^\n\nk.cu(9): error: never\n2 errors detected\n";
        assert_eq!(
            excerpt(SOURCE, "k.cu", log),
            "     1 | a\n>    2 | b\n     3 | c\n     4 | d\n       …\n     7 | g\n     8 | h\n>    9 | i\n    10 | j\n"
        );
    }

    #[test]
    fn warnings_and_lines_outside_the_source_show_nothing() {
        let errors = |log| excerpt(SOURCE, "k.cu", log);
        assert_eq!(errors("k.cu(3): warning: this error of yours\n"), "");
        assert_eq!(errors("k.cu(99): error: end of file\n"), "");
        assert_eq!(errors("other.h(3): error: no\n"), "");
    }
}
