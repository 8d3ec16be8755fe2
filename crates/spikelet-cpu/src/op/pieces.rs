//! 16-bit operands and results, converted a few images at a time.
//!
//! Where the images of a batch are independent and no sum depends on their number, as in pooling and two of a
//! convolution's parts, the batch is processed in pieces, so that the f32 copies do not take more memory than the sequence
//! in f32 would.

use super::convert::{self, widened};
use super::{
    CHUNK, Float, Kernel, Lowered, MAX_OPERANDS, PrepareContext, RunResult, Types, lower_in,
};
use crate::memory::{View, ViewMut};
use crate::parallel;
use arrayvec::ArrayVec;
use half::slice::HalfFloatSliceExt;
use spikelet_graph::TensorType;
use spikelet_graph::op::{Op, Operation};
use spikelet_graph::semantics::{Access, Class, Role};

/// Elements of all copies of a piece: enough for several threads, and close to the cache sizes.
const PIECE_ELEMENTS: usize = 1 << 21;

/// The layout of an operand or result: `rows` times the images of the batch, each of `width` elements;
/// or shared by all images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandLayout {
    Images { rows: usize, width: usize },
    Shared { elements: usize },
}

/// The first axis of the images and the number of their axes; `None` without such axes.
type Axes = Option<(usize, usize)>;

/// The axes of the images of all operands and of all results: the first parallel axis, with those that are behind it in
/// every operand and result. `None` for a node whose batch is not split.
fn image_axes(op: &Op, types: &Types) -> Option<[Vec<Axes>; 2]> {
    let s = op.semantics(&types.inputs, &types.outputs);
    let is_exact = op.is_chunked() || (op.class() == Class::Reduction && !s.reduces());
    let parallel = |axis: &usize| s.axes.get(*axis).is_some_and(|a| a.role == Role::Parallel);
    let first = (0..s.axes.len()).find(parallel)?;
    let of_operands = s.operands.iter().zip(&types.inputs);
    let of_results = s.results.iter().zip(&types.outputs);
    let all = of_operands.chain(of_results);
    let together = |(access, ty): (&Access, &TensorType), axis: usize| match access.place(first) {
        None => access.place(axis).is_none(),
        Some(at) => {
            let at = at + axis - first;
            access.place(axis) == Some(at) && ty.shape[at] == s.axes[axis].length
        }
    };
    let run = (first..)
        .take_while(|axis| parallel(axis) && all.clone().all(|tensor| together(tensor, *axis)));
    let count = run.count();
    let places = |accesses: &[Access]| -> Vec<Axes> {
        let places = accesses.iter().map(|access| access.place(first));
        places.map(|at| Some((at?, count))).collect()
    };
    let axes = [places(&s.operands), places(&s.results)];
    let floats = all.clone().all(|(_, ty)| ty.dtype.is_float());
    let fits = is_exact && floats && count > 0 && axes[1].iter().all(Option::is_some);
    fits.then_some(axes)
}

impl OperandLayout {
    fn of(ty: &TensorType, axes: Axes) -> Self {
        let size = |shape: &[usize]| shape.iter().product::<usize>();
        match axes {
            None => Self::Shared { elements: ty.len() },
            Some((first, count)) => Self::Images {
                rows: size(&ty.shape[..first]),
                width: size(&ty.shape[first + count..]),
            },
        }
    }

    /// Elements of a number of images.
    fn elements(self, images: usize) -> usize {
        match self {
            Self::Images { rows, width } => rows * width * images,
            Self::Shared { elements } => elements,
        }
    }
}

/// The pieces in which a node processes its batch.
pub(super) struct BatchPieces {
    images: usize,
    /// Images of a piece, fewer than the batch has.
    piece: usize,
    inputs: Vec<OperandLayout>,
    outputs: Vec<OperandLayout>,
    /// The types of the inner kernel for the full batch, and the axes of the images.
    types: Types,
    axes: [Vec<Axes>; 2],
}

impl BatchPieces {
    /// The pieces of a node, if its batch can be split and is large enough.
    pub(super) fn of(op: &Op, types: &Types) -> Option<Self> {
        let axes = image_axes(op, types)?;
        let layouts = |types: &[TensorType], axes: &[Axes]| -> Vec<OperandLayout> {
            let pairs = types.iter().zip(axes);
            pairs.map(|(t, axes)| OperandLayout::of(t, *axes)).collect()
        };
        let (inputs, outputs) = (
            layouts(&types.inputs, &axes[0]),
            layouts(&types.outputs, &axes[1]),
        );
        let (first, count) = (*axes[0].first()?)?;
        let images: usize = types.inputs[0].shape[first..first + count].iter().product();
        let each = inputs.iter().chain(&outputs).map(|l| l.elements(1));
        let piece = (PIECE_ELEMENTS / each.sum::<usize>().max(1)).max(1);
        (piece < images).then(|| Self {
            images,
            piece,
            inputs,
            outputs,
            types: widened(types),
            axes,
        })
    }

    /// The types of a kernel for a number of images.
    fn types(&self, images: usize) -> Types {
        let cut = |types: &[TensorType], axes: &[Axes]| -> Vec<TensorType> {
            let one = |(t, axes): (&TensorType, &Axes)| {
                let mut ty = t.clone();
                if let Some((first, count)) = *axes {
                    ty.shape.splice(first..first + count, [images]);
                }
                ty
            };
            types.iter().zip(axes).map(one).collect()
        };
        Types {
            inputs: cut(&self.types.inputs, &self.axes[0]),
            outputs: cut(&self.types.outputs, &self.axes[1]),
            used: self.types.used.clone(),
        }
    }

