//! Enums of words on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use spikelet::schema::{Choice, UnknownName};
use std::str::FromStr;

/// Takes the words of a declared enum, each with the first paragraph of its doc comment as help.
pub fn words<T>() -> impl TypedValueParser<Value = T>
where
    T: Choice + FromStr<Err = UnknownName> + Send + Sync,
{
    let values = T::NAMES.iter().zip(T::SUMMARIES);
    let values = values.map(|(name, summary)| PossibleValue::new(*name).help(*summary));
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}
