//! Families of declared things that are found by name.

use crate::document::{Content, Fields, Located, Node};
use crate::suggest::find;
use crate::{Declaration, Field, FieldValue, Kind, Record, Role, UnknownName, notation, words};
use serde_json::{Map, Value as Json};
use std::fmt;
use std::sync::Arc;

/// A member of a family.
pub struct Entry<T: ?Sized> {
    /// Its declaration.
    pub declaration: &'static Declaration,
    /// Makes the member with its defaults.
    #[doc(hidden)]
    pub default: fn() -> Arc<T>,
    /// Makes a member of the fields of a table.
    #[doc(hidden)]
    pub make: fn(&Fields<'_>) -> Result<Arc<T>, Located>,
}

impl<T: ?Sized> Entry<T> {
    /// The name.
    pub fn name(&self) -> &'static str {
        self.declaration.name
    }

    /// The member with its defaults, of which those of required fields are none that files may have.
    pub fn defaults(&self) -> Arc<T> {
        (self.default)()
    }

    /// The member with these fields; those that are not given have their defaults.
    ///
    /// # Errors
    /// When a key is unknown or missing, or a value is wrong.
    pub fn read(&self, node: &Node) -> Result<Arc<T>, Located> {
        self.read_but(node, None, &[])
    }

    /// The member of a table whose main field has the name of the member as its key, `{ linear = 10, bias = true }`, with other
    /// keys, `beside`, that are read elsewhere. A value that is not set is left out: no word stands for it.
    ///
    /// ```
    /// use spikelet_schema::{Record, Schema, document::Document, entry, Entry};
    /// trait Layer: Record + std::fmt::Debug {}
    /// /// A layer.
    /// #[derive(Debug, Schema)]
    /// struct Linear {
    ///     /// The number of outputs.
    ///     #[schema(main, required, at_least = 1)]
    ///     outputs: usize,
    /// }
    /// impl Layer for Linear {}
    /// let linear: Entry<dyn Layer> = entry!(Linear);
    /// let given = Document::from_toml("a.toml", "linear = 10\nname = 'last'")?;
    /// let read = linear.read_as_value(given.root(), &["name"]).map_err(|error| given.error(error))?;
    /// assert_eq!(format!("{read:?}"), "Linear { outputs: 10 }");
    /// # Ok::<(), spikelet_schema::document::DocumentError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Entry::read`].
    pub fn read_as_value(&self, node: &Node, beside: &[&str]) -> Result<Arc<T>, Located> {
        self.read_but(node, Some(self.name()), beside)
    }

    /// As [`Entry::read`], with the key of the main field, if it is not its own, and other keys.
    fn read_but(
        &self,
        node: &Node,
        main: Option<&'static str>,
        beside: &[&str],
    ) -> Result<Arc<T>, Located> {
        let earlier = (self.declaration.default)().earlier(node);
        let node = earlier.as_ref().unwrap_or(node);
        let owner = format!("`{}`", self.name());
        let declared = self.declaration.all_fields().into_iter();
        let mut all: Vec<Field> = declared.map(|field| field.with_main(main)).collect();
        if main.is_some() {
            all.sort_by_key(|field| field.role != Role::Main);
        }
        let keys = all.iter().map(|field| field.key);
        let known: Vec<&str> = keys.chain(beside.iter().copied()).collect();
        let fields = match &node.content {
            Content::Text(_) => Fields::empty(owner, &known, node.span.clone()),
            _ => Fields::new(node, owner, &known)?,
        };
        let fields = fields.with_main(main);
        let missing = all
            .iter()
            .find(|f| f.required && fields.get(f.key).is_none());
        if let Some(missing) = missing {
            fields.require(missing.key, &missing.phrase())?;
        }
        let made = (self.make)(&fields);
        made.map_err(|error| error.or_at(node.span.clone()))
    }
}

/// A trait object whose types are the members of a [`Registry`]; implemented by [`registry!`](crate::registry). `Arc<dyn …>` of a
/// family may be a field of a declaration.
pub trait Family: 'static {
    /// The registry of the members.
    fn registry() -> &'static Registry<Self>;

    /// The fields of a member.
    fn record(&self) -> &dyn Record;
}

/// Another name of a member: a name for some of its settings; or, without fields, a former name, which is read and in no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// The name of the member.
    pub of: &'static str,
    /// The fields that differ from the member's defaults, as TOML.
    pub fields: &'static str,
}

