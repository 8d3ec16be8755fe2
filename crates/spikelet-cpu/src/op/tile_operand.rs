//! A sequence whose tiles a kernel reads, in any storage.

use super::{Float, tile_result::bit_rows};
use crate::memory::View;
use crate::spikes::unpack_rows;
use half::{bf16, f16};
use spikelet_expr::Block;
use spikelet_graph::{DType, TensorType};

/// An operand of tiles that consist of rows of neurons.
pub(super) enum TileOperand<'a, R> {
    Same(&'a [R]),
    F16(&'a [f16]),
    BF16(&'a [bf16]),
    Bits(&'a [u64]),
}

impl<'a, R: Float> TileOperand<'a, R> {
    pub(super) fn of(view: &View<'a>) -> Self {
        match view {
            View::F16(values) => Self::F16(values),
            View::BF16(values) => Self::BF16(values),
            View::Bits(bits) => Self::Bits(bits),
            view => Self::Same(R::of(view)),
        }
    }

    /// Memory for a tile of an operand or result, if it is converted.
    pub(super) fn block(ty: &TensorType, elements: usize) -> Block<R> {
        if ty.dtype == R::DTYPE {
            Block::default()
        } else {
            Block::filled(R::ZERO, elements)
        }
    }

    /// The elements of a tile that [`Self::tile`] has converted, if it does.
    pub(super) fn converted<'b>(
        &'b self,
        (start, length): (usize, usize),
        converted: &'b [R],
    ) -> &'b [R] {
        match self {
            Self::Same(values) => &values[start..start + length],
            _ => &converted[..length],
        }
    }

    /// The elements of a tile, of which `converted` is the memory.
    pub(super) fn tile<'b>(
        &'b self,
        (start, length): (usize, usize),
        features: usize,
        converted: &'b mut [R],
    ) -> &'b [R] {
        let range = start..start + length;
        match self {
            Self::Same(values) => return &values[range],
            Self::F16(values) => R::widen(&values[range], &mut converted[..length]),
            Self::BF16(values) => R::widen(&values[range], &mut converted[..length]),
            Self::Bits(bits) => {
                let (first, count) = bit_rows(start, length, features);
                let bits = &bits[first..first + count];
                unpack_rows(bits, features, &mut converted[..length], [R::ZERO, R::ONE]);
            }
        }
        &converted[..length]
    }
}

/// Words of memory for the conversion of a weight.
pub(super) fn weight_words(weight: &TensorType) -> usize {
    match weight.dtype {
        DType::F16 | DType::BF16 => weight.len().div_ceil(2).next_multiple_of(8),
        _ => 0,
    }
}

/// A weight, converted in the workspace if it has 16 bits, and the rest of the workspace.
pub(super) fn weight<'a, R: Float>(
    view: &View<'a>,
    ty: &TensorType,
    workspace: &'a mut [u64],
) -> (&'a [R], &'a mut [R]) {
    let (converted, rest) = workspace.split_at_mut(weight_words(ty));
    let converted = R::from_words(converted);
    match view {
        View::F16(values) => R::widen(*values, &mut converted[..values.len()]),
        View::BF16(values) => R::widen(*values, &mut converted[..values.len()]),
        view => return (R::of(view), R::from_words(rest)),
    }
    (&converted[..ty.len()], R::from_words(rest))
}
