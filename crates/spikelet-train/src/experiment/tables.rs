//! All tables of an experiment file.

use super::table::Table;
use super::{data, device, encoder, loss, optimizer, output, schedule, training};

/// All tables but `network`, in the order of the file.
pub(super) const TABLES: [Table; 8] = [
    data::TABLE,
    encoder::TABLE,
    loss::TABLE,
    optimizer::TABLE,
    schedule::TABLE,
    training::TABLE,
    device::TABLE,
    output::TABLE,
];

/// The table after which `network` is written.
pub(super) const BEFORE_NETWORK: &str = encoder::TABLE.name;

/// The names of all tables.
pub(super) fn names() -> Vec<&'static str> {
    let others = TABLES.iter().map(|table| table.name);
    others.chain(["network"]).collect()
}
