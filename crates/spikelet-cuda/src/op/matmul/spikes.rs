//! Products with bit-packed spikes on tensor cores.
//!
//! The other operand is split into a sum of 16-bit terms: three for f32, two where TF32 is allowed
//! (they are more precise than TF32), one for 16-bit operands.

use super::super::{Lowered, LoweringContext};
use crate::gemm::Product;
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_graph::op::MatMul;
use spikelet_graph::{DType, TensorType};

/// The most columns of the result per block of the forward product. Wider blocks read the spikes less
/// often, narrower ones balance better and allow more warps on a multiprocessor.
const MAX_COLUMNS: usize = 40;

/// The most groups of 16 rows per block of the weight gradient.
const MAX_TILES: usize = 4;

/// The split of the dense operand.
struct Terms {
    count: usize,
    /// Element type of a term.
    dtype: DType,
}

impl Terms {
    fn new(other: DType, product: Product) -> Self {
        match other {
            DType::F16 => Self {
                count: 1,
                dtype: DType::F16,
            },
            DType::BF16 => Self {
                count: 1,
                dtype: DType::BF16,
            },
            _ => Self {
                count: if product.tf32 { 2 } else { 3 },
                dtype: DType::BF16,
            },
        }
    }

    /// What the device code is written in terms of.
    fn text(&self) -> String {
        let (kind, one) = match self.dtype {
            DType::F16 => ("f16", "0x3c00u"),
            _ => ("bf16", "0x3f80u"),
        };
        format!(
            "#define PLANES {}
#define ONE {one}
#define MMA \"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32\"
// Rounds to 16 bits and returns the remainder.
__device__ __forceinline__ unsigned short spk_part(float& rest) {{
  {} part;
  spk_set(part, rest);
  rest -= spk_get(part);
  return part.bits;
}}
",
            self.count,
            element(self.dtype)
        )
    }
}

/// The forward product `y [m, n] = s [m, k] · w [n, k]ᵀ`.
struct ForwardTiling {
    words: usize,
    blocks: usize,
    tile: usize,
}

impl ForwardTiling {
    fn new(p: Product) -> Self {
        let blocks = p.n.div_ceil(MAX_COLUMNS);
        let tile = p.n.div_ceil(blocks).next_multiple_of(8);
        Self {
            words: p.k.div_ceil(64),
            blocks,
            tile,
        }
    }

    fn planes(&self, terms: &Terms) -> TensorType {
        TensorType::new(
            terms.dtype,
            [terms.count, self.blocks * self.tile, self.words * 64],
        )
    }
}

/// The weight gradient `y [n, k] = g [m, n]ᵀ · s [m, k]`; as a product it is `m × n` over `k` rows.
struct WeightGradTiling {
    rows: usize,
    words: usize,
    blocks_n: usize,
    tiles: usize,
    blocks_k: usize,
    range: usize,
    splits: usize,
}

impl WeightGradTiling {
    fn new(p: Product, multiprocessors: usize) -> Self {
        let all = p.m.div_ceil(16);
        let blocks_n = all.div_ceil(MAX_TILES);
        let words = p.n.div_ceil(64);
        let blocks_k = (words * 2).div_ceil(4);
        let wanted = (3 * multiprocessors).div_ceil(blocks_n * blocks_k);
        let splits = wanted.clamp(1, p.k.div_ceil(256));
        let range = p.k.div_ceil(splits).next_multiple_of(32);
        Self {
            rows: p.k,
            words,
            blocks_n,
            tiles: all.div_ceil(blocks_n),
            blocks_k,
            range,
            splits: p.k.div_ceil(range),
        }
    }
}

pub(super) fn lower<'a>(op: &MatMul, p: Product, cx: &'a LoweringContext<'_>) -> Lowered<'a> {
    if op.transpose_a {
        let tiling = WeightGradTiling::new(p, cx.gpu.multiprocessors);
        let partial = TensorType::new(DType::F32, [tiling.splits, p.m, p.n]);
        return Lowered::kernels(partial.bytes(), move || {
            Ok(weight_grad(p, &tiling, &partial, cx))
        });
    }
    let (tiling, terms) = (ForwardTiling::new(p), Terms::new(cx.inputs[1].dtype, p));
    let planes = tiling.planes(&terms);
    Lowered::kernels(planes.bytes(), move || {
        Ok(linear(p, &tiling, &terms, &planes, cx))
    })
}

