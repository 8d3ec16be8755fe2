//! The inputs of a step: their declarations, and their values in the trace.

use super::error::StepError;
use spikelet_core::Result;
use spikelet_graph::{DType, Error, TensorType, Tracer, Var};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;

/// The position of the batch in the shape of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// `[N, …]`.
    Batch,
    /// `[T, N, …]`.
    Sequence,
    /// No batch axis: the same values for all samples.
    Shared,
}

/// A declared input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InputSpec {
    pub(super) name: String,
    pub(super) dtype: DType,
    /// The shape without the batch axis.
    pub(super) shape: Vec<usize>,
    pub(super) layout: Layout,
}

impl InputSpec {
    /// The bytes of one sample.
    pub(super) fn bytes(&self) -> usize {
        TensorType::new(self.dtype, self.shape.clone()).bytes()
    }

    /// The complete shape for a batch of `samples` samples. `time_steps` replaces the length of sequences.
    fn shape(&self, samples: usize, time_steps: Option<usize>) -> Vec<usize> {
        let mut shape = self.shape.clone();
        match self.layout {
            Layout::Batch => shape.insert(0, samples),
            Layout::Sequence => {
                if let (Some(steps), Some(first)) = (time_steps, shape.first_mut()) {
                    *first = steps;
                }
                shape.insert(1.min(shape.len()), samples);
            }
            Layout::Shared => {}
        }
        shape
    }
}

/// The inputs of a traced step by name. `inputs["x"]` is the input `x`; a name that was not declared is an
/// error of the trace.
pub struct Inputs {
    vars: BTreeMap<String, Var>,
    samples: usize,
    tracer: Tracer,
    /// Stands for an unknown input; the trace has an error then.
    unknown: OnceCell<Var>,
}

impl Inputs {
    pub(super) fn declare(
        tracer: &Tracer,
        specs: &[InputSpec],
        samples: usize,
        time_steps: Option<usize>,
    ) -> Self {
        let declared = specs.iter().map(|spec| {
            let var = tracer.input(&spec.name, spec.dtype, spec.shape(samples, time_steps));
            (spec.name.clone(), var)
        });
        Self {
            vars: declared.collect(),
            samples,
            tracer: tracer.clone(),
            unknown: OnceCell::new(),
        }
    }

    /// The input of this name.
    ///
    /// # Errors
    /// [`StepError::UnknownInput`].
    pub fn get(&self, name: &str) -> Result<&Var> {
        let known = self.vars.get(name);
        Ok(known.ok_or_else(|| StepError::UnknownInput {
            name: name.to_string(),
            known: self.vars.keys().cloned().collect(),
        })?)
    }

    /// The number of samples of the batch, N.
    pub fn samples(&self) -> usize {
        self.samples
    }
}

impl Index<&str> for Inputs {
    type Output = Var;

    fn index(&self, name: &str) -> &Var {
        self.vars.get(name).unwrap_or_else(|| {
            self.unknown.get_or_init(|| {
                let known: Vec<&str> = self.vars.keys().map(String::as_str).collect();
                self.tracer.fail(Error::Name {
                    kind: "input",
                    name: name.to_string(),
                    problem: format!(
                        "the step has no input of this name\n  help: it has {}",
                        known.join(", ")
                    ),
                });
                self.tracer.fill(DType::F32, [], 0.0)
            })
        })
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.vars.iter().map(|(name, var)| (name, var.ty())))
            .finish()
    }
}
