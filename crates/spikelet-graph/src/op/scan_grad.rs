//! The derived backward pass of a neuron scan (BPTT).

use super::scan::{
    check_checkpoints, check_operands, checkpoint_text, checkpoint_type, pool_text, pooled_shape,
};
use super::{Operation, Recurrence, Scan, product};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::types::TensorType;
use std::sync::Arc;

/// Recomputes the states from the inputs and runs the derived step backwards in time.
///
/// Operands: those of the [`Scan`], then the present gradients of its results. Results: the
/// gradients of the sequences (summed over time for one that is constant over time), of the
/// initial states and of the parameters, the last two with the full shape of a time step, and in
/// f32 where the sequences are f16 or bf16.
///
/// With a `checkpoint` the next operands are the checkpoints of the [`Scan`], one tensor for each state:
/// the states between two checkpoints are recomputed from the first.
///
/// With a `pool` the gradients of the outputs are those of the pooled sequences; of equal maxima
/// of a block the first in row-major order gets the gradient.
///
/// With `accumulates` the last operands are the partial gradients of these parameters, one each: those of
/// later time chunks.
///
/// With `channel_sums` the gradients of the parameters are sums over all axes but the last, computed in the
/// same pass over memory.
#[derive(Clone, Debug)]
pub struct ScanGrad {
    /// The differentiated step.
    pub recurrence: Arc<Recurrence>,
    /// The number of steps.
    pub time_steps: usize,
    /// Which of the scan's results have a gradient: outputs, last states, state sequences.
    pub present: Vec<bool>,
    /// The number of steps between the scan's checkpoints, if it has any.
    pub checkpoint: Option<usize>,
    /// Height and width of the blocks that the scan pooled.
    pub pool: Option<[usize; 2]>,
    /// Whether the gradients of the parameters are `[C]`, the length of the last axis.
    pub channel_sums: bool,
    /// Which parameters' gradients are accumulated into an operand; empty if none.
    pub accumulates: Vec<bool>,
}

impl ScanGrad {
    /// The backward pass of a scan without checkpoints, with no gradient present yet.
    pub fn new(recurrence: Arc<Recurrence>, time_steps: usize) -> Self {
        Self {
            present: vec![false; recurrence.outputs.len() + 2 * recurrence.states.len()],
            recurrence,
            time_steps,
            checkpoint: None,
            pool: None,
            channel_sums: false,
            accumulates: vec![],
        }
    }

    /// The number of operands before the checkpoints.
    fn own_operands(&self) -> usize {
        let r = &self.recurrence;
        let present = self.present.iter().filter(|p| **p).count();
        r.inputs.len() + r.states.len() + r.params.len() + present
    }

    /// The first operand with checkpoints, one for each state, if there are any.
    pub fn checkpoint_operand(&self) -> Option<usize> {
        self.checkpoint.map(|_| self.own_operands())
    }

    /// The number of operands before the partial gradients.
    fn operands_before_adds(&self) -> usize {
        self.own_operands() + self.checkpoint.map_or(0, |_| self.recurrence.states.len())
    }

    /// The partial gradient that the gradient of parameter `k` is accumulated into, if there is one.
    pub fn accumulator_operand(&self, k: usize) -> Option<usize> {
        let here = self.accumulates.get(k).copied().unwrap_or(false);
        let before = || self.accumulates[..k].iter().filter(|a| **a).count();
        here.then(|| self.operands_before_adds() + before())
    }

    /// The operand that result `k` is carried from: the gradient of a state at the end for the gradient
    /// at the start, the partial gradient of a parameter over later steps for its sum.
    pub fn carried_from(&self, k: usize) -> Option<usize> {
        let r = &self.recurrence;
        let k = k.checked_sub(r.inputs.len())?;
        match k.checked_sub(r.states.len()) {
            Some(param) => self.accumulator_operand(param),
            None => self.grad_operand(r.outputs.len() + k),
        }
    }

    /// The operand that holds the gradient of the scan's result `k`, if it is present.
    pub fn grad_operand(&self, k: usize) -> Option<usize> {
        let r = &self.recurrence;
        let before = self.present[..k].iter().filter(|p| **p).count();
        self.present[k].then_some(r.inputs.len() + r.states.len() + r.params.len() + before)
    }
}

