//! The types of a scan's operands and results.

use super::{Feedback, Port, Scan};
use super::{expect_broadcast, invalid};
use crate::error::InvalidOp;
use crate::types::{DType, ShapeText, TensorType};

impl Scan {
    /// The shape of one time step of the outputs.
    fn pooled_shape(&self, step: &[usize]) -> Vec<usize> {
        let mut shape = step.to_vec();
        if let (Some([h, w]), [.., height, width, _]) = (self.pool, &mut shape[..]) {
            *height /= h;
            *width /= w;
        }
        shape
    }

    /// The type of a port for the type of one step of the sequences. A sequence may have one step for all, initial
    /// states and parameters broadcast to theirs.
    pub(crate) fn ty(&self, port: Port, step: &TensorType) -> TensorType {
        let (time, dtype) = (self.time_steps, step.dtype);
        let state = dtype.arithmetic();
        let steps = |count: usize, dtype: DType, step: &[usize]| {
            TensorType::new(dtype, [&[count], step].concat())
        };
        match port {
            Port::Sequence(_) | Port::Before => steps(time, dtype, &step.shape),
            Port::Output(_) | Port::OutputGrad(_) => {
                steps(time, dtype, &self.pooled_shape(&step.shape))
            }
            Port::StateSeq(_) | Port::StateSeqGrad(_) => {
                let dtype = self.feedback.as_ref().map_or(dtype, |_| state);
                steps(time, dtype, &step.shape)
            }
            Port::Driven => steps(time, state, &step.shape),
            Port::Checkpoint(_) => {
                let every = self.checkpoint.unwrap_or(time).max(1);
                let count = time.div_ceil(every).saturating_sub(1);
                steps(count, state, &step.shape)
            }
            Port::Weight => {
                let features = step.shape.last().copied().unwrap_or(0);
                TensorType::new(dtype, [features, features])
            }
            Port::Initial(_)
            | Port::Param(_)
            | Port::FirstProduct
            | Port::Last(_)
            | Port::LastGrad(_)
            | Port::Accumulator(_) => TensorType::new(state, &*step.shape),
        }
    }

    /// Checks the type of an operand of this scan or of its backward pass, for that of one step.
    pub(super) fn check(
        &self,
        port: Port,
        given: &TensorType,
        step: &TensorType,
    ) -> std::result::Result<(), InvalidOp> {
        let expected = self.ty(port, step);
        let broadcasts = matches!(port, Port::Initial(_) | Port::Param(_));
        let of_step = broadcasts || matches!(port, Port::Sequence(_));
        if !step.dtype.is_float() || (of_step && given.dtype != expected.dtype) {
            return invalid!("sequences, states and parameters differ in element type";
                "use one floating-point type; states and parameters of f16 and bf16 sequences are f32");
        }
        if broadcasts {
            let problem = "a state or parameter does not broadcast to one time step";
            return expect_broadcast(problem, given, &step.shape);
        }
        let any_type = match port {
            Port::Before => given.dtype == DType::Bits,
            // A kernel without feedback converts gradients.
            port => port.is_grad() && self.feedback.is_none(),
        };
        let constant = self.feedback.is_none()
            && given.shape.first() == Some(&1)
            && given.shape[1..] == *step.shape;
        match port {
            _ if *given == expected => Ok(()),
            _ if any_type && given.shape == expected.shape => Ok(()),
            Port::Sequence(_) if constant => Ok(()),
            Port::Sequence(_) => {
                let help = match self.feedback {
                    Some(_) => "expand sequences that are constant over time",
                    None => "make all sequences [T, N, ...]",
                };
                invalid!("the shapes of the sequences differ: {} against {}",
                    ShapeText(&given.shape), ShapeText(&expected.shape); help)
            }
            Port::FirstProduct | Port::Weight => {
                invalid!("{} is {given}, not {expected}", port.what();
                "a weight is [N, N] for steps [.., N], a product has the shape of a step")
            }
            _ => invalid!("{} is {given}, not {expected}", port.what();
                "pass what the scan over the same operands computes, and the gradients of its results"),
        }
    }

    /// Checks the attributes for the type of a step.
    pub(super) fn check_step(&self, step: &TensorType) -> std::result::Result<(), InvalidOp> {
        let r = &self.recurrence;
        if step.shape.is_empty() {
            return invalid!("a sequence has fewer than two axes"; "make the input [T, N, ...]");
        }
        if let Some(feedback) = &self.feedback {
            if !Feedback::feeds_spikes(r, feedback.state) {
                return invalid!("state {} of `{}` is no binary output", feedback.state, r.name;
                    "feed back a state whose next value is an output of zeros and ones");
            }
            if self.pool.is_some() || self.checkpoint.is_some() {
                return invalid!("a scan with feedback pools its outputs or stores checkpoints";
                    "pool them by a separate operation; the backward pass reads the state sequences");
            }
        }
        if let Some(every) = self.checkpoint
            && !(1..self.time_steps).contains(&every)
        {
            return invalid!("cannot store checkpoints every {every} of {} steps", self.time_steps;
                "use at least 1 and less than the number of time steps");
        }
        let Some([h, w]) = self.pool else {
            return Ok(());
        };
        if r.outputs.iter().any(|o| !o.binary) {
            return invalid!("pools outputs that are not spikes";
                "pool them by a separate operation");
        }
        let covers = |n: usize, size: usize| size > 0 && n.is_multiple_of(size);
        match step.shape[..] {
            [.., height, width, _] if covers(height, h) && covers(width, w) => Ok(()),
            _ => invalid!("blocks of {h}×{w} neurons do not cover a step of {}",
                ShapeText(&step.shape);
                "pool steps [.., height, width, channels] that are multiples of the block"),
        }
    }
}
