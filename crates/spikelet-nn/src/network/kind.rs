//! The kinds of layers in files. A layer's file has its kinds ([`Kind`]); the line of the layer in [`layers!`] registers them.

pub(crate) use super::build::{Builder, Built};
pub(crate) use super::layer_fields::LayerFields;

use crate::layer;
use spikelet_core::document::Entry;
use spikelet_core::suggest::closest;
use std::sync::LazyLock;

/// The value of the key with the name of a kind.
#[derive(Clone, Copy)]
pub(crate) enum MainValue {
    /// A layer has none: `"flatten"`.
    None,
    /// A layer may have one.
    Optional(LayerKey),
    /// A layer must have one: `{ linear = 10 }`.
    Required(LayerKey),
    /// The layers that it groups, which it must have: `{ residual = […] }`. Its name may be empty.
    Layers(LayerKey),
}

impl MainValue {
    /// The value as a key, if there is one.
    pub fn key(self) -> Option<LayerKey> {
        match self {
            Self::None => None,
            Self::Optional(key) | Self::Required(key) | Self::Layers(key) => Some(key),
        }
    }

    /// The description of the value.
    pub fn expected(self) -> &'static str {
        self.key().map_or("", |key| key.doc)
    }
}

/// A key of a layer in files, which is an argument in programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerKey {
    /// Its name.
    pub name: &'static str,
    /// Its type: `flag`, `integer`, `number`, `numbers`, `text`, `texts`, `table`, `sizes` (an integer for all axes, or a list of
    /// one for each), `neuron`, `layer` or `layers`; several are joined by ` or `.
    pub ty: &'static str,
    /// The default as JSON, where `null` leaves the value to other settings; none for a key that must be given.
    pub default: Option<&'static str>,
    /// Its meaning.
    pub doc: &'static str,
}

/// A key: its name, its type, its default and its meaning. One without a default must be given; with the default `null` another
/// setting decides.
macro_rules! key {
    (@key $name:ident $ty:literal $default:expr, $doc:literal) => {
        $crate::network::LayerKey {
            name: stringify!($name),
            ty: $ty,
            default: $default,
            doc: $doc,
        }
    };
    ($name:ident: $ty:literal = $default:literal, $doc:literal) => {
        $crate::network::kind::key!(@key $name $ty Some($default), $doc)
    };
    ($name:ident: $ty:literal, $doc:literal) => {
        $crate::network::kind::key!(@key $name $ty None, $doc)
    };
}

pub(crate) use key;

/// A kind of layers.
pub(crate) struct Kind {
    /// Its name, and behind it those of other libraries: a message about an unknown name suggests this kind for them.
    pub names: &'static [&'static str],
    /// Its type; or those for one, two and three axes, of which the input decides; none of a neuron.
    pub types: &'static [&'static str],
    pub summary: &'static str,
    pub main: MainValue,
    /// The other keys.
    pub keys: &'static [LayerKey],
    /// The shape of a time step, and a layer for it.
    pub example: (&'static [usize], &'static str),
    /// Builds a layer from its keys.
    pub build: fn(&LayerFields<'_>, &mut Builder) -> Built,
}

impl Kind {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.names[0]
    }
}

/// Declares layers. A line is the file of a layer: it declares the module, exports its types, and registers its kinds in files.
/// `in` is a module with a list of its own; `use` inserts the kinds of a list elsewhere.
///
/// ```text
/// layers! {
///     mod linear: Linear => LINEAR;
///     in delay;
///     use crate::learning::kinds;
/// }
/// ```
macro_rules! layers {
    ($(
        $(mod $module:ident $(: $($type:ident),+)? $(=> $($kind:ident),+)?)?
        $(in $folder:ident)?
        $(use $list:path)?
    ;)*) => {
        $(
            $(
                mod $module;
                $(pub use $module::{$($type),+};)?
            )?
            $(
                mod $folder;
                pub use $folder::*;
            )?
        )*

        /// The kinds of layers in files.
        pub(crate) fn kinds() -> Vec<&'static $crate::network::kind::Kind> {
            let lists: Vec<Vec<&'static $crate::network::kind::Kind>> = vec![$(
                $($(vec![$(&$module::$kind),+],)?)?
                $($folder::kinds(),)?
                $($list(),)?
            )*];
            lists.concat()
        }
    };
}

pub(crate) use layers;

/// Calls a function for one, two or three axes.
macro_rules! by_axes {
    ($axes:expr, $function:ident($($given:expr),*)) => {
        match $axes {
            1 => $function::<1>($($given),*),
            2 => $function::<2>($($given),*),
            _ => $function::<3>($($given),*),
        }
    };
}

pub(crate) use by_axes;

/// All kinds.
pub(super) fn all() -> impl Iterator<Item = &'static Kind> {
    static ALL: LazyLock<Vec<&Kind>> = LazyLock::new(layer::kinds);
    ALL.iter().copied()
}

/// The kind of this name.
pub(super) fn find(name: &str) -> Option<&'static Kind> {
    all().find(|kind| kind.name() == name)
}

/// The names of all kinds.
pub(super) fn names() -> String {
    let names: Vec<&str> = all().map(Kind::name).collect();
    format!("layers: {}", names.join(", "))
}

/// The help for a name that is no kind.
pub(super) fn help_for(name: &str) -> String {
    match closest_name(name) {
        Some(name) => format!("did you mean `{name}`?"),
        None => names(),
    }
}

/// The name closest to a misspelt one. Names that other libraries use are known too.
fn closest_name(given: &str) -> Option<&'static str> {
    let given = given.to_lowercase().replace('_', "-");
    let meant = all().find(|kind| kind.names.contains(&&*given));
    meant
        .map(Kind::name)
        .or_else(|| closest(&given, all().map(Kind::name)))
}

/// The entry of a table that is meant as the name of a kind: the closest to one, or else the first that is no
/// key of any kind.
pub(super) fn misspelt(entries: &[Entry]) -> Option<&Entry> {
    let is_key =
        |key: &str| key == "name" || all().any(|kind| kind.keys.iter().any(|k| k.name == key));
    let mut unknown = entries.iter().filter(|entry| !is_key(&entry.key));
    let first = unknown.clone().next();
    unknown.find(|e| closest_name(&e.key).is_some()).or(first)
}

/// The name, the value, the further keys and a summary of all kinds of layers of a [`Layers`](super::Layers) list.
///
/// ```
/// let kinds = spikelet_nn::network::layer_kinds();
/// let conv = kinds.iter().find(|kind| kind.name == "conv").expect("a layer");
/// assert_eq!(conv.keys[1].name, "kernel");
/// ```
pub fn layer_kinds() -> Vec<LayerKind> {
    let described = |kind: &'static Kind| LayerKind {
        name: kind.name(),
        types: kind.types,
        main: kind.main.key(),
        keys: kind.keys,
        summary: kind.summary,
        input: kind.example.0,
        example: kind.example.1,
    };
    all().map(described).collect()
}

/// A kind of layers in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerKind {
    /// Its name, the key of its value.
    pub name: &'static str,
    /// Its type; or those for one, two and three axes, of which the input decides; none of a neuron.
    pub types: &'static [&'static str],
    /// Its value, if it has one, under the name that programs give it.
    pub main: Option<LayerKey>,
    /// Its other keys.
    pub keys: &'static [LayerKey],
    /// A summary of one line.
    pub summary: &'static str,
    /// The shape of a time step that the example takes.
    pub input: &'static [usize],
    /// A layer of this kind in a list, such as `{ linear = 6 }`.
    pub example: &'static str,
}