    /// The sizes of pieces: the common one, and that of the last piece if it is smaller.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        let rest = self.images % self.piece;
        [self.piece, rest].into_iter().filter(|size| *size > 0)
    }

    /// A kernel that processes the batch in pieces, with workspace for the copies and the inner kernel.
    pub(super) fn lower<'a>(self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let inner: Vec<PrepareContext<'_>> =
            self.sizes().map(|size| cx.with(self.types(size))).collect();
        let most = inner.iter().map(|cx| lower_in::<f32>(cx).workspace).max();
        let copies = self.inputs.iter().chain(&self.outputs);
        let copies = copies.map(|l| convert::words(l.elements(self.piece)));
        let words = copies.fold(most.unwrap_or(0), usize::saturating_add);
        Lowered::new(words, move || {
            let kernels = inner.iter().map(|cx| (lower_in::<f32>(cx).kernel)());
            Ok(Box::new(PieceKernel {
                kernels: kernels.collect::<spikelet_graph::Result<_>>()?,
                pieces: self,
            }))
        })
    }
}

/// A kernel that processes its batch in pieces.
struct PieceKernel {
    pieces: BatchPieces,
    /// For full pieces, and for the rest.
    kernels: Vec<Box<dyn Kernel>>,
}

/// Copies elements starting at `at` to f32.
fn load(read: &View<'_>, writes: &[ViewMut<'_>], at: usize, to: &mut [f32]) {
    let range = at..at + to.len();
    macro_rules! copy {
        ($from:expr, $copy:ident) => {{
            let from = &$from[range];
            parallel::for_each_chunk(to, CHUNK, |k, to| {
                let from = &from[k * CHUNK..][..to.len()];
                $copy!(from, to);
            })
        }};
    }
    macro_rules! same {
        ($from:ident, $to:ident) => {
            $to.copy_from_slice($from)
        };
    }
    macro_rules! wide {
        ($from:ident, $to:ident) => {
            $from.convert_to_f32_slice($to)
        };
    }
    match read {
        View::F32(from) => copy!(from, same),
        View::F16(from) => copy!(from, wide),
        View::BF16(from) => copy!(from, wide),
        View::InPlace(j) => match &writes[*j] {
            ViewMut::F32(from) => copy!(from, same),
            ViewMut::F16(from) => copy!(from, wide),
            ViewMut::BF16(from) => copy!(from, wide),
            _ => unreachable!("an operand has the type of the result that shares its memory"),
        },
        _ => unreachable!("the operands are floats of at most 32 bits"),
    }
}

/// Copies f32 elements, rounded, to the result starting at `at`.
fn store(from: &[f32], write: &mut ViewMut<'_>, at: usize) {
    let range = at..at + from.len();
    macro_rules! copy {
        ($to:expr, $copy:ident) => {
            parallel::for_each_chunk(&mut $to[range], CHUNK, |k, to| {
                to.$copy(&from[k * CHUNK..][..to.len()]);
            })
        };
    }
    match write {
        ViewMut::F32(to) => copy!(to, copy_from_slice),
        ViewMut::F16(to) => copy!(to, convert_from_f32_slice),
        ViewMut::BF16(to) => copy!(to, convert_from_f32_slice),
        _ => {}
    }
}

/// The first `elements` of the workspace, and the rest after `capacity` elements.
fn take(workspace: &mut [u64], elements: usize, capacity: usize) -> (&mut [f32], &mut [u64]) {
    let (piece, rest) = workspace.split_at_mut(convert::words(capacity));
    (&mut f32::from_words(piece)[..elements], rest)
}

impl Kernel for PieceKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let Self { pieces, kernels } = self;
        for first in (0..pieces.images).step_by(pieces.piece) {
            let images = pieces.piece.min(pieces.images - first);
            let mut rest = &mut *workspace;
            let mut operands: ArrayVec<View<'_>, MAX_OPERANDS> = ArrayVec::new();
            for (read, layout) in reads.iter().zip(&pieces.inputs) {
                let capacity = layout.elements(pieces.piece);
                let (to, left) = take(rest, layout.elements(images), capacity);
                rest = left;
                match *layout {
                    OperandLayout::Images { rows, width } => {
                        let to = to.chunks_mut((width * images).max(1));
                        for (row, to) in (0..rows).zip(to) {
                            load(read, writes, (row * pieces.images + first) * width, to);
                        }
                    }
                    // It was loaded with the first piece; a result may share its memory.
                    OperandLayout::Shared { .. } if first > 0 => {}
                    OperandLayout::Shared { .. } => load(read, writes, 0, to),
                }
                operands.push(View::F32(to));
            }
            let mut results: ArrayVec<ViewMut<'_>, MAX_OPERANDS> = ArrayVec::new();
            for (write, layout) in writes.iter().zip(&pieces.outputs) {
                let capacity = layout.elements(pieces.piece);
                let (to, left) = take(rest, layout.elements(images), capacity);
                rest = left;
                results.push(match write {
                    ViewMut::Unused => ViewMut::Unused,
                    _ => ViewMut::F32(to),
                });
            }
            let kernel = usize::from(images < pieces.piece);
            kernels[kernel].run(&operands, &mut results, rest)?;
            for ((result, write), layout) in results.iter().zip(&mut *writes).zip(&pieces.outputs) {
                let (ViewMut::F32(from), OperandLayout::Images { rows, width }) = (result, *layout)
                else {
                    continue;
                };
                let from = from.chunks((width * images).max(1));
                for (row, from) in (0..rows).zip(from) {
                    store(from, write, (row * pieces.images + first) * width);
                }
            }
        }
        Ok(())
    }
}
