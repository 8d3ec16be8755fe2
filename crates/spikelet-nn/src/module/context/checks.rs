//! Checks of a module's input and constants.

use super::Context;
use crate::domain::{self, Constant};
use crate::{LayerError, LayerProblem};
use spikelet_core::{Error, Result};
use spikelet_graph::Var;

impl Context {
    /// A module of this kind for a message, with its path if it has one: ``linear `fc.1` ``.
    pub(crate) fn place(&self, kind: &str) -> String {
        match self.tracer.path() {
            path if path.is_empty() => kind.to_string(),
            path => format!("{kind} `{path}`"),
        }
    }

    /// The error of the current module, which is of this kind.
    pub fn error(&self, kind: &str, problem: LayerProblem) -> Error {
        let layer = self.place(kind);
        LayerError { layer, problem }.into()
    }

    /// Checks that a sequence has at least `rank` axes, and that none of them is empty.
    ///
    /// # Errors
    /// When it has fewer axes or an axis is empty.
    pub fn expect_rank(&self, what: &str, x: &Var, rank: usize) -> Result<()> {
        if x.rank() < rank {
            return Err(self.error(
                what,
                LayerProblem::Rank {
                    expected: rank,
                    given: x.ty().clone(),
                },
            ));
        }
        match x.shape().iter().position(|size| *size == 0) {
            None => Ok(()),
            Some(axis) => Err(self.error(
                what,
                LayerProblem::EmptyAxis {
                    axis,
                    given: x.ty().clone(),
                },
            )),
        }
    }

    /// Checks that constants of the current module, which is of this kind, are in their domains.
    ///
    /// # Errors
    /// The first constant outside its domain.
    pub fn expect_domains(&self, what: &str, constants: &[Constant]) -> Result<()> {
        domain::check(constants, &self.place(what))
            .map_err(|problem| self.error(what, LayerProblem::Definition(problem)))
    }

    /// Checks that the input of the current module has all time steps.
    ///
    /// # Errors
    /// When the network runs step by step.
    pub fn expect_all_steps(&self, what: &str) -> Result<()> {
        if self.is_chunk() {
            return Err(self.error(what, LayerProblem::Chunked));
        }
        match self.is_stepping() {
            true => Err(self.error(what, LayerProblem::StepByStep)),
            false => Ok(()),
        }
    }
}
