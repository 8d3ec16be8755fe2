//! A user's own operation.

use super::{Kernel, Types};
use crate::memory::{View, ViewMut};
use spikelet_graph::op::{CustomOp, HostCall, HostTensor, HostTensorMut};
use spikelet_graph::{DType, TensorType};
use std::sync::Arc;

pub(super) struct CustomKernel {
    op: Arc<dyn CustomOp>,
    inputs: Vec<TensorType>,
    outputs: Vec<TensorType>,
}

impl CustomKernel {
    pub(super) fn new(op: Arc<dyn CustomOp>, types: &Types) -> Self {
        Self {
            op,
            inputs: types.inputs.clone(),
            outputs: types.outputs.clone(),
        }
    }
}

/// A tensor without elements, for a result that is left out.
fn nothing(dtype: DType) -> HostTensorMut<'static> {
    match dtype {
        DType::F32 | DType::Bits => HostTensorMut::F32(&mut []),
        DType::F64 => HostTensorMut::F64(&mut []),
        DType::F16 => HostTensorMut::F16(&mut []),
        DType::BF16 => HostTensorMut::BF16(&mut []),
        DType::I64 => HostTensorMut::I64(&mut []),
    }
}

impl Kernel for CustomKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let mut inputs = vec![];
        for read in reads {
            inputs.push(match read {
                View::F32(x) => HostTensor::F32(x),
                View::F64(x) => HostTensor::F64(x),
                View::F16(x) => HostTensor::F16(x),
                View::BF16(x) => HostTensor::BF16(x),
                View::I64(x) => HostTensor::I64(x),
                View::Bits(_) | View::InPlace(_) => {
                    return Err("a custom operation reads whole numbers, not bits".to_string());
                }
            });
        }
        let mut outputs = vec![];
        for (write, ty) in writes.iter_mut().zip(&self.outputs) {
            outputs.push(match write {
                ViewMut::F32(y) => HostTensorMut::F32(y),
                ViewMut::F64(y) => HostTensorMut::F64(y),
                ViewMut::F16(y) => HostTensorMut::F16(y),
                ViewMut::BF16(y) => HostTensorMut::BF16(y),
                ViewMut::I64(y) => HostTensorMut::I64(y),
                ViewMut::Unused => nothing(ty.dtype),
                ViewMut::Bits(_) => {
                    return Err("a custom operation writes whole numbers, not bits".to_string());
                }
            });
        }
        let mut call = HostCall {
            input_types: &self.inputs,
            output_types: &self.outputs,
            inputs,
            outputs,
        };
        let done = self.op.run(&mut call);
        done.map_err(|refusal| refusal.to_string())
    }
}
