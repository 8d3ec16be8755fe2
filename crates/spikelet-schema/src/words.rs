//! Settings as words of a shell: `epochs=3 optimizer.lr=1e-3 encoder=poisson`.
//!
//! A word is a key, which may be nested by dots, and a value of TOML. A value that is not TOML is a string, so that it
//! needs no quotes that a shell would remove.

use crate::document::{Document, DocumentError, DocumentProblem, Located};

/// The tree of several words. Later words replace earlier ones.
///
/// ```
/// use spikelet_schema::words;
/// let tree = words::tree(["optimizer.lr=1e-3", "optimizer.name=adam", "layers=[8, 4]"])?;
/// let expected = serde_json::json!({"optimizer": {"lr": 1e-3, "name": "adam"}, "layers": [8, 4]});
/// assert_eq!(tree.root().to_json(), expected);
/// assert!(words::tree(["epochs"]).is_err());
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
///
/// # Errors
/// When a word has no `=`, or its key is empty.
pub fn tree<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Document, DocumentError> {
    let mut all: Option<Document> = None;
    for word in words {
        let one = document(word)?;
        all = Some(match all {
            Some(before) => before.merged(&one),
            None => one,
        });
    }
    match all {
        Some(tree) => Ok(tree),
        None => Document::from_toml("words", ""),
    }
}

/// The document of one word.
fn document(word: &str) -> Result<Document, DocumentError> {
    let wrong = || {
        let problem = DocumentProblem::WrongValue {
            key: word.to_string(),
            given: "no setting".to_string(),
            expected: "a key and a value, such as epochs=3".to_string(),
        };
        Located::new(problem).without_text("the command line")
    };
    let (key, value) = word.split_once('=').ok_or_else(wrong)?;
    if key.split('.').any(|part| part.trim().is_empty()) {
        return Err(wrong());
    }
    let value = value.trim();
    Document::from_toml(word, &format!("{key}={value}")).or_else(|error| {
        let quoted = serde_json::Value::from(value).to_string();
        let is_word = !value.is_empty() && !value.starts_with(['[', '{', '"', '\'']);
        match is_word {
            true => Document::from_toml(word, &format!("{key}={quoted}")).map_err(|_| wrong()),
            false => Err(error),
        }
    })
}
