//! The kinds of layers in files. A layer's file declares the keys of its kinds ([`LayerKeys`]); the line of the layer in
//! [`layers!`] registers them.

pub(crate) use super::build::{Builder, Built};
pub(crate) use super::layer_fields::LayerFields;

use crate::layer;
use spikelet_core::document;
use spikelet_core::suggest::closest;
use spikelet_schema::{Declaration, Entry, Field, Record, Role, Schema};
use std::fmt;
use std::sync::LazyLock;

/// A kind of layers.
pub(crate) type LayerEntry = Entry<dyn AnyLayer>;

/// The keys of a kind of layers in files: a struct that is called as the layer in programs, with `Keys` at the end.
pub(crate) trait LayerKeys: Schema + fmt::Debug {
    /// Its names in other libraries: a message about an unknown name suggests this kind for them.
    const OTHER_NAMES: &[&str] = &[];
    /// Whether programs have a type for it; a neuron is a layer itself.
    const HAS_TYPE: bool = true;
    /// Whether programs have a type for one, two and three axes, such as `Conv2d`. Of files, the input decides.
    const HAS_AXES: bool = false;
    /// The shape of a time step, and a layer for it.
    const EXAMPLE: (&[usize], &str);

    /// Builds the layer. `layer` has the positions of the keys.
    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built;
}

/// The keys of any kind.
pub(crate) trait AnyLayer: Record + fmt::Debug {
    /// The kind.
    fn kind(&self) -> LayerKind;

    /// [`LayerKeys::build`].
    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built;
}

impl<T: LayerKeys> AnyLayer for T {
    fn kind(&self) -> LayerKind {
        let declared = T::DECLARATION.type_name;
        let own = declared.strip_suffix("Keys").unwrap_or(declared);
        let types = match (T::HAS_TYPE, T::HAS_AXES) {
            (false, _) => vec![],
            (true, true) => (1..=3).map(|axes| format!("{own}{axes}d")).collect(),
            (true, false) => vec![own.to_string()],
        };
        let (input, example) = T::EXAMPLE;
        LayerKind {
            declaration: T::DECLARATION,
            types,
            input,
            example,
            other_names: T::OTHER_NAMES,
        }
    }

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        LayerKeys::build(self, layer, b)
    }
}

/// Declares layers. A line is the file of a layer: it declares the module, exports its types, and registers its kinds in files.
/// `in` is a module with a list of its own; `use` inserts the kinds of a list elsewhere.
///
/// ```text
/// layers! {
///     mod linear: Linear => LinearKeys;
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
        pub(crate) fn kinds() -> Vec<&'static $crate::network::kind::LayerEntry> {
            use $crate::network::kind::LayerEntry;
            let lists: Vec<Vec<&'static LayerEntry>> = vec![$(
                $($({
                    static KINDS: &[LayerEntry] = &[$(spikelet_schema::entry!($module::$kind)),+];
                    KINDS.iter().collect()
                },)?)?
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
pub(super) fn all() -> impl Iterator<Item = &'static LayerEntry> {
    static ALL: LazyLock<Vec<&LayerEntry>> = LazyLock::new(layer::kinds);
    ALL.iter().copied()
}

/// The kind of this name.
pub(super) fn find(name: &str) -> Option<&'static LayerEntry> {
    all().find(|kind| kind.name() == name)
}

/// The names of all kinds.
pub(super) fn names() -> String {
    let names: Vec<&str> = all().map(Entry::name).collect();
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
    let meant = layer_kinds()
        .iter()
        .find(|kind| kind.name() == given || kind.other_names.contains(&&*given));
    meant
        .map(LayerKind::name)
        .or_else(|| closest(&given, all().map(Entry::name)))
}

/// The entry of a table that is meant as the name of a kind: the closest to one, or else the first that is no
/// key of any kind.
pub(super) fn misspelt(entries: &[document::Entry]) -> Option<&document::Entry> {
    let has = |kind: &LayerKind, key: &str| kind.keys().iter().any(|own| own.key == key);
    let is_key = |key: &str| key == "name" || layer_kinds().iter().any(|kind| has(kind, key));
    let mut unknown = entries.iter().filter(|entry| !is_key(&entry.key));
    let first = unknown.clone().next();
    unknown.find(|e| closest_name(&e.key).is_some()).or(first)
}

/// All kinds of layers of a [`Layers`](super::Layers) list.
///
/// ```
/// let kinds = spikelet_nn::network::layer_kinds();
/// let conv = kinds.iter().find(|kind| kind.name() == "conv").expect("a layer");
/// assert_eq!(conv.declaration.main().expect("a value").key, "out_channels");
/// assert_eq!(conv.keys()[1].key, "kernel");
/// assert_eq!(conv.types, ["Conv1d", "Conv2d", "Conv3d"]);
/// ```
pub fn layer_kinds() -> &'static [LayerKind] {
    static KINDS: LazyLock<Vec<LayerKind>> =
        LazyLock::new(|| all().map(|entry| entry.defaults().kind()).collect());
    &KINDS
}

/// A kind of layers in files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LayerKind {
    /// Its name, its keys, and what they mean. The value of the main field is written after the name.
    pub declaration: &'static Declaration,
    /// Its type in programs; or those for one, two and three axes, of which the input decides; none of a neuron.
    pub types: Vec<String>,
    /// The shape of a time step that the example takes.
    pub input: &'static [usize],
    /// A layer of this kind in a list, such as `{ linear = 6 }`.
    pub example: &'static str,
    /// Its names in other libraries.
    other_names: &'static [&'static str],
}

impl LayerKind {
    /// Its name, the key of its value.
    pub fn name(&self) -> &'static str {
        self.declaration.name
    }

    /// Its keys beside its value.
    pub fn keys(&self) -> Vec<&'static Field> {
        let all = self.declaration.all_fields().into_iter();
        all.filter(|field| field.role != Role::Main).collect()
    }
}
