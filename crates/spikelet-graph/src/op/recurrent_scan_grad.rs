//! The derived backward pass of a neuron scan with feedback (BPTT).

use super::recurrent_scan::{
    DeviceShare, continues_text, expect_type, product_flops, product_types,
};
use super::scan::check_operands;
use super::{MatmulPrecision, Operation, Recurrence, Scan, product};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::types::{DType, TensorType};
use std::sync::Arc;

/// Runs the derived step of a [`super::RecurrentScan`] backwards in time: the gradient of the spikes
/// s[t−1] includes `dL/dx[t]·W`. Nothing is recomputed.
///
/// Operands: the driven input; the other sequences, the initial states and the parameters of the scan;
/// the sequence of each state that is not fed back; the spikes before each step; the weight; then the
/// present gradients of the output sequences, last states and state sequences.
///
/// Results: the gradients of the sequences, of the initial states, of the parameters and of the product
/// of the initial spikes. The last three have the full shape of a time step and the type of the states.
/// The gradient of the weight is a product over all steps, which is not part of this operation.
///
/// With `continues` the gradient of the initial spikes includes that of their product, which has none of its
/// own.
#[derive(Clone, Debug)]
pub struct RecurrentScanGrad {
    /// The differentiated step.
    pub recurrence: Arc<Recurrence>,
    /// The number of steps.
    pub time_steps: usize,
    /// The index of the state that is fed back.
    pub fed: usize,
    /// The precision of f32 products with the weight.
    pub precision: MatmulPrecision,
    /// Whether the initial spikes are those of the step before, as in [`super::RecurrentScan`].
    pub continues: bool,
    /// The part of the device that it may fill.
    pub share: DeviceShare,
    /// Which of the scan's results have a gradient: outputs, last states, state sequences.
    pub present: Vec<bool>,
}

impl RecurrentScanGrad {
    /// The number of operands that the scan has, without the product and the weight.
    fn of_scan(&self) -> usize {
        let r = &self.recurrence;
        r.inputs.len() + r.states.len() + r.params.len()
    }

    /// The operand with the sequence of state `k`; that of the fed state is the spikes before each step.
    pub fn state_operand(&self, k: usize) -> usize {
        match k {
            k if k == self.fed => self.before_operand(),
            k => self.of_scan() + k - usize::from(k > self.fed),
        }
    }

    /// The operand with the spikes before each step.
    pub fn before_operand(&self) -> usize {
        self.of_scan() + self.recurrence.states.len() - 1
    }

    /// The operand with the weight.
    pub fn weight_operand(&self) -> usize {
        self.before_operand() + 1
    }

    /// The operand with the gradient of the scan's result `k`, if it is present.
    pub fn grad_operand(&self, k: usize) -> Option<usize> {
        let before = self.present[..k].iter().filter(|p| **p).count();
        self.present[k].then_some(self.weight_operand() + 1 + before)
    }

    /// The index of the result with the gradient of the product of the initial spikes.
    pub fn first_product(&self) -> usize {
        self.of_scan()
    }

    /// The element type of the sequences and of the weight.
    fn sequence(&self, inputs: &[TensorType]) -> TensorType {
        let dtype = inputs[self.weight_operand()].dtype;
        TensorType::new(dtype, inputs[0].shape.clone())
    }
}

impl Operation for RecurrentScanGrad {
    fn name(&self) -> String {
        format!("recurrent_{}_grad", self.recurrence.name)
    }

    fn describe(&self) -> String {
        let Recurrence { name, states, .. } = &*self.recurrence;
        let fed = &states[self.fed];
        let time = self.time_steps;
        let (continues, share) = (continues_text(self.continues), self.share.text());
        format!("recurrent_scan_grad[{name}, T={time}, feeds {fed}{continues}{share}]")
    }

    fn outputs(&self, _: usize) -> usize {
        self.of_scan() + 1
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let r = &self.recurrence;
        let (outputs, states) = (r.outputs.len(), r.states.len());
        if self.present.len() != outputs + 2 * states || self.fed >= states {
            return Err(InvalidOp::new(
                format!(
                    "`present` has {} entries, state {} is fed back",
                    self.present.len(),
                    self.fed
                ),
                format!(
                    "pass one entry for each of the {} results of the scan, and one of its {states} states",
                    outputs + 2 * states
                ),
            ));
        }
        let present = self.present.iter().filter(|p| **p).count();
        super::arity(inputs, self.weight_operand() + 1 + present)?;
        let sequence = self.sequence(inputs);
        let driven = TensorType::new(sequence.dtype.arithmetic(), sequence.shape.clone());
        expect_type("the driven input", &inputs[0], &driven)?;
        let mut of_scan = inputs[..self.of_scan()].to_vec();
        of_scan[0] = sequence.clone();
        check_operands(r, self.time_steps, &of_scan)?;
        let [step, weight] = product_types(&of_scan);
        for states in &inputs[self.of_scan()..self.before_operand()] {
            expect_type("a state sequence", states, &driven)?;
        }
        let before = &inputs[self.before_operand()];
        let stored = match before.dtype {
            DType::Bits => DType::Bits,
            _ => sequence.dtype,
        };
        let stored = TensorType::new(stored, sequence.shape.clone());
        expect_type("the spikes before each step", before, &stored)?;
        expect_type("the weight", &inputs[self.weight_operand()], &weight)?;
        for (k, at) in (0..self.present.len()).filter_map(|k| Some((k, self.grad_operand(k)?))) {
            let expected = match k {
                k if k < outputs => &sequence,
                k if k < outputs + states => &step,
                _ => &driven,
            };
            expect_type("the gradient of a result", &inputs[at], expected)?;
        }
        let mut made = of_scan[..r.inputs.len()].to_vec();
        made.extend(vec![step; states + r.params.len() + 1]);
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
        let backward = r.backward_program(
            &self.present[..r.outputs.len()],
            &vec![true; r.inputs.len()],
            &vec![true; r.params.len()],
        );
        let operations = backward.map_or(0, |p| p.operations());
        let elements = Scan::step_shape(inputs).iter().copied();
        let steps = product([operations, self.time_steps].into_iter().chain(elements));
        steps + product_flops(inputs)
    }
}
