//! The tree of a document.

use super::{DocumentProblem, Located, MAX_DEPTH};
use serde_json::{Map, Number, Value};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The bytes of a value in the text of its document.
pub type Span = Range<usize>;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub content: Content,
    /// Its position, if it was read from text.
    pub span: Option<Span>,
}

/// The value of a [`Node`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// JSON's `null`. TOML has none.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A number with a fraction or an exponent; finite.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the text.
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The position of the key.
    pub span: Option<Span>,
    /// The value.
    pub value: Node,
}

impl From<Content> for Node {
    fn from(content: Content) -> Self {
        Self {
            content,
            span: None,
        }
    }
}

impl Node {
    /// An empty table.
    pub(super) fn table() -> Self {
        Self {
            content: Content::Table(vec![]),
            span: None,
        }
    }

    /// A string without a position.
    pub fn text_of(text: &str) -> Self {
        Content::Text(text.to_string()).into()
    }

    /// The table with some of its keys.
    #[must_use]
    pub fn only(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let mut copy = self.clone();
        if let Content::Table(entries) = &mut copy.content {
            entries.retain(|entry| keeps(&entry.key));
        }
        copy
    }

    /// The table with this value of a key.
    #[must_use]
    pub fn with(&self, key: &str, value: Self) -> Self {
        let mut copy = self.without(key);
        if let Content::Table(entries) = &mut copy.content {
            entries.push(Entry {
                key: key.to_string(),
                span: value.span.clone(),
                value,
            });
        }
        copy
    }

