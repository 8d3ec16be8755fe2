//! Tilings of channels-last tensors in which a thread keeps its channels while it iterates over rows,
//! so that sums per channel stay in registers.

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

    /// The second round: the sums of the blocks' partial results, `sums` for each channel. `store` are statements that
    /// take `total`, the sum number `which` of `channel`.
    pub(super) fn sums(&self, name: &str, sums: usize, store: &str) -> KernelSource {
        let channels = self.channels;
        let joined = Join {
            groups: self.groups,
            results: sums * channels,
            values: 1,
            stride: sums * channels,
            start: "0.0f",
            combine: "a[0] += b[0];",
        };
        let store = format!(
            "const Index which = result / {channels}u, channel = result % {channels}u;\n    const float total = a[0];\n    {store}"
        );
        joined.kernel(name, &self.partial(sums), &store)
    }
}

/// Neighboring results of a block of a second round: those of one sector of memory.
const RESULTS: usize = 8;

/// Parts of the groups that a block of a second round joins at the same time.
const PARTS: usize = 32;

/// The second round of a reduction: partial results of `groups`, each of `results` with `values` floats, are joined. The
/// value `v` of `result` in group `g` is at `g·stride + v·results + result`.
pub(super) struct Join<'a> {
    pub(super) groups: usize,
    pub(super) results: usize,
    pub(super) values: usize,
    pub(super) stride: usize,
    /// The value of no group.
    pub(super) start: &'a str,
    /// Statements that take `b` into `a`, arrays of `values` floats.
    pub(super) combine: &'a str,
}

impl Join<'_> {
    /// The kernel, which reads `partial` in the workspace. `store` are statements for `result` with its values `a`.
    pub(super) fn kernel(&self, name: &str, partial: &TensorType, store: &str) -> KernelSource {
        let (values, results, start) = (self.values, self.results, self.start);
        let mut kernel = self.blocks(name, partial);
        kernel.line(format!(
            "  float a[{values}];
  for (int v = 0; v < {values}; ++v) a[v] = {start};
{}{}  if (part == 0u && result < {results}u) {{
    {store}
  }}",
            self.each_group(self.combine),
            self.join_parts("all", values, self.combine),
        ));
        kernel
    }

    /// A kernel of blocks with `result` and `part`, the part of the groups that a thread joins, and shared memory `all`.
    pub(super) fn blocks(&self, name: &str, partial: &TensorType) -> KernelSource {
        let geometry = Geometry::Blocks {
            grid: [self.results.div_ceil(RESULTS).max(1), 1],
            block: RESULTS * PARTS,
            shared: 0,
        };
        let mut kernel = KernelSource::new(name, geometry);
        kernel.depth = self.groups.div_ceil(PARTS).div_ceil(4).max(1);
        kernel.argument("partial", partial, Binding::Workspace(0));
        kernel.line(format!(
            "  __shared__ float all[{}][{PARTS}][{RESULTS}];
  const Index lane = threadIdx.x % {RESULTS}u, part = threadIdx.x / {RESULTS}u;
  const Index result = blockIdx.x * {RESULTS}u + lane;",
            self.values
        ));
        kernel
    }

    /// A loop over the groups of a part, with the values of each in `b`.
    pub(super) fn each_group(&self, body: &str) -> String {
        let Self {
            groups,
            results,
            values,
            stride,
            ..
        } = *self;
        format!(
            "  if (result < {results}u) {{
    #pragma unroll 8
    for (Index g = part; g < {groups}u; g += {PARTS}u) {{
      float b[{values}];
      for (int v = 0; v < {values}; ++v) b[v] = partial[g * {stride}u + v * {results}u + result];
      {body}
    }}
  }}
"
        )
    }

    /// Joins `a`, an array of `values` floats, of the parts pairwise in the shared memory `all`; that of part 0 is complete.
    pub(super) fn join_parts(&self, all: &str, values: usize, combine: &str) -> String {
        format!(
            "  for (int v = 0; v < {values}; ++v) {all}[v][part][lane] = a[v];
  for (Index half = {}u; half > 0u; half /= 2u) {{
    __syncthreads();
    if (part < half) {{
      float b[{values}];
      for (int v = 0; v < {values}; ++v) b[v] = {all}[v][part + half][lane];
      {combine}
      for (int v = 0; v < {values}; ++v) {all}[v][part][lane] = a[v];
    }}
  }}
",
            PARTS / 2
        )
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
