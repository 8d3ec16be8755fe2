//! The constants of a neuron, with a value for each neuron.

use super::super::error::NirError;
use super::refused;
use super::writer::Writer;
use spikelet_nn::neuron::{Common, Granularity, Neuron};

/// The constants of a neuron: numbers, or tensors of the store where they are trained.
pub(super) struct Constants<'a> {
    pub(super) writer: &'a Writer<'a>,
    /// The path of the neuron.
    pub(super) path: &'a str,
    pub(super) neuron: &'a dyn Neuron,
    pub(super) common: &'a Common,
}

impl Constants<'_> {
    fn count(&self) -> usize {
        self.writer.shape.iter().product()
    }

    /// The same value for all neurons.
    pub(super) fn all(&self, value: f64) -> Vec<f64> {
        vec![value; self.count()]
    }

    /// The field of this key.
    ///
    /// # Panics
    /// When the neuron has no such field: the caller knows its name.
    pub(super) fn field<T: Copy + 'static>(&self, key: &str) -> T {
        *self.neuron.get(key).expect("a field of the neuron")
    }

    /// The constant in the field of this name.
    pub(super) fn get(&self, name: &'static str) -> Result<Vec<f64>, NirError> {
        self.get_or(name, self.field(name))
    }

    /// The constant `name`, which has this value unless it is trained.
    pub(super) fn get_or(&self, name: &'static str, value: f64) -> Result<Vec<f64>, NirError> {
        let Some(how) = self.common.trainable.get(name) else {
            return Ok(self.all(value));
        };
        let stored = self.parameter(name, how.granularity)?;
        Ok(stored.into_iter().map(|p| how.bound.value(p)).collect())
    }

    /// A parameter of the neuron with this granularity.
    pub(super) fn parameter(
        &self,
        name: &'static str,
        granularity: Granularity,
    ) -> Result<Vec<f64>, NirError> {
        let missing = |error: spikelet_core::Error| {
            let (problem, help) = (error.to_string(), "initialize the store with this network");
            NirError::node(self.path, problem.lines().next().unwrap_or_default(), help)
        };
        let stored = self
            .writer
            .tensor(self.path, name)
            .map_err(missing)?
            .to_f64();
        let behind_channels: usize = self.writer.shape.iter().skip(1).product();
        let place = |k: usize| match granularity {
            Granularity::Channel => k / behind_channels.max(1),
            _ => k,
        };
        if matches!(granularity, Granularity::Step | Granularity::StepChannel) {
            return Err(refused::by_step(self.path, name));
        }
        Ok((0..self.count())
            .map(|k| stored[place(k) % stored.len()])
            .collect())
    }
}
