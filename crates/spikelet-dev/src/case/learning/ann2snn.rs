//! Cases of the kind `ann2snn`.

use super::Given;
use crate::case::{Results, wrong};
use spikelet::Result;

/// Computes the case.
pub fn run(_given: &Given<'_>) -> Result<Results> {
    Err(wrong(
        "the kind `ann2snn` is not implemented",
        "use another kind",
    ))
}