impl Alias {
    /// The member with the fields that differ, such as ``lif with tau = 100.0``.
    pub fn summary(&self) -> String {
        format!("{} with {}", self.of, self.fields.replace('\n', ", "))
    }
}

/// A struct around any member: its fields are keys of the member's table, as `{ name = "atan", factor = 0.3 }`.
pub struct Around<T: ?Sized> {
    /// Its declaration. One field is the member, which is flattened.
    pub declaration: &'static Declaration,
    /// Makes it of a table.
    #[doc(hidden)]
    pub read: fn(&Node) -> Result<Arc<T>, Located>,
}

/// A family of declared things, made by [`registry!`](crate::registry).
///
/// ```
/// use spikelet_schema::{Record, Schema, document::Document, registry};
///
/// trait Shape: Record {
///     fn area(&self) -> f64;
/// }
///
/// /// A square.
/// #[derive(Debug, Schema)]
/// struct Square {
///     /// The length of a side.
///     #[schema(default = 1.0, above = 0.0)]
///     side: f64,
/// }
///
/// impl Shape for Square {
///     fn area(&self) -> f64 {
///         self.side * self.side
///     }
/// }
///
/// registry! {
///     /// All shapes.
///     static SHAPES: dyn Shape = "shape" { Square }
/// }
///
/// let given = Document::from_toml("a.toml", "shape = { name = \"square\", side = 3 }")?;
/// let shape = given.root().get("shape").unwrap();
/// let square = SHAPES.read("shape", shape).map_err(|error| given.error(error))?;
/// assert_eq!(square.area(), 9.0);
/// assert_eq!(SHAPES.find("sqare").unwrap_err().to_string(), "no shape is called `sqare`\n  help: did you mean `square`?");
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
pub struct Registry<T: ?Sized + 'static> {
    /// The kind of its members, such as `neuron`.
    pub family: &'static str,
    /// Its members.
    pub entries: &'static [Entry<T>],
    /// Other names of members.
    pub aliases: &'static [Alias],
    /// Names of other things that are no members, each with the help of its error.
    pub mistaken: &'static [(&'static str, &'static str)],
    /// The struct around members whose tables have one of its keys.
    pub around: Option<Around<T>>,
}

