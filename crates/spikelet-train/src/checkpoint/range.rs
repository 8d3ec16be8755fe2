//! Ranges of the numbers of a checkpoint.

use super::error::CheckpointProblem;
use std::fmt::Display;

/// The problem of a field outside its range.
pub(super) fn wrong(field: &str, found: impl Display, expected: impl Display) -> CheckpointProblem {
    CheckpointProblem::Progress {
        field: field.to_string(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}

/// Checks that a value is from `least` to `most`; NaN is an error.
pub(super) fn number<T: PartialOrd + Display>(
    field: &str,
    found: T,
    least: T,
    most: T,
) -> Result<(), CheckpointProblem> {
    if found >= least && found <= most {
        return Ok(());
    }
    let expected = match least == most {
        true => least.to_string(),
        false => format!("a number from {least} to {most}"),
    };
    Err(wrong(field, found, expected))
}
