//! What a module asks of its input and of its own constants.

use super::Context;
use crate::domain::{self, Constant};
use spikelet_core::{Error, Result};
use spikelet_graph::Var;

impl Context {
    /// A module of this kind for a message, with its path if it has one: ``linear `fc.1` ``.
    pub fn place(&self, kind: &str) -> String {
        match self.tracer.path() {
            path if path.is_empty() => kind.to_string(),
            path => format!("{kind} `{path}`"),
        }
    }

    /// Checks that a sequence has at least `rank` axes, and that none of them is empty.
    ///
    /// # Errors
    /// When it has fewer, no time steps, or nothing in another axis.
    pub fn expect_rank(&self, what: &str, x: &Var, rank: usize) -> Result<()> {
        if x.rank() < rank {
            return Err(Error::invalid(
                self.place(what),
                format!(
                    "expects a sequence with at least {rank} axes [T, N, …], the input is {}",
                    x.ty()
                ),
                "add the time axis, for example with `repeat_over_time`",
            ));
        }
        let empty = match x.shape().iter().position(|size| *size == 0) {
            None => return Ok(()),
            Some(0) => "no time steps".to_string(),
            Some(1) => "an empty batch".to_string(),
            Some(axis) => format!("nothing in axis {axis}"),
        };
        Err(Error::invalid(
            self.place(what),
            format!("the sequence {} has {empty}", x.ty()),
            "give at least one element in each axis",
        ))
    }

    /// Checks that constants of the present module, which is of this kind, are in their domains.
    ///
    /// # Errors
    /// Names the first that is not.
    pub fn expect_domains(&self, what: &str, constants: &[Constant]) -> Result<()> {
        let place = self.place(what);
        domain::check(constants, &place)
            .map_err(|problem| Error::invalid(place.clone(), problem, domain::HELP))
    }

    /// Checks that the present module sees all time steps at once.
    ///
    /// # Errors
    /// When the network runs step by step.
    pub fn expect_all_steps(&self, what: &str) -> Result<()> {
        if self.is_chunk() {
            return Err(Error::invalid(
                self.place(what),
                "needs all time steps at once, the sequence is cut into chunks",
                "do not cut time: leave the chunk as long as the sequence",
            ));
        }
        if !self.is_unrolling() {
            return Ok(());
        }
        Err(Error::invalid(
            self.place(what),
            "needs all time steps at once, the network runs step by step",
            "run it layer by layer, or take the mean or the last step of its output instead",
        ))
    }
}