impl<T: ?Sized> Registry<T> {
    /// The names of all members.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(Entry::name)
    }

    /// The names of settings, of members that this build has.
    pub fn named_settings(&self) -> impl Iterator<Item = &'static Alias> {
        let is_member = |alias: &&Alias| self.names().any(|name| name == alias.of);
        let all = self.aliases.iter().filter(|alias| !alias.fields.is_empty());
        all.filter(is_member)
    }

    /// The names of all members and of settings, each with a summary.
    pub fn summaries(&self) -> impl Iterator<Item = (&'static str, String)> {
        let own = self.entries.iter().map(|entry| {
            let summary = entry.declaration.summary().replace('\n', " ");
            (entry.name(), summary)
        });
        own.chain(
            self.named_settings()
                .map(|alias| (alias.name, alias.summary())),
        )
    }

    /// The declarations of all members.
    pub fn declarations(&self) -> Vec<&'static Declaration> {
        self.entries.iter().map(|entry| entry.declaration).collect()
    }

    /// The names of all members, and of settings.
    pub fn all_names(&self) -> Vec<&'static str> {
        let others = self.named_settings().map(|alias| alias.name);
        self.names().chain(others).collect()
    }

    /// The alias of this name.
    fn alias(&self, name: &str) -> Option<&'static Alias> {
        let found = find(name, self.aliases.iter().map(|alias| alias.name))?;
        self.aliases.iter().find(|alias| alias.name == found)
    }

    /// The member of this name, which may be an alias, in any case of its letters.
    ///
    /// # Errors
    /// When no member has this name; the error names the closest one.
    pub fn find(&self, name: &str) -> Result<&'static Entry<T>, UnknownName> {
        let own = find(name, self.names());
        let meant = own.or_else(|| self.alias(name).map(|alias| alias.of));
        let entry = self
            .entries
            .iter()
            .find(|entry| Some(entry.name()) == meant);
        entry.ok_or_else(|| UnknownName {
            family: self.family,
            given: name.to_string(),
            known: self.all_names(),
        })
    }

    /// The member of this name with its defaults.
    ///
    /// # Errors
    /// When no member has this name, or the member has no defaults.
    pub fn named(&self, name: &str) -> Result<Arc<T>, UnknownName> {
        let unknown = |known| UnknownName {
            family: self.family,
            given: name.to_string(),
            known,
        };
        let node = Node::text_of(name);
        self.find(name)?;
        self.read(self.family, &node).map_err(|_| unknown(vec![]))
    }

    /// A member of a document, which is the value of `key`: its name, or a table with `name` and fields.
    ///
    /// # Errors
    /// When the name is unknown or missing, or a field is wrong.
    pub fn read(&self, key: &str, node: &Node) -> Result<Arc<T>, Located> {
        let named = match &node.content {
            Content::Text(_) => Some(node),
            _ => node.get("name"),
        };
        let Some(named) = named else {
            let names: Vec<&str> = self.names().collect();
            let expected = format!(
                "the name of a {}, or a table with `name`: {}",
                self.family,
                names.join(", ")
            );
            return Err(node.wrong(key, expected));
        };
        let name = named.text("name")?;
        let entry = self.find(name).map_err(|error| {
            let help = self
                .mistaken
                .iter()
                .find(|(other, _)| find(name, [*other]).is_some());
            let located = match help {
                Some((_, help)) => Located::other(error.problem(), *help),
                None => error.located(),
            };
            located.or_at(named.span.clone())
        })?;
        let is_around = |around: &&Around<T>| {
            let mut fields = around.declaration.fields.iter();
            fields.any(|f| f.role != Role::Flatten && node.get(f.key).is_some())
        };
        if let Some(around) = self.around.as_ref().filter(is_around) {
            return (around.read)(node);
        }
        match self.alias(name).filter(|alias| !alias.fields.is_empty()) {
            Some(alias) if !entry.declaration.is_called(name) => {
                let fields = Node::from_toml(alias.fields)?;
                let all = match &node.content {
                    Content::Text(_) => fields,
                    _ => node.without("name").over(&fields),
                };
                entry.read_but(&all, None, &["name"])
            }
            _ => entry.read_but(node, None, &["name"]),
        }
    }
}

impl<T: ?Sized> Registry<T> {
    /// An element of a list, or a value of `key` that may be left out: as [`Registry::read`], or `{ name = value }` with the value of the
    /// main field or a table of fields, or the words of [`words::item`](crate::words::item).
    ///
    /// # Errors
    /// As [`Registry::read`].
    pub fn read_item(&self, key: &str, node: &Node) -> Result<Arc<T>, Located> {
        if let Some(text) = node.as_text().filter(|text| words::has_values(text)) {
            let item = words::item(text).and_then(|item| self.read_item(key, &item));
            return item.map_err(|error| error.or_at(node.span.clone()));
        }
        let is_member = |key: &str| self.find(key).is_ok();
        let mut entries = node.entries().unwrap_or_default().iter();
        let named = match node.get("name") {
            None => entries.find(|entry| is_member(&entry.key)),
            Some(_) => None,
        };
        let Some(named) = named else {
            return self.read(key, node);
        };
        let name = Node {
            content: Content::Text(named.key.clone()),
            span: named.span.clone(),
        };
        let rest = node.without(&named.key).with("name", name);
        let main = self.find(&named.key).map_err(UnknownName::located)?;
        let all = match (&named.value.content, main.declaration.main()) {
            (Content::Table(_), _) => rest.over(&named.value),
            (_, Some(main)) => rest.with(main.key, named.value.clone()),
            (_, None) => {
                let expected = "its name alone, or a table with its fields";
                return Err(named.value.wrong(&named.key, expected));
            }
        };
        self.read(key, &all)
    }
}

impl<T: Family + ?Sized> Registry<T> {
    /// A member with some of its fields changed.
    ///
    /// # Errors
    /// As [`Registry::read`].
    pub fn with(&self, present: &T, fields: &Map<String, Json>) -> Result<Arc<T>, Located> {
        self.read_over(
            self.family,
            present,
            &Node::from_json(&fields.clone().into())?,
        )
    }

