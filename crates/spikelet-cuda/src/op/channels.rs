//! Tilings of channels-last tensors in which a thread keeps its channels while it iterates over rows,
//! so that sums per channel stay in registers.

use super::warp;
use crate::gpu::Properties;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::{DType, TensorType};

/// Approximate threads of a block.
const BLOCK: usize = 128;

/// A block of `lanes × rows` threads; thread columns own `pack` neighboring channels each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChannelReduceTiling {
    pub(super) channels: usize,
    pub(super) pack: usize,
    lanes: usize,
    rows: usize,
    /// Blocks that share the rows.
    pub(super) groups: usize,
}

impl ChannelReduceTiling {
    /// For `rows` rows of `channels`, with enough threads to saturate the memory.
    pub(super) fn new(gpu: &Properties, rows: usize, channels: usize, pack: usize) -> Self {
        Self::with(gpu.saturating_threads(), rows, channels, pack)
    }

    /// With a given number of threads, or fewer if there are few rows.
    pub(super) fn with(threads: usize, rows: usize, channels: usize, pack: usize) -> Self {
        let packs = channels / pack;
        let lanes = (1..=packs.min(BLOCK))
            .rev()
            .find(|n| packs.is_multiple_of(*n))
            .unwrap_or(1);
        let in_block = (BLOCK / lanes).max(1);
        let wanted = threads.div_ceil(packs * in_block);
        Self {
            channels,
            pack,
            lanes,
            rows: in_block,
            groups: wanted.clamp(1, rows.div_ceil(in_block).max(1)),
        }
    }

    /// The kernel, with `column` (the thread's lane), `line` (its row in the block), `c` (its first
    /// channel), and the first row `row0` and the stride `step` of its rows.
    pub(super) fn kernel(&self, name: &str) -> KernelSource {
        let Self {
            lanes,
            rows,
            groups,
            pack,
            channels,
        } = *self;
        let mut kernel = KernelSource::new(
            name,
            Geometry::Blocks {
                grid: [groups, channels / pack / lanes],
                block: lanes * rows,
                shared: 0,
            },
        );
        kernel.line(format!(
            "  const Index column = threadIdx.x % {lanes}u, line = threadIdx.x / {lanes}u;
  const Index c = (blockIdx.y * {lanes}u + column) * {pack}u;
  const Index row0 = blockIdx.x * {rows}u + line, step = {}u;",
            groups * rows
        ));
        kernel
    }

    /// The type of the partial results, `sums` per channel: one row per block.
    pub(super) fn partial(&self, sums: usize) -> TensorType {
        TensorType::new(DType::F32, [self.groups, sums, self.channels])
    }

    /// Joins `value[pack][sums]` of a block's lines with `combine` (statements that take `b` into
    /// `a`, arrays of `sums` floats) and stores the result in `partial`.
    pub(super) fn combine_rows(
        &self,
        kernel: &mut KernelSource,
        value: &str,
        sums: usize,
        combine: &str,
    ) {
        let Self {
            lanes,
            rows,
            pack,
            channels,
            ..
        } = *self;
        kernel.argument("partial", &self.partial(sums), Binding::Workspace(0));
        kernel.line(format!(
            "  __shared__ float all[{rows}][{lanes}][{pack}][{sums}];
  #pragma unroll
  for (int j = 0; j < {pack}; ++j)
    for (int s = 0; s < {sums}; ++s) all[line][column][j][s] = {value}[j][s];
  __syncthreads();
  for (Index k = threadIdx.x; k < {}u; k += {}u) {{
    const Index own = k / {pack}u, j = k % {pack}u;
    float a[{sums}];
    for (int s = 0; s < {sums}; ++s) a[s] = all[0][own][j][s];
    for (int other = 1; other < {rows}; ++other) {{
      const float* const b = all[other][own][j];
      {combine}
    }}
    const Index channel = blockIdx.y * {}u + k;
    for (int s = 0; s < {sums}; ++s) partial[(blockIdx.x * {sums}u + s) * {channels}u + channel] = a[s];
  }}",
            lanes * pack,
            lanes * rows,
            lanes * pack,
        ));
    }

    /// The second round: a warp for each of `rows` results adds the blocks' partial results. `channel`
    /// and `which` (of the channel's `sums` values) are expressions of `row`; `sum` is the result, in
    /// every lane.
    pub(super) fn sums(
        &self,
        name: &str,
        rows: usize,
        sums: usize,
        [channel, which]: [&str; 2],
    ) -> KernelSource {
        let (groups, channels) = (self.groups, self.channels);
        let mut kernel = KernelSource::new(name, Geometry::Warps(rows));
        kernel.depth = groups.div_ceil(32).max(1);
        kernel.argument("partial", &self.partial(sums), Binding::Workspace(0));
        kernel.line(format!(
            "    const Index channel = {channel}, which = {which};
    float sum = 0.0f;
    #pragma unroll 8
    for (Index k = lane; k < {groups}u; k += 32) sum += partial[(k * {sums} + which) * {channels}u + channel];
{}",
            warp::reduce("sum", warp::SUM)
        ));
        kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_blocks_over_the_channels_than_a_grid_has_are_rejected() {
        // With a prime number of channels each is a separate block.
        let launch = |channels| {
            ChannelReduceTiling::with(1 << 20, 64, channels, 1)
                .kernel("k")
                .launch()
        };
        assert!(launch(65_521).is_ok());
        assert!(launch(65_537).is_err());
    }
}
