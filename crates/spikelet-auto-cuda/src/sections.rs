//! A text in sections, which are marked on request.

/// A text in sections, with a mark at the start and at the end of each section if it is
/// [`marked`](Sections::marked).
///
/// ```
/// use spikelet_auto_cuda::Sections;
/// let mut text = Sections::marked();
/// text.section("core", |s| s.push("y = x;\n"));
/// let marked = "//------core start------\ny = x;\n//------core end--------\n";
/// assert_eq!(text.finish(), marked);
/// ```
#[derive(Clone, Debug)]
pub struct Sections {
    text: String,
    marked: bool,
}

impl Sections {
    /// A text without marks.
    pub fn plain() -> Self {
        Self {
            text: String::new(),
            marked: false,
        }
    }

    /// A text with marks.
    pub fn marked() -> Self {
        Self {
            text: String::new(),
            marked: true,
        }
    }

    /// Adds text to the current section.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a section, which `write` fills.
    pub fn section(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
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

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_on_separate_lines() {
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
