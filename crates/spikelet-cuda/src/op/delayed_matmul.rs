//! Products over time in which each weight acts on another time step.
//!
//! A block has one sample, a tile of time steps and a column of the weights for each thread. The inputs of the tile's window
//! are marked in bits, a row of bits over time for each input. For each input the block walks through its spikes; each
//! thread adds its weight to the step of its own lag, in shared memory. The cost is that of the spikes, as in a sum of weight
//! rows. Every element is one chain of fused sums in ascending order of the inputs.

use super::{CudaKernel, Lowered, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::{DelayedMatMul, DelayedSizes};

/// Threads of a block, and columns of a tile.
const THREADS: usize = 128;

/// The most time steps of a tile: their sums are 32 KiB.
const STEPS: usize = 64;

/// Words of 32 bits for the marks, 12 KiB.
const WORDS: usize = 3072;

/// The most lags: the marks of one input fit.
const MAX_LAGS: usize = 32 * WORDS - STEPS;

impl CudaKernel for DelayedMatMul {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        if self.lags > MAX_LAGS {
            return Err(cx.refuse(&format!("it has more than {MAX_LAGS} lags; use fewer")));
        }
        Ok(Lowered::kernels(0, || self.kernels(cx)))
    }

    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let DelayedSizes {
            steps,
            batch,
            inputs,
            outputs,
        } = self.sizes(&cx.inputs[0], &cx.inputs[1]);
        let (lags, groups) = (self.lags, outputs.div_ceil(THREADS));
        let tiles = steps.div_ceil(STEPS).max(1);
        let tile = steps.div_ceil(tiles).max(1);
        let words = (tile + lags).div_ceil(32);
        let chunk = (WORDS / words).clamp(1, inputs.max(1));
        let geometry = Geometry::Blocks {
            grid: [batch * groups, tiles],
            block: THREADS,
            shared: 0,
        };
        let mut kernel = KernelSource::new("delayed_matmul", geometry);
        kernel.argument("x", &cx.inputs[0], Binding::Read(0));
        kernel.argument("weight", &cx.inputs[1], Binding::Read(1));
        kernel.argument("lag", &cx.inputs[2], Binding::Read(2));
        kernel.argument("y", &cx.outputs[0], Binding::Write(0));
        kernel.line(format!(
            "  __shared__ float sums[{tile}][{THREADS}];
  __shared__ unsigned marks[{chunk}][{words}];
  const unsigned sample = blockIdx.x / {groups}u, thread = threadIdx.x;
  const unsigned column = blockIdx.x % {groups}u * {THREADS}u + thread;
  const unsigned first = blockIdx.y * {tile}u;
  const unsigned rows = min({}u, {}u - first);
  const float* own = x + ((size_t)first * {batch}u + sample) * {inputs}u;
  for (unsigned t = 0; t < {tile}u; ++t) sums[t][thread] = 0.0f;
  for (unsigned base = 0; base < {inputs}u; base += {chunk}u) {{
    const unsigned count = min({chunk}u, {inputs}u - base);
    __syncthreads();
    for (unsigned k = thread; k < count * {words}u; k += {THREADS}u) {{
      const unsigned i = k % count, word = k / count;
      unsigned bits = 0u;
      for (unsigned b = 0; b < 32u; ++b) {{
        const unsigned row = word * 32u + b;
        if (row < rows && own[(size_t)row * {row}u + base + i] != 0.0f) bits |= 1u << b;
      }}
      marks[i][word] = bits;
    }}
    __syncthreads();
    if (column < {outputs}u) {{
      // The weight of the next input is loaded while that of the last one is added.
      const float* weights = weight + (size_t)base * {outputs}u + column;
      const float* delays = lag + (size_t)base * {outputs}u + column;
      float next_weight = weights[0], next_lag = delays[0];
      for (unsigned i = 0; i < count; ++i) {{
        const float w = next_weight;
        const int delay = min(max((int)floorf(next_lag + 0.5f), 0), {lags});
        if (i + 1u < count) {{
          next_weight = weights[(size_t)(i + 1u) * {outputs}u];
          next_lag = delays[(size_t)(i + 1u) * {outputs}u];
        }}
        // The row of the window that is added to the first step.
        const unsigned start = {lags}u - (unsigned)delay;
        for (unsigned word = 0; word < {words}u; ++word) {{
          unsigned bits = marks[i][word];
          while (bits != 0u) {{
            const unsigned row = word * 32u + (unsigned)__ffs(bits) - 1u, t = row - start;
            bits &= bits - 1u;
            const float value = own[(size_t)row * {row}u + base + i];
            if (t < {tile}u) sums[t][thread] = fmaf(w, value, sums[t][thread]);
          }}
        }}
      }}
    }}
  }}
  if (column < {outputs}u)
    for (unsigned t = 0; t < {tile}u && first + t < {steps}u; ++t)
      y[((size_t)(first + t) * {batch}u + sample) * {outputs}u + column] = sums[t][thread];",
            tile + lags,
            steps + lags,
            row = batch * inputs,
        ));
        Ok(vec![kernel])
    }
}
