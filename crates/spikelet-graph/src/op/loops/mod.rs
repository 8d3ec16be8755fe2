//! A loop over time: one body, run once for each time step.

mod body;
mod derivative;
mod products;

pub use body::LoopBody;

use super::{Op, Operation};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::semantics::{Class, Join, Kind, Role, Semantics};
use crate::text::Text;
use crate::types::TensorType;
use std::ops::Range;
use std::sync::Arc;

/// Runs a body `length` times and carries values from step to step (`scan` in JAX, `Scan` in ONNX).
///
/// | operands, in order | type |
/// |---|---|
/// | the initial carried values | those of the body's carried inputs |
/// | sequences | that of the body's input with `length` times its axis 0: step t reads the t-th of `length` equal pieces |
/// | invariants | those of the body's inputs, the same at every step |
///
/// | results, in order | type |
/// |---|---|
/// | the carried values after the last step | as before the first |
/// | stacked values | that of the body's output with `length` times its axis 0: step t writes piece t |
///
/// A sequence `[T, N, …]` is read in steps `[1, N, …]`, and results `[1, N, …]` are stacked to `[T, N, …]`.
/// With `reverse` the last piece comes first. The derivative is a loop in the other direction, which
/// recomputes the step from the carried values before it; these become stacked results of the forward loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loop {
    /// What a step computes. Shared by clones of the node.
    pub body: Arc<LoopBody>,
    /// The number of steps.
    pub length: usize,
    /// Whether the steps run from the last piece to the first.
    pub reverse: bool,
    /// Whether operations that do not depend on carried values may leave the body.
    pub hoist: bool,
}

impl Loop {
    /// The indices of the operands that are sequences.
    pub fn sequence_operands(&self) -> std::ops::Range<usize> {
        let first = self.body.carried_count();
        first..first + self.body.sequence_count()
    }

    fn check_operand(
        &self,
        what: &str,
        given: &TensorType,
        expected: &TensorType,
    ) -> std::result::Result<(), InvalidOp> {
        if given == expected {
            return Ok(());
        }
        Err(InvalidOp::new(
            format!(
                "{what} is {given}; the body of {} steps expects {expected}",
                self.length
            ),
            "pass operands of the types that the body was traced with",
        ))
    }
}

impl Operation for Loop {
    fn kind(&self) -> Kind {
        Kind::new("loop", Class::Recurrence)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let (mut carried, mut sequences) = (self.body.carried_count(), self.body.sequence_count());
        let (mut graph, mut stays) = (self.body.graph().clone(), !self.hoist);
        t.word("loop[T=").value(&mut self.length);
        t.flag(&mut self.reverse, ", reverse")
            .word(", carries ")
            .value(&mut carried);
        t.word(", reads ")
            .value(&mut sequences)
            .word(" sequences")
            .flag(&mut stays, ", all in the body");
        t.word("]").body(&mut graph).read(|| {
            self.hoist = !stays;
            self.body = LoopBody::new(graph, carried, sequences)?.into();
            Ok(())
        });
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let body = &self.body;
        super::arity(inputs, body.graph().inputs.len())?;
        let kinds = [
            ("initial value", body.carried_count()),
            ("sequence", body.sequence_count()),
            ("invariant", body.invariant_count()),
        ];
        let mut operands = inputs.iter().zip(&body.graph().inputs);
        for (what, count) in kinds {
            for (k, (given, input)) in operands.by_ref().take(count).enumerate() {
                let piece = body.graph().ty(input.value);
                let expected = match what {
                    "sequence" => body::stacked(piece, self.length)?,
                    _ => piece.clone(),
                };
                self.check_operand(&format!("{what} {k} (`{}`)", input.name), given, &expected)?;
            }
        }
        let last = body
            .carried_outputs()
            .map(|v| Ok(body.graph().ty(v).clone()));
        let stacked = body.stacked_outputs();
        let stacked = stacked.map(|v| body::stacked(body.graph().ty(v), self.length));
        last.chain(stacked).collect()
    }

    fn outputs(&self, _: usize) -> usize {
        self.body.graph().outputs.len()
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        derivative::differentiate(self, b, node)
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let carried = self.body.carried_count();
        let mut s = Semantics::new(inputs, outputs);
        let steps = Role::Carried {
            reverse: self.reverse,
        };
        let stacked = (carried..outputs.len()).map(|k| (k, 0));
        s.axis(
            steps,
            self.length,
            self.sequence_operands().map(|k| (k, 0)),
            stacked,
        );
        s.carries = (0..carried).zip(0..).collect();
        s.joins = vec![Join::Last; outputs.len()];
        s
    }

    fn resized(&self, _axis: usize, range: &Range<usize>, _results: &[TensorType]) -> Option<Op> {
        let mut op = self.clone();
        op.length = range.len();
        Some(op.into())
    }

    fn flops(&self, _: &[TensorType], _: &[TensorType]) -> u64 {
        let graph = self.body.graph();
        let types = |values: &[ValueId]| -> Vec<TensorType> {
            values.iter().map(|v| graph.ty(*v).clone()).collect()
        };
        let nodes = graph.nodes.iter();
        let step = nodes.map(|n| n.op.flops(&types(&n.inputs), &types(&n.outputs)));
        let step = step.fold(0, u64::saturating_add);
        step.saturating_mul(self.length as u64)
    }

    /// Carried values are kept in the memory of the results between the steps.
    fn writes_unread(&self, _: usize) -> bool {
        true
    }

    fn body_runs(&self) -> usize {
        self.length
    }

    fn recurrent_steps(&self) -> Option<usize> {
        Some(self.length)
    }

    fn body(&self) -> Option<&Graph> {
        Some(self.body.graph())
    }

    fn body_mut(&mut self) -> Option<&mut Graph> {
        Some(Arc::make_mut(&mut self.body).graph_mut())
    }
}
