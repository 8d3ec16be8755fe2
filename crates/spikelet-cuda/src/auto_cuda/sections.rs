//! A text in sections, which are marked on request.

/// Spaces of a level.
const STEP: usize = 4;

pub(crate) struct Sections {
    text: String,
    marked: bool,
}

impl Sections {
    pub(crate) fn plain() -> Self {
        Self {
            text: String::new(),
            marked: false,
        }
    }

    pub(crate) fn marked() -> Self {
        Self {
            text: String::new(),
            marked: true,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(crate) fn section(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.mark(&format!("//------{name} start------"));
        write(self);
        self.mark(&format!("//------{name} end--------"));
    }

    fn mark(&mut self, text: &str) {
        if self.marked {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            self.text.push_str(text);
            self.text.push('\n');
        }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A text's lines at a level, their own indentation among themselves kept; no empty lines before
/// or after them.
pub(super) fn indented(text: &str, level: usize) -> String {
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
    fn lines_keep_their_indentation_among_themselves() {
        let text = "\n      if (a) {\n        b;\n\n      }\n  \n";
        assert_eq!(indented(text, 1), "    if (a) {\n      b;\n\n    }\n");
        assert_eq!(indented("a;", 0), "a;\n");
        assert_eq!(indented(" \n\n", 2), "");
        assert_eq!(indented("\ta;", 0), "\ta;\n");
    }

    #[test]
    fn marks_stand_on_lines_of_their_own() {
        let mut sections = Sections::marked();
        sections.section("head", |s| s.push("{"));
        sections.section("core", |_| {});
        assert_eq!(
            sections.finish(),
            "//------head start------\n{\n//------head end--------\n\
             //------core start------\n//------core end--------\n"
        );
    }
}