    /// A member with some of its fields changed, or another one: the table of a file over the present value. A table without
    /// `name` has fields of the present member. Another member starts from its defaults, but for fields that are `kept`.
    ///
    /// ```
    /// use spikelet_schema::{Record, Schema, document::Node, registry};
    /// trait Shape: Record {
    ///     fn size(&self) -> [f64; 2];
    /// }
    /// /// A square.
    /// #[derive(Schema)]
    /// struct Square {
    ///     /// The length of a side.
    ///     #[schema(default = 1.0, above = 0, kept)]
    ///     side: f64,
    /// }
    /// /// A rectangle.
    /// #[derive(Schema)]
    /// struct Rectangle {
    ///     /// The length of a side.
    ///     #[schema(default = 1.0, above = 0, kept)]
    ///     side: f64,
    ///     /// The length of the other side.
    ///     #[schema(default = 2.0, above = 0)]
    ///     other: f64,
    /// }
    /// impl Shape for Square {
    ///     fn size(&self) -> [f64; 2] {
    ///         [self.side; 2]
    ///     }
    /// }
    /// impl Shape for Rectangle {
    ///     fn size(&self) -> [f64; 2] {
    ///         [self.side, self.other]
    ///     }
    /// }
    /// registry! { static SHAPES: dyn Shape = "shape" { Square, Rectangle } }
    ///
    /// let name = |name: &str| Node::from_json(&serde_json::json!({ "name": name }));
    /// let read = SHAPES.read_over("shape", &Square { side: 3.0 }, &name("rectangle")?)?;
    /// assert_eq!(read.size(), [3.0, 2.0]);
    /// # Ok::<(), spikelet_schema::document::Located>(())
    /// ```
    ///
    /// # Errors
    /// As [`Registry::read`].
    pub fn read_over(&self, key: &str, present: &T, node: &Node) -> Result<Arc<T>, Located> {
        let own = Node::from_json(&member_to_json(present).into())?;
        let of_present = |name: &Node| {
            let own = own.get("name").and_then(Node::as_text);
            name.as_text()
                .zip(own)
                .is_some_and(|(name, own)| find(name, [own]).is_some())
        };
        match node.get("name") {
            None if node.entries().is_none() => self.read(key, node),
            Some(name) if !of_present(name) => {
                let entry = name.as_text().and_then(|name| self.find(name).ok());
                let fields = entry.map_or(vec![], |entry| entry.declaration.all_fields());
                let is_kept = |key: &str| fields.iter().any(|f| f.kept && f.key == key);
                self.read(key, &node.over(&own.only(is_kept)))
            }
            _ => self.read(key, &node.without("name").over(&own)),
        }
    }
}

/// The name of a member and its fields as JSON.
pub fn member_to_json<T: Family + ?Sized>(member: &T) -> Map<String, Json> {
    named_to_json(member.record())
}

/// The name of a declared value and its fields as JSON.
pub fn named_to_json(record: &dyn Record) -> Map<String, Json> {
    let mut object = Map::from_iter([("name".to_string(), Json::from(record.declaration().name))]);
    object.extend(notation::to_json(record));
    object
}

impl<T: Family + ?Sized> FieldValue for Arc<T> {
    fn kind() -> Kind {
        Kind::Member {
            family: T::registry().family,
            members: || T::registry().declarations(),
            names: || T::registry().all_names(),
        }
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = T::registry().read_over(field.key, self, node)?;
        Ok(())
    }

    fn write(&self) -> Json {
        member_to_json(&**self).into()
    }

    fn check(&self) -> Result<(), Located> {
        notation::check((**self).record())
    }

    fn member(&self) -> Option<&dyn Record> {
        Some((**self).record())
    }

    fn member_keys<'a>(&self, node: &'a Node) -> Vec<&'a str> {
        let named = node.get("name").and_then(Node::as_text);
        let declaration = match named.map(|name| T::registry().find(name)) {
            None => (**self).record().declaration(),
            Some(Ok(entry)) => entry.declaration,
            // The error is that of the name, not of keys that its member has.
            Some(Err(_)) => {
                let entries = node.entries().unwrap_or_default().iter();
                return entries.map(|entry| &entry.key[..]).collect();
            }
        };
        let keys = declaration.all_fields().into_iter().map(|field| field.key);
        std::iter::once("name").chain(keys).collect()
    }
}

impl<T: ?Sized> fmt::Debug for Entry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.name()).finish()
    }
}

impl<T: ?Sized> fmt::Debug for Around<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Around")
            .field(&self.declaration.name)
            .finish()
    }
}

