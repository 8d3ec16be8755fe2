//! The kernel of operations that copy elements: expand, permute, slice and concat.

use super::transpose::Transpose;
use super::{CHUNK, Kernel, RunResult, Types};
use crate::broadcast::Broadcast;
use crate::memory::{Element, View, ViewMut, for_each_dtype};
use crate::parallel;

/// Every element of the result is an element of one operand.
pub(super) enum CopyKernel {
    /// Operands that are gathered, each into a part of the result.
    Gathered(Vec<Operand>),
    /// The only operand, with its matrices transposed.
    Transposed(Transpose),
}

/// The place of one operand in the result.
pub(super) struct Operand {
    gather: Broadcast,
    /// Elements of the operand before the first that is read.
    skip: usize,
    /// The result as `[outer, row]`; the operand fills `length` elements of each row from `at`.
    row: usize,
    at: usize,
    length: usize,
}

impl CopyKernel {
    /// The result is gathered from the only operand, starting at its element `skip`.
    pub(super) fn gathered(types: &Types, gather: Broadcast, skip: usize) -> Self {
        let length = types.outputs[0].len();
        Self::Gathered(vec![Operand {
            gather,
            skip,
            row: length,
            at: 0,
            length,
        }])
    }

    /// The operands one after another along an axis of the result.
    pub(super) fn concatenated(types: &Types, axis: usize) -> Self {
        let row = types.outputs[0].shape[axis..].iter().product();
        let mut at = 0;
        let operand = |shape: &[usize]| {
            let length = shape[axis..].iter().product();
            at += length;
            Operand {
                gather: Broadcast::Same,
                skip: 0,
                row,
                at: at - length,
                length,
            }
        };
        let shapes = types.inputs.iter().map(|input| &input.shape[..]);
        Self::Gathered(shapes.map(operand).collect())
    }
}

impl MoveKernel for CopyKernel {
    fn run_typed<R: Element>(&self, reads: &[View<'_>], to: &mut [R]) {
        if to.is_empty() {
            return;
        }
        let operands = match self {
            Self::Gathered(operands) => operands,
            Self::Transposed(transpose) => return transpose.run(R::of(&reads[0]), to),
        };
        for (operand, read) in operands.iter().zip(reads) {
            let from = &R::of(read)[operand.skip..];
            if operand.row == operand.length {
                parallel::for_each_chunk(to, CHUNK, |k, to| {
                    operand.gather.gather(from, k * CHUNK, to);
                });
            } else if operand.length > 0 {
                parallel::for_each_chunk(to, operand.row, |k, to| {
                    let from = &from[k * operand.length..][..operand.length];
                    to[operand.at..operand.at + operand.length].copy_from_slice(from);
                });
            }
        }
    }
}

/// A kernel that moves elements of any type.
pub(super) trait MoveKernel: Send {
    fn run_typed<R: Element>(&self, reads: &[View<'_>], to: &mut [R]);
}

impl<K: MoveKernel> Kernel for K {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        macro_rules! run {
            ($($variant:ident: $type:ty),*) => {
                match &mut writes[0] {
                    $(ViewMut::$variant(to) => self.run_typed(reads, to),)*
                    ViewMut::Bits(_) => {
                        return Err("bit-packed spikes cannot be copied element by element".to_string());
                    }
                    ViewMut::Unused => {}
                }
            };
        }
        for_each_dtype!(run);
        Ok(())
    }
}