    /// The table without a key.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        self.only(|own| own != key)
    }

    /// [`Node::merged`], with this value over `base`; nested tables are replaced.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let (Some(given), Some(own)) = (self.entries(), base.entries()) else {
            return self.clone();
        };
        let kept = own
            .iter()
            .filter(|own| given.iter().all(|entry| entry.key != own.key));
        Self {
            content: Content::Table(given.iter().chain(kept).cloned().collect()),
            span: self.span.clone(),
        }
    }

    pub(crate) fn from_toml(text: &str) -> Result<Self, Located> {
        let table = DeTable::parse(text).map_err(|error| {
            let problem = DocumentProblem::Syntax(error.message().to_string());
            Located::new(problem).or_at(error.span())
        })?;
        of_table(table.get_ref(), table.span(), 0)
    }

    /// The tree of a JSON value.
    ///
    /// # Errors
    /// When it is nested too deeply, or an integer is out of range.
    pub fn from_json(value: &Value) -> Result<Self, Located> {
        of_json(value, 0)
    }

    /// The value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(yes) => Value::from(*yes),
            Content::Integer(number) => Value::from(*number),
            Content::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
            Content::Text(text) => Value::from(text.as_str()),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Table(entries) => {
                let each = entries.iter().map(|e| (e.key.clone(), e.value.to_json()));
                Value::Object(Map::from_iter(each))
            }
        }
    }

    /// This value with the keys of `over`: tables are merged key by key, other values are replaced. A table with
    /// another `name` replaces the whole table.
    ///
    /// ```
    /// use spikelet_schema::document::Document;
    /// let read = |text| Document::from_toml("a.toml", text);
    /// let (base, over) = (read("a = 1\nb = { c = 2, d = 3 }")?, read("b.c = 4")?);
    /// let merged = base.root().merged(over.root()).to_json();
    /// assert_eq!(merged, serde_json::json!({"a": 1, "b": {"c": 4, "d": 3}}));
    /// # Ok::<(), spikelet_schema::document::DocumentError>(())
    /// ```
    #[must_use]
    pub fn merged(&self, over: &Self) -> Self {
        let (Some(own), Some(given)) = (self.entries(), over.entries()) else {
            return over.clone();
        };
        let name = |node: &Self| node.get("name").map(Self::to_json);
        if name(over).is_some_and(|given| name(self).is_some_and(|own| own != given)) {
            return over.clone();
        }
        let mut entries = own.to_vec();
        for entry in given {
            match entries.iter_mut().find(|own| own.key == entry.key) {
                Some(own) => {
                    own.value = own.value.merged(&entry.value);
                    own.span.clone_from(&entry.span);
                }
                None => entries.push(entry.clone()),
            }
        }
        Self {
            content: Content::Table(entries),
            span: over.span.clone(),
        }
    }

    /// The entries, if it is a table.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key, if it is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let entry = self.entries()?.iter().find(|entry| entry.key == key)?;
        Some(&entry.value)
    }

    /// The value of the first key of this name in a table, or in tables and lists in it.
    pub(super) fn find(&self, key: &str) -> Option<&Self> {
        if let Content::List(items) = &self.content {
            return items.iter().find_map(|item| item.find(key));
        }
        self.get(key).or_else(|| {
            let mut entries = self.entries()?.iter();
            entries.find_map(|entry| entry.value.find(key))
        })
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The error for a value of a wrong type or out of range.
    pub fn wrong(&self, key: &str, expected: impl Into<String>) -> Located {
        let problem = DocumentProblem::WrongValue {
            key: key.to_string(),
            given: self.describe(),
            expected: expected.into(),
        };
        Located::new(problem).or_at(self.span.clone())
    }

    /// The error for a value that a library refuses, with the problem and the help of its message; without a help, with this
    /// one.
    ///
    /// ```
    /// use spikelet_schema::document::Document;
    /// let given = Document::from_toml("a.toml", "split = 2")?;
    /// let split = given.root().get("split").expect("it is given");
    /// let refused = given.error(split.refused(&"the parts have 2 in sum", "give parts of 1"));
    /// assert!(refused.to_string().ends_with("help: give parts of 1"));
    /// # Ok::<(), spikelet_schema::document::DocumentError>(())
    /// ```
    pub fn refused(&self, error: &impl std::fmt::Display, otherwise: &str) -> Located {
        Located::refused(error, otherwise).or_at(self.span.clone())
    }

    /// The integer, which is the value of `key`.
    ///
    /// # Errors
    /// When it is not an integer in this range.
    pub fn integer(&self, key: &str, range: RangeInclusive<usize>) -> Result<usize, Located> {
        let expected = || format!("an integer from {} to {}", range.start(), range.end());
        match &self.content {
            Content::Integer(number) => usize::try_from(*number)
                .ok()
                .filter(|number| range.contains(number)),
            _ => None,
        }
        .ok_or_else(|| self.wrong(key, expected()))
    }

    /// The number, which is the value of `key`. An integer is a number too.
    ///
    /// # Errors
    /// When it is not a number.
    pub fn number(&self, key: &str) -> Result<f64, Located> {
        match &self.content {
            Content::Integer(number) => Ok(*number as f64),
            Content::Float(number) => Ok(*number),
            _ => Err(self.wrong(key, "a number")),
        }
    }

    /// `true` or `false`, which is the value of `key`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn flag(&self, key: &str) -> Result<bool, Located> {
        match &self.content {
            Content::Bool(yes) => Ok(*yes),
            _ => Err(self.wrong(key, "true or false")),
        }
    }

    /// The string, which is the value of `key`.
    ///
    /// # Errors
    /// When it is not a string.
    pub fn text(&self, key: &str) -> Result<&str, Located> {
        self.as_text().ok_or_else(|| self.wrong(key, "a string"))
    }

    /// The string, which is one of `words` (in any case of its letters) and the value of `key`.
    ///
    /// # Errors
    /// When it is not one of them; with the closest.
    pub fn choice<'a>(&self, key: &str, words: &[&'a str]) -> Result<&'a str, Located> {
        let given = self.as_text();
        let is_meant = |word: &&&str| given.is_some_and(|given| word.eq_ignore_ascii_case(given));
        let found = words.iter().find(is_meant);
        found.copied().ok_or_else(|| {
            let problem = DocumentProblem::NotAChoice {
                key: key.to_string(),
                given: self.describe(),
                word: given.unwrap_or_default().to_string(),
                known: words.iter().map(ToString::to_string).collect(),
            };
            Located::new(problem).or_at(self.span.clone())
        })
    }

    /// The elements, of the list that is the value of `key`.
    ///
    /// # Errors
    /// When it is not a list.
    pub fn list(&self, key: &str) -> Result<&[Self], Located> {
        match &self.content {
            Content::List(items) => Ok(items),
            _ => Err(self.wrong(key, "a list")),
        }
    }

    /// The value in a message: a number or a string as it is written, or the kind of a longer value.
    fn describe(&self) -> String {
        const LONGEST: usize = 40;
        match &self.content {
            Content::Null => "null".to_string(),
            Content::List(_) | Content::Table(_) if self.len() > 4 => self.kind().to_string(),
            Content::Text(text) if text.chars().count() > LONGEST => {
                let start: String = text.chars().take(LONGEST).collect();
                format!("\"{}…\"", start.escape_debug())
            }
            Content::List(items) if items.iter().all(|item| item.len() == 0) => {
                let items: Vec<String> = items.iter().map(Self::describe).collect();
                format!("[{}]", items.join(", "))
            }
            Content::List(_) | Content::Table(_) => self.kind().to_string(),
            Content::Bool(_) | Content::Integer(_) | Content::Float(_) | Content::Text(_) => {
                self.to_json().to_string()
            }
        }
    }

    /// The number of elements of a list or a table.
    fn len(&self) -> usize {
        match &self.content {
            Content::List(items) => items.len(),
            Content::Table(entries) => entries.len().max(1),
            _ => 0,
        }
    }

    fn kind(&self) -> &'static str {
        match &self.content {
            Content::Table(_) => "a table",
            _ => "a list",
        }
    }
}

