//! Settings as words of a shell: `epochs=3 optimizer.lr=1e-3 encoder=poisson`.
//!
//! A word is a key, which may be nested by dots, and a value of TOML or JSON. A value that is neither is a string, so that it
//! needs no quotes that a shell would remove.

use crate::document::{Document, DocumentError, DocumentProblem, Located, Node};
use serde_json::{Map, Value as Json};

/// The tree of several words, of which the last of a key counts. `file` names them in messages, with a line for each.
///
/// ```
/// use spikelet_schema::words;
/// let tree = words::tree("words", ["optimizer.lr=1e-3", "optimizer.name=adam", "layers=[8, 4]"])?;
/// let expected = serde_json::json!({"optimizer": {"lr": 1e-3, "name": "adam"}, "layers": [8, 4]});
/// assert_eq!(tree.root().to_json(), expected);
/// assert!(words::tree("words", ["epochs"]).is_err());
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
///
/// # Errors
/// When a word has no `=`, its key is empty or not one of TOML, or a key is a table and a value at once.
pub fn tree<'a>(
    file: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Result<Document, DocumentError> {
    let mut lines: Vec<(&str, String)> = vec![];
    for word in words {
        let (key, line) = line(file, word)?;
        lines.retain(|(other, _)| *other != key);
        lines.push((key, line));
    }
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    Document::from_toml(file, &lines.join("\n"))
}

/// The words of a member of a family: its name, with or without the value of its main field, and values of other fields, of
/// which `null` is one that is not set. The earlier form `NAME:KEY=VALUE,…` is read as well.
///
/// ```
/// use spikelet_schema::words;
/// let read = |text| words::item(text).map(|item| item.to_json()).ok();
/// assert_eq!(read("flip"), Some(serde_json::json!({"name": "flip"})));
/// assert_eq!(read("crop=4"), Some(serde_json::json!({"crop": 4})));
/// let crop = serde_json::json!({"name": "crop", "size": [8, 8], "p": 0.5});
/// assert_eq!(read("crop size=[8, 8] p=0.5"), Some(crop.clone()));
/// assert_eq!(read("crop:size=[8, 8],p=0.5"), Some(crop));
/// let inner = serde_json::json!({"name": "twice", "inner": {"name": "crop", "p": 0.5}});
/// assert_eq!(read(r#"twice inner={"name": "crop", "p": 0.5}"#), Some(inner));
/// ```
///
/// # Errors
/// When a word behind the name has no `=`, or a key is empty.
pub fn item(text: &str) -> Result<Node, Located> {
    let earlier = text.split_once(':').filter(|(name, _)| !has_values(name));
    let words = match earlier {
        Some((name, fields)) => [vec![name], items(fields)].concat(),
        None => split(text, char::is_whitespace),
    };
    let (name, values) = match &words[..] {
        [] => (Some(""), &[][..]),
        [name, values @ ..] if !has_values(name) => (Some(*name), values),
        values => (None, values),
    };
    let tree = tree(text, values.iter().copied());
    let mut values = tree
        .map_err(|error| Located::new(*error.problem))?
        .root()
        .to_json();
    for value in values.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if value == "null" {
            *value = Json::Null;
        }
    }
    // Positions in a word are none in the document that has the text.
    let item = Node::from_json(&values)?;
    Ok(match name {
        Some(name) => item.with("name", Node::text_of(name.trim())),
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
    text.contains(|letter: char| "=:".contains(letter) || letter.is_whitespace())
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

/// The key of a word, and its line of TOML.
fn line<'a>(file: &str, word: &'a str) -> Result<(&'a str, String), DocumentError> {
    let wrong = || {
        let problem = DocumentProblem::WrongValue {
            key: word.to_string(),
            given: "no setting".to_string(),
            expected: "a key and a value, such as epochs=3".to_string(),
        };
        Located::new(problem).without_text(file)
    };
    let (key, value) = word.split_once('=').ok_or_else(wrong)?;
    let (key, value) = (key.trim(), value.trim());
    if key.split('.').any(|part| part.trim().is_empty()) {
        return Err(wrong());
    }
    let plain = format!("{key} = {value}");
    let Err(error) = Document::from_toml(file, &plain) else {
        return Ok((key, plain));
    };
    let is_word = !value.is_empty() && !value.starts_with(['[', '{', '"', '\'']);
    let json = match is_word {
        true => Json::from(value),
        false => serde_json::from_str(value).map_err(|_| error)?,
    };
    Ok((key, format!("{key} = {}", quoted(&json))))
}
