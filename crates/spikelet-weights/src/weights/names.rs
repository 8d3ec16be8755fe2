//! Names of another framework as those of a network.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::Weights;
use crate::error::{ErrorKind, Result};
use crate::tensor::Tensor;

/// The most names in the file that are kept for a tensor that it lacks.
const CANDIDATES: usize = 8;

/// The most names of a kind in a message.
const SHOWN: usize = 12;

/// Rules that change names, in order. Names have parts that are separated by dots.
///
/// ```
/// use spikelet_weights::NameMap;
///
/// // Names of snnTorch as those of spikelet.
/// let map = NameMap::default()
///     .strip_prefix("module.")
///     .rename("recurrent", "feedback")
///     .ignore("num_batches_tracked");
/// assert_eq!(map.apply("module.lif1.recurrent.weight").as_deref(), Some("lif1.feedback.weight"));
/// assert_eq!(map.apply("bn1.num_batches_tracked"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMap {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Strip(String),
    Rename { from: Vec<String>, to: Vec<String> },
    Ignore(Vec<String>),
}

fn parts(name: &str) -> Vec<String> {
    let parts = name.split('.').filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

impl NameMap {
    /// Removes a prefix, as `module.`, where a name has it.
    #[must_use]
    pub fn strip_prefix(mut self, prefix: &str) -> Self {
        self.rules.push(Rule::Strip(prefix.into()));
        self
    }

    /// Replaces one or several parts of a name that follow each other, wherever they are: `fc.0` in `net.fc.0.weight`.
    #[must_use]
    pub fn rename(mut self, from: &str, to: &str) -> Self {
        let (from, to) = (parts(from), parts(to));
        self.rules.push(Rule::Rename { from, to });
        self
    }

    /// Leaves out names that end in these parts, as `num_batches_tracked`.
    #[must_use]
    pub fn ignore(mut self, ending: &str) -> Self {
        self.rules.push(Rule::Ignore(parts(ending)));
        self
    }

    /// The new name; `None` if it is left out.
    #[must_use]
    pub fn apply(&self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        for rule in &self.rules {
            match rule {
                Rule::Strip(prefix) => {
                    if let Some(rest) = name.strip_prefix(prefix.as_str()) {
                        name = rest.to_owned();
                    }
                }
                Rule::Ignore(ending) => {
                    if parts(&name).ends_with(ending) {
                        return None;
                    }
                }
                Rule::Rename { from, to } if !from.is_empty() => {
                    let own = parts(&name);
                    let (mut renamed, mut at) = (vec![], 0);
                    while at < own.len() {
                        if own[at..].starts_with(from) {
                            renamed.extend_from_slice(to);
                            at += from.len();
                        } else {
                            renamed.push(own[at].clone());
                            at += 1;
                        }
                    }
                    name = renamed.join(".");
                }
                Rule::Rename { .. } => {}
            }
        }
        Some(name)
    }
}

/// A tensor that a network needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl Expected {
    /// A tensor of a name and shape.
    pub fn new(name: impl Into<String>, shape: impl Into<Vec<usize>>) -> Self {
        let (name, shape) = (name.into(), shape.into());
        Self { name, shape }
    }
}

/// Which tensor of a file is which tensor of a network. Names are those of the file, unless it is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMatch {
    /// Names in the network, with names in the file.
    pub pairs: Vec<(String, String)>,
    /// Tensors of the network that the file lacks, with a few names in the file that are left over and have this shape.
    pub missing: Vec<(Expected, Vec<String>)>,
    /// Names in the network that several tensors of the file would get.
    pub ambiguous: Vec<(String, Vec<String>)>,
    /// Tensors of the network, with a tensor of the file of the same name and another shape.
    pub mismatched: Vec<(Expected, String, Vec<usize>)>,
    /// Tensors of the file that the network does not have.
    pub left_over: Vec<String>,
    /// Tensors of the file that the rules leave out.
    pub ignored: Vec<String>,
}

impl NameMatch {
    /// Whether the network gets all tensors, and the file has no others.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_loadable() && self.left_over.is_empty()
    }

    /// Whether the network gets all tensors.
    #[must_use]
    pub fn is_loadable(&self) -> bool {
        self.missing.is_empty() && self.ambiguous.is_empty() && self.mismatched.is_empty()
    }
}

