//! The inputs of a step that are the fields of data.

use super::{Inputs, Outputs, Step, StepError};
use spikelet_core::Result;
use spikelet_data::{DataLoader, Field};
use spikelet_graph::DType;
use spikelet_nn::module::Context;

impl<'a> Step<'a> {
    /// A step over the batches of a loader: its inputs are the tensors of a batch, with their names, types and shapes, and N is
    /// the loader's batch size. Images, bytes and bits are f32; a field that is padded has an input of lengths beside it
    /// ([`Field::pad`]).
    ///
    /// ```
    /// use spikelet_data::{DataLoader, LoaderConfig, synthetic};
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{Outputs, Step};
    ///
    /// let config = LoaderConfig { batch_size: 32, ..LoaderConfig::default() };
    /// let train = DataLoader::new(synthetic::digits_of(0, 256, 10).train, config)?;
    /// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
    /// let step = Step::from_loader(&train, |cx, batch| {
    ///     let scores = net.forward(cx, &batch["images"].repeat_over_time(4))?.mean(&[0]);
    ///     Ok(Outputs::loss(loss::cross_entropy(&scores, &batch["labels"])))
    /// })?
    /// .optimizer(Adam::new(1e-2));
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let mut training = step.compile(&mut store)?;
    /// for batch in train.epoch(0, 0) {
    ///     assert!(training.run_batch(&batch?)?.loss.is_finite());
    /// }
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`StepError::Field`] for a field whose size varies, or of events.
    pub fn from_loader<F, O>(loader: &DataLoader, function: F) -> Result<Self>
    where
        F: Fn(&Context, &Inputs) -> Result<O> + Send + Sync + 'a,
        O: Into<Outputs>,
    {
        let step = Self::new(function).batch_size(loader.config().batch_size);
        step.with_fields(loader.fields())
    }

    /// The step with the fields of batches as its inputs.
    fn with_fields(self, fields: &[Field]) -> Result<Self> {
        fields.iter().try_fold(self, |step, field| {
            let refused = || StepError::Field {
                field: field.to_string(),
            };
            let shape: Option<Vec<usize>> = field.shape.iter().copied().collect();
            let shape = shape.ok_or_else(refused)?;
            let dtype = match field.dtype {
                _ if field.events => return Err(refused().into()),
                DType::U8 | DType::Bits => DType::F32,
                dtype => dtype,
            };
            let step = match field.sequence {
                true => step.sequence(&field.name, dtype, shape),
                false => step.input(&field.name, dtype, shape),
            };
            Ok(match field.pad {
                Some(_) => step.input(field.length_name(), DType::I64, []),
                None => step,
            })
        })
    }

    /// The step with these fields as its inputs, if it declares none.
    pub(crate) fn on_fields(self, fields: &[Field]) -> Result<Self> {
        match self.inputs.is_empty() {
            true => self.with_fields(fields),
            false => Ok(self),
        }
    }
}
