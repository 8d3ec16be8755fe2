//! Text for a terminal: its width, lines that fit, and text of files without control characters.

use std::borrow::Cow;

/// The columns of a terminal whose size is not known.
const USUAL: usize = 80;

/// The narrowest width for which lines are wrapped.
const NARROWEST: usize = 20;

/// The number of columns of standard output; `None` if it is no terminal.
pub fn width() -> Option<usize> {
    use std::io::IsTerminal;
    std::io::stdout().is_terminal().then(|| {
        let known = columns().or_else(|| std::env::var("COLUMNS").ok()?.parse().ok());
        known.filter(|&columns| columns > 0).unwrap_or(USUAL)
    })
}

#[cfg(unix)]
fn columns() -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: `TIOCGWINSZ` writes a `winsize`, which `size` is.
    let known = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) } == 0;
    (known && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn columns() -> Option<usize> {
    None
}

/// Text from a file, such as the name of a class or a node, without characters that a terminal obeys: each is written as in
/// Rust, `\u{1b}`.
///
/// ```
/// use spikelet_core::terminal::escaped;
/// assert_eq!(escaped("cat 1"), "cat 1");
/// assert_eq!(escaped("\x1b]0;owned\x07"), r"\u{1b}]0;owned\u{7}");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_obeyed) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.chars().map(shown).collect()),
    }
}

/// A line of several parts, of which only `codes`, written by this program, are obeyed; line breaks are kept.
pub fn escaped_but(line: &str, codes: &[&str]) -> String {
    if !line.chars().any(|next| is_obeyed(next) && next != '\n') {
        return line.to_string();
    }
    let mut safe = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        let code = codes.iter().find(|code| rest.starts_with(**code));
        let len = code.map_or(next.len_utf8(), |code| code.len());
        match (code, next) {
            (Some(code), _) => safe.push_str(code),
            (None, '\n') => safe.push('\n'),
            (None, other) => safe.push_str(&shown(other)),
        }
        rest = &rest[len..];
    }
    safe
}

/// Whether a terminal does something else with a character than showing it: control characters, and those that change the
/// direction of the text.
fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn shown(character: char) -> String {
    match is_obeyed(character) {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    }
}

/// Breaks each line of more than `width` columns at spaces; the lines that follow are indented by two. Codes of colors
/// have no width. A longer word is left whole.
///
/// ```
/// use spikelet_core::terminal::wrapped;
/// assert_eq!(wrapped("one two three four five", 20), "one two three four\n  five");
/// ```
pub fn wrapped(text: &str, width: usize) -> String {
    let width = width.max(NARROWEST);
    let lines: Vec<String> = text.split('\n').map(|line| broken(line, width)).collect();
    lines.join("\n")
}

fn broken(line: &str, width: usize) -> String {
    if columns_of(line) <= width {
        return line.to_string();
    }
    let mut text = String::with_capacity(line.len() + 16);
    let (mut column, mut is_empty, mut is_first) = (0, true, true);
    for word in line.split_inclusive(' ') {
        let needed = columns_of(word.trim_end());
        if !is_empty && column + needed > width {
            text.truncate(text.trim_end().len());
            text.push_str("\n  ");
            (column, is_empty, is_first) = (2, true, false);
        }
        // Spaces of a column of a table are not carried over.
        if is_empty && !is_first && word.trim().is_empty() {
            continue;
        }
        text.push_str(word);
        column += columns_of(word);
        is_empty &= word.trim().is_empty();
    }
    text
}

/// The number of characters without codes of colors.
fn columns_of(text: &str) -> usize {
    let mut columns = 0;
    let mut characters = text.chars();
    while let Some(next) = characters.next() {
        match next {
            '\x1b' => {
                characters.find(|&end| end == 'm');
            }
            _ => columns += 1,
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let hostile = "a\x1b]0;owned\x07\u{9b}31m\u{202e}b\r\n\t\x7f";
        let shown = escaped(hostile);
        assert_eq!(shown, r"a\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}b\r\n\t\u{7f}");
        assert_eq!(escaped("größe µ 漢"), "größe µ 漢");
    }

    #[test]
    fn only_the_given_codes_are_obeyed() {
        let line = "\x1b[32mok\x1b[0m \x1b[8mhidden\n\x1b[2J";
        assert_eq!(
            escaped_but(line, &["\x1b[32m", "\x1b[0m"]),
            "\x1b[32mok\x1b[0m \\u{1b}[8mhidden\n\\u{1b}[2J"
        );
    }

    #[test]
    fn lines_fit_and_nothing_is_lost() {
        let text = "\x1b[2mplan: 30 kernels a step, 11 of them backward · 0.66 GFLOP · 6.8 MiB peak\x1b[0m\nshort";
        for width in [20, 40, 79, 200] {
            let found = wrapped(text, width);
            for line in found.lines() {
                assert!(columns_of(line) <= width, "{width}: {line}");
            }
            assert_eq!(
                found.split_whitespace().collect::<Vec<_>>(),
                text.split_whitespace().collect::<Vec<_>>()
            );
        }
        assert_eq!(
            wrapped("   indented words here", 20),
            "   indented words\n  here"
        );
        let path = "x".repeat(50);
        assert_eq!(
            wrapped(&format!("file: {path}"), 20),
            format!("file:\n  {path}")
        );
    }
}
