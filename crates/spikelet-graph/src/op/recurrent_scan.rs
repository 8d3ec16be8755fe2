//! The neuron scan with feedback: spikes reach the neurons of the next step through a weight matrix.

use super::scan::check_operands;
use super::{
    MatMul, MatmulPrecision, Operation, Recurrence, RecurrentScanGrad, Scan, ScanGrad, Slice,
    product,
};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::types::TensorType;
use std::sync::Arc;

/// Runs a [`Recurrence`] over axis 0, with `x[t] + s[t−1]·Wᵀ` in place of its first sequence `x`, where
/// the state `s` holds the spikes of the step before.
///
/// Operands: those of a [`Scan`] without the sequences that are constant over time; then the product of
/// the initial `s`, which need not be spikes, with `Wᵀ` (of the shape of a step and the type of the
/// states); then `W`, `[N, N]` for steps `[…, N]`, of the type of the sequences.
///
/// Results: the output sequences `[T, …]`, the last states `[…]`, the state sequences `[T, …]` of the
/// type of the states, the driven input `x[t] + s[t−1]·Wᵀ` of that type, and the spikes before each
/// step, `[T, …]` of the type of the sequences, which are 0 before the first. Results that are not read
/// are not computed.
///
/// With `continues` it is a part of a longer scan: the initial `s` are the spikes of the step before, of
/// which it computes the product itself, with the bits that the longer scan has. They are the spikes before
/// the first step, and the operand with their product is not read.
///
/// ```
/// use spikelet_expr::Expr;
/// use spikelet_graph::op::{Recurrence, RecurrentScan};
/// let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
/// let h = v * 0.5 + x;
/// let s = h.ge(1.0);
/// let lif = Recurrence::new("lif", ["x"], ["v", "s"])
///     .output("y", s.clone(), true)
///     .next(vec![&h - &s, s]);
/// let op = RecurrentScan::new(lif.into(), 250, 1);
/// assert_eq!(op.results(), 1 + 2 + 2 + 2);
/// ```
#[derive(Clone, Debug)]
pub struct RecurrentScan {
    /// The step.
    pub recurrence: Arc<Recurrence>,
    /// The number of steps.
    pub time_steps: usize,
    /// The index of the state that is fed back; its next value is a binary output.
    pub fed: usize,
    /// The precision of f32 products with the weight.
    pub precision: MatmulPrecision,
    /// Whether the initial state `fed` holds spikes of the step before.
    pub continues: bool,
    /// Whether the product has no gradient with respect to the spikes: what remains is the gradient through the states
    /// of each neuron.
    pub local_gradient: bool,
    /// The part of the device that it may fill.
    pub share: DeviceShare,
}

/// The part of a device that a scan with feedback may fill: all of it, or half while another layer's scan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum DeviceShare {
    /// Nothing else runs.
    #[default]
    Whole,
    /// The larger half.
    First,
    /// The rest.
    Second,
}

impl DeviceShare {
    /// What a description of a scan ends with.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::First | Self::Second => ", half of the device",
        }
    }
}

impl RecurrentScan {
    /// A scan that feeds back the state with the index `fed`, in full precision.
    pub fn new(recurrence: Arc<Recurrence>, time_steps: usize, fed: usize) -> Self {
        Self {
            recurrence,
            time_steps,
            fed,
            precision: MatmulPrecision::Full,
            continues: false,
            local_gradient: false,
            share: DeviceShare::Whole,
        }
    }

    /// The number of results.
    pub fn results(&self) -> usize {
        self.before() + 1
    }

    /// The index of the result with the state sequence `k`.
    pub fn state_sequence(&self, k: usize) -> usize {
        self.recurrence.outputs.len() + self.recurrence.states.len() + k
    }

    /// The index of the result with the driven input.
    pub fn driven(&self) -> usize {
        self.state_sequence(self.recurrence.states.len())
    }

    /// The index of the result with the spikes before each step.
    pub fn before(&self) -> usize {
        self.driven() + 1
    }

    /// The index of the operand with the product of the initial spikes.
    pub fn first_product(&self) -> usize {
        let r = &self.recurrence;
        r.inputs.len() + r.states.len() + r.params.len()
    }

    /// The index of the operand with the weight.
    pub fn weight(&self) -> usize {
        self.first_product() + 1
    }

