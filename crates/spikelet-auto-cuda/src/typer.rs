//! Indented statements, one per line.

use super::operand::closing;
use std::ops::{Deref, DerefMut};

/// Spaces per level of indentation.
const STEP: usize = 4;

/// Collects statements, one per line.
///
/// Appended text is split at the semicolons between statements, not at those of a `for (…)`, of a string
/// or of a `{ … }` on one line. A last statement without a semicolon gets one, and so does a comment, as
/// in the reference.
///
/// ```
/// use spikelet_auto_cuda::CodeTyper;
/// let mut typer = CodeTyper::new(2);
/// typer.append("a = b; c = d");
/// assert_eq!(typer.codes(), "  a = b;\n  c = d;\n");
/// ```
#[derive(Clone, Debug)]
pub struct CodeTyper {
    indent: usize,
    depth: usize,
    codes: String,
}

impl CodeTyper {
    /// A typer whose lines start with `indent_num` spaces.
    pub fn new(indent_num: usize) -> Self {
        Self {
            indent: indent_num,
            depth: 0,
            codes: String::new(),
        }
    }

    /// The text so far.
    pub fn codes(&self) -> &str {
        &self.codes
    }

    /// Adds statements.
    pub fn append(&mut self, codes: &str) {
        let mut pieces = pieces(codes);
        let statement = pieces.iter_mut().rfind(|piece| !is_comment(piece));
        if let Some(last) = statement
            && wants_semicolon(last)
        {
            last.push(';');
        }
        for piece in pieces {
            self.line(&piece);
        }
    }

    fn line(&mut self, piece: &str) {
        let first = piece.len() - piece.trim_start_matches('}').len();
        let spaces = self.indent + STEP * self.depth.saturating_sub(first);
        self.codes.extend(std::iter::repeat_n(' ', spaces));
        self.codes.push_str(piece);
        self.codes.push('\n');
        if !is_comment(piece) {
            let count = |brace| piece.matches(brace).count();
            self.depth = (self.depth + count('{')).saturating_sub(count('}'));
        }
    }
}

/// A block `{ … }` in a [`CodeTyper`], closed when it goes out of scope: variables declared in it
/// are local to it.
///
/// ```
/// use spikelet_auto_cuda::{CodeBlock, CodeTyper};
/// let mut typer = CodeTyper::new(0);
/// {
///     let mut block = CodeBlock::new(&mut typer);
///     block.append("// swap x and y");
///     block.append("float temp_var = x;");
///     block.append("x = y;");
///     block.append("y = temp_var;");
/// }
/// assert_eq!(
///     typer.codes(),
///     "{\n    // swap x and y;\n    float temp_var = x;\n    x = y;\n    y = temp_var;\n}\n"
/// );
/// ```
#[derive(Debug)]
pub struct CodeBlock<'a> {
    env: &'a mut CodeTyper,
}

impl<'a> CodeBlock<'a> {
    /// Opens a block.
    pub fn new(env: &'a mut CodeTyper) -> Self {
        env.append("{");
        Self { env }
    }
}

impl Deref for CodeBlock<'_> {
    type Target = CodeTyper;

    fn deref(&self) -> &CodeTyper {
        self.env
    }
}

impl DerefMut for CodeBlock<'_> {
    fn deref_mut(&mut self) -> &mut CodeTyper {
        self.env
    }
}

impl Drop for CodeBlock<'_> {
    fn drop(&mut self) {
        self.env.append("}");
    }
}

/// The context of a character in a text.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Code,
    /// Up to this quotation mark.
    Quotes(char),
    LineComment,
    BlockComment,
    /// A line that starts with `#`.
    Directive,
}

