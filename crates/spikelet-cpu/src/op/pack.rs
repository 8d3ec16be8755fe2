//! Binary values to bits and back.

use super::{Float, Kernel, Types};
use crate::memory::{Element, View, ViewMut};
use rayon::prelude::*;
use std::marker::PhantomData;

pub(super) struct PackKernel<R> {
    columns: usize,
    element: PhantomData<R>,
}

impl<R> PackKernel<R> {
    pub(super) fn new(types: &Types) -> Self {
        Self {
            columns: types.inputs[0].rows_and_columns().1,
            element: PhantomData,
        }
    }
}

impl<R: Float> Kernel for PackKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let columns = self.columns.max(1);
        let words = columns.div_ceil(64);
        if let ViewMut::Bits(bits) = &mut writes[0] {
            let rows = R::of(&reads[0]).par_chunks(columns);
            rows.zip(bits.par_chunks_mut(words))
                .for_each(|(row, bits)| {
                    for (values, word) in row.chunks(64).zip(bits) {
                        let set = |(k, x): (usize, &R)| u64::from(*x != R::ZERO) << k;
                        *word = values.iter().enumerate().map(set).sum();
                    }
                });
            return Ok(());
        }
        let rows = u64::of(&reads[0]).par_chunks(words);
        let values = R::of_mut(&mut writes[0]).par_chunks_mut(columns);
        rows.zip(values).for_each(|(bits, row)| {
            for (values, word) in row.chunks_mut(64).zip(bits) {
                for (k, x) in values.iter_mut().enumerate() {
                    *x = if word >> k & 1 == 1 { R::ONE } else { R::ZERO };
                }
            }
        });
        Ok(())
    }
}
