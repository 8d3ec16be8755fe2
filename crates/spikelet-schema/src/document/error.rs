//! The errors of documents.

use super::{MAX_BYTES, MAX_DEPTH, Node, Span};
use crate::human;
use crate::suggest::closest;
use std::error::Error as StdError;
use std::fmt;

/// A line of a document, and the part of it that a message is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The line, or the part of a long line around the column.
    excerpt: String,
    /// The characters of the excerpt before the marked part, and those of the marked part.
    marked: (usize, usize),
}

/// A problem of a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentProblem {
    /// Text that is not TOML.
    #[error("this is not TOML: {0}")]
    Syntax(String),
    /// A document that is too large.
    #[error("it has {}, the most is {}", human::bytes(*.bytes as u64), human::bytes(MAX_BYTES as u64))]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Lists and tables that are nested too deeply.
    #[error("lists and tables are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A number out of the range of its type, or a value of a type that is not used.
    #[error("{given} is not {expected}")]
    OutOfRange {
        /// The given value.
        given: String,
        /// The expected values.
        expected: String,
    },
    /// An unknown key.
    #[error("{owner} has no key `{key}`")]
    UnknownKey {
        /// The table.
        owner: String,
        /// The given key.
        key: String,
        /// The keys that it may have.
        known: Vec<String>,
    },
    /// A key that is required.
    #[error("{owner} needs `{key}`, {expected}")]
    MissingKey {
        /// The table.
        owner: String,
        /// The missing key.
        key: String,
        /// Its values.
        expected: String,
    },
    /// A value of a wrong type or out of range.
    #[error("`{key}` is {given}; it must be {expected}")]
    WrongValue {
        /// The key.
        key: String,
        /// The given value.
        given: String,
        /// The expected values.
        expected: String,
    },
    /// A word that is not one of several.
    #[error("`{key}` is {given}; it must be {}", words(.known))]
    NotAChoice {
        /// The key.
        key: String,
        /// The given value.
        given: String,
        /// The given word, or nothing if the value is not a word.
        word: String,
        /// The allowed words.
        known: Vec<String>,
    },
    /// A problem of the thing that the document describes.
    #[error("{source}")]
    Other {
        /// The problem.
        source: Box<dyn StdError + Send + Sync>,
        /// How to correct it.
        help: String,
    },
}

