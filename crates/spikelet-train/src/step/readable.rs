//! The values of a step that a report can read.

use super::Step;
use super::classifier::SCORES;
use super::trace::Purpose;
use spikelet_core::Result;
use std::collections::BTreeSet;

/// The values of an evaluation that a report can read.
pub(crate) struct Readable {
    /// Whether there are layers of neurons, and whether each has a path of its own.
    pub(crate) neurons: bool,
    pub(crate) distinct: bool,
    /// Whether there are scores of classes.
    pub(crate) scores: bool,
}

impl Step<'_> {
    /// The values of evaluations of this step that a report can read; they are observed.
    pub(crate) fn readable(&self) -> Result<Readable> {
        let (_, info) = self.trace_forward(Purpose::EVALUATE, false)?;
        let names: BTreeSet<&str> = (info.observed.iter())
            .map(|layer| layer.name.as_str())
            .collect();
        Ok(Readable {
            neurons: !names.is_empty(),
            distinct: names.len() == info.observed.len(),
            scores: info.outputs.iter().any(|(name, _)| name == SCORES),
        })
    }
}
