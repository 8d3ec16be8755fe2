//! 16-bit operands and results, converted for a few images at a time.
//!
//! Where every image of a batch goes through by itself, in scans, pooling and two of a convolution's
//! parts, the f32 copies that a kernel computes with need not be those of the whole sequence: they
//! would take more memory than the sequence in f32.

use super::convert::{self, widened};
use super::{CHUNK, Float, Kernel, MOST, Types};
use crate::memory::{View, ViewMut};
use arrayvec::ArrayVec;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use spikelet_graph::TensorType;
use spikelet_graph::op::{ConvPart, Op};

/// Elements of all copies of a piece: enough for several threads, and near to the caches.
const MOST_ELEMENTS: usize = 1 << 21;

/// How an operand or a result lies: `rows` times the images of the batch, each of `width` elements;
/// or the same for all images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Images { rows: usize, width: usize },
    Shared { elements: usize },
}

/// The first axis of the images, and how many axes count them; nothing for what has none.
type Axes = Option<(usize, usize)>;

/// The axes of the images of an operand or result; `None` for a node that is not cut.
fn axes_of(op: &Op, types: &Types, ty: &TensorType, operand: Option<usize>) -> Option<Axes> {
    let rank = ty.shape.len();
    match op {
        // The kernel has none.
        Op::Conv(op) if op.part != ConvPart::Weight => Some(match operand {
            Some(1) => None,
            _ => Some((0, rank - 1 - op.stride.len())),
        }),
        Op::Pool(op) => Some(Some((0, rank - 1 - op.windows.len()))),
        Op::Scan(op) => {
            let sequence = &types.inputs[0].shape;
            let images = *sequence.get(1)?;
            let is_sequence = match operand {
                Some(k) => k < op.recurrence.inputs.len(),
                None => rank == sequence.len(),
            };
            // A state or parameter has all axes of a step, or the last of them.
            let first = if is_sequence { 1 } else { 0 };
            let has =
                (is_sequence || rank + 1 == sequence.len()) && ty.shape.get(first) == Some(&images);
            match (has, is_sequence || operand.is_none()) {
                (true, _) => Some(Some((first, 1))),
                (false, false) => Some(None),
                (false, true) => None,
            }
        }
        _ => None,
    }
}

impl Layout {
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

    /// Elements of so many images.
    fn elements(self, images: usize) -> usize {
        match self {
            Self::Images { rows, width } => rows * width * images,
            Self::Shared { elements } => elements,
        }
    }
}

/// A node that goes through its batch in pieces.
pub(super) struct Cut {
    images: usize,
    /// Images of a piece, fewer than there are.
    piece: usize,
    inputs: Vec<Layout>,
    outputs: Vec<Layout>,
    /// What the kernel of a piece computes with, and where its images are.
    types: Types,
    axes: [Vec<Axes>; 2],
}

impl Cut {
    /// How a node is cut, if it can be and is large enough.
    pub(super) fn of(op: &Op, types: &Types) -> Option<Self> {
        let inputs = types.inputs.iter().enumerate();
        let inputs = inputs.map(|(k, t)| axes_of(op, types, t, Some(k)));
        let outputs = types.outputs.iter().map(|t| axes_of(op, types, t, None));
        let axes = [
            inputs.collect::<Option<Vec<Axes>>>()?,
            outputs.collect::<Option<Vec<Axes>>>()?,
        ];
        let layouts = |types: &[TensorType], axes: &[Axes]| -> Vec<Layout> {
            let pairs = types.iter().zip(axes);
            pairs.map(|(t, axes)| Layout::of(t, *axes)).collect()
        };
        let (inputs, outputs) = (
            layouts(&types.inputs, &axes[0]),
            layouts(&types.outputs, &axes[1]),
        );
        let (first, count) = (*axes[0].first()?)?;
        let images: usize = types.inputs[0].shape[first..first + count].iter().product();
        let each = inputs.iter().chain(&outputs).map(|l| l.elements(1));
        let piece = (MOST_ELEMENTS / each.sum::<usize>().max(1)).max(1);
        (piece < images).then(|| Self {
            images,
            piece,
            inputs,
            outputs,
            types: widened(types),
            axes,
        })
    }

    /// The types of a kernel for so many images.
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