/// Splits at line breaks and at the semicolons between statements.
fn pieces(codes: &str) -> Vec<String> {
    let mut pieces = vec![];
    let mut piece = String::new();
    let mut inside = Inside::Code;
    // Brackets of any kind that are open, and those that were when the line began: a `{` at the
    // end of a line belongs to the lines after it.
    let (mut open, mut open_before) = (0_usize, 0_usize);
    let mut characters = codes.chars().peekable();
    let flush = |piece: &mut String, pieces: &mut Vec<String>, comment: bool| {
        let text = piece.trim();
        if !text.is_empty() {
            let semicolon = comment && !text.ends_with(';');
            pieces.push(format!("{text}{}", if semicolon { ";" } else { "" }));
        }
        piece.clear();
    };
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        if c == '\n' {
            if inside == Inside::Directive && piece.ends_with('\\') {
                piece.push(c);
                continue;
            }
            if piece.trim_end().ends_with('{') {
                open = open_before;
            }
            flush(&mut piece, &mut pieces, inside == Inside::LineComment);
            if inside != Inside::BlockComment {
                inside = Inside::Code;
            }
            open_before = open;
            continue;
        }
        match inside {
            Inside::Code => match c {
                '/' if next == Some('/') => {
                    if !piece.trim().is_empty() && open == 0 {
                        flush(&mut piece, &mut pieces, false);
                    }
                    inside = Inside::LineComment;
                }
                '/' if next == Some('*') => inside = Inside::BlockComment,
                '"' | '\'' => inside = Inside::Quotes(c),
                '#' if piece.trim().is_empty() => inside = Inside::Directive,
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            },
            Inside::Quotes(mark) if c == mark => inside = Inside::Code,
            Inside::Quotes(_) if c == '\\' => {
                piece.push(c);
                piece.extend(characters.next());
                continue;
            }
            Inside::BlockComment if c == '*' && next == Some('/') => {
                piece.push(c);
                piece.extend(characters.next());
                inside = Inside::Code;
                continue;
            }
            _ => {}
        }
        piece.push(c);
        if c == ';' && inside == Inside::Code && open == 0 {
            if piece.trim() == ";" {
                piece.clear();
            }
            flush(&mut piece, &mut pieces, false);
        }
    }
    flush(&mut piece, &mut pieces, inside == Inside::LineComment);
    pieces
}

fn is_comment(piece: &str) -> bool {
    piece.starts_with("//")
}

/// Whether a text ends in the middle of a statement.
fn wants_semicolon(piece: &str) -> bool {
    !piece.ends_with([';', '{', '}', ':', ',', '\\'])
        && !piece.ends_with("*/")
        && !piece.starts_with('#')
        && !is_head(piece)
}

/// Whether this is `if (…)`, `else` and the like, of which the statement is still to come.
fn is_head(piece: &str) -> bool {
    let rest = piece.strip_prefix("else").unwrap_or(piece).trim_start();
    if rest.is_empty() || rest == "do" {
        return true;
    }
    ["if", "for", "while", "switch"].iter().any(|word| {
        let condition = rest.strip_prefix(word).map(str::trim_start);
        condition.is_some_and(|text| text.starts_with('(') && closing(text) == Some(text.len() - 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(codes: &str) -> String {
        let mut typer = CodeTyper::new(0);
        typer.append(codes);
        typer.codes().to_string()
    }

    #[test]
    fn semicolons_that_end_no_statement_cut_nothing() {
        for whole in [
            "for (int i = 0; i < 3; ++i) x += i;\n",
            "printf(\"a;b\\\";\");\n",
            "{ a = b; c = d; }\n",
            "float v[2] = {1.0f, 2.0f};\n",
            "a = b; /* c; */\n",
        ] {
            let expected = whole.replace("b; /*", "b;\n/*");
            assert_eq!(typed(whole), expected);
        }
    }

    #[test]
    fn comments_end_with_their_line_and_not_with_the_text() {
        assert_eq!(
            typed("// what; follows\na = b; // why\nc = d"),
            "// what; follows;\na = b;\n// why;\nc = d;\n"
        );
        assert_eq!(typed("a = b // why"), "a = b;\n// why;\n");
    }

    #[test]
    fn blocks_over_several_lines_are_indented() {
        assert_eq!(
            typed("#pragma unroll\nfor (int i = 0; i < 3; ++i) {\na = f(b,\nc); d = e;\n}\nx = y"),
            "#pragma unroll\nfor (int i = 0; i < 3; ++i) {\n    a = f(b,\n    c);\n    d = e;\n}\nx = y;\n"
        );
        assert_eq!(
            typed("float v[2] = {\n1.0f,\n2.0f};\nx = y;"),
            "float v[2] = {\n    1.0f,\n    2.0f};\nx = y;\n"
        );
    }

    #[test]
    fn a_condition_alone_waits_for_its_statement() {
        let mut typer = CodeTyper::new(0);
        for head in ["if (f(a) > b)", "else if (c)", "else", "for (;;)"] {
            typer.append(head);
            CodeBlock::new(&mut typer).append("x = y");
        }
        assert_eq!(typer.codes().matches(';').count(), 2 + 4);
        assert_eq!(typed("if (a) x = f(b)"), "if (a) x = f(b);\n");
        assert_eq!(typed("iffy(b)"), "iffy(b);\n");
    }

    #[test]
    fn nothing_is_typed_for_nothing() {
        assert_eq!(typed(" \n ; ;\n"), "");
    }

    #[test]
    fn a_block_in_a_block_is_closed_first() {
        let mut typer = CodeTyper::new(0);
        {
            let mut outer = CodeBlock::new(&mut typer);
            CodeBlock::new(&mut outer).append("a = b");
            outer.append("c = d");
        }
        assert_eq!(
            typer.codes(),
            "{\n    {\n        a = b;\n    }\n    c = d;\n}\n"
        );
    }
}
