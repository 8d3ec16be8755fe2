//! Permutations of axes.
//!
//! If neighboring elements of the result are far apart in the operand, tiles are transposed in
//! shared memory, so that both tensors are accessed along their innermost axes.

use super::index::offset;
use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_graph::op::Permute;
use spikelet_graph::{DType, Result, dense_strides};

/// Side of a tile.
const TILE: usize = 32;

/// Rows of threads of a tile.
const ROWS: usize = 8;

/// Merges adjacent axes that stay adjacent: the shape of the operand and the order.
fn merged(shape: &[usize], order: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut runs: Vec<Vec<usize>> = vec![];
    for &k in order.iter().filter(|k| shape[**k] != 1) {
        match runs.last_mut() {
            Some(run)
                if run.last().is_some_and(|&last| {
                    (last + 1..k).all(|between| shape[between] == 1) && last < k
                }) =>
            {
                run.push(k)
            }
            _ => runs.push(vec![k]),
        }
    }
    let mut sorted: Vec<usize> = (0..runs.len()).collect();
    sorted.sort_by_key(|&r| runs[r][0]);
    let size = |run: &Vec<usize>| run.iter().map(|&k| shape[k]).product();
    let own: Vec<usize> = sorted.iter().map(|&r| size(&runs[r])).collect();
    let order = (0..runs.len()).map(|r| sorted.iter().position(|&s| s == r).unwrap_or(0));
    let order = order.collect();
    (own, order)
}

impl CudaKernel for Permute {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let (shape, order) = merged(&x.shape, &self.order);
        let rank = shape.len();
        let strides = dense_strides(&shape);
        let turned: Vec<usize> = order.iter().map(|&k| shape[k]).collect();
        let from: Vec<usize> = order.iter().map(|&k| strides[k]).collect();
        let across = rank >= 2 && order[rank - 1] != rank - 1;
        if !across || shape[rank - 1] < 4 || turned[rank - 1] < 4 || y.len() < TILE * TILE {
            return Ok(vec![by_elements(cx, &turned, &from, across)]);
        }
        // `a` is innermost in the result, `b` in the operand; the others number the planes.
        let (a, b) = (order[rank - 1], rank - 1);
        let to = dense_strides(&turned);
        let place = |k: usize| order.iter().position(|&o| o == k).unwrap_or(0);
        let others: Vec<usize> = (0..rank).filter(|&k| k != a && k != b).collect();
        let sizes: Vec<usize> = others.iter().map(|&k| shape[k]).collect();
        let read: Vec<usize> = others.iter().map(|&k| strides[k]).collect();
        let written: Vec<usize> = others.iter().map(|&k| to[place(k)]).collect();
        let (na, nb) = (shape[a], shape[b]);
        let tiles = [na.div_ceil(TILE), nb.div_ceil(TILE)];
        let planes: usize = sizes.iter().product();
        let mut kernel = KernelSource::new(
            "permute_tiles",
            Geometry::Blocks {
                grid: [planes * tiles[0] * tiles[1], 1],
                block: TILE * ROWS,
                shared: 0,
            },
        );
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        kernel.line(format!(
            "  __shared__ {} tile[{TILE}][{}];
  const Index plane = blockIdx.x / {}u;
  const Index a0 = blockIdx.x / {}u % {}u * {TILE}u, b0 = blockIdx.x % {}u * {TILE}u;
  const Index lane = threadIdx.x % {TILE}u, row = threadIdx.x / {TILE}u;
  const auto* const from = x + ({});
  auto* const to = y + ({});
  #pragma unroll
  for (int k = 0; k < {TILE}; k += {ROWS}) {{
    const Index ia = a0 + row + k, ib = b0 + lane;
    if (ia < {na}u && ib < {nb}u) tile[row + k][lane] = from[ia * {}u + ib];
  }}
  __syncthreads();
  #pragma unroll
  for (int k = 0; k < {TILE}; k += {ROWS}) {{
    const Index ib = b0 + row + k, ia = a0 + lane;
    if (ia < {na}u && ib < {nb}u) to[ib * {}u + ia] = tile[lane][row + k];
  }}",
            element(x.dtype),
            TILE + 1,
            tiles[0] * tiles[1],
            tiles[1],
            tiles[0],
            tiles[1],
            offset(&sizes, &read, "plane"),
            offset(&sizes, &written, "plane"),
            strides[a],
            to[place(b)],
        ));
        Ok(vec![kernel])
    }
}

/// A thread moves an element, or up to 16 bytes of neighboring ones that stay together.
fn by_elements(
    cx: &LoweringContext<'_>,
    turned: &[usize],
    from: &[usize],
    across: bool,
) -> KernelSource {
    let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
    let inner = turned.last().copied().unwrap_or(1);
    let mut pack = if across || x.dtype == DType::Bits {
        1
    } else {
        16 / x.dtype.size_in_bytes()
    };
    while pack > 1 && (!inner.is_multiple_of(pack) || y.len() / pack < cx.gpu.saturating_threads())
    {
        pack /= 2;
    }
    let mut kernel = KernelSource::new("permute", Geometry::Items(y.len() / pack));
    kernel.argument("x", x, Binding::Read(0));
    kernel.argument("y", y, Binding::Write(0));
    if pack == 1 {
        kernel.line(format!("    y[i] = x[{}];", offset(turned, from, "i")));
        return kernel;
    }
    let mut turned = turned.to_vec();
    if let Some(inner) = turned.last_mut() {
        *inner /= pack;
    }
    // The innermost axis has packs; all strides are in elements.
    let mut from = from.to_vec();
    if let Some(inner) = from.last_mut() {
        *inner = pack;
    }
    kernel.line(format!(
        "    spk_store(y + i * {pack}u, spk_load<{pack}>(x + ({})));",
        offset(&turned, &from, "i")
    ));
    kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_stay_together_are_merged() {
        let nchw_to_nhwc = merged(&[4, 128, 7, 7, 16], &[0, 1, 4, 2, 3]);
        assert_eq!(nchw_to_nhwc, (vec![512, 49, 16], vec![0, 2, 1]));
        assert_eq!(merged(&[3, 1, 5], &[0, 2, 1]), (vec![15], vec![0]));
        assert_eq!(
            merged(&[2, 3, 4], &[2, 1, 0]),
            (vec![2, 3, 4], vec![2, 1, 0])
        );
    }
}