impl<T: ?Sized> fmt::Debug for Registry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("family", &self.family)
            .field("entries", &self.entries)
            .finish()
    }
}

/// Makes a member of its fields, for [`registry!`](crate::registry).
#[doc(hidden)]
pub fn made<S: crate::Schema>(fields: &Fields<'_>) -> Result<S, Located> {
    let mut made = S::default();
    notation::set(&mut made, "", fields)?;
    crate::Record::check_fields(&made)?;
    Ok(made)
}

/// The [`Entry`] of a type, for families whose members are listed in several places.
#[macro_export]
macro_rules! entry {
    ($member:path) => {
        $crate::Entry {
            declaration: <$member as $crate::Schema>::DECLARATION,
            default: || ::std::sync::Arc::new(<$member as ::std::default::Default>::default()),
            make: |fields| {
                Ok(::std::sync::Arc::new($crate::derived::made::<$member>(
                    fields,
                )?))
            },
        }
    };
}

/// Declares the [`Registry`] of a family: the trait of its members, its name in messages, the types of the members, and other
/// names of members, with the fields that differ from the defaults, names of other things with the help of their error, and a struct
/// around members ([`Around`]). The trait has [`Record`] as a supertrait.
///
/// ```text
/// registry! {
///     /// All neurons.
///     pub static NEURONS: dyn Neuron = "neuron" { If, Lif } or { "nir-lif" = "lif", "decay_input = false" }
/// }
/// ```
#[macro_export]
macro_rules! registry {
    (@around) => {
        None
    };
    (@around $around:path) => {
        Some($crate::Around {
            declaration: <$around as $crate::Schema>::DECLARATION,
            read: |node| Ok(::std::sync::Arc::new($crate::read::<$around>(node)?)),
        })
    };
    (
        $(#[$doc:meta])* $visible:vis static $registry:ident: $family:ty = $name:literal { $($(#[$cfg:meta])? $member:path),* $(,)? }
        $(or { $($alias:literal = $of:literal, $fields:literal);* $(;)? })?
        $(mistaken { $($mistaken:literal = $help:literal);* $(;)? })?
        $(around { $around:path })?
    ) => {
        $(#[$doc])*
        $visible static $registry: $crate::Registry<$family> = $crate::Registry {
            family: $name,
            entries: &[$($(#[$cfg])? $crate::entry!($member)),*],
            aliases: &[$($($crate::Alias { name: $alias, of: $of, fields: $fields }),*)?],
            mistaken: &[$($(($mistaken, $help)),*)?],
            around: $crate::registry!(@around $($around)?),
        };

        impl $crate::Family for $family {
            fn registry() -> &'static $crate::Registry<Self> {
                &$registry
            }

            fn record(&self) -> &dyn $crate::Record {
                self
            }
        }

        $($(#[$cfg])? impl From<$member> for $crate::Member<$family> {
            fn from(member: $member) -> Self {
                Self(::std::sync::Arc::new(member))
            }
        })*

        /// Members are equal if their names and fields are.
        impl PartialEq for $family {
            fn eq(&self, other: &Self) -> bool {
                $crate::member_to_json(self) == $crate::member_to_json(other)
            }
        }
    };
}

/// As [`registry!`](crate::registry), of members that are one file each: the line of a member declares its module, exports its type
/// and the types behind it, and registers it.
///
/// ```text
/// members! {
///     /// All neurons.
///     pub static NEURONS: dyn Neuron = "neuron" {
///         lif: Lif;
///         liaf: Liaf, Act;
///     } or { "nir-lif" = "lif", "decay_input = false" }
/// }
/// ```
#[macro_export]
macro_rules! members {
    (
        $(#[$doc:meta])* $visible:vis static $registry:ident: $family:ty = $name:literal {
            $($(#[cfg($cfg:meta)])? $module:ident: $member:ident $(, $more:ident)*;)*
        }
        $(or $aliases:tt)?
        $(mistaken $mistaken:tt)?
    ) => {
        $(
            $(#[cfg($cfg)])?
            mod $module;
            $(#[cfg($cfg)])?
            pub use $module::{$member $(, $more)*};
        )*

        $crate::registry! {
            $(#[$doc])* $visible static $registry: $family = $name { $($(#[cfg($cfg)])? $member),* } $(or $aliases)?
            $(mistaken $mistaken)?
        }
    };
}
