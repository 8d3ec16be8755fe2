//! Texts as operands: in brackets if their operators could bind with surrounding ones.

use std::borrow::Cow;

/// A text that binds as tightly as an identifier: itself, or in brackets.
pub(super) fn bracketed(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if is_tight(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("({text})"))
    }
}

/// A text as one argument of a call: in brackets if it has a comma outside all brackets.
pub(super) fn argument(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let mut open = 0_usize;
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            ',' if open == 0 => return Cow::Owned(format!("({text})")),
            _ => {}
        }
    }
    Cow::Borrowed(text)
}

/// The position of the bracket that closes the first bracket of the text.
pub(super) fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => {
                open = open.checked_sub(1)?;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether the text is an identifier, a number or an expression in brackets, followed only by subscripts,
/// calls and members.
fn is_tight(text: &str) -> bool {
    let mut rest = match text.chars().next() {
        Some('(') => match closing(text) {
            Some(end) => &text[end + 1..],
            None => return false,
        },
        Some(c) if c.is_ascii_digit() || c == '.' => number(text),
        Some(c) if is_word(c) => word(text),
        _ => return false,
    };
    loop {
        rest = rest.trim_start();
        let member = [".", "->", "::"]
            .iter()
            .find_map(|sign| rest.strip_prefix(sign));
        rest = match (rest.chars().next(), member) {
            (None, _) => return true,
            (_, Some(name)) if name.starts_with(is_word) => word(name),
            (Some('[' | '('), _) => match closing(rest) {
                Some(end) => &rest[end + 1..],
                None => return false,
            },
            _ => return false,
        };
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    text.trim_start_matches(is_word)
}

/// The text after a number, whose exponent may have a sign.
fn number(text: &str) -> &str {
    let mut before = ' ';
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let exponent = |c: char| {
        if hexadecimal {
            matches!(c, 'p' | 'P')
        } else {
            matches!(c, 'e' | 'E')
        }
    };
    text.trim_start_matches(|c: char| {
        let part = is_word(c) || c == '.' || (matches!(c, '+' | '-') && exponent(before));
        before = c;
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tightly_bound_texts_are_unchanged() {
        for text in [
            "x",
            "h_seq[t]",
            "v_v_seq[t + dt]",
            "(h_seq[t] - v_th)",
            "fmaf(a, b - c, d)",
            "1.0f",
            "1e-5f",
            "0x1.8p-3f",
            "(1.0f)",
            "pair.x",
            "p->x[0]",
            "f(a)[1].y",
            "std::max(a, b)",
            "decay [0]",
        ] {
            assert_eq!(bracketed(text), text);
        }
        assert_eq!(bracketed(" x "), "x");
    }

    #[test]
    fn texts_with_operators_get_brackets() {
        for text in [
            "a + b",
            "-1.0f",
            "!a",
            "(a) + (b)",
            "a ? b : c",
            "(float) a",
            "*p",
            "1.0f - x",
            "1e5f-x",
            "0x1e-x",
            "f(a",
            "",
        ] {
            assert_eq!(bracketed(text), format!("({text})"));
        }
    }

    #[test]
    fn an_argument_with_a_comma_gets_brackets() {
        assert_eq!(argument("f(a, b)"), "f(a, b)");
        assert_eq!(argument("a + b"), "a + b");
        assert_eq!(argument("a, b"), "(a, b)");
    }
}
