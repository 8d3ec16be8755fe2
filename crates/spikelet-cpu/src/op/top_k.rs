//! The largest elements of each row: each element is inserted in the sorted list of those before it.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, SharedSlice, View, ViewMut};
use crate::parallel::{self, chunk};
use spikelet_graph::op::TopK;
use std::marker::PhantomData;

struct TopKKernel<R> {
    columns: usize,
    k: usize,
    element: PhantomData<R>,
}

impl CpuKernel for TopK {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(TopKKernel::<R> {
            columns: cx.types.inputs[0].rows_and_columns().1,
            k: cx.types.outputs[0].rows_and_columns().1,
            element: PhantomData,
        }))
    }
}

/// Whether `a` is larger than `b`; NaN is larger than all numbers.
fn is_larger<R: Float>(a: R, b: R) -> bool {
    let is_nan = |x: R| x.partial_cmp(&x).is_none();
    a > b || (is_nan(a) && !is_nan(b))
}

/// Writes the indices of the largest elements of `row`, sorted.
fn select<R: Float>(row: &[R], indices: &mut [i64]) {
    let at = |index: i64| row[usize::try_from(index).expect("an index of the row")];
    let mut count = 0;
    for (j, &x) in row.iter().enumerate() {
        // Equal elements keep their order.
        let place = indices[..count].partition_point(|&i| !is_larger(x, at(i)));
        if place == indices.len() {
            continue;
        }
        count = (count + 1).min(indices.len());
        indices.copy_within(place..count - 1, place + 1);
        indices[place] = i64::try_from(j).expect("an axis is shorter than 2^63");
    }
}

impl<R: Float> Kernel for TopKKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let [values, indices] = writes else {
            unreachable!("the graph checked the number of results");
        };
        let (values, indices) = (R::of_mut(values), i64::of_mut(indices));
        if values.is_empty() {
            return Ok(());
        }
        let all = R::of(&reads[0]);
        let indices = SharedSlice::new(indices);
        parallel::for_each_chunk(values, self.k, |k, values| {
            let row = chunk(all, self.columns, k);
            // SAFETY: rows are disjoint.
            let indices = unsafe { indices.range(k * self.k, self.k) };
            select(row, indices);
            for (value, &index) in values.iter_mut().zip(&*indices) {
                *value = row[usize::try_from(index).expect("an index of the row")];
            }
        });
        Ok(())
    }
}