    /// Whether the recurrence's state `fed` may be fed back: its next value is a binary output.
    pub fn feeds_spikes(recurrence: &Recurrence, fed: usize) -> bool {
        let Some(next) = recurrence.next.get(fed) else {
            return false;
        };
        let mut outputs = recurrence.outputs.iter();
        outputs.any(|o| o.binary && o.value.same_value(next))
    }
}

/// The operands' gradients, those of the weight left out.
type Gradients = Vec<Option<ValueId>>;

impl RecurrentScan {
    /// Back-propagation through the states and the product.
    fn gradients(
        &self,
        b: &mut Backward<'_>,
        node: &Node,
        present: Vec<bool>,
    ) -> Result<Gradients> {
        let r = &self.recurrence;
        let op = RecurrentScanGrad {
            recurrence: r.clone(),
            time_steps: self.time_steps,
            fed: self.fed,
            precision: self.precision,
            continues: self.continues,
            share: self.share,
            present,
        };
        let mut operands = vec![node.outputs[self.driven()]];
        operands.extend(&node.inputs[1..self.first_product()]);
        let kept = (0..r.states.len()).filter(|&k| k != self.fed);
        operands.extend(kept.map(|k| node.outputs[self.state_sequence(k)]));
        operands.extend([node.outputs[self.before()], node.inputs[self.weight()]]);
        operands.extend(b.grads.iter().flatten());
        let mut made: Gradients = b.push(op, &operands)?.into_iter().map(Some).collect();
        if self.continues {
            made[self.first_product()] = None;
        }
        Ok(made)
    }

    /// Back-propagation through the states alone: that of a [`Scan`] over the driven input.
    fn local_gradients(
        &self,
        b: &mut Backward<'_>,
        node: &Node,
        present: Vec<bool>,
    ) -> Result<Gradients> {
        let r = &self.recurrence;
        let driven = node.outputs[self.driven()];
        // The driven input has all bits: so have the sequences beside it.
        let mut operands = vec![driven];
        for sequence in &node.inputs[1..r.inputs.len()] {
            operands.push(b.cast_as(*sequence, driven)?);
        }
        operands.extend(&node.inputs[r.inputs.len()..self.first_product()]);
        let grads: Vec<ValueId> = b.grads.iter().flatten().copied().collect();
        for grad in grads {
            operands.push(b.cast_as(grad, driven)?);
        }
        let op = ScanGrad {
            present,
            ..ScanGrad::new(r.clone(), self.time_steps)
        };
        let mut made = b.push(op, &operands)?;
        let at = self.first_product();
        let of_product = match b.wanted[at] && !self.continues {
            true => {
                let first = Slice {
                    axis: 0,
                    start: 0,
                    end: 1,
                };
                let first = b.push1(first, &[made[0]])?;
                Some(b.reshape_as(first, node.inputs[at])?)
            }
            false => None,
        };
        for (k, sequence) in made[..r.inputs.len()].iter_mut().enumerate() {
            *sequence = b.cast_as(*sequence, node.inputs[k])?;
        }
        Ok(made.into_iter().map(Some).chain([of_product]).collect())
    }
}

/// `, continues`
pub(super) fn continues_text(continues: bool) -> &'static str {
    match continues {
        true => ", continues",
        false => "",
    }
}

/// The type of one step of a weight's product, and of the weight.
pub(super) fn product_types(inputs: &[TensorType]) -> [TensorType; 2] {
    let step = Scan::step_shape(inputs);
    let features = step.last().copied().unwrap_or(0);
    [
        TensorType::new(inputs[0].dtype.arithmetic(), step),
        TensorType::new(inputs[0].dtype, [features, features]),
    ]
}

/// Rejects an operand of another type.
pub(super) fn expect_type(
    what: &str,
    given: &TensorType,
    expected: &TensorType,
) -> std::result::Result<(), InvalidOp> {
    if given.shape != expected.shape {
        let help = "a weight is [N, N] for steps [.., N], a product has the shape of a step";
        return Err(mismatch(what, &given.shape, &expected.shape, help));
    }
    if given.dtype != expected.dtype {
        return Err(InvalidOp::new(
            format!("{what} is {}, not {}", given.dtype, expected.dtype),
            "cast it first",
        ));
    }
    Ok(())
}

