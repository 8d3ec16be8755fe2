//! Matrix products.

use super::{Site, Work};
use crate::backend::Shared;
use crate::gemm::Product;
use spikelet_graph::op::{MatMul, Multiply};
use spikelet_graph::{DType, Result, TensorType};

fn product(op: &MatMul, a: &TensorType, b: &TensorType, y: &TensorType) -> Product {
    let (m, n, k) = op.sizes(a, b);
    Product {
        m,
        n,
        k,
        transpose_a: op.transpose_a,
        transpose_b: op.transpose_b,
        operands: a.dtype,
        result: y.dtype,
        tf32: op.precision == Multiply::Tf32,
    }
}

fn of(op: &MatMul, site: &Site<'_>) -> Product {
    product(op, &site.inputs[0], &site.inputs[1], &site.outputs[0])
}

pub(crate) fn work(op: &MatMul, shared: &Shared, site: &Site<'_>) -> Result<Vec<Work>> {
    let product = of(op, site);
    if product.k == 0 {
        return Ok(vec![Work::Clear(0)]);
    }
    Ok(vec![Work::Gemm(shared.gemm.call(product)?)])
}

/// What the algorithm asks for; a product that cannot be planned fails when it is loaded.
pub(crate) fn workspace(op: &MatMul, shared: &Shared, site: &Site<'_>) -> usize {
    let product = of(op, site);
    if product.m * product.n * product.k == 0 || product.operands == DType::Bits {
        return 0;
    }
    shared.gemm.call(product).map_or(0, |call| call.plan.workspace)
}
