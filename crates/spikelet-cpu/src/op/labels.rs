//! One-hot, arg max, equality.

use super::{Float, Kernel, Types};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::op::OneHot;
use std::marker::PhantomData;

pub(super) struct OneHotKernel<R> {
    classes: usize,
    element: PhantomData<R>,
}

impl<R> OneHotKernel<R> {
    pub(super) fn new(op: &OneHot) -> Self {
        Self {
            classes: op.classes,
            element: PhantomData,
        }
    }
}

impl<R: Float> Kernel for OneHotKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let rows = R::of_mut(&mut writes[0]).chunks_mut(self.classes.max(1));
        for (&label, row) in i64::of(&reads[0]).iter().zip(rows) {
            row.fill(R::ZERO);
            if let Some(y) = usize::try_from(label).ok().and_then(|k| row.get_mut(k)) {
                *y = R::ONE;
            }
        }
        Ok(())
    }
}

pub(super) struct ArgMaxKernel<R> {
    classes: usize,
    element: PhantomData<R>,
}

impl<R> ArgMaxKernel<R> {
    pub(super) fn new(types: &Types) -> Self {
        Self {
            classes: types.inputs[0].rows_and_columns().1,
            element: PhantomData,
        }
    }
}

impl<R: Float> Kernel for ArgMaxKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let rows = R::of(&reads[0]).chunks(self.classes);
        for (row, y) in rows.zip(i64::of_mut(&mut writes[0])) {
            let mut best = 0;
            for (k, x) in row.iter().enumerate() {
                if *x > row[best] {
                    best = k;
                }
            }
            *y = i64::try_from(best).expect("an axis is shorter than 2^63");
        }
        Ok(())
    }
}

pub(super) struct EqualKernel<R>(PhantomData<R>);

impl<R> EqualKernel<R> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R: Float> Kernel for EqualKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let pairs = i64::of(&reads[0]).iter().zip(i64::of(&reads[1]));
        for ((a, b), y) in pairs.zip(R::of_mut(&mut writes[0])) {
            *y = if a == b { R::ONE } else { R::ZERO };
        }
        Ok(())
    }
}
