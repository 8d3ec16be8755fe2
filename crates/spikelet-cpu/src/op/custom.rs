//! A user's own operation.

use super::Kernel;
use crate::memory::{View, ViewMut};
use spikelet_graph::op::{CustomOp, HostTensor, HostTensorMut};
use std::sync::Arc;

pub(super) struct CustomKernel(pub(super) Arc<dyn CustomOp>);

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
        for write in writes {
            outputs.push(match write {
                ViewMut::F32(y) => HostTensorMut::F32(y),
                ViewMut::F64(y) => HostTensorMut::F64(y),
                ViewMut::F16(y) => HostTensorMut::F16(y),
                ViewMut::BF16(y) => HostTensorMut::BF16(y),
                ViewMut::I64(y) => HostTensorMut::I64(y),
                ViewMut::Bits(_) | ViewMut::Unused => {
                    return Err("a custom operation writes whole numbers, all of them".to_string());
                }
            });
        }
        self.0.run(&inputs, &mut outputs);
        Ok(())
    }
}
