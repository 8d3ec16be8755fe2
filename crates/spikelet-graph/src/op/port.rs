//! The named operands and results of scans.

use super::{Op, Scan};
use crate::text::Text;
use crate::types::TensorType;

/// An operand or result of a [`Scan`] or of a [`ScanGrad`](super::ScanGrad).
///
/// A result of a backward scan is the gradient of the forward scan's operand whose name it has. For T time steps:
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Port {
    /// A sequence that the step reads, `[T, …]`.
    Sequence(usize),
    /// A state before the first step.
    Initial(usize),
    /// A parameter, which is constant over time.
    Param(usize),
    /// The product of the weight and the initial state that is fed back, of the shape of a step.
    FirstProduct,
    /// The weight of the feedback, `[N, N]`.
    Weight,
    /// A sequence that the step computes.
    Output(usize),
    /// A state after the last step.
    Last(usize),
    /// A state after each step.
    StateSeq(usize),
    /// The sum of the first sequence and of the products with the weight.
    Driven,
    /// The spikes that are fed back, before each step.
    Before,
    /// A state after every K steps but the last.
    Checkpoint(usize),
    /// The gradient of an output.
    OutputGrad(usize),
    /// The gradient of a state after the last step.
    LastGrad(usize),
    /// The gradient of a state after each step.
    StateSeqGrad(usize),
    /// The gradient of a parameter over later steps, to which that over these steps is added.
    Accumulator(usize),
}

impl Port {
    /// The gradient of a result as an operand of the backward scan; `None` for a result that has none.
    pub fn grad(self) -> Option<Self> {
        match self {
            Self::Output(k) => Some(Self::OutputGrad(k)),
            Self::Last(k) => Some(Self::LastGrad(k)),
            Self::StateSeq(k) => Some(Self::StateSeqGrad(k)),
            _ => None,
        }
    }

    /// The result whose gradient it is, as in the text of a backward scan.
    pub(super) fn text<'t, 'a>(&mut self, t: &'t mut Text<'a>) -> &'t mut Text<'a> {
        let (mut kind, mut k) = match *self {
            Self::LastGrad(k) => (1, k),
            Self::StateSeqGrad(k) => (2, k),
            Self::OutputGrad(k) => (0, k),
            _ => (0, 0),
        };
        t.one_of(&mut kind, &[("output ", 0), ("last ", 1), ("steps ", 2)])
            .value(&mut k);
        *self = [Self::OutputGrad, Self::LastGrad, Self::StateSeqGrad][kind](k);
        t
    }

    /// Whether it is the gradient of a result.
    pub fn is_grad(self) -> bool {
        matches!(
            self,
            Self::OutputGrad(_) | Self::LastGrad(_) | Self::StateSeqGrad(_)
        )
    }

    /// Whether its first axis is time. A sequence may have one step for all.
    pub fn is_sequence(self) -> bool {
        matches!(
            self,
            Self::Sequence(_)
                | Self::Output(_)
                | Self::StateSeq(_)
                | Self::Driven
                | Self::Before
                | Self::OutputGrad(_)
                | Self::StateSeqGrad(_)
        )
    }

    /// The noun in error messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Sequence(_) => "a sequence",
            Self::Initial(_) => "an initial state",
            Self::Param(_) => "a parameter",
            Self::FirstProduct => "the product of the initial spikes",
            Self::Weight => "the weight",
            Self::Output(_) => "an output",
            Self::Last(_) => "a last state",
            Self::StateSeq(_) => "a state sequence",
            Self::Driven => "the driven input",
            Self::Before => "the sequence of the spikes before each step",
            Self::Checkpoint(_) => "a sequence of checkpoints",
            Self::OutputGrad(_) => "the gradient of an output",
            Self::LastGrad(_) => "the gradient of a last state",
            Self::StateSeqGrad(_) => "the gradient of a state sequence",
            Self::Accumulator(_) => "the partial gradient of a parameter",
        }
    }
}

/// An operation with named operands and results: a [`Scan`] or a [`ScanGrad`](super::ScanGrad).
///
/// ```
/// use spikelet_expr::Expr;
/// use spikelet_graph::op::{Port, Ports, Recurrence, Scan};
/// let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
/// let sum = Recurrence::new("sum", ["x"], ["v"]).output("y", &v + &x, false).next(vec![v + x]);
/// let scan = Scan::new(sum.into(), 50);
/// assert_eq!(scan.operands(), [Port::Sequence(0), Port::Initial(0)]);
/// assert_eq!(scan.result(Port::Last(0)), Some(1));
/// assert_eq!(scan.operand(Port::Weight), None);
/// ```
pub trait Ports {
    /// The operands, in order.
    fn operands(&self) -> Vec<Port>;

    /// The results, in order.
    fn results(&self) -> Vec<Port>;

    /// The scan, or the one whose backward pass this is.
    fn scan(&self) -> &Scan;

    /// The index of an operand; `None` if no operand has this name.
    fn operand(&self, port: Port) -> Option<usize> {
        self.operands().iter().position(|own| *own == port)
    }

    /// The index of a result; `None` if no result has this name.
    fn result(&self, port: Port) -> Option<usize> {
        self.results().iter().position(|own| *own == port)
    }

    /// The indices of the operands whose names fit.
    fn operands_that(&self, fit: &dyn Fn(Port) -> bool) -> Vec<usize> {
        let all = self.operands().into_iter().enumerate();
        all.filter(|(_, port)| fit(*port)).map(|(k, _)| k).collect()
    }

    /// The indices of the results whose names fit.
    fn results_that(&self, fit: &dyn Fn(Port) -> bool) -> Vec<usize> {
        let all = self.results().into_iter().enumerate();
        all.filter(|(_, port)| fit(*port)).map(|(k, _)| k).collect()
    }

    /// The index of an operand that every operation of this kind has.
    ///
    /// # Panics
    /// When this one has no operand of this name.
    fn reads(&self, port: Port) -> usize {
        self.operand(port)
            .unwrap_or_else(|| panic!("the scan has no operand {port:?}"))
    }

    /// The index of a result that every operation of this kind has.
    ///
    /// # Panics
    /// When this one has no result of this name.
    fn writes(&self, port: Port) -> usize {
        self.result(port)
            .unwrap_or_else(|| panic!("the scan has no result {port:?}"))
    }

    /// The operand that holds input `k` of each step: a sequence, or the driven input in its place.
    fn input(&self, k: usize) -> usize {
        self.operand(Port::Sequence(k))
            .unwrap_or_else(|| self.reads(Port::Driven))
    }

    /// The type of one time step of the sequences.
    fn step(&self, inputs: &[TensorType]) -> TensorType {
        let dtype = inputs[self.operand(Port::Weight).unwrap_or(0)].dtype;
        TensorType::new(dtype, inputs[0].shape.get(1..).unwrap_or_default())
    }

    /// Whether every parameter among the operands is a scalar or has one value for each channel.
    fn params_by_channel(&self, inputs: &[TensorType]) -> bool {
        let by_channel = |t: &TensorType| t.shape.iter().rev().skip(1).all(|&n| n == 1);
        let mut operands = self.operands().into_iter().zip(inputs);
        operands.all(|(port, ty)| !matches!(port, Port::Param(_)) || by_channel(ty))
    }
}

impl Op {
    /// The named operands and results of a scan or of its backward pass.
    pub fn ports(&self) -> Option<&dyn Ports> {
        match self {
            Self::Scan(op) => Some(op),
            Self::ScanGrad(op) => Some(op),
            _ => None,
        }
    }
}