    /// The sizes of pieces: most of them, and the last one if it is smaller.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        let rest = self.images % self.piece;
        [self.piece, rest].into_iter().filter(|size| *size > 0)
    }

    /// Words for the copies and for the kernel inside, of which `inner` says how many it needs.
    pub(super) fn workspace_words(&self, inner: impl Fn(&Types) -> usize) -> usize {
        let copies = self.inputs.iter().chain(&self.outputs);
        let copies: usize = copies.map(|l| convert::words(l.elements(self.piece))).sum();
        let inner = self.sizes().map(|size| inner(&self.types(size))).max();
        copies + inner.unwrap_or(0)
    }

    /// The kernel, of kernels for a piece that `inner` makes.
    pub(super) fn kernel<E>(
        self,
        inner: impl Fn(&Types) -> Result<Box<dyn Kernel>, E>,
    ) -> Result<PieceKernel, E> {
        let kernels = self.sizes().map(|size| inner(&self.types(size)));
        let kernels = kernels.collect::<Result<Vec<_>, E>>()?;
        Ok(PieceKernel { kernels, cut: self })
    }
}

/// A kernel that goes through its batch in pieces.
pub(super) struct PieceKernel {
    cut: Cut,
    /// For whole pieces, and for what is left.
    kernels: Vec<Box<dyn Kernel>>,
}

/// Copies elements from `at` on to f32.
fn load(read: &View<'_>, writes: &[ViewMut<'_>], at: usize, to: &mut [f32]) {
    let range = at..at + to.len();
    let to = to.par_chunks_mut(CHUNK);
    macro_rules! copy {
        ($from:expr, $copy:ident) => {
            $from[range]
                .par_chunks(CHUNK)
                .zip(to)
                .for_each(|(from, to)| $copy!(from, to))
        };
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
            _ => unreachable!("an operand has the type of the result in whose place it lies"),
        },
        _ => unreachable!("the operands are floats of at most 32 bits"),
    }
}

/// Copies f32 elements to where they are stored from `at` on, rounded.
fn store(from: &[f32], write: &mut ViewMut<'_>, at: usize) {
    let range = at..at + from.len();
    let from = from.par_chunks(CHUNK);
    match write {
        ViewMut::F32(to) => (to[range].par_chunks_mut(CHUNK).zip(from))
            .for_each(|(to, from)| to.copy_from_slice(from)),
        ViewMut::F16(to) => (to[range].par_chunks_mut(CHUNK).zip(from))
            .for_each(|(to, from)| to.convert_from_f32_slice(from)),
        ViewMut::BF16(to) => (to[range].par_chunks_mut(CHUNK).zip(from))
            .for_each(|(to, from)| to.convert_from_f32_slice(from)),
        _ => {}
    }
}

/// The first `elements` of the workspace, and what is left behind room for `room` of them.
fn take(workspace: &mut [u64], elements: usize, room: usize) -> (&mut [f32], &mut [u64]) {
    let (piece, rest) = workspace.split_at_mut(convert::words(room));
    (&mut f32::from_words(piece)[..elements], rest)
}

impl Kernel for PieceKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let Self { cut, kernels } = self;
        for first in (0..cut.images).step_by(cut.piece) {
            let images = cut.piece.min(cut.images - first);
            let mut rest = &mut *workspace;
            let mut given: ArrayVec<View<'_>, MOST> = ArrayVec::new();
            for (read, layout) in reads.iter().zip(&cut.inputs) {
                let room = layout.elements(cut.piece);
                let (to, left) = take(rest, layout.elements(images), room);
                rest = left;
                match *layout {
                    Layout::Images { rows, width } => {
                        let pieces = to.chunks_mut((width * images).max(1));
                        for (row, to) in (0..rows).zip(pieces) {
                            load(read, writes, (row * cut.images + first) * width, to);
                        }
                    }
                    // Results may lie in its place.
                    Layout::Shared { .. } if first > 0 => {}
                    Layout::Shared { .. } => load(read, writes, 0, to),
                }
                given.push(View::F32(to));
            }
            let mut made: ArrayVec<ViewMut<'_>, MOST> = ArrayVec::new();
            for (write, layout) in writes.iter().zip(&cut.outputs) {
                let room = layout.elements(cut.piece);
                let (to, left) = take(rest, layout.elements(images), room);
                rest = left;
                made.push(match write {
                    ViewMut::Unused => ViewMut::Unused,
                    _ => ViewMut::F32(to),
                });
            }
            let kernel = usize::from(images < cut.piece);
            kernels[kernel].run(&given, &mut made, rest)?;
            for ((made, write), layout) in made.iter().zip(&mut *writes).zip(&cut.outputs) {
                let (ViewMut::F32(from), Layout::Images { rows, width }) = (made, *layout) else {
                    continue;
                };
                let pieces = from.chunks((width * images).max(1));
                for (row, from) in (0..rows).zip(pieces) {
                    store(from, write, (row * cut.images + first) * width);
                }
            }
        }
        Ok(())
    }
}
