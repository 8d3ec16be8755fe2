//! The messages of a compiler's log.

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// No code was generated.
    Error,
    /// Code was generated.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A message of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The file that it refers to, if any.
    pub file: Option<String>,
    /// The line in that file, counted from 1.
    pub line: Option<usize>,
    /// The severity.
    pub severity: Severity,
    /// The text of the message.
    pub text: String,
}

impl Message {
    /// The messages of a log.
    ///
    /// ```
    /// use spikelet_cuda::Message;
    /// let found = Message::all("k.cu(2): error: identifier \"y\" is undefined\n    y = 1;\n    ^\n");
    /// assert_eq!((found.len(), found[0].line), (1, Some(2)));
    /// ```
    pub fn all(log: &str) -> Vec<Self> {
        log.lines().filter_map(Self::of).collect()
    }

    /// Parses a line: `k.cu(12): error: …`, or `ptxas error : …` of the assembler.
    fn of(line: &str) -> Option<Self> {
        if let Some((severity, text)) = line.strip_prefix("ptxas ").and_then(classified) {
            let (file, line) = (None, None);
            let text = text.trim_start_matches([' ', ':']).to_string();
            return Some(Self {
                file,
                line,
                severity,
                text,
            });
        }
        let (location, rest) = line.split_once("): ")?;
        let (file, number) = location.rsplit_once('(')?;
        let (severity, _) = classified(rest)?;
        // The text after the first colon; before it, warnings have a number.
        let text = rest.split_once(": ").map_or(rest, |(_, text)| text);
        Some(Self {
            file: Some(file.to_string()),
            line: Some(number.parse().ok()?),
            severity,
            text: text.to_string(),
        })
    }
}

/// The severity at the start of a message, and the rest.
fn classified(text: &str) -> Option<(Severity, &str)> {
    let kinds = [
        ("error", Severity::Error),
        ("catastrophic error", Severity::Error),
        ("fatal", Severity::Error),
        ("warning", Severity::Warning),
    ];
    kinds
        .into_iter()
        .find_map(|(word, kind)| Some((kind, text.strip_prefix(word)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(log: &str) -> (Option<String>, Option<usize>, Severity, String) {
        let found = Message::all(log);
        assert_eq!(found.len(), 1, "{found:?}");
        let Message {
            file,
            line,
            severity,
            text,
        } = found[0].clone();
        (file, line, severity, text)
    }

    #[test]
    fn a_message_names_file_line_and_kind() {
        let file = Some("a (1)/k.cu".to_string());
        assert_eq!(
            one("a (1)/k.cu(3): warning #177-D: variable \"a\" was declared but never referenced"),
            (
                file.clone(),
                Some(3),
                Severity::Warning,
                "variable \"a\" was declared but never referenced".to_string()
            )
        );
        assert_eq!(
            one("a (1)/k.cu(1): catastrophic error: cannot open source file \"x.h\""),
            (
                file,
                Some(1),
                Severity::Error,
                "cannot open source file \"x.h\"".to_string()
            )
        );
    }

    #[test]
    fn messages_of_the_assembler_have_no_lines() {
        assert_eq!(
            one("ptxas error   : Entry function 'f' uses too much shared data"),
            (
                None,
                None,
                Severity::Error,
                "Entry function 'f' uses too much shared data".to_string()
            )
        );
    }

    #[test]
    fn lines_that_are_not_messages_are_ignored() {
        let log = "    y *= 2.0f;\n    ^\n\nRemark: The warnings can be suppressed\n\
                   ptxas info    : Used 8 registers\n1 error detected in the compilation of \"k.cu\".\n";
        assert_eq!(Message::all(log), []);
    }
}
