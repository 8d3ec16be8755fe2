//! The inputs of a step from a batch of a loader: its tensors by name.

use super::compiled_train::set_inputs;
use super::error::StepError;
use super::plan::{Common, ForwardTrace};
use super::{EvalStep, InputValues, PendingMetrics, StepMetrics, TrainStep};
use crate::draws::Draws;
use spikelet_core::Result;
use spikelet_data::{Batch, BatchTensor, BatchValues, unpack_bits};
use spikelet_graph::op::HostTensor;
use spikelet_graph::{DType, TensorType};
use spikelet_nn::module::GENERATOR;
use spikelet_nn::runtime::Program;
use std::borrow::Cow;
use std::sync::Arc;

/// The elements of an input.
pub(super) enum Values<'b> {
    F32(Cow<'b, [f32]>),
    I64(Cow<'b, [i64]>),
}

impl Values<'_> {
    pub(super) fn host(&self) -> HostTensor<'_> {
        match self {
            Self::F32(values) => HostTensor::F32(values),
            Self::I64(values) => HostTensor::I64(values),
        }
    }
}

/// The elements of a tensor of a batch as those of an input of this type; `None` if there is no conversion.
pub(super) fn converted<'b>(tensor: &'b BatchTensor, ty: &TensorType) -> Option<Values<'b>> {
    Some(match (&tensor.values, ty.dtype) {
        (BatchValues::F32(values), DType::F32) => Values::F32(Cow::Borrowed(values)),
        (BatchValues::I64(values), DType::I64) => Values::I64(Cow::Borrowed(values)),
        (BatchValues::U8(values), DType::F32) => {
            Values::F32(values.iter().map(|&byte| f32::from(byte)).collect())
        }
        (BatchValues::U8(values), DType::I64) => {
            Values::I64(values.iter().map(|&byte| i64::from(byte)).collect())
        }
        (BatchValues::Bits(words), DType::F32) => {
            let bits = unpack_bits(words, &tensor.shape);
            Values::F32(bits.into_iter().map(f32::from).collect())
        }
        _ => return None,
    })
}

/// The values of the inputs of a program that a batch has tensors for.
pub(super) fn values_of<'b>(
    common: &Common,
    batch: &'b Batch,
) -> Result<Vec<(Arc<str>, Values<'b>)>> {
    let mut values = vec![];
    for input in &common.inputs {
        let Some(tensor) = batch.get(&input.name) else {
            if input.required {
                let known = batch.iter().map(|(name, _)| name.to_string()).collect();
                let name = input.name.to_string();
                return Err(StepError::NotInBatch { name, known }.into());
            }
            continue;
        };
        let fits = tensor.shape == input.ty.shape;
        match converted(tensor, &input.ty).filter(|_| fits) {
            Some(found) => values.push((input.name.clone(), found)),
            None => {
                return Err(StepError::BatchTensor {
                    name: input.name.to_string(),
                    element: tensor.type_name().to_string(),
                    shape: tensor.shape.clone(),
                    expected: input.ty.clone(),
                }
                .into());
            }
        }
    }
    Ok(values)
}

impl InputValues for &[(Arc<str>, Values<'_>)] {
    fn for_each(self, set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>) -> Result<()> {
        self.iter()
            .try_for_each(|(name, values)| set(name, values.host()))
    }
}

/// Sets the inputs of the program of a trace.
pub(crate) fn feed(
    trace: &ForwardTrace,
    program: &Program,
    batch: &Batch,
    draws: Draws,
) -> Result<()> {
    let values = values_of(&trace.common, batch)?;
    set_inputs(program, &trace.common.inputs, &values[..])?;
    if program.has_input(GENERATOR) {
        program.set(GENERATOR, HostTensor::I64(&draws.state()))?;
    }
    Ok(())
}

impl TrainStep {
    /// Starts to train on a batch of a loader: each input has the values of the batch's tensor of its name. Bytes and
    /// bits become numbers. See [`TrainStep::start`].
    ///
    /// # Errors
    /// [`StepError::NotInBatch`], [`StepError::BatchTensor`]; as [`TrainStep::start`].
    pub fn start_batch(&mut self, batch: &Batch) -> Result<PendingMetrics> {
        let values = values_of(&self.common, batch)?;
        self.start(&values[..])
    }

    /// Trains on a batch of a loader.
    ///
    /// # Errors
    /// As [`TrainStep::start_batch`].
    pub fn run_batch(&mut self, batch: &Batch) -> Result<StepMetrics> {
        self.start_batch(batch)?.wait()
    }

    /// Sets the inputs of the next run; see [`TrainStep::prepare`].
    ///
    /// # Errors
    /// As [`TrainStep::start_batch`].
    pub fn prepare_batch(&mut self, batch: &Batch) -> Result<()> {
        let values = values_of(&self.common, batch)?;
        self.prepare(&values[..])
    }
}

impl EvalStep {
    /// Starts to run a batch of a loader; see [`EvalStep::start`]. The random numbers are those of its samples' indices in
    /// the data set, [`Batch::first_index`] and the following ones.
    ///
    /// # Errors
    /// [`StepError::NotInBatch`], [`StepError::BatchTensor`]; as [`EvalStep::start`].
    pub fn start_batch(&mut self, batch: &Batch) -> Result<PendingMetrics> {
        let values = values_of(&self.common, batch)?;
        self.start(&values[..], batch.first_index())
    }

    /// Runs a batch of a loader as [`EvalStep::start_batch`], for its outputs alone.
    pub(crate) fn launch_batch(&mut self, batch: &Batch) -> Result<()> {
        let values = values_of(&self.common, batch)?;
        self.launch(&values[..], batch.first_index())
    }

    /// Runs a batch of a loader.
    ///
    /// # Errors
    /// As [`EvalStep::start_batch`].
    pub fn run_batch(&mut self, batch: &Batch) -> Result<StepMetrics> {
        self.start_batch(batch)?.wait()
    }
}
