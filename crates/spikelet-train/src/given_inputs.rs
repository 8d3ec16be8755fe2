//! Inputs of a network that a program has as an array.

use super::{Normalization, Settings};
use spikelet_core::{Error, Result};
use spikelet_data::{Dataset, Field, InMemory, StepShape, Unlabeled};
use spikelet_graph::{DType, Tensor};
use std::sync::Arc;

/// A data set of inputs of a network, `[T, N, …]` with one to three axes of a time step. They have no labels; with
/// `step_labels`, which a network has that was trained with a label for each time step, all steps are unlabeled. A network of
/// images takes them with the settings of [`Settings::of_inputs`].
///
/// ```
/// use spikelet_graph::Tensor;
/// use spikelet_train::given_inputs;
/// let sequences = Tensor::f32([100, 2, 3], vec![0.5; 600]);
/// assert_eq!(given_inputs("given", &sequences, None)?.len(), 2);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// For other axes, or none.
pub fn given_inputs(
    name: &str,
    inputs: &Tensor,
    step_labels: Option<Unlabeled>,
) -> Result<Arc<dyn Dataset>> {
    let wrong = || {
        let given = format!("{}: the inputs are {}", name, inputs.ty());
        Error::invalid(
            "data",
            given,
            "give batches [T, N, …] of at least one element",
        )
    };
    let [steps, samples, step @ ..] = &inputs.shape[..] else {
        return Err(wrong());
    };
    if StepShape::of(step).is_none() || inputs.is_empty() {
        return Err(wrong());
    }
    let row: usize = step.iter().product();
    let all = inputs.cast(DType::F32);
    let all = all.as_f32().ok_or_else(wrong)?;
    // From [T, N, …] to one sequence after another.
    let mut values = Vec::with_capacity(all.len());
    for sample in 0..*samples {
        for t in 0..*steps {
            let first = (t * samples + sample) * row;
            values.extend_from_slice(&all[first..first + row]);
        }
    }
    let field = Field::new("x", DType::F32, [&[*steps], step].concat()).sequence();
    let made = InMemory::new(name).with(field, values)?;
    Ok(match step_labels {
        None => Arc::new(made),
        Some(unlabeled) => {
            let labels = vec![unlabeled.label; samples * steps];
            Arc::new(made.with(Field::step_labels(*steps, unlabeled), labels)?)
        }
    })
}

impl Settings {
    /// The settings of a network for inputs of `time_steps` steps that it is given: without encoder and normalization.
    #[must_use]
    pub fn of_inputs(&self, time_steps: usize) -> Self {
        let mut settings = self.clone();
        settings.use_sequences(time_steps);
        settings.normalize = Normalization::None;
        settings
    }
}
