//! Sequences of different lengths in one batch.
//!
//! A batch is padded to its longest sequence, `[T, N, …]`, and comes with the lengths before padding, i64 `[N]`
//! (`x_length` of a loader's field `x`). Neurons run over the padding; what reads their output leaves it out:
//!
//! | | |
//! |---|---|
//! | [`mean`], [`sum`], [`last`] | over the time steps of each sequence |
//! | [`mask`] | 1 for the time steps of a sequence, 0 behind it |
//! | [`CrossEntropy::ignore_label`](crate::loss::CrossEntropy::ignore_label) | a label for each time step, padded with the ignored one |
//! | [`BatchNorm::lengths`](crate::layer::BatchNorm::lengths) | the statistics of batch norm in training |
//!
//! The results of a sequence are then those that it has alone, unless a layer mixes samples, as batch norm does in
//! training: without `lengths` it counts the padding too.

use spikelet_graph::{DType, Error, Var};

/// 1 for the time steps of each sequence, 0 behind it: `[T, N]` for lengths i64 `[N]` of 0 to T.
///
/// ```
/// use spikelet_nn::prelude::*;
/// use spikelet_nn::sequence;
/// let tracer = Tracer::new(DType::F32);
/// let lengths = tracer.input("x_length", DType::I64, [32]);
/// assert_eq!(sequence::mask(&lengths, 100).shape(), [100, 32]);
/// ```
pub fn mask(lengths: &Var, time_steps: usize) -> Var {
    // 1 from the length on.
    let ended = lengths.one_hot(time_steps + 1).cumsum(1);
    (1.0 - ended.slice(1, 0..time_steps)).permute(&[1, 0])
}

/// The sum over the time steps of each sequence: `[T, N, …] → [N, …]`, for lengths i64 `[N]`.
///
/// ```
/// use spikelet_nn::prelude::*;
/// use spikelet_nn::sequence;
/// let tracer = Tracer::new(DType::F32);
/// let x_seq = tracer.input("x", DType::F32, [100, 32, 20]);
/// let lengths = tracer.input("x_length", DType::I64, [32]);
/// assert_eq!(sequence::sum(&x_seq, &lengths).shape(), [32, 20]);
/// assert_eq!(sequence::mean(&x_seq, &lengths).shape(), [32, 20]);
/// assert_eq!(sequence::last(&x_seq, &lengths).shape(), [32, 20]);
/// ```
pub fn sum(x_seq: &Var, lengths: &Var) -> Var {
    if !fits("the sum", x_seq, lengths) {
        return x_seq.clone();
    }
    (x_seq * mask_of(lengths, x_seq)).sum(&[0])
}

/// The mean over the time steps of each sequence; 0 for an empty one. As [`sum`].
pub fn mean(x_seq: &Var, lengths: &Var) -> Var {
    if !fits("the mean", x_seq, lengths) {
        return x_seq.clone();
    }
    let mask = mask_of(lengths, x_seq);
    (x_seq * &mask).sum(&[0]) / mask.sum(&[0]).maximum(1.0)
}

/// The last time step of each sequence; 0 for an empty one. As [`sum`].
pub fn last(x_seq: &Var, lengths: &Var) -> Var {
    if !fits("the last step", x_seq, lengths) {
        return x_seq.clone();
    }
    let steps = x_seq.dim(0);
    let is_last = lengths.one_hot(steps + 1).slice(1, 1..steps + 1);
    (x_seq * beside(&is_last.permute(&[1, 0]), x_seq)).sum(&[0])
}

/// The [`mask`] of sequences `[T, N, …]`, with an axis of one element for each further axis.
pub(crate) fn mask_of(lengths: &Var, x_seq: &Var) -> Var {
    beside(&mask(lengths, x_seq.dim(0)), x_seq)
}

/// A mask `[T, N]` with an axis of one element for each further axis of a sequence.
fn beside(mask: &Var, x_seq: &Var) -> Var {
    (mask.rank()..x_seq.rank()).fold(mask.clone(), |mask, axis| mask.unsqueeze(axis))
}

/// Whether there is a length for each sequence. If not, the trace records an error.
fn fits(what: &str, x_seq: &Var, lengths: &Var) -> bool {
    let found = x_seq.rank() >= 2 && lengths.shape() == &x_seq.shape()[1..2];
    let fits = found && lengths.ty().dtype == DType::I64;
    if !fits {
        x_seq.tracer().fail(Error::Shape {
            layer: x_seq.tracer().path(),
            operation: what.to_string(),
            problem: "there is not a length for each sequence".to_string(),
            given: format!("sequences {} and lengths {}", x_seq.ty(), lengths.ty()),
            help: "give sequences [T, N, …] and lengths i64 [N]".to_string(),
        });
    }
    fits
}
