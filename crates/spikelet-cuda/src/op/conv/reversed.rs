//! Input gradients as forward convolutions.
//!
//! For some shapes of 16-bit numbers, such as long kernels over the time of one large image, cuDNN has input gradients
//! only without tensor cores, several hundred times slower. With stride 1 the input gradient is the convolution of y's
//! gradient with the kernel reversed along its axes, its channels exchanged, for which cuDNN has fast engines.

use super::super::{Device, Lowered, LoweredOp, LoweringContext};
use crate::dnn::Convolution;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::{Conv, ConvPart, ConvSizes};
use spikelet_graph::{DType, TensorType};

/// Alignment of the reversed kernel's end.
const ALIGN: usize = 256;

/// An input gradient as a forward convolution.
pub(super) struct Reversed(Convolution);

impl Reversed {
    /// The form of a convolution, if it has one and its own is slow.
    pub(super) fn of(c: &Convolution, device: &dyn Device) -> Option<Self> {
        let (op, s) = (&c.op, &c.sizes);
        let plain = op.part == ConvPart::Input
            && op.groups == 1
            && op.stride.iter().all(|stride| *stride == 1)
            && c.operands != DType::F32;
        let axes = 0..op.axes();
        let padding = axes.map(|k| {
            let reach = op.dilation[k] * s.kernel[k].checked_sub(1)?;
            reach.checked_sub(op.padding[k])
        });
        let padding = padding.collect::<Option<_>>()?;
        (plain && !device.convolution_on_tensor_cores(c)).then(|| {
            Self(Convolution {
                op: Conv {
                    padding,
                    ..op.part(ConvPart::Forward, [])
                },
                sizes: ConvSizes {
                    batch: s.batch,
                    inputs: s.outputs,
                    outputs: s.inputs,
                    x: s.y.clone(),
                    kernel: s.kernel.clone(),
                    y: s.x.clone(),
                },
                ..c.clone()
            })
        })
    }

    pub(super) fn lower<'a>(self, cx: &'a LoweringContext<'_>) -> Lowered<'a> {
        let [_, w, _] = self.0.shapes();
        let bytes = TensorType::new(self.0.operands, w).bytes();
        let own = bytes.next_multiple_of(ALIGN);
        let workspace = own.saturating_add(cx.device.convolution_workspace(&self.0));
        Lowered::new(workspace, move || {
            Ok(vec![
                LoweredOp::Kernel(self.reverse(&cx.inputs[1])),
                LoweredOp::Conv {
                    convolution: self.0,
                    a: Binding::Read(0),
                    b: Binding::Workspace(0),
                    workspace: own,
                },
            ])
        })
    }

    /// `[outputs, taps, inputs] → [inputs, taps, outputs]`, the last tap first.
    fn reverse(&self, kernel_type: &TensorType) -> KernelSource {
        let s = &self.0.sizes;
        let (outputs, inputs) = (s.inputs, s.outputs);
        let taps: usize = s.kernel.iter().product();
        let mut kernel =
            KernelSource::new("reverse_kernel", Geometry::Items(outputs * taps * inputs));
        kernel.argument("w", kernel_type, Binding::Read(1));
        kernel.argument("reversed", kernel_type, Binding::Workspace(0));
        kernel.line(format!(
            "    const Index output = i % {outputs}u, rest = i / {outputs}u;
    const Index tap = {taps}u - 1u - rest % {taps}u, input = rest / {taps}u;
    reversed[i] = w[(output * {taps}u + tap) * {inputs}u + input];"
        ));
        kernel
    }
}