impl fmt::Display for NameMatch {
    /// What is missing, ambiguous, of another shape, or left over: a line for each kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = |(expected, candidates): &(Expected, Vec<String>)| {
            let own = format!("`{}` {:?}", expected.name, expected.shape);
            match candidates.first() {
                Some(candidate) => format!("{own} (perhaps `{candidate}`)"),
                None => own,
            }
        };
        let ambiguous =
            |(name, sources): &(String, Vec<String>)| format!("`{name}` ({})", quoted(sources));
        let mismatched = |(expected, name, shape): &(Expected, String, Vec<usize>)| {
            format!(
                "`{name}` {shape:?} for `{}` {:?}",
                expected.name, expected.shape
            )
        };
        let lines = [
            line("missing", self.missing.iter().map(missing)),
            line("ambiguous", self.ambiguous.iter().map(ambiguous)),
            line("of another shape", self.mismatched.iter().map(mismatched)),
            line(
                "left over",
                self.left_over.iter().map(|name| format!("`{name}`")),
            ),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        f.write_str(&lines.join("\n"))
    }
}

fn line(kind: &str, names: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let count = names.len();
    let shown: Vec<String> = names.take(SHOWN).collect();
    let more = match count.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (count > 0).then(|| format!("{kind}: {}{more}", shown.join(", ")))
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    names.join(", ")
}

impl Weights {
    /// Matches the tensors with those of a network, by their names after the rules.
    ///
    /// ```
    /// use spikelet_weights::{Expected, NameMap, Tensor, Weights};
    ///
    /// let mut weights = Weights::default();
    /// weights.insert("module.fc.weight", Tensor::from_f32(&[1, 2], &[0.5, 1.0])?)?;
    /// let network = [Expected::new("fc.weight", [1, 2]), Expected::new("fc.bias", [1])];
    /// let found = weights.match_names(&network, &NameMap::default().strip_prefix("module."));
    /// assert_eq!(found.pairs, [("fc.weight".to_string(), "module.fc.weight".to_string())]);
    /// assert_eq!(found.to_string(), "missing: `fc.bias` [1]");
    /// # Ok::<(), spikelet_weights::Error>(())
    /// ```
    #[must_use]
    pub fn match_names(&self, expected: &[Expected], map: &NameMap) -> NameMatch {
        let mut found = NameMatch::default();
        let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, _) in self.iter() {
            match map.apply(name) {
                Some(new) => by_name.entry(new).or_default().push(name.into()),
                None => found.ignored.push(name.into()),
            }
        }
        let mut missing = vec![];
        for own in expected {
            match by_name.remove(&own.name).as_deref() {
                None => missing.push(own),
                Some([source]) => {
                    let shape = self.get(source).map_or(&[][..], |tensor| tensor.shape());
                    match shape == own.shape {
                        true => found.pairs.push((own.name.clone(), source.clone())),
                        false => {
                            found
                                .mismatched
                                .push((own.clone(), source.clone(), shape.to_vec()))
                        }
                    }
                }
                Some(sources) => found.ambiguous.push((own.name.clone(), sources.to_vec())),
            }
        }
        let left_over: HashSet<String> = by_name.into_values().flatten().collect();
        let names = self
            .iter()
            .map(|(name, _)| name)
            .filter(|name| left_over.contains(*name));
        found.left_over = names.map(str::to_owned).collect();
        for own in missing {
            let has_shape = |name: &&String| {
                self.get(name)
                    .is_some_and(|tensor| tensor.shape() == own.shape)
            };
            let candidates = found.left_over.iter().filter(has_shape);
            let candidates = candidates.take(CANDIDATES).cloned().collect();
            found.missing.push((own.clone(), candidates));
        }
        found
    }

    /// The tensors of a match with the names of the network, in its order.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] if some are missing, ambiguous or of another shape.
    pub fn renamed(self, found: &NameMatch) -> Result<Self> {
        if !found.is_loadable() {
            return Err(ErrorKind::Names {
                problem: format!("the tensors do not fit the network\n{found}"),
                help: "rename or ignore names with a `NameMap`",
            }
            .into());
        }
        let mut renamed = Self::default();
        let mut tensors: HashMap<String, Tensor> = self.tensors.into_iter().collect();
        for (name, source) in &found.pairs {
            if let Some(tensor) = tensors.remove(source) {
                renamed.insert(name, tensor)?;
            }
        }
        Ok(renamed)
    }
}