fn linear(
    p: Product,
    f: &ForwardTiling,
    terms: &Terms,
    planes: &TensorType,
    cx: &LoweringContext<'_>,
) -> Vec<KernelSource> {
    let (columns, row) = (f.blocks * f.tile, f.words * 64);
    let mut split = KernelSource::new("spike_linear_parts", Geometry::Items(columns * row));
    split.before = terms.text();
    split.argument("w", &cx.inputs[1], Binding::Read(1));
    split.argument("planes", planes, Binding::Workspace(0));
    split.line(format!(
        "    const Index n = i / {row}u, k = i % {row}u;
    float rest = n < {}u && k < {}u ? spk_get(w[n * {}u + k]) : 0.0f;
    #pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) planes[plane * {}u + i].bits = spk_part(rest);",
        p.n,
        p.k,
        p.k,
        columns * row
    ));
    let shared = 2 * terms.count * f.tile * 128;
    let mut product = KernelSource::new(
        "spike_linear",
        Geometry::Blocks {
            grid: [p.m.div_ceil(128), f.blocks],
            block: 128,
            shared,
        },
    );
    product.before = format!(
        "{}#define M {}u\n#define N {}u\n#define WORDS {}u\n#define TILE {}\n#define COLUMNS {columns}u\ntypedef {} Out;\n{}",
        terms.text(),
        p.m,
        p.n,
        f.words,
        f.tile,
        element(cx.outputs[0].dtype),
        include_str!("../../text/spike_linear.cuh")
    );
    product.argument("spikes", &cx.inputs[0], Binding::Read(0));
    product.argument("planes", planes, Binding::Workspace(0));
    product.argument("y", &cx.outputs[0], Binding::Write(0));
    product.line("  spk_spike_linear_block(spikes, (const unsigned short*)planes, y);");
    vec![split, product]
}

fn weight_grad(
    p: Product,
    b: &WeightGradTiling,
    partial: &TensorType,
    cx: &LoweringContext<'_>,
) -> Vec<KernelSource> {
    let terms = Terms::new(cx.inputs[0].dtype, p);
    let mut product = KernelSource::new(
        "spike_weight_grad",
        Geometry::Blocks {
            grid: [b.blocks_n * b.blocks_k, b.splits],
            block: 128,
            shared: 0,
        },
    );
    product.before = format!(
        "{}#define M {}u\n#define N {}u\n#define K {}u\n#define WORDS {}u\n#define TILES {}\n#define BLOCKS_N {}u\n#define RANGE {}u\ntypedef {} In;\n{}",
        terms.text(),
        b.rows,
        p.m,
        p.n,
        b.words,
        b.tiles,
        b.blocks_n,
        b.range,
        element(cx.inputs[0].dtype),
        include_str!("../../text/spike_weight_grad.cuh")
    );
    product.argument("g", &cx.inputs[0], Binding::Read(0));
    product.argument("spikes", &cx.inputs[1], Binding::Read(1));
    product.argument("partial", partial, Binding::Workspace(0));
    product.line("  spk_spike_weight_grad_block(g, (const unsigned*)spikes, partial);");
    let items = p.m * p.n;
    let mut sum = KernelSource::new("spike_weight_grad_sum", Geometry::Items(items));
    sum.argument("partial", partial, Binding::Workspace(0));
    sum.argument("y", &cx.outputs[0], Binding::Write(0));
    sum.line(format!(
        "    float total = 0.0f;
    #pragma unroll 8
    for (Index split = 0; split < {}u; ++split) total += partial[split * {items}u + i];
    spk_set(y[i], total);",
        b.splits
    ));
    vec![product, sum]
}
