//! The backward operation.

use super::base::NeuronATGFBase;
use super::definition::{Definition, gradient};
use crate::{BlockSum, Callable, PlannedArgument, THREADS};
use spikelet_graph::op::{
    CustomOp, DeviceArgument, DeviceCall, DeviceCode, DeviceKernel, HostCall,
};
use spikelet_graph::{DType, InvalidOp, TensorType};
use std::sync::Arc;

/// What was saved → grad_x_seq, grad_v_init, gradients of own tensors
#[derive(Debug)]
pub(super) struct Backward(pub(super) Arc<Definition>);

impl CustomOp for Backward {
    fn name(&self) -> String {
        self.0.backward.kernel_name().to_string()
    }

    fn outputs(&self) -> usize {
        2 + self.0.own.len()
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        let pre = NeuronATGFBase::pre_backward(&self.0.saved, inputs)?;
        let mut made = vec![pre.grad_x_seq, pre.grad_v_init];
        made.extend(self.0.own.iter().map(|_| TensorType::new(DType::F32, [1])));
        Ok(made)
    }

    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        self.0.host.backward(&self.0.saved, call)
    }

    fn device_code(&self, call: &DeviceCall<'_>) -> Result<Option<DeviceCode>, InvalidOp> {
        let (kernels, scratch) = self.kernels(call.inputs)?;
        // SAFETY: whoever applied the neuron's kernels answers for their texts; those beside them
        // compare their threads with what they are told to count.
        let code = unsafe { DeviceCode::new(kernels) };
        Ok(Some(code.scratch(scratch)))
    }
}

impl Backward {
    /// The kernels, and the bytes of scratch memory that they share.
    pub(super) fn kernels(
        &self,
        inputs: &[TensorType],
    ) -> Result<(Vec<DeviceKernel>, usize), InvalidOp> {
        let Self(definition) = self;
        let pre = NeuronATGFBase::pre_backward(&definition.saved, inputs)?;
        let kernel = &*definition.backward;
        let pre = pre.with_threads(kernel.threads());
        let mut args: Vec<(&str, PlannedArgument)> = vec![];
        args.extend(
            pre.py_dict
                .iter()
                .map(|(name, a)| (name.as_str(), a.clone())),
        );
        args.extend(definition.numbers_of(kernel));
        let mut kernels = definition.own_in_pairs(&mut args)?;

        // A block leaves one number for each gradient of an own tensor.
        let workspace_bytes = (4 * pre.blocks as usize).max(1).next_multiple_of(256);
        let partial =
            |k: usize| DeviceArgument::Scratch(definition.bytes_of_pairs() + k * workspace_bytes);
        let gradients: Vec<String> = definition.own.iter().map(|name| gradient(name)).collect();
        for (k, name) in gradients.iter().enumerate() {
            args.push((name, partial(k).into()));
        }
        kernels.push(kernel.device_kernel(pre.blocks, pre.threads, &args)?);
        for k in 0..gradients.len() {
            let args = [
                ("x", partial(k).into()),
                ("sum", DeviceArgument::Output(2 + k).into()),
                (
                    "numel",
                    i32::try_from(pre.blocks).unwrap_or(i32::MAX).into(),
                ),
            ];
            kernels.push(BlockSum::new().device_kernel(1, THREADS, &args)?);
        }
        Ok((
            kernels,
            definition.bytes_of_pairs() + gradients.len() * workspace_bytes,
        ))
    }
}
