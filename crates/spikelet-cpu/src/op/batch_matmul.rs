//! Products of many pairs of matrices.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::gemm::{Factor, Gemm, Rounding};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel::{self, chunk};
use spikelet_graph::op::{BatchMatMul, BatchMatMulSizes};
use std::marker::PhantomData;

struct BatchMatMulKernel<R> {
    sizes: BatchMatMulSizes,
    a: (usize, usize),
    b: (usize, usize),
    element: PhantomData<R>,
}

impl CpuKernel for BatchMatMul {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let sizes = self.sizes(&cx.types.inputs[0], &cx.types.inputs[1]);
        let BatchMatMulSizes { m, n, k, .. } = sizes;
        Ok(Box::new(BatchMatMulKernel::<R> {
            sizes,
            a: if self.transpose_a { (1, m) } else { (k, 1) },
            b: if self.transpose_b { (1, k) } else { (n, 1) },
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for BatchMatMulKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let BatchMatMulSizes { m, n, k, .. } = self.sizes;
        let c = R::of_mut(&mut writes[0]);
        if k == 0 {
            c.fill(R::ZERO);
        }
        if c.is_empty() || k == 0 {
            return Ok(());
        }
        let (a, b) = (R::of(&reads[0]), R::of(&reads[1]));
        let products = c.len() / (m * n);
        let c = SharedSlice::new(c);
        parallel::for_each(products, |number| {
            let product = Gemm {
                m,
                n,
                k,
                a: (chunk(a, m * k, number), self.a),
                b: Factor::Matrix((chunk(b, k * n, number), self.b)),
                accumulate: false,
                rounding: Rounding::of(false),
            };
            // SAFETY: products are disjoint.
            product.run(unsafe { c.range(number * m * n, m * n) }, n);
        });
        Ok(())
    }
}