impl Operation for RecurrentScan {
    fn name(&self) -> String {
        format!("recurrent_{}", self.recurrence.name)
    }

    fn describe(&self) -> String {
        let precision = match self.precision {
            MatmulPrecision::Full => "",
            MatmulPrecision::Tf32 => ", tf32",
        };
        let local = match self.local_gradient {
            true => ", local gradient",
            false => "",
        };
        let Recurrence { name, states, .. } = &*self.recurrence;
        let fed = &states[self.fed];
        format!(
            "recurrent_scan[{name}, T={}, feeds {fed}{precision}{local}{}{}]",
            self.time_steps,
            continues_text(self.continues),
            self.share.text()
        )
    }

    fn outputs(&self, _: usize) -> usize {
        self.results()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let r = &self.recurrence;
        super::arity(inputs, self.weight() + 1)?;
        check_operands(r, self.time_steps, inputs)?;
        if !Self::feeds_spikes(r, self.fed) {
            return Err(InvalidOp::new(
                format!("state {} of `{}` is no binary output", self.fed, r.name),
                "feed back a state whose next value is an output of zeros and ones",
            ));
        }
        let first = &inputs[0];
        if let Some(x) = inputs[..r.inputs.len()]
            .iter()
            .find(|x| x.shape != first.shape || x.shape[0] != self.time_steps)
        {
            let mut expected = vec![self.time_steps];
            expected.extend(Scan::step_shape(inputs));
            return Err(mismatch(
                "a sequence does not have all time steps",
                &x.shape,
                &expected,
                "expand sequences that are constant over time",
            ));
        }
        let [step, weight] = product_types(inputs);
        expect_type("the first product", &inputs[self.first_product()], &step)?;
        expect_type("the weight", &inputs[self.weight()], &weight)?;
        let of_states = TensorType::new(step.dtype, first.shape.clone());
        let mut made = vec![first.clone(); r.outputs.len()];
        made.extend(vec![step; r.states.len()]);
        made.extend(vec![of_states; r.states.len() + 1]);
        made.push(first.clone());
        Ok(made)
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let (grads, of_kept) = b.grads.split_at(self.driven());
        if of_kept.iter().any(Option::is_some) {
            return Err(Error::Gradient {
                what: self.name(),
                problem: "the driven input and the spikes before each step have no gradient; read \
                          the state sequences instead"
                    .to_string(),
            });
        }
        let present: Vec<bool> = grads.iter().map(Option::is_some).collect();
        if !present.contains(&true) {
            return Ok(vec![None; node.inputs.len()]);
        }
        let made = match self.local_gradient {
            true => self.local_gradients(b, node, present)?,
            false => self.gradients(b, node, present)?,
        };
        let mut grads = vec![];
        for (k, value) in made.iter().enumerate() {
            grads.push(match value {
                Some(value) if b.wanted[k] => Some(b.sum_to_shape_of(*value, node.inputs[k])?),
                _ => None,
            });
        }
        // dW = Σ dL/dx[t]ᵀ·s[t−1], one product over all steps and samples.
        grads.push(if b.wanted[self.weight()] {
            let product = MatMul {
                precision: self.precision,
                ..MatMul::new(true, false)
            };
            let before = node.outputs[self.before()];
            let dx = made[0].expect("the gradient of the first sequence is made");
            Some(b.push1(product, &[dx, before])?)
        } else {
            None
        });
        Ok(grads)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        scan_flops(&self.recurrence, self.time_steps, inputs) + product_flops(inputs)
    }
}

/// The operations of the steps without the products.
fn scan_flops(r: &Recurrence, time_steps: usize, inputs: &[TensorType]) -> u64 {
    let program = r.forward_program(&vec![true; r.outputs.len()]);
    let operations = program.map_or(0, |p| p.operations());
    let elements = Scan::step_shape(inputs).iter().copied();
    product([operations, time_steps].into_iter().chain(elements))
}

/// The operations of the products with the weight, of sequences like the first operand.
pub(super) fn product_flops(inputs: &[TensorType]) -> u64 {
    let features = inputs[0].shape.last().copied().unwrap_or(0);
    product([2, features].into_iter().chain(inputs[0].shape.clone()))
}
