//! Logarithm of the softmax along the last axis.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{View, ViewMut};
use crate::parallel::{self, chunk};
use spikelet_graph::op::LogSoftmax;
use std::marker::PhantomData;

struct LogSoftmaxKernel<R> {
    classes: usize,
    element: PhantomData<R>,
}

impl CpuKernel for LogSoftmax {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(LogSoftmaxKernel::<R> {
            classes: cx.types.inputs[0].rows_and_columns().1,
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for LogSoftmaxKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let all = R::of(&reads[0]);
        parallel::for_each_chunk(R::of_mut(&mut writes[0]), self.classes, |row, y| {
            let x = chunk(all, self.classes, row);
            let max = x.iter().fold(x[0], |a, &b| a.max_nan(b));
            let sum = x.iter().fold(R::ZERO, |sum, &x| sum + (x - max).exp());
            let log = sum.ln();
            for (y, &x) in y.iter_mut().zip(x) {
                // Not x − (max + log), which would round off the logarithm for large scores.
                *y = (x - max) - log;
            }
        });
        Ok(())
    }
}
