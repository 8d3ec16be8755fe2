//! Matrix products: by cuBLASLt, or by tensor-core kernels for bit-packed spikes.

mod spikes;
mod transposed;

use super::{CudaKernel, Lowered, LoweringContext};
use crate::gemm::Product;
use crate::gpu::Properties;
use spikelet_graph::op::{MatMul, MatmulPrecision};
use spikelet_graph::{DType, Result, TensorType};
use transposed::Transposed;

fn product(op: &MatMul, cx: &LoweringContext<'_>) -> Product {
    let (a, b, y) = (&cx.inputs[0], &cx.inputs[1], &cx.outputs[0]);
    let (m, n, k) = op.sizes(a, b);
    Product {
        batch: 1,
        m,
        n,
        k,
        transpose_a: op.transpose_a,
        transpose_b: op.transpose_b,
        operands: a.dtype,
        result: y.dtype,
        tf32: op.precision == MatmulPrecision::Tf32,
    }
}

fn is_spikes(cx: &LoweringContext<'_>) -> bool {
    cx.inputs.iter().any(|t| t.dtype == DType::Bits)
}

impl CudaKernel for MatMul {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        let product = product(self, cx);
        if product.k > 0 && is_spikes(cx) {
            return Ok(spikes::lower(self, product, cx));
        }
        Ok(match Transposed::of(product) {
            Some(transposed) => transposed.lower(cx),
            None => Lowered::product(product, cx.device),
        })
    }

    /// Bit-packed operands: the input of a linear layer, and the second operand of its weight gradient.
    fn reads_bits(&self, gpu: &Properties, inputs: &[TensorType], operand: usize) -> bool {
        let other = &inputs[1 - operand];
        let form = if operand == 0 {
            !self.transpose_a && self.transpose_b
        } else {
            self.transpose_a && !self.transpose_b
        };
        let (m, n, k) = self.sizes(&inputs[0], &inputs[1]);
        // Large products of 16-bit and TF32 numbers are bound by tensor cores, on which dense spikes need no decoding.
        let large = m.saturating_mul(n).saturating_mul(k) > 1 << 33;
        if large && (other.dtype.is_half() || self.precision == MatmulPrecision::Tf32) {
            return false;
        }
        // Tensor cores for bf16 came with 8.0.
        form && gpu.capability.0 >= 8
            && matches!(other.dtype, DType::F32 | DType::F16 | DType::BF16)
    }
}
