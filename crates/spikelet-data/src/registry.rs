//! Data sets by name.

use crate::source::Source;
use crate::synthetic;

/// A data set by its name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name, as on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// The source of its files; `None` for generated images.
    pub source: Option<fn() -> Source>,
}

impl Entry {
    /// The name of the data set in checkpoints.
    ///
    /// ```
    /// let mnist = spikelet_data::entries().into_iter().find(|entry| entry.name == "mnist");
    /// assert_eq!(mnist.map(|entry| entry.title()), Some("MNIST".to_string()));
    /// ```
    pub fn title(&self) -> String {
        let drawn = || synthetic::digits_of(0, 0, 0).train.name.clone();
        self.source.map_or_else(drawn, |source| source().name)
    }
}

/// Declares the data sets: a public module for each, with its `ENTRY`.
macro_rules! data_sets {
    ($($module:ident,)*) => {
        $(pub mod $module;)*

        /// All data sets, in the order of their declaration.
        ///
        /// ```
        /// let names: Vec<&str> = spikelet_data::entries().iter().map(|entry| entry.name).collect();
        /// assert!(names.contains(&"mnist"));
        /// ```
        pub fn entries() -> Vec<Entry> {
            vec![$($module::ENTRY),*]
        }
    };
}

pub(crate) use data_sets;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn names_and_titles_of_data_sets_are_unique() {
        let entries = crate::entries();
        let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), entries.len());
        let sources = || entries.iter().filter_map(|entry| entry.source);
        let titles: BTreeSet<String> = sources().map(|source| source().name).collect();
        assert_eq!(titles.len(), sources().count());
    }
}
