//! A sequence whose tiles a kernel writes, in any storage.

use super::Float;
use crate::memory::{SharedSlice, ViewMut};
use crate::spikes::{pack_rows, words};
use half::{bf16, f16};
use std::ops::Range;

/// A result of tiles that consist of rows of neurons.
pub(super) enum TileResult<'a, R> {
    Unused,
    Same(SharedSlice<'a, R>),
    F16(SharedSlice<'a, f16>),
    BF16(SharedSlice<'a, bf16>),
    /// One bit for each neuron, with the rows of [`crate::spikes`].
    Bits(SharedSlice<'a, u64>),
}

impl<'a, R: Float> TileResult<'a, R> {
    pub(super) fn of(write: &'a mut ViewMut<'_>) -> Self {
        match write {
            ViewMut::Unused => Self::Unused,
            ViewMut::F16(to) => Self::F16(SharedSlice::new(to)),
            ViewMut::BF16(to) => Self::BF16(SharedSlice::new(to)),
            ViewMut::Bits(bits) => Self::Bits(SharedSlice::new(bits)),
            write => Self::Same(SharedSlice::new(R::of_mut(write))),
        }
    }

    /// Elements of a result in the type of the kernel, if it is used.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    #[allow(clippy::mut_from_ref, reason = "the ranges of threads are disjoint")]
    pub(super) unsafe fn range(&self, start: usize, length: usize) -> Option<&mut [R]> {
        match self {
            // SAFETY: as the caller promises.
            Self::Same(to) => Some(unsafe { to.range(start, length) }),
            _ => None,
        }
    }

    /// Writes the elements of a tile, if the result is used.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    pub(super) unsafe fn put(&self, (start, length): (usize, usize), tile: &[R], features: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            match self.range(start, length) {
                Some(to) => to.copy_from_slice(&tile[..length]),
                None => self.store((start, length), tile, features),
            }
        }
    }

    /// Elements of the result for an evaluator, if it is used. A result in another storage has them in
    /// memory of the tile, of which `inside` is the range, until [`Self::store`].
    ///
    /// # Safety
    /// No other range of the result that is in use at the same time overlaps this one.
    pub(super) unsafe fn elements<'b>(
        &'b self,
        start: usize,
        (tile, inside): (&'b mut [R], Range<usize>),
    ) -> Option<&'b mut [R]> {
        match self {
            Self::Unused => None,
            // SAFETY: as the caller promises.
            Self::Same(to) => Some(unsafe { to.range(start, inside.len()) }),
            _ => Some(&mut tile[inside]),
        }
    }

    /// Converts a tile that starts with an element, if the result has another storage.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    pub(super) unsafe fn store(
        &self,
        (start, length): (usize, usize),
        tile: &[R],
        features: usize,
    ) {
        if matches!(self, Self::Unused | Self::Same(_)) {
            return;
        }
        let tile = &tile[..length];
        // SAFETY: as the caller promises; tiles consist of rows.
        unsafe {
            match self {
                Self::F16(to) => R::round(tile, to.range(start, length)),
                Self::BF16(to) => R::round(tile, to.range(start, length)),
                Self::Bits(to) => {
                    let (first, count) = bit_rows(start, length, features);
                    let spike = |s: &R| u8::from(*s != R::ZERO);
                    pack_rows(tile, features, to.range(first, count), spike);
                }
                Self::Unused | Self::Same(_) => {}
            }
        }
    }

    /// Copies spikes, of which `bits` are the bits, to rows that start with an element.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    pub(super) unsafe fn copy(
        &self,
        (start, length): (usize, usize),
        (spikes, bits): (&[R], &[u64]),
        features: usize,
    ) {
        // SAFETY: as the caller promises; tiles consist of rows.
        unsafe {
            match self {
                Self::Same(to) => to.range(start, length).copy_from_slice(&spikes[..length]),
                Self::Bits(to) => {
                    let (first, count) = bit_rows(start, length, features);
                    to.range(first, count).copy_from_slice(bits);
                }
                _ => self.store((start, length), spikes, features),
            }
        }
    }

    /// Writes zeros to rows that start with an element.
    ///
    /// # Safety
    /// As for [`Self::elements`].
    pub(super) unsafe fn clear(&self, (start, length): (usize, usize), features: usize) {
        // SAFETY: as the caller promises; tiles consist of rows.
        unsafe {
            match self {
                Self::Unused => {}
                Self::Same(to) => to.range(start, length).fill(R::ZERO),
                Self::F16(to) => to.range(start, length).fill(f16::ZERO),
                Self::BF16(to) => to.range(start, length).fill(bf16::ZERO),
                Self::Bits(to) => {
                    let (first, count) = bit_rows(start, length, features);
                    to.range(first, count).fill(0);
                }
            }
        }
    }
}

/// The first word and the number of words of rows.
pub(super) fn bit_rows(start: usize, length: usize, features: usize) -> (usize, usize) {
    let width = words(features);
    (start / features * width, length / features * width)
}
