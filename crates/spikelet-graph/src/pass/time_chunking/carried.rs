//! The chunks of operations that carry values from step to step.

use super::cut::Cutter;
use crate::graph::ValueId;
use crate::op::{Loop, Op, RecurrentScan, RecurrentScanGrad, Scan, ScanGrad};

impl Cutter<'_> {
    /// A forward scan over some steps, from the states that the steps before left.
    pub(super) fn scan(
        &self,
        op: &Scan,
        k: usize,
        chunk: usize,
        count: usize,
        inputs: &mut [ValueId],
    ) -> Op {
        let r = &op.recurrence;
        if chunk > 0 {
            let before = &self.results[&k][chunk - 1];
            for state in 0..r.states.len() {
                inputs[r.inputs.len() + state] = before[r.outputs.len() + state];
            }
        }
        Op::Scan(Scan {
            time_steps: op.time_steps / count,
            checkpoint: None,
            ..op.clone()
        })
    }

    /// A backward scan over some steps: from the states that the forward scan left before them, with
    /// the gradients that the steps after them have left.
    pub(super) fn scan_grad(
        &self,
        op: &ScanGrad,
        k: usize,
        chunk: usize,
        count: usize,
        inputs: &mut Vec<ValueId>,
    ) -> Op {
        let r = &op.recurrence;
        let (n_in, n_out, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
        let mut operands = inputs[..n_in + states + r.params.len()].to_vec();
        let forward = self.cuts[k].and_then(|cut| cut.forward);
        if let (true, Some(scan)) = (chunk > 0, forward) {
            let left = &self.results[&scan][chunk - 1][n_out..n_out + states];
            operands[n_in..n_in + states].copy_from_slice(left);
        }
        let behind = (chunk + 1 < count).then(|| self.results[&k][chunk + 1].clone());
        let mut present = op.present.clone();
        for result in 0..n_out + 2 * states {
            let is_last = (n_out..n_out + states).contains(&result);
            let grad = match &behind {
                Some(behind) if is_last => Some(behind[n_in + result - n_out]),
                _ => op.grad_operand(result).map(|at| inputs[at]),
            };
            present[result] = grad.is_some();
            operands.extend(grad);
        }
        let outputs = &self.graph.node(self.old[k]).outputs[n_in + states..];
        let mut accumulates = vec![false; r.params.len()];
        if let Some(behind) = &behind {
            for (param, accumulates) in accumulates.iter_mut().enumerate() {
                *accumulates = self.read.contains(&outputs[param]);
                operands.extend(accumulates.then(|| behind[n_in + states + param]));
            }
        }
        *inputs = operands;
        Op::ScanGrad(ScanGrad {
            time_steps: op.time_steps / count,
            checkpoint: None,
            present,
            accumulates,
            ..op.clone()
        })
    }

    /// Some steps of a scan with feedback, which continue the steps before.
    pub(super) fn recurrent_scan(
        &self,
        op: &RecurrentScan,
        k: usize,
        chunk: usize,
        count: usize,
        inputs: &mut [ValueId],
    ) -> Op {
        let r = &op.recurrence;
        if chunk > 0 {
            let before = &self.results[&k][chunk - 1];
            for state in 0..r.states.len() {
                inputs[r.inputs.len() + state] = before[r.outputs.len() + state];
            }
            // It is not read.
            inputs[op.first_product()] = before[r.outputs.len() + op.fed];
        }
        Op::RecurrentScan(RecurrentScan {
            time_steps: op.time_steps / count,
            continues: op.continues || chunk > 0,
            ..op.clone()
        })
    }

    /// The backward pass of some steps of a scan with feedback: from the states that the forward scan left before
    /// them, with the gradients that the steps after them have left.
    pub(super) fn recurrent_scan_grad(
        &self,
        op: &RecurrentScanGrad,
        k: usize,
        chunk: usize,
        count: usize,
        inputs: &mut Vec<ValueId>,
    ) -> Op {
        let r = &op.recurrence;
        let (n_in, n_out, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
        let mut operands = inputs[..=op.weight_operand()].to_vec();
        let forward = self.cuts[k].and_then(|cut| cut.forward);
        if let (true, Some(scan)) = (chunk > 0, forward) {
            let left = &self.results[&scan][chunk - 1][n_out..n_out + states];
            operands[n_in..n_in + states].copy_from_slice(left);
        }
        let behind = (chunk + 1 < count).then(|| &self.results[&k][chunk + 1]);
        let mut present = op.present.clone();
        for result in 0..n_out + 2 * states {
            let is_last = (n_out..n_out + states).contains(&result);
            let grad = match behind {
                Some(behind) if is_last => Some(behind[n_in + result - n_out]),
                _ => op.grad_operand(result).map(|at| inputs[at]),
            };
            present[result] = grad.is_some();
            operands.extend(grad);
        }
        *inputs = operands;
        Op::RecurrentScanGrad(RecurrentScanGrad {
            time_steps: op.time_steps / count,
            continues: op.continues || chunk > 0,
            present,
            ..op.clone()
        })
    }

    /// Some steps of a loop, which start from the values that the steps before carried.
    pub(super) fn repeat(
        &self,
        op: &Loop,
        k: usize,
        before: Option<usize>,
        count: usize,
        inputs: &mut [ValueId],
    ) -> Op {
        if let Some(before) = before {
            let carried = op.body.carried_count();
            inputs[..carried].copy_from_slice(&self.results[&k][before][..carried]);
        }
        Op::Loop(Loop {
            length: op.length / count,
            ..op.clone()
        })
    }
}
