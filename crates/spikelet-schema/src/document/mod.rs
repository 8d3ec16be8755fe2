//! Documents that people write: TOML files whose values know their line and column.
//!
//! A [`Document`] is a tree of [`Node`]s. The same tree is built from JSON, which has no positions, so that a
//! structure in a checkpoint and in a file has one reader. [`Fields`] reads the keys of a table and refuses
//! unknown ones with a suggestion.
//!
//! ```
//! use spikelet_schema::document::{Document, Fields};
//! let document = Document::from_toml("net.toml", "[layer]\nsize = 3\n")?;
//! let read = || {
//!     let root = Fields::new(document.root(), "the file", &["layer"])?;
//!     let layer = Fields::new(root.require("layer", "a table")?, "[layer]", &["size"])?;
//!     layer.require("size", "an integer")?.integer("size", 1..=10)
//! };
//! assert_eq!(read().map_err(|error| document.error(error))?, 3);
//! # Ok::<(), spikelet_schema::document::DocumentError>(())
//! ```

mod error;
mod fields;
mod node;

pub use error::{DocumentError, DocumentProblem, Located, Place};
pub use fields::Fields;
pub use node::{Content, Entry, Node, Span};

/// The largest document in bytes. An experiment has a few thousand.
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting of lists and tables.
pub const MAX_DEPTH: usize = 64;

/// A parsed file with its text.
#[derive(Clone, Debug)]
pub struct Document {
    file: String,
    text: String,
    root: Node,
}

impl Document {
    /// Parses a TOML document. `file` is its name in messages.
    ///
    /// # Errors
    /// When the text is too large or is not TOML.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, DocumentError> {
        let mut document = Self {
            file: file.to_string(),
            text: String::new(),
            root: Node::table(),
        };
        if text.len() > MAX_BYTES {
            let bytes = text.len();
            return Err(document.error(Located::new(DocumentProblem::TooLarge { bytes })));
        }
        document.text = text.to_string();
        match Node::from_toml(text) {
            Ok(root) => document.root = root,
            Err(problem) => return Err(document.error(problem)),
        }
        Ok(document)
    }

    /// A document of a JSON value, whose errors have no positions. `file` is its name in messages.
    ///
    /// ```
    /// use spikelet_schema::document::Document;
    /// let document = Document::from_json("options", &serde_json::json!({"epochs": 3}))?;
    /// assert!(document.root().get("epochs").is_some());
    /// # Ok::<(), spikelet_schema::document::DocumentError>(())
    /// ```
    ///
    /// # Errors
    /// When the value is nested too deeply, or an integer is out of range.
    pub fn from_json(file: &str, value: &serde_json::Value) -> Result<Self, DocumentError> {
        let root = Node::from_json(value).map_err(|error| error.without_text(file))?;
        Ok(Self {
            file: file.to_string(),
            text: String::new(),
            root,
        })
    }

    /// Reads and parses a TOML file.
    ///
    /// # Errors
    /// When the file cannot be read, is too large, or is not TOML in UTF-8.
    pub fn read(path: &std::path::Path) -> Result<Self, DocumentError> {
        use std::io::Read;
        let file = path.display().to_string();
        let refused =
            |problem: String, help: &str| Located::other(problem, help).without_text(&file);
        let unreadable = |error: std::io::Error| {
            let help = match error.kind() {
                std::io::ErrorKind::NotFound => "check the path; it is relative to this folder",
                _ => "check that it is a file and that it may be read",
            };
            refused(format!("it cannot be read: {error}"), help)
        };
        let mut bytes = vec![];
        let opened = std::fs::File::open(path).map_err(unreadable)?;
        // One byte more than allowed shows that the file is too large.
        let mut limited = opened.take(MAX_BYTES as u64 + 1);
        limited.read_to_end(&mut bytes).map_err(unreadable)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            refused(format!("byte {} is not UTF-8", at + 1), "save it as UTF-8")
        })?;
        Self::from_toml(&file, &text)
    }

    /// The tree.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// This document with another tree, such as its own in today's form. Positions are those of this one.
    #[must_use]
    pub fn with_root(self, root: Node) -> Self {
        Self { root, ..self }
    }

    /// This document with the keys of another one, by [`Node::merged`]. Positions are those of the other one.
    #[must_use]
    pub fn merged(self, over: &Self) -> Self {
        Self {
            root: self.root.merged(&over.root),
            file: over.file.clone(),
            text: String::new(),
        }
    }

    /// The error of a problem in this document, with its line and column.
    pub fn error(&self, error: impl Into<Located>) -> DocumentError {
        let error = error.into();
        let place = (error.span.as_ref()).and_then(|span| Place::new(&self.text, span));
        DocumentError {
            file: self.file.clone(),
            place,
            owner: error.owner,
            problem: error.problem,
        }
    }
}

#[cfg(test)]
mod tests;
