//! Settings as words of a shell: `epochs=3 optimizer.lr=1e-3 encoder=poisson`.
//!
//! A word is a key, which may be nested by dots, and a value of TOML. A value that is not TOML is a string, so that it
//! needs no quotes that a shell would remove.

use crate::document::{Document, DocumentError, DocumentProblem, Located, Node};
use serde_json::Value as Json;

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

/// The words of a member of a family: its name, with or without the value of its main field, and values of other fields.
///
/// ```
/// use spikelet_schema::words;
/// let read = |text| words::item(text).map(|item| item.to_json()).ok();
/// assert_eq!(read("flip"), Some(serde_json::json!({"name": "flip"})));
/// assert_eq!(read("crop=4"), Some(serde_json::json!({"crop": 4})));
/// assert_eq!(read("crop size=[8, 8] p=0.5"), Some(serde_json::json!({"name": "crop", "size": [8, 8], "p": 0.5})));
/// ```
///
/// # Errors
/// When a word behind the name has no `=`, or a key is empty.
pub fn item(text: &str) -> Result<Node, Located> {
    let words = split(text, char::is_whitespace);
    let (name, values) = match &words[..] {
        [] => (Some(""), &[][..]),
        [name, values @ ..] if !has_values(name) => (Some(*name), values),
        values => (None, values),
    };
    let tree = tree(values.iter().copied()).map_err(|error| Located::new(*error.problem))?;
    // Positions in a word are none in the document that has the text.
    let item = Node::from_json(&tree.root().to_json())?;
    Ok(match name {
        Some(name) => item.with("name", Node::text_of(name)),
        None => item,
    })
}

/// The elements of a list in one word, which are separated by commas.
///
/// ```
/// use spikelet_schema::words;
/// assert_eq!(words::items("crop size=[8,8],flip"), ["crop size=[8,8]", "flip"]);
/// ```
pub fn items(text: &str) -> Vec<&str> {
    split(text, |letter| letter == ',')
}

/// Whether the words of a member of a family are more than its name.
pub(crate) fn has_values(text: &str) -> bool {
    text.contains(|letter: char| letter == '=' || letter.is_whitespace())
}

/// The parts of a text between separators outside of quotes and brackets.
fn split(text: &str, separates: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut depth, mut quote) = (0_usize, None);
    let parts = text.split(|letter: char| {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) => return depth == 0 && separates(letter),
        }
        false
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// A value as [`tree`] and [`item`] read it.
pub(crate) fn value(json: &Json) -> String {
    let joined = |parts: Vec<String>| parts.join(",");
    match json {
        Json::String(text) => {
            let plain = |letter: char| letter.is_alphanumeric() || "-_:/.".contains(letter);
            let is_word = text.starts_with(char::is_alphabetic) && text.chars().all(plain);
            match is_word && text != "true" && text != "false" {
                true => text.clone(),
                false => json.to_string(),
            }
        }
        Json::Array(items) => format!("[{}]", joined(items.iter().map(quoted).collect())),
        Json::Object(table) => {
            let pairs = table.iter().filter(|(_, value)| !value.is_null());
            let pairs = pairs.map(|(key, value)| format!("{key}={}", quoted(value)));
            format!("{{{}}}", joined(pairs.collect()))
        }
        other => other.to_string(),
    }
}

/// As [`value`], with quotes around all strings.
fn quoted(json: &Json) -> String {
    match json {
        Json::String(_) => json.to_string(),
        other => value(other),
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
