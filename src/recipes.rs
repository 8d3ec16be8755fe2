//! Experiments of the literature by name: network, data and settings.
//!
//! ```
//! use spikelet::recipes;
//!
//! let recipe = recipes::find("fsdd-radlif")?;
//! let experiment = recipe.experiment()?;
//! assert_eq!(experiment.settings.time_steps, 100);
//! # Ok::<(), spikelet::Error>(())
//! ```

use crate::Result;
use crate::document::Document;
use crate::train::experiment::Experiment;
use spikelet_schema::{UnknownName, named};

/// An experiment in a file of the folder `recipes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recipe {
    /// The name, which is that of the file without its extension.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

impl Recipe {
    /// The experiment.
    ///
    /// # Errors
    /// None, for the recipes of this crate.
    pub fn experiment(&self) -> Result<Experiment> {
        Ok(Experiment::from_document(&self.document()?)?)
    }

    /// The file with the places of its values, for errors.
    ///
    /// # Errors
    /// None, for the recipes of this crate.
    pub fn document(&self) -> Result<Document> {
        Ok(Document::from_toml(
            &format!("{}.toml", self.name),
            self.text,
        )?)
    }
}

/// The recipe of this name.
///
/// # Errors
/// When no recipe has this name; the error names the closest one.
pub fn find(name: &str) -> Result<&'static Recipe, UnknownName> {
    named("recipe", name, ALL, |recipe| recipe.name)
}

/// All recipes, in the order of their names.
#[must_use]
pub fn all() -> &'static [Recipe] {
    ALL
}

/// The files of the folder, listed when the crate is built.
const ALL: &[Recipe] = include!(concat!(env!("OUT_DIR"), "/recipes.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_is_an_experiment() {
        assert!(all().is_sorted_by(|a, b| a.name < b.name));
        assert!(find("csnn-spikingjelly").is_ok());
        for recipe in all() {
            let read = recipe.experiment();
            read.unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        }
    }
}
