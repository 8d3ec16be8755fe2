//! Large TF32 products of operands that are not contiguous along the summed axis.
//!
//! Tensor cores read f32 operands along the summed axis only. A product that sums over rows (as the
//! weight gradient does for both operands) is a third to a half slower in the library. If it is large
//! enough, its operands are transposed first, at the speed of memory.

use super::super::{Lowered, LoweredOp, LoweringContext};
use crate::gemm::Product;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::{DType, TensorType};

/// The smallest size for which transposing an operand is faster.
const MIN_SIZE: usize = 1024;

/// Alignment of operands.
const ALIGN: usize = 256;

/// A product with transposed copies of the operands that need one.
pub(super) struct Transposed {
    product: Product,
    a: bool,
    b: bool,
}

impl Transposed {
    /// The plan for a product, if it qualifies.
    pub(super) fn of(p: Product) -> Option<Self> {
        let large = p.m.min(p.n).min(p.k) >= MIN_SIZE;
        let (a, b) = (p.transpose_a, !p.transpose_b);
        let strided = p.tf32 && p.operands == DType::F32 && (a || b);
        (large && strided).then_some(Self {
            product: Product {
                transpose_a: false,
                transpose_b: true,
                ..p
            },
            a,
            b,
        })
    }

    pub(super) fn lower<'a>(self, cx: &'a LoweringContext<'_>) -> Lowered<'a> {
        let Self { product: p, a, b } = self;
        let copy = |yes: bool, n: usize| {
            if yes {
                (4 * n).next_multiple_of(ALIGN)
            } else {
                0
            }
        };
        let (bytes_a, bytes_b) = (copy(a, p.m * p.k), copy(b, p.n * p.k));
        let workspace = bytes_a + bytes_b + cx.device.product_workspace(p);
        Lowered::new(workspace, move || {
            let copies = [(a, p.m, 0), (b, p.n, bytes_a)].into_iter().enumerate();
            let copies = copies.filter(|(_, (yes, _, _))| *yes);
            let copies = copies.map(|(k, (_, n, at))| transpose(&cx.inputs[k], k, p.k, n, at));
            let mut actions: Vec<LoweredOp> = copies.map(LoweredOp::Kernel).collect();
            let operand = |k: usize, copied: bool, at: usize| match copied {
                true => Binding::Workspace(at),
                false => Binding::Read(k),
            };
            actions.push(LoweredOp::Gemm {
                product: p,
                a: operand(0, a, 0),
                b: operand(1, b, bytes_a),
                workspace: bytes_a + bytes_b,
            });
            Ok(actions)
        })
    }
}

/// `[rows, columns] → [columns, rows]` by tiles of 32 × 32 in shared memory.
fn transpose(
    ty: &TensorType,
    operand: usize,
    rows: usize,
    columns: usize,
    at: usize,
) -> KernelSource {
    let across = columns.div_ceil(32);
    let mut kernel = KernelSource::new(
        "transpose",
        Geometry::Blocks {
            grid: [across * rows.div_ceil(32), 1],
            block: 256,
            shared: 0,
        },
    );
    kernel.argument("x", ty, Binding::Read(operand));
    kernel.argument("y", ty, Binding::Workspace(at));
    kernel.line(format!(
        "  __shared__ float tile[32][33];
  const Index column = blockIdx.x % {across}u * 32u, row = blockIdx.x / {across}u * 32u;
  const Index x0 = threadIdx.x % 32, y0 = threadIdx.x / 32;
  #pragma unroll
  for (Index k = y0; k < 32; k += 8)
    if (row + k < {rows}u && column + x0 < {columns}u) tile[k][x0] = x[(row + k) * {columns}u + column + x0];
  __syncthreads();
  #pragma unroll
  for (Index k = y0; k < 32; k += 8)
    if (column + k < {columns}u && row + x0 < {rows}u) y[(column + k) * {rows}u + row + x0] = tile[x0][k];"
    ));
    kernel
}