/// A list of names for a help text, with the closest to a misspelt one in front.
fn known_names(given: &str, known: &[String], are: &str) -> String {
    let list = known.join(", ");
    match closest(given, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`? {are}: {list}"),
        None => format!("{are}: {list}"),
    }
}

/// `"add", "and" or "iand"`
fn words(known: &[String]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
    match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

impl DocumentProblem {
    /// How to correct it.
    pub fn help(&self) -> String {
        match self {
            Self::Syntax(_) => "see https://toml.io for the notation".to_string(),
            Self::TooLarge { .. } => "check that this is the right file".to_string(),
            Self::TooDeep => "use fewer levels".to_string(),
            Self::OutOfRange { .. } => "correct the value".to_string(),
            Self::UnknownKey { key, known, .. } => match known.is_empty() {
                true => "remove it: there are no keys".to_string(),
                false => known_names(key, known, "the keys are"),
            },
            Self::MissingKey { key, expected, .. } => match expected.starts_with("a table") {
                true => format!("add the table [{key}]"),
                false => format!("add `{key} = …`"),
            },
            Self::WrongValue { key, expected, .. } => format!("set `{key}` to {expected}"),
            Self::NotAChoice { word, known, .. } => {
                match closest(word, known.iter().map(String::as_str)) {
                    Some(name) => format!("did you mean \"{name}\"?"),
                    None => format!("write {}", words(known)),
                }
            }
            Self::Other { help, .. } => help.clone(),
        }
    }
}

/// A problem with its position, before the document is known.
#[derive(Debug)]
pub struct Located {
    /// The position, if the value was read from text.
    pub span: Option<Span>,
    /// The part of the document that it belongs to, such as ``layer `conv.1` ``; empty if the message says it.
    pub owner: String,
    /// The problem.
    pub problem: Box<DocumentProblem>,
}

impl Located {
    /// A problem without a position.
    pub fn new(problem: DocumentProblem) -> Self {
        Self {
            span: None,
            owner: String::new(),
            problem: Box::new(problem),
        }
    }

    /// A problem of the thing that the document describes.
    pub fn other(
        source: impl Into<Box<dyn StdError + Send + Sync>>,
        help: impl Into<String>,
    ) -> Self {
        Self::new(DocumentProblem::Other {
            source: source.into(),
            help: help.into(),
        })
    }

    /// A value that a library refuses, with the problem and the help of its message; without a help, with this one.
    pub fn refused(error: &impl fmt::Display, otherwise: &str) -> Self {
        let text = error.to_string();
        let (problem, help) = crate::problem_and_help(&text);
        Self::other(problem, help.unwrap_or(otherwise))
    }

    /// Sets the position, unless it has one.
    #[must_use]
    pub fn or_at(mut self, span: Option<Span>) -> Self {
        self.span = self.span.or(span);
        self
    }

    /// Sets the position to that of the first key of `table` that the message names, or to that of the table, unless it has
    /// one.
    ///
    /// ```
    /// use spikelet_schema::document::{Document, Located};
    /// let given = Document::from_toml("a.toml", "[net]\nblocks = 3\npools = [2]")?;
    /// let refused = Located::other("`pools` has 1 element", "give 3").or_at_key(given.root());
    /// assert!(given.error(refused).to_string().starts_with("a.toml:3:9: `pools`"));
    /// # Ok::<(), spikelet_schema::document::DocumentError>(())
    /// ```
    #[must_use]
    pub fn or_at_key(self, table: &Node) -> Self {
        let message = self.problem.to_string();
        let mut named = message.split('`').skip(1).step_by(2);
        match named.find_map(|key| table.find(key)) {
            Some(node) => self.or_at(node.span.clone()),
            None => self.or_at(table.span.clone()),
        }
    }

    /// Adds a word to the expected values.
    #[must_use]
    pub fn or_word(mut self, word: &str) -> Self {
        if let DocumentProblem::WrongValue { expected, .. } = &mut *self.problem {
            expected.push_str(&format!(" or \"{word}\""));
        }
        self
    }

    /// Sets the part of the document, unless it has one.
    #[must_use]
    pub fn or_of(mut self, owner: impl FnOnce() -> String) -> Self {
        if self.owner.is_empty() {
            self.owner = owner();
        }
        self
    }

    /// The problem of the thing that the document describes, if it is of type `E`.
    pub fn source<E: StdError + 'static>(&self) -> Option<&E> {
        match &*self.problem {
            DocumentProblem::Other { source, .. } => source.downcast_ref(),
            _ => None,
        }
    }

    /// The error in a document without text, such as a part of a checkpoint.
    pub fn without_text(self, file: &str) -> DocumentError {
        DocumentError {
            file: file.to_string(),
            place: None,
            owner: self.owner,
            problem: self.problem,
        }
    }
}

/// An error of a document, with the line that is wrong.
#[derive(Debug)]
pub struct DocumentError {
    /// The name of the file.
    pub file: String,
    /// The position, if it is known.
    pub place: Option<Place>,
    /// The part of the document that it belongs to; may be empty.
    pub owner: String,
    /// The problem.
    pub problem: Box<DocumentProblem>,
}

impl StdError for DocumentError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.problem)
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        if !self.owner.is_empty() {
            write!(f, ": {}", self.owner)?;
        }
        write!(f, ": {}", self.problem)?;
        if let Some(place) = &self.place {
            write!(f, "\n{place}")?;
        }
        write!(f, "\n  help: {}", self.problem.help())
    }
}

/// The longest excerpt in characters.
const WIDTH: usize = 100;

impl Place {
    /// The place of a span of a text; `None` where the span is not in the text.
    pub(super) fn new(text: &str, span: &Span) -> Option<Self> {
        let before = text.get(..span.start)?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = &text[line_start..];
        let full = rest.lines().next().unwrap_or_default();
        let column = before[line_start..].chars().count();
        let length = full.chars().count();
        let end = text.get(span.clone()).map_or(0, |part| {
            let first = part.lines().next().unwrap_or_default();
            first.chars().count()
        });
        // A part of a long line, with the marked characters in it.
        let first = match length > WIDTH {
            true => column.saturating_sub(WIDTH / 2),
            false => 0,
        };
        let shown = full.chars().skip(first).take(WIDTH);
        let excerpt: String = shown
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let room = excerpt.chars().count().saturating_sub(column - first);
        Some(Self {
            line: before.matches('\n').count() + 1,
            column: column + 1,
            excerpt: excerpt.trim_end().to_string(),
            marked: (column - first, end.min(room).max(1)),
        })
    }
}

/// The line with its number, and marks under the wrong part.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let (before, marked) = self.marked;
        writeln!(f, "  {number} | {}", self.excerpt)?;
        let gutter = " ".repeat(number.len());
        write!(
            f,
            "  {gutter} | {}{}",
            " ".repeat(before),
            "^".repeat(marked)
        )
    }
}
