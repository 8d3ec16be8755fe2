//! Matrix products: by cuBLASLt, or by tensor-core kernels for bit-packed spikes.

mod spikes;
mod transposed;

use super::{Libraries, LoweredOp, LoweringContext};
use crate::gemm::Product;
use crate::gpu::Properties;
use crate::kernel_source::Binding;
use crate::shared::Shared;
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

pub(crate) fn lower(
    op: &MatMul,
    shared: &Shared,
    cx: &LoweringContext<'_>,
) -> Result<Vec<LoweredOp>> {
    let product = product(op, cx);
    if product.k == 0 {
        return Ok(vec![LoweredOp::Clear(0)]);
    }
    if is_spikes(cx) {
        let kernels = spikes::kernels(op, product, cx);
        return Ok(kernels.into_iter().map(LoweredOp::Kernel).collect());
    }
    if let Some(transposed) = Transposed::of(product) {
        return transposed.lower(shared, cx);
    }
    Ok(vec![LoweredOp::Gemm {
        call: shared.gemm.call(product)?,
        a: Binding::Read(0),
        b: Binding::Read(1),
        workspace: 0,
    }])
}

/// The workspace of a product, in bytes.
pub(crate) fn workspace(op: &MatMul, libraries: &dyn Libraries, cx: &LoweringContext<'_>) -> usize {
    let product = product(op, cx);
    if product.m * product.n * product.k == 0 {
        return 0;
    }
    if is_spikes(cx) {
        return spikes::workspace(op, product, cx);
    }
    if let Some(transposed) = Transposed::of(product) {
        return transposed.workspace(libraries);
    }
    libraries.product_workspace(product)
}

/// Bit-packed operands: the input of a linear layer, and the second operand of its weight gradient.
pub(crate) fn reads_bits(
    op: &MatMul,
    gpu: &Properties,
    inputs: &[TensorType],
    operand: usize,
) -> bool {
    let other = &inputs[1 - operand];
    let form = if operand == 0 {
        !op.transpose_a && op.transpose_b
    } else {
        op.transpose_a && !op.transpose_b
    };
    let (m, n, k) = op.sizes(&inputs[0], &inputs[1]);
    // Large products of 16-bit and TF32 numbers are bound by tensor cores, on which dense spikes need no decoding.
    let large = m.saturating_mul(n).saturating_mul(k) > 1 << 33;
    if large && (other.dtype.is_half() || op.precision == MatmulPrecision::Tf32) {
        return false;
    }
    // Tensor cores for bf16 came with 8.0.
    form && gpu.capability.0 >= 8 && matches!(other.dtype, DType::F32 | DType::F16 | DType::BF16)
}

/// The workspace of a product with spikes; 0 for other products.
#[cfg(test)]
pub(crate) fn spike_workspace(op: &MatMul, cx: &LoweringContext<'_>) -> usize {
    if is_spikes(cx) {
        spikes::workspace(op, product(op, cx), cx)
    } else {
        0
    }
}

/// The kernels of a product with spikes; empty for other products.
#[cfg(test)]
pub(crate) fn spike_kernels(
    op: &MatMul,
    cx: &LoweringContext<'_>,
) -> Vec<crate::kernel_source::KernelSource> {
    if is_spikes(cx) {
        spikes::kernels(op, product(op, cx), cx)
    } else {
        vec![]
    }
}
