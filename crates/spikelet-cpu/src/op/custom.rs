//! Custom operations.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{View, ViewMut, for_each_dtype};
use spikelet_graph::op::{Custom, CustomOp, HostCall, HostTensor, HostTensorMut};
use spikelet_graph::{DType, TensorType};
use std::sync::Arc;

const BIT_PACKED: &str = "custom operations take dense tensors; a tensor of this one is bit-packed";

struct CustomKernel {
    op: Arc<dyn CustomOp>,
    inputs: Vec<TensorType>,
    outputs: Vec<TensorType>,
}

impl CpuKernel for Custom {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(CustomKernel {
            op: self.0.clone(),
            inputs: cx.types.inputs.clone(),
            outputs: cx.types.outputs.clone(),
        }))
    }
}

impl Kernel for CustomKernel {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let mut inputs = vec![];
        let mut outputs = vec![];
        macro_rules! tensors {
            ($($variant:ident: $type:ty),*) => {
                for read in reads {
                    inputs.push(match read {
                        $(View::$variant(x) => HostTensor::$variant(x),)*
                        View::Bits(_) | View::InPlace(_) => return Err(BIT_PACKED.to_string()),
                    });
                }
                for (write, ty) in writes.iter_mut().zip(&self.outputs) {
                    outputs.push(match (write, ty.dtype) {
                        $((ViewMut::$variant(y), _) => HostTensorMut::$variant(y),)*
                        // A tensor without elements for a result that nothing reads.
                        $((ViewMut::Unused, DType::$variant) => HostTensorMut::$variant(&mut []),)*
                        (ViewMut::Bits(_), _) | (_, DType::Bits | DType::U8) => {
                            return Err(BIT_PACKED.to_string());
                        }
                    });
                }
            };
        }
        for_each_dtype!(tensors);
        let mut call = HostCall {
            input_types: &self.inputs,
            output_types: &self.outputs,
            inputs,
            outputs,
        };
        self.op.run(&mut call).map_err(|error| error.to_string())
    }
}
