//! Weights between two groups of units.

use crate::error::{Error, Result};

/// A matrix of weights, stored source by source: the weights of a spike's targets are adjacent.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    sources: usize,
    targets: usize,
    values: Vec<f64>,
}

impl Weights {
    /// Weights by a function of (target, source).
    ///
    /// ```
    /// use spikelet_eventprop::Weights;
    /// let chain = Weights::from_fn(3, 3, |target, source| if target == source + 1 { 1.0 } else { 0.0 });
    /// assert_eq!(chain.of_source(0), [0.0, 1.0, 0.0]);
    /// ```
    pub fn from_fn(
        targets: usize,
        sources: usize,
        mut weight: impl FnMut(usize, usize) -> f64,
    ) -> Self {
        let mut values = Vec::with_capacity(targets.saturating_mul(sources));
        for source in 0..sources {
            values.extend((0..targets).map(|target| weight(target, source)));
        }
        Self {
            sources,
            targets,
            values,
        }
    }

    /// Weights from a matrix [targets, sources], row-major, as PyTorch's linear layers have it.
    ///
    /// # Errors
    /// When the number of elements is another one.
    pub fn from_rows(targets: usize, sources: usize, rows: &[f64]) -> Result<Self> {
        if targets.checked_mul(sources) != Some(rows.len()) {
            return Err(Error::Size {
                what: format!("a matrix of {targets} targets × {sources} sources"),
                given: format!("{} elements", rows.len()),
                expected: "their product".to_string(),
                help: "give one row for each target",
            });
        }
        Ok(Self::from_fn(targets, sources, |target, source| {
            rows[target * sources + source]
        }))
    }

    /// The matrix [targets, sources], row-major.
    pub fn to_rows(&self) -> Vec<f64> {
        let (targets, sources) = (self.targets, self.sources);
        let rows = (0..targets)
            .flat_map(|target| (0..sources).map(move |source| source * targets + target));
        rows.map(|k| self.values[k]).collect()
    }

    /// The number of sources.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// The number of targets.
    pub fn targets(&self) -> usize {
        self.targets
    }

    /// The weights of a source to all targets.
    ///
    /// # Panics
    /// If there is no such source.
    pub fn of_source(&self, source: usize) -> &[f64] {
        &self.values[source * self.targets..][..self.targets]
    }

    /// All weights, source by source.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All weights, source by source, to be changed.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Other values for the same sources and targets.
    pub(crate) fn with_values(&self, values: Vec<f64>) -> Self {
        Self { values, ..*self }
    }

    /// Checks that there are weights and that all are finite.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        if self.sources == 0 || self.targets == 0 {
            return Err(Error::Size {
                what: name.to_string(),
                given: format!("{} targets and {} sources", self.targets, self.sources),
                expected: "at least one of each".to_string(),
                help: "give the sizes of the two groups",
            });
        }
        match self.values.iter().position(|w| !w.is_finite()) {
            None => Ok(()),
            Some(at) => Err(Error::Constant {
                name: format!(
                    "{name}, target {}, source {}",
                    at % self.targets,
                    at / self.targets
                ),
                given: self.values[at],
                expected: "finite",
                help: "correct the weights; lower the learning rate if training made them",
            }),
        }
    }
}
