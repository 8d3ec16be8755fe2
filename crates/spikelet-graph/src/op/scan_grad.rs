//! The derived backward pass of a neuron scan (BPTT).

use super::scan::{each, scan_semantics};
use super::*;

/// Runs the derived step of a [`Scan`] backwards in time.
///
/// Operands: those of the scan, then the present gradients of its results. The states are recomputed from them. Results:
/// the gradients of the sequences (summed over time for one that is constant over time), of the initial states and of
/// the parameters, the last two with the full shape of a time step, and in f32 where the sequences are f16 or bf16.
///
/// With a `checkpoint` the next operands are the checkpoints of the scan, one tensor for each state: the states between
/// two checkpoints are recomputed from the first.
///
/// With a `pool` the gradients of the outputs are those of the pooled sequences; of equal maxima
/// of a block the first in row-major order gets the gradient.
///
/// With [`Feedback`](super::Feedback) nothing is recomputed, and the gradient of the spikes s[t−1] includes `dL/dx[t]·W`.
/// In place of the first sequence it reads the driven input, and after the parameters the sequence of each state that
/// is not fed back, the spikes before each step, and the weight. One more result is the gradient of the product of the
/// initial spikes. The gradient of the weight is a product over all steps, which is not part of this operation. If the
/// scan continues another one, the gradient of the initial spikes includes that of their product, which has none of its
/// own.
///
/// With `accumulates` the last operands are the partial gradients of these parameters, one each: those of
/// later time chunks.
///
/// With `channel_sums` the gradients of the parameters are sums over all axes but the last, computed in the
/// same pass over memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanGrad {
    /// The differentiated scan.
    pub of: Scan,
    /// The gradients of its results that are operands, in the order of the results.
    pub present: Vec<Port>,
    /// Whether the gradients of the parameters are `[C]`, the length of the last axis.
    pub channel_sums: bool,
    /// The parameters whose gradients are accumulated into an operand.
    pub accumulates: Vec<usize>,
}

impl ScanGrad {
    /// The backward pass of a scan, given the gradients of its results that are present.
    pub fn new(of: Scan, present: Vec<Port>) -> Self {
        Self {
            of,
            present,
            channel_sums: false,
            accumulates: vec![],
        }
    }

    /// Whether the gradient of each output is present.
    pub fn present_outputs(&self) -> Vec<bool> {
        let outputs = each(Port::OutputGrad, self.of.recurrence.outputs.len());
        outputs.map(|port| self.present.contains(&port)).collect()
    }

    /// The operand that holds state `k` after each step; of the state that is fed back, before each step. `None` where
    /// the states are recomputed.
    pub fn state_operand(&self, k: usize) -> Option<usize> {
        match &self.of.feedback {
            Some(feedback) if feedback.state == k => self.operand(Port::Before),
            _ => self.operand(Port::StateSeq(k)),
        }
    }

    /// The operand that a result is carried from: the gradient of a state at the end for the gradient
    /// at the start, the partial gradient of a parameter over later steps for its sum.
    pub fn carried_from(&self, result: Port) -> Option<usize> {
        match result {
            Port::Initial(k) => self.operand(Port::LastGrad(k)),
            Port::Param(k) => self.operand(Port::Accumulator(k)),
            _ => None,
        }
    }

    /// The type of a result, given those of the operands and of one step.
    fn result_type(&self, port: Port, inputs: &[TensorType], step: &TensorType) -> TensorType {
        match port {
            Port::Sequence(k) => {
                let steps = inputs[self.input(k)].shape[0];
                TensorType::new(step.dtype, [&[steps], &*step.shape].concat())
            }
            Port::Param(_) if self.channel_sums => {
                let channels = step.shape.last().copied().unwrap_or(1);
                TensorType::new(step.dtype.arithmetic(), [channels])
            }
            port => self.of.ty(port, step),
        }
    }
}

