//! The printed form of modules: a tree of names, kinds and settings.

use super::Module;
use std::fmt::{self, Debug};

/// The printed form of a module: its kind, its settings, and its child modules with their names.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Flatten).add_named("out", Linear::new(784, 10));
/// let expected = "\
/// Sequential(
///   (0): Flatten
///   (out): Linear(inputs=784, outputs=10, bias=true)
/// )";
/// assert_eq!(net.to_string(), expected);
/// assert_eq!(net.tree().to_string(), expected);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    kind: String,
    settings: String,
    children: Vec<(String, Tree)>,
}

impl Tree {
    /// A module of this kind, without settings.
    pub fn new(kind: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            settings: String::new(),
            children: vec![],
        }
    }

    /// A module with the name of its type.
    pub fn for_type<M: ?Sized>() -> Self {
        let path = std::any::type_name::<M>();
        let path = path.split('<').next().unwrap_or_default();
        Self::new(path.rsplit("::").next().unwrap_or_default())
    }

    /// The type and fields in `Debug` format.
    pub fn fields(value: &dyn Debug) -> Self {
        let text = format!("{value:?}");
        let text = text
            .replace(" { ", "(")
            .replace(" }", ")")
            .replace(": ", "=");
        let text = ["common=Common(", "neuron=Lif(", "neuron=If("]
            .into_iter()
            .fold(text, |text, wrapper| unwrapped(&text, wrapper));
        let usual = [
            ", spiking=true",
            ", strict=false",
            ", fire_on=Charged",
            ", resets=true",
            ", fires=true",
            ", readout=None",
            ", time_grad=true",
            ", trainable={}",
            ", weight_init=None",
            ", bias_init=None",
            ", each_step=false",
        ];
        let text = usual
            .into_iter()
            .fold(text, |text, field| text.replace(field, ""));
        match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((kind, settings)) => Self::new(kind).settings(settings),
            None => Self::new(text),
        }
    }

    /// The kind of the module, such as `Linear`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The module at a path, such as `conv.0`; the module itself at an empty path.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add_named("fc", Sequential::new().add(Flatten).add(Lif::new(2.0)));
    /// assert_eq!(net.tree().find("fc.1").map(|tree| tree.kind().to_string()), Some("Lif".to_string()));
    /// ```
    pub fn find(&self, path: &str) -> Option<&Self> {
        if path.is_empty() {
            return Some(self);
        }
        self.children.iter().find_map(|(name, child)| {
            let rest = path.strip_prefix(name.as_str())?;
            match (name.is_empty(), rest.strip_prefix('.')) {
                (true, _) => child.find(rest),
                (false, Some(below)) => child.find(below),
                (false, None) if rest.is_empty() => Some(child),
                (false, None) => None,
            }
        })
    }

    /// Sets the text of the settings, such as `p=0.5`.
    #[must_use]
    pub fn settings(mut self, settings: impl Into<String>) -> Self {
        self.settings = settings.into();
        self
    }

    /// Adds a module that is called `name` in this one; one without a name has the same path.
    #[must_use]
    pub fn child(mut self, name: impl Into<String>, module: &dyn Module) -> Self {
        self.children.push((name.into(), module.tree()));
        self
    }

    /// Adds a child that is no module of its own.
    #[must_use]
    pub(crate) fn child_tree(mut self, name: &str, tree: Tree) -> Self {
        self.children.push((name.to_string(), tree));
        self
    }

    /// Adds the children of another module, which has the path of this one.
    #[must_use]
    pub(crate) fn children_of(mut self, other: Tree) -> Self {
        self.children.extend(other.children);
        self
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.children.is_empty() {
            return match self.settings.is_empty() {
                true => Ok(()),
                false => write!(f, "({})", self.settings),
            };
        }
        writeln!(f, "({}", self.settings)?;
        for (name, tree) in &self.children {
            write!(f, "{:1$}", "", 2 * (depth + 1))?;
            if !name.is_empty() {
                write!(f, "({name}): ")?;
            }
            tree.write(f, depth + 1)?;
            writeln!(f)?;
        }
        write!(f, "{:1$})", "", 2 * depth)
    }
}

/// A text in which `wrapper…)` is replaced by the text between its brackets.
fn unwrapped(text: &str, wrapper: &str) -> String {
    let Some((before, rest)) = text.split_once(wrapper) else {
        return text.to_string();
    };
    let mut open = 1;
    let end = rest.find(|c| {
        open += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        open == 0
    });
    let end = end.unwrap_or(rest.len());
    let after = rest.get(end + 1..).unwrap_or_default();
    format!("{before}{}{after}", &rest[..end])
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// As its [`Module::tree`].
impl fmt::Display for dyn Module + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tree(), f)
    }
}

/// As its [`Module::tree`].
impl Debug for dyn Module + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tree(), f)
    }
}

/// Implements `Debug` and `Display` of a module: both print its [`Module::tree`].
macro_rules! print_as_tree {
    ($($({$($parameter:ident: $bound:path),+})? $type:ty),* $(,)?) => {$(
        impl$(<$($parameter: $bound),+>)? std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&$crate::module::Module::tree(self), f)
            }
        }

        impl$(<$($parameter: $bound),+>)? std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&$crate::module::Module::tree(self), f)
            }
        }
    )*};
}

pub(crate) use print_as_tree;
