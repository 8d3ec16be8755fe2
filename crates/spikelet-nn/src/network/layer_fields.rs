//! A layer of a list: its kind, the values of its keys, and their positions.

use super::kind::{self, AnyLayer, LayerEntry};
use super::problem::NetworkProblem;
use spikelet_core::document::{Content, DocumentProblem, Entry, Located, Node, Span};
use spikelet_schema::{Field, Kind};
use std::sync::Arc;

/// The table of a layer in a list, for checks that need the layer's input.
pub(crate) struct LayerFields<'a> {
    kind: &'static LayerEntry,
    node: &'a Node,
}

impl<'a> LayerFields<'a> {
    /// The name of the kind.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// A key with its value, if it is given. The key of the main value is the name of the kind.
    pub fn entry(&self, key: &str) -> Option<&'a Entry> {
        debug_assert!(self.has(key), "{key}");
        let mut entries = self.node.entries().unwrap_or_default().iter();
        entries.find(|entry| entry.key == key)
    }

    fn has(&self, key: &str) -> bool {
        let fields = self.kind.declaration.all_fields();
        key == self.name() || fields.iter().any(|field| field.key == key)
    }

    /// The value of a key, if it is given.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The error for the value of a key; where it is not given, that it is missing.
    pub fn wrong(&self, key: &str, expected: impl Into<String>) -> Located {
        let expected = expected.into();
        let Some(node) = self.get(key) else {
            let problem = DocumentProblem::MissingKey {
                owner: format!("`{}`", self.name()),
                key: key.to_string(),
                expected,
            };
            return Located::new(problem).or_at(self.node.span.clone());
        };
        node.wrong(key, expected)
    }

    /// The error of the complete layer.
    pub fn refused(&self, problem: NetworkProblem) -> Located {
        problem.at(self.node.span.clone())
    }

    /// Checks the key `inputs`, if it is given: the sequence has this size on its first axis.
    pub fn expect_inputs(&self, inputs: Option<usize>, size: usize) -> Result<(), Located> {
        match inputs {
            Some(inputs) if inputs != size => {
                Err(self.wrong("inputs", format!("{size}, as its input has")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the value of `key` divides a size of the input: `what` divide the size and its name.
    pub fn expect_divisor(
        &self,
        key: &str,
        (parts, what): (usize, &'static str),
        (size, name): (usize, &str),
    ) -> Result<(), Located> {
        if size.is_multiple_of(parts) {
            return Ok(());
        }
        let whole = format!("the {size} {name}");
        let problem = NetworkProblem::Divisor { what, parts, whole };
        Err(problem.at(self.get(key).and_then(|node| node.span.clone())))
    }
}

/// The kind and the keys of a layer within another one, which has no name and is not built by itself.
pub(crate) fn inner_layer(node: &Node) -> Result<(Arc<dyn AnyLayer>, LayerFields<'_>), Located> {
    read_layer(node, kind_of(node)?, false)
}

/// The keys of a layer of this kind. `named`: whether it may have a name.
pub(super) fn read_layer<'a>(
    node: &'a Node,
    kind: &'static LayerEntry,
    named: bool,
) -> Result<(Arc<dyn AnyLayer>, LayerFields<'a>), Located> {
    let fields = LayerFields { kind, node };
    let name = kind.name();
    match (kind.declaration.main(), fields.get(name)) {
        (Some(main), None) if main.required => {
            let expected = main.phrase();
            return Err(fields.refused(NetworkProblem::NeedsValue {
                kind: name,
                expected,
            }));
        }
        (None, Some(value)) => {
            return Err(NetworkProblem::TakesNoValue { kind: name }.at(value.span.clone()));
        }
        _ => {}
    }
    let beside = [named.then_some("name"), node.get("layer").map(|_| "layer")];
    let beside: Vec<&str> = beside.into_iter().flatten().collect();
    let keys = kind.read_as_value(node, &beside)?;
    for field in kind.declaration.all_fields() {
        expect_own_word(&fields, field)?;
    }
    Ok((keys, fields))
}

/// Refuses other spellings of a word: programs that change a list of layers read its words as they are.
fn expect_own_word(fields: &LayerFields<'_>, field: &Field) -> Result<(), Located> {
    let kind = match (field.kind)() {
        Kind::Optional(kind) => *kind,
        kind => kind,
    };
    match (kind, fields.get(field.key)) {
        (Kind::Word(words), Some(node)) => node.choice(field.key, words).map(|_| ()),
        _ => Ok(()),
    }
}

/// The kind of a layer.
pub(super) fn kind_of(node: &Node) -> Result<&'static LayerEntry, Located> {
    let known = |name: &str, span: &Option<Span>| {
        let unknown = || NetworkProblem::UnknownLayer {
            name: name.to_string(),
            help: kind::help_for(name),
        };
        kind::find(name).ok_or_else(|| unknown().at(span.clone()))
    };
    match &node.content {
        Content::Text(name) => known(name, &node.span),
        Content::Table(entries) => {
            if let Some(layer) = node.get("layer") {
                return known(layer.text("layer")?, &layer.span);
            }
            let mut found = entries
                .iter()
                .filter_map(|e| Some((e, kind::find(&e.key)?)));
            match (found.next(), found.next()) {
                (Some((first, _)), Some((second, _))) => Err(NetworkProblem::TwoKinds {
                    first: first.key.clone(),
                    second: second.key.clone(),
                }
                .at(second.span.clone())),
                (Some((_, kind)), None) => Ok(kind),
                (None, _) => match kind::misspelt(entries) {
                    Some(entry) => known(&entry.key, &entry.span),
                    None => Err(NetworkProblem::NoKind {
                        help: kind::names(),
                    }
                    .at(node.span.clone())),
                },
            }
        }
        _ => Err(NetworkProblem::NotALayer.at(node.span.clone())),
    }
}

/// Whether a layer groups others, and may have an empty name: they are then part of the list around it.
pub(super) fn is_group(node: &Node) -> bool {
    let main = kind_of(node).ok().and_then(|kind| kind.declaration.main());
    main.is_some_and(|main| matches!((main.kind)(), Kind::List(..)))
}

/// The name of a group of layers, which may be empty.
pub(crate) fn group_name(node: &Node) -> Result<&str, Located> {
    match node.as_text() {
        Some("") => Ok(""),
        _ => layer_name(node),
    }
}

/// A layer's name: a part of the paths of its parameters.
pub(super) fn layer_name(node: &Node) -> Result<&str, Located> {
    const LONGEST: usize = 64;
    let name = node.text("name")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.len() <= LONGEST && name.chars().all(fits) {
        true => Ok(name),
        false => Err(node.wrong(
            "name",
            format!("1 to {LONGEST} letters, digits, `_` or `-`"),
        )),
    }
}
