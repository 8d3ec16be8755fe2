//! Experiments of the literature by name: network, data and settings.
//!
//! ```
//! use spikelet::recipes;
//!
//! let recipe = recipes::find("fsdd-radlif").expect("it is known");
//! let experiment = recipe.experiment()?;
//! assert_eq!(experiment.settings.time_steps, 100);
//! # Ok::<(), spikelet::Error>(())
//! ```

use crate::Result;
use crate::document::Document;
use crate::train::experiment::Experiment;

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
#[must_use]
pub fn find(name: &str) -> Option<&'static Recipe> {
    ALL.iter().find(|recipe| recipe.name == name)
}

/// All recipes, in the order of their names.
#[must_use]
pub fn all() -> &'static [Recipe] {
    ALL
}

macro_rules! recipes {
    ($($name:literal,)*) => {
        const ALL: &[Recipe] = &[$(Recipe {
            name: $name,
            text: include_str!(concat!("../recipes/", $name, ".toml")),
        }),*];
    };
}

recipes! {
    "braille-rsnn",
    "braille-rsnn-subtract",
    "cifar10-dvs-sew",
    "cifar10-dvs-spikformer",
    "cifar10-dvs-tet",
    "cifar10-qcfs",
    "cifar10-qkformer",
    "cifar10-resnet18",
    "cifar10-resnet19",
    "cifar10-sdt",
    "cifar10-spikformer",
    "dvs-gesture-net",
    "dvs-gesture-sew",
    "ecg-seadlif",
    "ecg-yin",
    "fashion-mnist-plif-net",
    "fashion-mnist-qcfs",
    "fashion-mnist-relu",
    "fsdd-eprop",
    "fsdd-eventprop",
    "fsdd-online-eprop",
    "fsdd-radlif",
    "gestures-nir",
    "gestures-small",
    "mnist-ottt",
    "mnist-plif-net",
    "mnist-reward-stdp",
    "mnist-stdp",
    "n-mnist-net",
    "psmnist-brf",
    "shd-dcls",
    "shd-se-adlif",
    "shd-silif",
    "smnist-brf",
    "spoken-digits-small",
    "ssc-silif",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_a_recipe() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes");
        let mut files: Vec<String> = folder
            .read_dir()
            .expect("the folder is there")
            .map(|file| file.expect("a file").path())
            .map(|path| {
                path.file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into()
            })
            .collect();
        files.sort();
        let names: Vec<&str> = all().iter().map(|recipe| recipe.name).collect();
        assert_eq!(files, names);
        for recipe in all() {
            recipe
                .experiment()
                .unwrap_or_else(|e| panic!("{}: {e}", recipe.name));
        }
    }
}
