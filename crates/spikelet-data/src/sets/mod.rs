//! Ready-made data sets.

mod array_files;
mod concat;
#[cfg(feature = "csv")]
mod csv_table;
mod images;
mod in_memory;
mod map;
mod split;
mod subset;
mod transformed;

pub use array_files::ArrayFiles;
pub(crate) use array_files::read_arrays;
pub use concat::Concat;
#[cfg(feature = "csv")]
pub use csv_table::CsvTable;
pub use in_memory::{Column, InMemory};
pub use map::Map;
pub use split::{Fold, k_fold, split};
pub use subset::Subset;
pub use transformed::Transformed;
