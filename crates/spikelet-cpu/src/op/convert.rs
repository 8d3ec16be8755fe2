//! 16-bit operands and results of kernels that compute in f32.
//!
//! Operands are converted to f32 in the workspace, the kernel runs on those, and its results are
//! rounded to the nearest, ties to even. That reads and writes memory twice: this is the
//! reference for devices that compute in 16 bits, not a fast path.

use super::{
    CHUNK, Float, Kernel, Lowered, MAX_OPERANDS, PrepareContext, RunResult, Types, lower_in,
};
use crate::memory::{View, ViewMut};
use crate::parallel;
use arrayvec::ArrayVec;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use spikelet_graph::TensorType;

/// Words of one converted tensor, rounded up to a cache line.
pub(super) fn words(elements: usize) -> usize {
    elements.div_ceil(2).next_multiple_of(8)
}

/// The types of the inner kernel.
pub(super) fn widened(types: &Types) -> Types {
    let wide = |list: &[TensorType]| -> Vec<TensorType> {
        let one = |t: &TensorType| TensorType::new(t.dtype.arithmetic(), t.shape.clone());
        list.iter().map(one).collect()
    };
    Types {
        inputs: wide(&types.inputs),
        outputs: wide(&types.outputs),
        used: types.used.clone(),
    }
}

/// A kernel between conversions.
struct HalfKernel {
    inner: Box<dyn Kernel>,
    /// Elements of each 16-bit operand and result; `None` for one that is not converted.
    inputs: Vec<Option<usize>>,
    outputs: Vec<Option<usize>>,
}

/// A kernel between conversions, with workspace for all converted operands and results.
pub(super) fn lower<'a>(cx: &'a PrepareContext<'_>) -> Lowered<'a> {
    let half = |list: &[TensorType]| -> Vec<Option<usize>> {
        let one = |t: &TensorType| t.dtype.is_half().then(|| t.len());
        list.iter().map(one).collect()
    };
    let (inputs, outputs) = (half(&cx.types.inputs), half(&cx.types.outputs));
    let inner = cx.with(widened(&cx.types));
    let converted = inputs.iter().chain(&outputs).flatten().map(|n| words(*n));
    let words = converted.fold(lower_in::<f32>(&inner).workspace, usize::saturating_add);
    Lowered::new(words, move || {
        Ok(Box::new(HalfKernel {
            inner: (lower_in::<f32>(&inner).kernel)()?,
            inputs,
            outputs,
        }))
    })
}

/// The first `elements` of the workspace, and the rest.
fn take(workspace: &mut [u64], elements: usize) -> (&mut [f32], &mut [u64]) {
    let (piece, rest) = workspace.split_at_mut(words(elements));
    (&mut f32::from_words(piece)[..elements], rest)
}

fn widen_f16(from: &[f16], to: &mut [f32]) {
    parallel::for_each_chunk(to, CHUNK, |k, to| {
        from[k * CHUNK..][..to.len()].convert_to_f32_slice(to);
    });
}

fn widen_bf16(from: &[bf16], to: &mut [f32]) {
    parallel::for_each_chunk(to, CHUNK, |k, to| {
        from[k * CHUNK..][..to.len()].convert_to_f32_slice(to);
    });
}

/// Converts an operand, or the old content of the result that shares its memory.
fn widen(read: &View<'_>, writes: &[ViewMut<'_>], to: &mut [f32]) {
    match read {
        View::F16(from) => widen_f16(from, to),
        View::BF16(from) => widen_bf16(from, to),
        View::InPlace(j) => match &writes[*j] {
            ViewMut::F16(from) => widen_f16(from, to),
            ViewMut::BF16(from) => widen_bf16(from, to),
            _ => unreachable!("an operand has the type of the result that shares its memory"),
        },
        _ => unreachable!("the operand has 16-bit elements"),
    }
}

/// Rounds a result into its memory.
fn round(from: &[f32], write: &mut ViewMut<'_>) {
    match write {
        ViewMut::F16(to) => parallel::for_each_chunk(to, CHUNK, |k, to| {
            to.convert_from_f32_slice(&from[k * CHUNK..][..to.len()]);
        }),
        ViewMut::BF16(to) => parallel::for_each_chunk(to, CHUNK, |k, to| {
            to.convert_from_f32_slice(&from[k * CHUNK..][..to.len()]);
        }),
        _ => {}
    }
}

/// A result for the inner kernel: in the workspace, or in place.
fn lend<'a>(write: &'a mut ViewMut<'_>, wide: Option<&'a mut [f32]>) -> ViewMut<'a> {
    match (write, wide) {
        (ViewMut::Unused, _) => ViewMut::Unused,
        (_, Some(wide)) => ViewMut::F32(wide),
        (ViewMut::F32(y), None) => ViewMut::F32(y),
        (ViewMut::F64(y), None) => ViewMut::F64(y),
        (ViewMut::F16(y), None) => ViewMut::F16(y),
        (ViewMut::BF16(y), None) => ViewMut::BF16(y),
        (ViewMut::I64(y), None) => ViewMut::I64(y),
        (ViewMut::Bits(y), None) => ViewMut::Bits(y),
    }
}

impl Kernel for HalfKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let mut rest = workspace;
        let mut wide_reads: ArrayVec<View<'_>, MAX_OPERANDS> = ArrayVec::new();
        for (read, half) in reads.iter().zip(&self.inputs) {
            wide_reads.push(match half {
                Some(elements) => {
                    let (to, left) = take(rest, *elements);
                    rest = left;
                    widen(read, writes, to);
                    View::F32(to)
                }
                None => *read,
            });
        }
        let mut wide: ArrayVec<Option<&mut [f32]>, MAX_OPERANDS> = ArrayVec::new();
        for half in &self.outputs {
            wide.push(match half {
                Some(elements) => {
                    let (to, left) = take(rest, *elements);
                    rest = left;
                    Some(to)
                }
                None => None,
            });
        }
        let mut lent: ArrayVec<ViewMut<'_>, MAX_OPERANDS> = ArrayVec::new();
        for (write, wide) in writes.iter_mut().zip(&mut wide) {
            lent.push(lend(write, wide.as_deref_mut()));
        }
        self.inner.run(&wide_reads, &mut lent, rest)?;
        drop(lent);
        for (write, wide) in writes.iter_mut().zip(&wide) {
            if let Some(from) = wide {
                round(from, write);
            }
        }
        Ok(())
    }
}
