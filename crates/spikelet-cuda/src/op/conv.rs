//! Convolutions: by cuDNN, and by generated kernels where the input has few channels.

mod reversed;
mod small_channel_conv;

use super::{CudaKernel, Lowered, LoweredOp, LoweringContext};
use crate::dnn::Convolution;
use crate::kernel_source::Binding;
use reversed::Reversed;
use small_channel_conv::SmallChannelConv;
use spikelet_graph::Result;
use spikelet_graph::op::Conv;

fn convolution(op: &Conv, cx: &LoweringContext<'_>) -> Convolution {
    Convolution {
        op: op.clone(),
        sizes: op.sizes(&cx.inputs),
        operands: cx.inputs[0].dtype,
        result: cx.outputs[0].dtype,
    }
}

impl CudaKernel for Conv {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        if let Some(small) = SmallChannelConv::of(self, cx) {
            return Ok(small.lower(self, cx));
        }
        let convolution = convolution(self, cx);
        if let Some(reversed) = Reversed::of(&convolution, cx.device) {
            return Ok(reversed.lower(cx));
        }
        let workspace = cx.device.convolution_workspace(&convolution);
        Ok(Lowered::new(workspace, || {
            Ok(vec![LoweredOp::Conv {
                convolution,
                a: Binding::Read(0),
                b: Binding::Read(1),
                workspace: 0,
            }])
        }))
    }
}