impl Operation for ScanGrad {
    fn name(&self) -> String {
        format!("{}_grad", self.recurrence.name)
    }

    fn describe(&self) -> String {
        let (kept, pool) = (checkpoint_text(self.checkpoint), pool_text(self.pool));
        let name = &self.recurrence.name;
        let sums = if self.channel_sums {
            ", channel sums"
        } else {
            ""
        };
        let accumulates = if self.accumulates.contains(&true) {
            ", accumulates"
        } else {
            ""
        };
        format!(
            "scan_grad[{name}, T={}{pool}{kept}{sums}{accumulates}]",
            self.time_steps
        )
    }

    fn outputs(&self, _: usize) -> usize {
        let r = &self.recurrence;
        r.inputs.len() + r.states.len() + r.params.len()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let r = &self.recurrence;
        let own = r.inputs.len() + r.states.len() + r.params.len();
        let before = self.own_operands();
        let all = self.operands_before_adds();
        super::arity(
            inputs,
            all + self.accumulates.iter().filter(|a| **a).count(),
        )?;
        check_operands(r, self.time_steps, inputs)?;
        let results = r.outputs.len() + 2 * r.states.len();
        if self.present.len() != results || self.accumulates.len() > r.params.len() {
            return Err(InvalidOp::new(
                format!(
                    "`present` has {} entries and `accumulates` {}",
                    self.present.len(),
                    self.accumulates.len()
                ),
                format!(
                    "pass one entry for each of the {results} results of the scan, and at most {} for parameters",
                    r.params.len()
                ),
            ));
        }
        if let Some(every) = self.checkpoint {
            check_checkpoints(self.time_steps, every)?;
            let expected = checkpoint_type(inputs, self.time_steps, every);
            if let Some(other) = inputs[before..all].iter().find(|t| **t != expected) {
                return Err(InvalidOp::new(
                    format!("the checkpoints are {other}, not {expected}"),
                    "pass the checkpoints of the scan over the same operands",
                ));
            }
        }
        let step = Scan::step_shape(inputs).to_vec();
        let pooled = pooled_shape(&step, self.pool)?;
        let sequence = |step: &[usize]| [&[self.time_steps], step].concat();
        let outputs = r.outputs.len();
        for (k, at) in (0..results).filter_map(|k| Some((k, self.grad_operand(k)?))) {
            let expected = match k {
                _ if k < outputs => sequence(&pooled),
                _ if k < outputs + r.states.len() => step.clone(),
                _ => sequence(&step),
            };
            if inputs[at].shape != expected {
                return Err(mismatch(
                    "the gradient of a result is not of its shape",
                    &inputs[at].shape,
                    &expected,
                    "pass the gradient of the scan's result",
                ));
            }
        }
        let state = inputs[0].dtype.arithmetic();
        let channels = step.last().copied().unwrap_or(1);
        let full = TensorType::new(state, step);
        let param = if self.channel_sums {
            TensorType::new(state, [channels])
        } else {
            full.clone()
        };
        if self.channel_sums && all < inputs.len() {
            return Err(InvalidOp::new(
                "channel sums cannot be accumulated into those of later steps",
                "sum them over channels afterwards",
            ));
        }
        if let Some(other) = inputs[all..].iter().find(|t| **t != param) {
            return Err(InvalidOp::new(
                format!("the partial gradient is {other}, not {param}"),
                "pass the result of the backward scan over later steps",
            ));
        }
        let mut made = inputs[..r.inputs.len()].to_vec();
        made.extend(vec![full; r.states.len()]);
        made.extend(vec![param; own - r.inputs.len() - r.states.len()]);
        Ok(made)
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(Error::Gradient {
            what: self.name(),
            problem: "second derivatives of a neuron are not implemented".to_string(),
        })
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let r = &self.recurrence;
        let forward = r.forward_program(&vec![false; r.outputs.len()]);
        let backward = r.backward_program(
            &self.present[..r.outputs.len()],
            &vec![true; r.inputs.len()],
            &vec![true; r.params.len()],
        );
        let operations =
            forward.map_or(0, |p| p.operations()) + backward.map_or(0, |p| p.operations());
        let elements = Scan::step_shape(inputs).iter().copied();
        product([operations, self.time_steps].into_iter().chain(elements))
    }
}
