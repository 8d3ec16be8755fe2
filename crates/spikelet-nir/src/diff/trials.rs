//! Runs a network again with one change at a time, and compares it with the other one again. Where no single change
//! explains the difference, the best ones are combined with a second one.

use super::super::error::NirError;
use super::super::options::Semantics;
use super::candidates::{self, Situation};
use super::cause::{Candidate, Cause, Changed, Trial, Tried};
use super::compare::{Comparison, compare};
use super::pairs::Pairs;
use super::recording::Recording;
use super::side::Runnable;
use crate::graph::Graph;
use spikelet_core::Result;

/// The number of single changes that are combined with a second one.
const COMBINED: usize = 2;

/// A comparison of a network that runs, A, with another, B.
pub(super) struct Subject<'a> {
    pub(super) runnable: &'a Runnable,
    pub(super) semantics: &'a Semantics,
    pub(super) a: &'a Recording,
    pub(super) b: &'a Recording,
    pub(super) pairs: &'a Pairs,
    pub(super) other: Option<(&'a Graph, Semantics)>,
    pub(super) tolerance: f64,
    pub(super) comparison: &'a Comparison,
    /// The name of the network that runs.
    pub(super) name: Changed,
}

impl Subject<'_> {
    /// All trials: those that explain the difference first, the specific ones before the general ones, then the others
    /// by the number of elements that still differ.
    pub(super) fn trials(&self) -> Result<Vec<Trial>> {
        let tried = self.tried(&candidates::all)?;
        let mut found = tried;
        if !found.iter().any(|one| one.trial.explains) {
            found.sort_by_key(|one| one.comparison.differing());
            let better = |one: &&Tried| one.comparison.differing() < self.comparison.differing();
            let best: Vec<&Tried> = found.iter().filter(better).take(COMBINED).collect();
            let mut combined = vec![];
            for first in best {
                combined.extend(self.after(first)?);
            }
            found.extend(combined);
        }
        Ok(found.into_iter().map(|one| one.trial).collect())
    }

    /// The changes that lose something.
    pub(super) fn one_way(&self) -> Result<Vec<Trial>> {
        let tried = self.tried(&candidates::one_way)?;
        Ok(tried.into_iter().map(|one| one.trial).collect())
    }

    fn tried(&self, propose: &dyn Fn(&Situation<'_>) -> Vec<Candidate>) -> Result<Vec<Tried>> {
        let Some(first) = &self.comparison.first else {
            return Ok(vec![]);
        };
        let graph = self.runnable.graph.expand().map_err(NirError::from)?;
        let situation = Situation {
            runnable: self.runnable,
            graph: &graph,
            semantics: self.semantics,
            a: self.a,
            b: self.b,
            pairs: self.pairs,
            first,
            other: self.other,
        };
        let candidates = propose(&situation);
        // A change that the graph does not permit, such as steps longer than a delay, explains nothing.
        let tried = candidates
            .into_iter()
            .filter_map(|candidate| self.try_one(candidate).ok());
        Ok(tried.collect())
    }

    fn try_one(&self, candidate: Candidate) -> Result<Tried> {
        let mut runnable = self.runnable.clone();
        (candidate.apply)(&mut runnable)?;
        let (recording, _) = runnable.run()?;
        let comparison = compare(&recording, self.b, self.pairs, self.tolerance);
        let first = comparison.first.as_ref();
        let trial = Trial {
            causes: vec![candidate.cause],
            changed: self.name,
            change: candidate.change,
            explains: first.is_none(),
            first: first.map(|first| {
                let of_a = match self.name {
                    Changed::A => &first.layer_a,
                    Changed::B => &first.layer_b,
                };
                (first.step, of_a.clone())
            }),
            differing: comparison.differing(),
        };
        Ok(Tried {
            trial,
            runnable,
            comparison,
        })
    }

    /// Trials with a second change; those that are better than the first change alone.
    fn after(&self, first: &Tried) -> Result<Vec<Tried>> {
        let (recording, semantics) = first.runnable.run()?;
        let subject = Subject {
            runnable: &first.runnable,
            semantics: &semantics,
            a: &recording,
            comparison: &first.comparison,
            ..*self
        };
        let mut found = subject.tried(&candidates::all)?;
        let known = &first.trial;
        found.retain(|one| {
            let general = matches!(one.trial.causes[..], [Cause::Convention]);
            one.trial.causes != known.causes
                && !general
                && one.comparison.differing() < first.comparison.differing()
        });
        for one in &mut found {
            one.trial.causes.splice(0..0, known.causes.iter().copied());
            one.trial.change = format!("{} and {}", known.change, one.trial.change);
        }
        Ok(found)
    }
}

/// Sorts trials: those that explain the difference, then those that move its first element or leave fewer.
pub(super) fn rank(trials: &mut [Trial]) {
    trials.sort_by_key(|trial| {
        let general = trial.causes.contains(&Cause::Parameters);
        match trial.explains {
            // Within these the order of the proposals stays: the sort is stable.
            true => (false, usize::from(general) + 2 * trial.causes.len(), 0),
            false => (true, 0, trial.differing),
        }
    });
}
