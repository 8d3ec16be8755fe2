//! Settings out of range.

use std::fmt::Display;

use spikelet_schema::{Record, outside};

use crate::{Error, ErrorKind, Result};

/// The error of a setting.
pub(crate) fn invalid(
    of: &'static str,
    field: &'static str,
    given: impl Display,
    expected: impl Into<String>,
) -> Error {
    ErrorKind::Setting {
        of,
        field,
        given: given.to_string(),
        expected: expected.into(),
    }
    .into()
}

/// Refuses a value of a setting.
pub(crate) fn check(
    holds: bool,
    of: &'static str,
    field: &'static str,
    given: impl Display,
    expected: &'static str,
) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(invalid(of, field, given, expected)),
    }
}

/// Refuses settings outside of the domains of their declaration.
pub(crate) fn check_settings<R: Record + ?Sized>(settings: &R) -> Result<()> {
    match outside(settings) {
        None => Ok(()),
        Some((field, given, domain)) => {
            let of = settings.declaration().name;
            Err(invalid(of, field, given, domain.to_string()))
        }
    }
}
