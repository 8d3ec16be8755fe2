//! The forward operation.

use super::backward::Backward;
use super::base::{NeuronATGFBase, V_V_SEQ};
use super::definition::Definition;
use crate::{AutoCudaError, CKernel1D, Callable, Dtype, Kernel, PlannedArgument, THREADS};
use spikelet_graph::op::{
    BackwardOperand, CustomOp, DeviceArgument, DeviceCall, DeviceCode, DeviceKernel, HostCall,
};
use spikelet_graph::{InvalidOp, TensorType};
use std::sync::Arc;

/// x_seq, v_init, own tensors → spike_seq, v_v_seq, h_seq
#[derive(Debug)]
pub(super) struct Forward(pub(super) Arc<Definition>);

impl CustomOp for Forward {
    fn name(&self) -> String {
        self.0.forward.kernel_name().to_string()
    }

    fn outputs(&self) -> usize {
        3
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        let [x_seq, v_init, own @ ..] = inputs else {
            return Err(InvalidOp::new(
                format!("it has {} operands", inputs.len()),
                "give x_seq and v_init",
            ));
        };
        let pre = NeuronATGFBase::pre_forward(x_seq, v_init)?;
        self.0.check(pre.dtype)?;
        self.0.check_operands(own)?;
        // What a kernel lacks is said here, on every device.
        self.kernels(inputs)?;
        let operands = vec![x_seq.clone(); self.0.saved.len()];
        Backward(self.0.clone()).kernels(&operands)?;
        Ok(vec![pre.spike_seq, pre.v_v_seq, pre.h_seq])
    }

    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        self.0.host.forward(call)
    }

    fn device_code(&self, call: &DeviceCall<'_>) -> Result<Option<DeviceCode>, InvalidOp> {
        let kernels = self.kernels(call.inputs)?;
        let scratch = self.0.bytes_of_pairs();
        // SAFETY: whoever applied the neuron's kernels answers for their texts; those beside them
        // compare their threads with what they are told to count.
        let code = unsafe { DeviceCode::new(kernels) };
        Ok(Some(code.scratch(scratch)))
    }

    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(Backward(self.0.clone())))
    }

    fn backward_operands(&self, _: usize, _: usize) -> Vec<BackwardOperand> {
        self.0.saved.iter().map(|(_, operand)| *operand).collect()
    }
}

impl Forward {
    fn kernels(&self, inputs: &[TensorType]) -> Result<Vec<DeviceKernel>, InvalidOp> {
        let Self(definition) = self;
        let pre = NeuronATGFBase::pre_forward(&inputs[0], &inputs[1])?;
        let kernel = &*definition.forward;
        let pre = pre.with_threads(kernel.threads());
        let mut args: Vec<(&str, PlannedArgument)> = pre.py_dict;
        args.extend(definition.numbers_of(kernel));
        for (k, name) in definition.own.iter().enumerate() {
            args.push((name, DeviceArgument::Input(2 + k).into()));
        }
        let mut kernels = vec![start(pre.dtype, pre.n)?];
        kernels.extend(definition.own_in_pairs(&mut args)?);
        kernels.push(kernel.device_kernel(pre.blocks, pre.threads, &args)?);
        Ok(kernels)
    }
}

/// Puts v_init in front of the potentials.
fn start(dtype: Dtype, n: i32) -> Result<DeviceKernel, AutoCudaError> {
    let mut kernel = CKernel1D::new(format!("v_v_seq_start_{dtype}"));
    kernel.add_param(&format!("const {dtype} *"), "v_init")?;
    kernel.add_param(&format!("{dtype} *"), "v_v_seq")?;
    kernel.set_core("v_v_seq[index] = v_init[index];");
    let args = [
        ("v_init", DeviceArgument::Input(1).into()),
        ("v_v_seq", DeviceArgument::Output(V_V_SEQ).into()),
        ("numel", n.into()),
    ];
    let blocks = n.unsigned_abs().div_ceil(THREADS);
    kernel.device_kernel(blocks, THREADS, &args)
}
