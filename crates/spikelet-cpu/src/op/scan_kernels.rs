//! Scans and their backward passes: those with feedback have other kernels.

use super::recurrent_scan::{self, RecurrentScanKernel};
use super::recurrent_scan_grad::{self, RecurrentScanGradKernel};
use super::scan::{self, ScanKernel};
use super::scan_grad::{self, ScanGradKernel};
use super::{CpuKernel, Float, PrepareContext, Prepared, Types};
use spikelet_graph::TensorType;
use spikelet_graph::op::{Port, Ports, Scan, ScanGrad};

impl CpuKernel for Scan {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let PrepareContext { types, threads, .. } = *cx;
        match &self.feedback {
            Some(f) => cx.boxed(RecurrentScanKernel::<R>::new(self, f, types, threads)),
            None => cx.boxed(ScanKernel::<R>::new(self, types, threads)),
        }
    }

    fn workspace_words(&self, types: &Types, threads: usize) -> usize {
        match &self.feedback {
            Some(_) => recurrent_scan::workspace_words(self, types),
            None => scan::workspace_words(self, types, threads),
        }
    }

    fn converts(&self) -> bool {
        self.feedback.is_some()
    }

    fn gathered(&self, types: &Types) -> usize {
        types.inputs.len()
    }

    fn writes_bits(&self) -> bool {
        self.feedback.is_some()
    }
}

impl CpuKernel for ScanGrad {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let PrepareContext { types, threads, .. } = *cx;
        match &self.of.feedback {
            Some(f) => cx.boxed(RecurrentScanGradKernel::<R>::new(self, f, types, threads)),
            None => cx.boxed(ScanGradKernel::<R>::new(self, types, threads)),
        }
    }

    fn workspace_words(&self, types: &Types, threads: usize) -> usize {
        match &self.of.feedback {
            Some(_) => recurrent_scan_grad::workspace_words(self, types),
            None => scan_grad::workspace_words(self, types, threads),
        }
    }

    fn converts(&self) -> bool {
        self.of.feedback.is_some()
    }

    /// A backward step reads the states and their gradients.
    fn gathered(&self, types: &Types) -> usize {
        let r = &self.of.recurrence;
        let step = r.inputs.len() + 2 * r.states.len() + r.outputs.len();
        types.inputs.len().max(step)
    }

    fn reads_bits(&self, _: &[TensorType], operand: usize) -> bool {
        self.operand(Port::Before) == Some(operand)
    }
}
