//! Scans and their backward passes: those with feedback, by blocks and others have other kernels.

use super::{CudaKernel, Lowered, LoweringContext};
use super::{block, block_grad, recurrent, scan, scan_grad};
use crate::gpu::Properties;
use spikelet_graph::op::{Port, Ports, Scan, ScanGrad};
use spikelet_graph::{Result, TensorType};

/// Whether a backward scan is computed by [`block_grad`].
fn is_by_blocks(op: &ScanGrad, inputs: &[TensorType]) -> bool {
    (op.of.pool.is_some() || op.channel_sums) && block_grad::supports(op, inputs)
}

impl CudaKernel for Scan {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        if let Some(feedback) = &self.feedback {
            return recurrent::lower_forward(self, feedback, cx);
        }
        Ok(scan::lowered(cx, 0, || match self.pool {
            Some(_) => block::kernels(self, cx),
            None => scan::kernels(self, cx),
        }))
    }

    fn takes_literal(&self, operand: usize) -> bool {
        scan::is_literal(self.operands()[operand])
    }

    fn writes_bits(&self, inputs: &[TensorType], result: usize) -> bool {
        let port = self.results()[result];
        match &self.feedback {
            Some(feedback) => recurrent::writes_bits(self, feedback, inputs, port),
            None => self.pool.is_none() && scan::writes_bits(inputs, port),
        }
    }
}

impl CudaKernel for ScanGrad {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        if let Some(feedback) = &self.of.feedback {
            return recurrent::lower_backward(self, feedback, cx);
        }
        Ok(match is_by_blocks(self, &cx.inputs) {
            true => block_grad::lower(self, cx),
            false => scan_grad::lower(self, cx),
        })
    }

    fn takes_literal(&self, operand: usize) -> bool {
        scan::is_literal(self.operands()[operand])
    }

    fn reads_bits(&self, _: &Properties, _: &[TensorType], operand: usize) -> bool {
        self.operand(Port::Before) == Some(operand)
    }

    fn sums_channels(&self, inputs: &[TensorType]) -> bool {
        block_grad::supports(self, inputs)
    }

    fn checkpoint(&self, gpu: &Properties, inputs: &[TensorType]) -> Option<usize> {
        let recomputes = self.of.feedback.is_none() && !is_by_blocks(self, inputs);
        recomputes.then(|| scan_grad::segment(self, gpu, inputs))?
    }
}
