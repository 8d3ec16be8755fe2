//! Products of many pairs of matrices, by one call of cuBLASLt.

use super::{Libraries, LoweredOp, LoweringContext};
use crate::gemm::Product;
use crate::kernel_source::Binding;
use crate::shared::Shared;
use spikelet_graph::Result;
use spikelet_graph::op::{BatchMatMul, BatchMatMulSizes, MatmulPrecision};

fn product(op: &BatchMatMul, cx: &LoweringContext<'_>) -> Product {
    let BatchMatMulSizes { batch, m, n, k } = op.sizes(&cx.inputs[0], &cx.inputs[1]);
    Product {
        batch,
        m,
        n,
        k,
        transpose_a: op.transpose_a,
        transpose_b: op.transpose_b,
        operands: cx.inputs[0].dtype,
        result: cx.outputs[0].dtype,
        tf32: op.precision == MatmulPrecision::Tf32,
    }
}

pub(crate) fn lower(
    op: &BatchMatMul,
    shared: &Shared,
    cx: &LoweringContext<'_>,
) -> Result<Vec<LoweredOp>> {
    let product = product(op, cx);
    if product.k == 0 {
        return Ok(vec![LoweredOp::Clear(0)]);
    }
    Ok(vec![LoweredOp::Gemm {
        call: shared.gemm.call(product)?,
        a: Binding::Read(0),
        b: Binding::Read(1),
        workspace: 0,
    }])
}

/// The workspace of the products, in bytes.
pub(crate) fn workspace(
    op: &BatchMatMul,
    libraries: &dyn Libraries,
    cx: &LoweringContext<'_>,
) -> usize {
    let product = product(op, cx);
    let Product { batch, m, n, k, .. } = product;
    if [batch, m, n, k].contains(&0) {
        return 0;
    }
    libraries.product_workspace(product)
}