impl Ports for ScanGrad {
    fn operands(&self) -> Vec<Port> {
        let (scan, states) = (&self.of, self.of.recurrence.states.len());
        let is_needed = |port: &Port| match port {
            Port::Sequence(0) => scan.feedback.is_none(),
            port => !matches!(port, Port::FirstProduct | Port::Weight),
        };
        let mut ports: Vec<Port> = scan.operands().into_iter().filter(is_needed).collect();
        if let Some(feedback) = &scan.feedback {
            ports.insert(0, Port::Driven);
            ports.extend(
                each(Port::StateSeq, states).filter(|p| *p != Port::StateSeq(feedback.state)),
            );
            ports.extend([Port::Before, Port::Weight]);
        }
        ports.extend(&self.present);
        if scan.checkpoint.is_some() {
            ports.extend(each(Port::Checkpoint, states));
        }
        ports.extend(self.accumulates.iter().map(|k| Port::Accumulator(*k)));
        ports
    }

    fn results(&self) -> Vec<Port> {
        let mut ports = self.of.operands();
        ports.retain(|port| *port != Port::Weight);
        ports
    }

    fn scan(&self) -> &Scan {
        &self.of
    }
}

impl Operation for ScanGrad {
    fn kind(&self) -> Kind {
        Kind::new("scan_grad", Class::Recurrence)
    }

    fn name(&self) -> String {
        format!("{}_grad", self.of.name())
    }

    fn text(&mut self, t: &mut Text<'_>) {
        self.of.settings(t, "scan_grad[");
        t.flag(&mut self.channel_sums, ", channel sums");
        t.word("; of ")
            .many(&mut self.present, &Port::OutputGrad(0), ", ", |t, port| {
                port.text(t)
            });
        t.unless(
            &mut self.accumulates,
            vec![],
            "; accumulates ",
            |t, list| t.many(list, &0, ", ", Text::value),
        );
        t.word("]");
    }

    fn outputs(&self, _: usize) -> usize {
        self.results().len()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let r = &self.of.recurrence;
        let operands = self.operands();
        super::arity(inputs, operands.len())?;
        r.check(self.of.time_steps)?;
        let mut grads = self.of.results().into_iter().filter_map(Port::grad);
        let known = self
            .present
            .iter()
            .all(|port| grads.any(|grad| grad == *port));
        let params = self.accumulates.is_sorted_by(|a, b| a < b)
            && self.accumulates.iter().all(|k| *k < r.params.len());
        if !known || !params {
            return invalid!("its gradients are {:?}, and it accumulates those of parameters {:?}",
                self.present, self.accumulates;
                "pass gradients of the scan's results, in their order, and parameters that it has");
        }
        if self.channel_sums && !self.accumulates.is_empty() {
            return invalid!("channel sums cannot be accumulated into those of later steps";
                "sum them over channels afterwards");
        }
        let step = self.step(inputs);
        self.of.check_step(&step)?;
        for (port, ty) in operands.into_iter().zip(inputs) {
            self.of.check(port, ty, &step)?;
        }
        let results = self.results().into_iter();
        Ok(results
            .map(|port| self.result_type(port, inputs, &step))
            .collect())
    }

    fn differentiate(&self, _: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Err(self.no_gradient("second derivatives of a neuron are not implemented"))
    }

    fn in_place(&self, result: usize) -> InPlace {
        match self.results()[result] {
            _ if self.of.feedback.is_some() => InPlace::Never,
            Port::Sequence(0) => InPlace::Elements,
            port => self
                .carried_from(port)
                .map_or(InPlace::Never, InPlace::ElementsOf),
        }
    }

    fn asks_device(&self) -> bool {
        true
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        // The sum over time of one sequence, or over channels, is not accumulated into that of later steps.
        let steps = |k: usize| inputs[self.input(k)].shape[0] == self.of.time_steps;
        let changing = (0..self.of.recurrence.inputs.len()).all(steps);
        let backward = Role::Carried { reverse: true };
        let join = |port| match port {
            // A kernel without feedback adds those of later steps.
            Port::Param(_) if self.of.feedback.is_some() => Join::Sum,
            _ => Join::Last,
        };
        let time = (changing && !self.channel_sums).then_some(backward);
        scan_semantics(self, time, join, (inputs, outputs))
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let r = &self.of.recurrence;
        let backward = r.backward_operations(&self.present_outputs());
        let forward = match self.of.feedback {
            Some(_) => 0,
            None => r.forward_operations(&vec![false; r.outputs.len()]),
        };
        self.of.flops_of(forward + backward, inputs)
    }
}
