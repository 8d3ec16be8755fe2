//! The index of the largest score along the last axis.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::op::ArgMax;
use std::marker::PhantomData;

struct ArgMaxKernel<R> {
    classes: usize,
    element: PhantomData<R>,
}

impl CpuKernel for ArgMax {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(ArgMaxKernel::<R> {
            classes: cx.types.inputs[0].rows_and_columns().1,
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for ArgMaxKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
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
