//! Settings as text: `name`, `name=value`, or `name field=value field=value`.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// A value with a name and fields that can be written as text.
pub(crate) trait Settings: Default {
    /// The name.
    const NAME: &'static str;

    /// The fields, by name; `name=value` sets the first one.
    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)>;

    /// The value of `name=value` or `name field=value …` after the name: fields that are not given have their defaults.
    fn from_fields(text: &str) -> Result<Self> {
        let mut settings = Self::default();
        for (number, part) in text.split_whitespace().enumerate() {
            let mut fields = settings.fields();
            let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
            let (field, value) = match part.split_once('=') {
                Some(("", value)) if number == 0 => (names.first().copied().unwrap_or(""), value),
                Some(pair) => pair,
                None => (part, ""),
            };
            let Some((name, target)) = fields.iter_mut().find(|(name, _)| *name == field) else {
                return Err(ErrorKind::UnknownSetting {
                    of: Self::NAME,
                    given: field.into(),
                    known: names.join(", "),
                }
                .into());
            };
            if !target.read(value) {
                return Err(invalid(Self::NAME, name, value, target.expected()));
            }
        }
        Ok(settings)
    }

    /// Writes the text that [`from_fields`](Self::from_fields) reads, with the name.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result
    where
        Self: Clone,
    {
        f.write_str(Self::NAME)?;
        for (name, value) in self.clone().fields() {
            if let Some(text) = value.text() {
                write!(f, " {name}={text}")?;
            }
        }
        Ok(())
    }
}

/// The error of a setting.
pub(crate) fn invalid(
    of: &'static str,
    field: &'static str,
    given: impl fmt::Display,
    expected: &'static str,
) -> Error {
    ErrorKind::Setting {
        of,
        field,
        given: given.to_string(),
        expected,
    }
    .into()
}

/// Refuses a value of a setting.
pub(crate) fn check(
    holds: bool,
    of: &'static str,
    field: &'static str,
    given: impl fmt::Display,
    expected: &'static str,
) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(invalid(of, field, given, expected))
    }
}

/// Refuses a value that is not from 0 to 1, of a setting that is a probability or a part.
pub(crate) fn check_share(
    of: &'static str,
    field: &'static str,
    given: f64,
    expected: &'static str,
) -> Result<()> {
    check((0.0..=1.0).contains(&given), of, field, given, expected)
}

/// The name of a text of settings, and the rest.
pub(crate) fn split_name(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| c == '=' || c.is_whitespace())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// A field that is read from text.
pub(crate) trait Field {
    /// Sets the field; false if the text is not such a value.
    fn read(&mut self, text: &str) -> bool;
    /// The text; `None` for a field without a value.
    fn text(&self) -> Option<String>;
    /// What the text may be.
    fn expected(&self) -> &'static str;
}

macro_rules! fields {
    ($($type:ty: $expected:literal,)*) => {
        $(impl Field for $type {
            fn read(&mut self, text: &str) -> bool {
                text.parse().map(|value| *self = value).is_ok()
            }
            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }
            fn expected(&self) -> &'static str {
                $expected
            }
        })*
    };
}

fields! {
    u64: "an integer, at least 0",
    u32: "an integer, at least 0",
    i64: "an integer",
    usize: "an integer, at least 0",
    f64: "a number",
    bool: "true or false",
}

impl<F: Field + Default> Field for Option<F> {
    fn read(&mut self, text: &str) -> bool {
        let mut value = F::default();
        let read = value.read(text);
        *self = read.then_some(value);
        read
    }
    fn text(&self) -> Option<String> {
        self.as_ref().and_then(Field::text)
    }
    fn expected(&self) -> &'static str {
        self.as_ref()
            .map_or_else(|| F::default().expected(), Field::expected)
    }
}

/// Declares an enum of values with names: `A text is its name and fields`.
macro_rules! registry {
    ($(#[$docs:meta])* $name:ident, $kind:literal { $($variant:ident($($path:ident)::+),)* }) => {
        $(#[$docs])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("See [`", stringify!($variant), "`](crate::", $kind, "::", stringify!($variant), ").")]
                $variant($($path)::+),
            )*
        }

        impl $name {
            /// All names.
            pub const NAMES: &[&str] = &[$(<$($path)::+ as crate::settings::Settings>::NAME),*];
        }

        $(impl From<$($path)::+> for $name {
            fn from(value: $($path)::+) -> Self {
                Self::$variant(value)
            }
        })*

        impl std::str::FromStr for $name {
            type Err = crate::Error;

            fn from_str(text: &str) -> crate::Result<Self> {
                let (name, fields) = crate::settings::split_name(text);
                match name {
                    $(<$($path)::+ as crate::settings::Settings>::NAME => {
                        crate::settings::Settings::from_fields(fields).map(Self::$variant)
                    })*
                    _ => Err(crate::ErrorKind::UnknownName {
                        kind: $kind,
                        given: name.into(),
                        known: Self::NAMES.join(", "),
                    }
                    .into()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant(value) => crate::settings::Settings::write(value, f),)*
                }
            }
        }
    };
}

pub(crate) use registry;
