//! Cases of the kind `qcfs`.

use super::Given;
use crate::case::{Results, wrong};
use spikelet::Result;

/// Computes the case.
pub fn run(_given: &Given<'_>) -> Result<Results> {
    Err(wrong(
        "the kind `qcfs` is not implemented",
        "use another kind",
    ))
}