fn too_deep() -> Located {
    Located::new(DocumentProblem::TooDeep)
}

fn of_table(table: &DeTable<'_>, span: Span, depth: usize) -> Result<Node, Located> {
    let mut entries = vec![];
    for (key, value) in table.iter() {
        entries.push(Entry {
            key: key.get_ref().to_string(),
            span: Some(key.span()),
            value: of_toml(value, depth + 1)?,
        });
    }
    // The parser sorts keys; messages name the first wrong key of the text.
    entries.sort_by_key(|entry| entry.span.as_ref().map(|span| span.start));
    Ok(Node {
        content: Content::Table(entries),
        span: Some(span),
    })
}

fn of_toml(value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Located> {
    let span = value.span();
    if depth > MAX_DEPTH {
        return Err(too_deep().or_at(Some(span)));
    }
    let out_of_range = |given: &str, expected: &str| {
        let problem = DocumentProblem::OutOfRange {
            given: given.to_string(),
            expected: expected.to_string(),
        };
        Located::new(problem).or_at(Some(span.clone()))
    };
    let content = match value.get_ref() {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            Content::Integer(
                read.map_err(|_| out_of_range(&number.to_string(), "a 64-bit integer"))?,
            )
        }
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(float) if float.is_finite() => Content::Float(float),
            _ => return Err(out_of_range(number.as_str(), "a finite number")),
        },
        DeValue::Boolean(yes) => Content::Bool(*yes),
        DeValue::Datetime(date) => {
            return Err(out_of_range(
                &date.to_string(),
                "a number, a string, true, false, a list or a table, not a date",
            ));
        }
        DeValue::Array(items) => {
            let items: Result<_, _> = items.iter().map(|item| of_toml(item, depth + 1)).collect();
            Content::List(items?)
        }
        DeValue::Table(table) => return of_table(table, span, depth),
    };
    Ok(Node {
        content,
        span: Some(span),
    })
}

fn of_json(value: &Value, depth: usize) -> Result<Node, Located> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    let content = match value {
        Value::Null => Content::Null,
        Value::Bool(yes) => Content::Bool(*yes),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Content::Integer(integer),
            // Integers beyond i64 are no valid sizes.
            (None, Some(float)) if float.is_finite() && number.is_f64() => Content::Float(float),
            _ => {
                return Err(Located::new(DocumentProblem::OutOfRange {
                    given: number.to_string(),
                    expected: "a 64-bit integer or a finite number".to_string(),
                }));
            }
        },
        Value::String(text) => Content::Text(text.clone()),
        Value::Array(items) => {
            let items: Result<_, _> = items.iter().map(|item| of_json(item, depth + 1)).collect();
            Content::List(items?)
        }
        Value::Object(map) => {
            let mut entries = vec![];
            for (key, value) in map {
                entries.push(Entry {
                    key: key.clone(),
                    span: None,
                    value: of_json(value, depth + 1)?,
                });
            }
            Content::Table(entries)
        }
    };
    Ok(Node {
        content,
        span: None,
    })
}
