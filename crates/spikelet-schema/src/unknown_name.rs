//! Names in lists, and the error of a name that is in none.

use crate::document::Located;
use crate::suggest::{closest, find};
use std::fmt;

/// The member of a list with this name, in any case of its letters; `family` is the kind of the members, `name_of` their name.
///
/// ```
/// use spikelet_schema::named;
/// let sizes = [("small", 1), ("large", 8)];
/// let size = |name| named("size", name, sizes, |(name, _)| name);
/// assert_eq!(size("Large"), Ok(("large", 8)));
/// assert_eq!(size("smal").unwrap_err().to_string(), "no size is called `smal`\n  help: did you mean `small`?");
/// ```
///
/// # Errors
/// When no member has this name; the error names the closest one.
pub fn named<T>(
    family: &'static str,
    name: &str,
    members: impl IntoIterator<Item = T>,
    name_of: impl Fn(&T) -> &'static str,
) -> Result<T, UnknownName> {
    let members: Vec<T> = members.into_iter().collect();
    let known: Vec<&'static str> = members.iter().map(&name_of).collect();
    let meant = find(name, known.iter().copied());
    let found = members
        .into_iter()
        .find(|member| Some(name_of(member)) == meant);
    found.ok_or_else(|| UnknownName {
        family,
        given: name.to_string(),
        known,
    })
}

/// A name that no member of a family has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The kind of the members, such as `neuron`.
    pub family: &'static str,
    /// The given name.
    pub given: String,
    /// All names.
    pub known: Vec<&'static str>,
}

impl UnknownName {
    /// The name that was perhaps meant.
    pub fn meant(&self) -> Option<&'static str> {
        closest(&self.given, self.known.iter().copied())
    }

    /// The message without the help.
    pub fn problem(&self) -> String {
        format!("no {} is called `{}`", self.family, self.given)
    }

    /// The help: the closest name, or all names.
    pub fn help(&self) -> String {
        match self.meant() {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the names are {}", self.known.join(", ")),
        }
    }

    /// The error in a document.
    pub fn located(self) -> Located {
        Located::other(self.problem(), self.help())
    }
}

impl std::error::Error for UnknownName {}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  help: {}", self.problem(), self.help())
    }
}
