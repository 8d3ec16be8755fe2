//! Products of many pairs of matrices, by one call of cuBLASLt.

use super::{CudaKernel, Lowered, LoweringContext};
use crate::gemm::Product;
use spikelet_graph::Result;
use spikelet_graph::op::{BatchMatMul, BatchMatMulSizes, MatmulPrecision};

impl CudaKernel for BatchMatMul {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        let BatchMatMulSizes { batch, m, n, k } = self.sizes(&cx.inputs[0], &cx.inputs[1]);
        let product = Product {
            batch,
            m,
            n,
            k,
            transpose_a: self.transpose_a,
            transpose_b: self.transpose_b,
            operands: cx.inputs[0].dtype,
            result: cx.outputs[0].dtype,
            tf32: self.precision == MatmulPrecision::Tf32,
        };
        Ok(Lowered::product(product, cx.device))
    }
}
