//! The partition of a time step into pooling blocks.

use crate::gpu::Properties;
use spikelet_graph::TensorType;
use spikelet_graph::op::Scan;

/// The most time steps × neurons of a thread: all loops are unrolled.
const MOST_COPIES: usize = 64;

/// The copies of a thread of a backward pass with packs of more than 8 bytes: fewer registers let more warps hide latencies.
const WIDE_COPIES: usize = 16;

/// The most time steps: with more, the registers hold the states of too few neurons.
const MOST_STEPS: usize = 16;

/// The partition of a time step into pooling blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct PooledTiling {
    /// Neighboring channels of a thread.
    pub(super) pack: usize,
    pub(super) channels: usize,
    /// Blocks of a time step, in the order of the pooled sequence.
    pub(super) windows: usize,
    pub(super) neurons: usize,
    size: [usize; 2],
    /// Blocks in a column and in a row of an image.
    grid: [usize; 2],
}

impl PooledTiling {
    pub(super) fn new(
        gpu: &Properties,
        inputs: &[TensorType],
        time: usize,
        pool: Option<[usize; 2]>,
    ) -> Self {
        let step = Scan::step_shape(inputs);
        let channels = step.last().copied().unwrap_or(1);
        let neurons: usize = step.iter().product();
        let size = pool.unwrap_or([1, 1]);
        let grid = match pool {
            Some([h, w]) => [step[step.len() - 3] / h, step[step.len() - 2] / w],
            None => [1, 1],
        };
        let positions = size[0] * size[1];
        let bytes = inputs[0].dtype.size_in_bytes();
        let mut pack = 16 / bytes;
        let idle = |pack: usize| neurons / positions / pack < gpu.saturating_threads();
        while pack > 1
            && (!channels.is_multiple_of(pack)
                || time * positions * pack > MOST_COPIES
                || idle(pack))
        {
            pack /= 2;
        }
        Self {
            pack,
            channels,
            windows: neurons / positions / channels.max(1),
            neurons,
            size,
            grid,
        }
    }

    /// The tiling of a backward pass, whose threads keep more values.
    pub(super) fn backward(
        gpu: &Properties,
        inputs: &[TensorType],
        time: usize,
        pool: Option<[usize; 2]>,
    ) -> Self {
        let mut tiling = Self::new(gpu, inputs, time, pool);
        let narrow = 8 / inputs[0].dtype.size_in_bytes();
        while tiling.pack > narrow && time * tiling.positions() * tiling.pack > WIDE_COPIES {
            tiling.pack /= 2;
        }
        tiling
    }

    /// Whether the kernels support this number of steps of such blocks.
    pub(super) fn is_short(time: usize, pool: Option<[usize; 2]>) -> bool {
        let [h, w] = pool.unwrap_or([1, 1]);
        time <= MOST_STEPS && time * h * w <= MOST_COPIES
    }

    /// The steps of a segment: all of them, if their copies are few.
    pub(super) fn steps(&self, time: usize) -> usize {
        (MOST_COPIES / (self.positions() * self.pack)).clamp(1, time.max(1))
    }

    pub(super) fn positions(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Elements of a pooled time step.
    pub(super) fn pooled(&self) -> usize {
        self.windows * self.channels
    }

    /// Declares `place`, the offsets of a block's neurons from its first.
    pub(super) fn places(&self) -> String {
        let width = self.grid[1] * self.size[1];
        let at = |p: usize| (p / self.size[1] * width + p % self.size[1]) * self.channels;
        let all: Vec<String> = (0..self.positions())
            .map(|p| format!("{}u", at(p)))
            .collect();
        format!("constexpr Index place[] = {{{}}};\n", all.join(", "))
    }

    /// Declares `base`, the first neuron of block `window` at channel `c`, and `m`, its element of
    /// the pooled step.
    pub(super) fn base(&self) -> String {
        let ([h, w], [rows, columns]) = (self.size, self.grid);
        let channels = self.channels;
        let base = if self.positions() == 1 {
            format!("window * {channels}u + c")
        } else {
            let width = columns * w;
            format!(
                "((window / {columns}u % {rows}u * {h}u + window / {}u * {}u) * {width}u + window % {columns}u * {w}u) * {channels}u + c",
                rows * columns,
                rows * h
            )
        };
        format!("const Index base = {base}, m = window * {channels}u + c;\n")
    }

    /// A loop over the block's positions, with `n` the first neuron of each.
    pub(super) fn each_position(&self, body: &str) -> String {
        format!(
            "#pragma unroll\nfor (int at = 0; at < {}; ++at) {{\nconst Index n = base + place[at];\n{body}}}\n",
            self.positions()
        )
    }
}
