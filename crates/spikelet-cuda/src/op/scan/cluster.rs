//! How a recurrent scan is divided among blocks, and where its weights are kept.
//!
//! A cluster of blocks owns a tile of rows of the batch, and runs through all time steps without
//! waiting for other clusters. Each of its blocks owns some of the neurons, with their rows of the
//! weight: fragments for tensor cores in registers, then in shared memory. Fragments that fit in neither
//! are read from the second-level cache at each step.

use crate::gpu::Properties;
use crate::kernel_source::{Geometry, KernelSource};
use spikelet_graph::op::Scan;
use spikelet_graph::{DeviceShare, TensorType};

/// The summation order of the product of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Spikes times weights.
    Forward,
    /// Gradients times weights.
    Backward,
}

/// The sizes and registers that a tiling is chosen for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) direction: Direction,
    /// Rows of the batch.
    pub(super) batch: usize,
    /// Neurons of a row.
    pub(super) features: usize,
    /// 16-bit terms of a weight.
    pub(super) planes: usize,
    /// 32-bit registers that a neuron of a thread takes.
    pub(super) registers: usize,
    /// The part of the GPU that its clusters may fill.
    pub(super) share: DeviceShare,
}

impl Demand {
    /// The rows and neurons of the first sequence's steps.
    pub(super) fn sizes(inputs: &[TensorType]) -> (usize, usize) {
        let step = Scan::step_shape(inputs);
        let features = step.last().copied().unwrap_or(1).max(1);
        (step.iter().product::<usize>() / features, features)
    }
}

/// Bytes of a fragment of 16 neurons by 16 summands.
const FRAGMENT: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tiling {
    pub(super) batch: usize,
    pub(super) features: usize,
    pub(super) planes: usize,
    /// 16-bit terms of a gradient.
    pub(super) gradient_planes: usize,
    /// Blocks of a cluster.
    pub(super) cluster: usize,
    /// Neurons of a block.
    pub(super) columns: usize,
    /// Rows of a tile.
    pub(super) rows: usize,
    /// Warps that share a sum.
    pub(super) splits: usize,
    /// Groups of 16 neurons of a warp.
    pub(super) tiles: usize,
    /// Steps of 16 summands of a warp.
    pub(super) steps: usize,
    most_parts: usize,
    pub(super) in_registers: usize,
    pub(super) in_shared: usize,
    /// Bytes of shared memory without fragments.
    own_shared: usize,
    /// Predicted microseconds of a time step.
    pub(super) cost: f64,
}

/// Rows of a tile that are computed together. While what one part computed travels to the other blocks, the next
/// part is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) index: usize,
    pub(super) first_row: usize,
    pub(super) rows: usize,
}

/// The most parts of a tile.
const MAX_PARTS: usize = 2;

/// Clusters that run at once. A group of multiprocessors does not hold clusters only.
fn clusters_at_once(gpu: &Properties, cluster: usize, share: DeviceShare) -> usize {
    let blocks = gpu.multiprocessors;
    let all = match cluster {
        1 => blocks,
        _ => blocks * 10 / 11 / cluster,
    };
    let share = match share {
        DeviceShare::Whole => all,
        DeviceShare::First => all.div_ceil(2),
        DeviceShare::Second => all / 2,
    };
    share.max(1)
}

impl Tiling {
    /// The tiling with the least predicted time; `None` if no tile fits in shared memory.
    pub(super) fn new(gpu: &Properties, demand: Demand) -> Option<Self> {
        let sizes: &[usize] = match gpu.capability.0 {
            ..9 => &[1],
            _ => &[1, 2, 4, 8],
        };
        let mut best: Option<Self> = None;
        for &cluster in sizes {
            for rows in (8..=48).step_by(8) {
                // Fewer threads leave more registers for weights, and their barriers are shorter. Many weights in
                // global memory are loaded faster by more threads.
                let found = Self::of(gpu, demand, cluster, rows, 8);
                let found = found.and_then(|few| match few.far() > 0 && few.planes > 1 {
                    true => Self::of(gpu, demand, cluster, rows, 16),
                    false => Some(few),
                });
                let better = |t: &Self| best.is_none_or(|b| t.cost < b.cost);
                best = found.filter(better).or(best);
            }
        }
        best
    }

    fn of(
        gpu: &Properties,
        demand: Demand,
        cluster: usize,
        rows: usize,
        max_warps: usize,
    ) -> Option<Self> {
        let Demand {
            batch,
            features,
            planes,
            ..
        } = demand;
        let columns = features.div_ceil(cluster).next_multiple_of(32);
        let groups = columns / 16;
        let forward = demand.direction == Direction::Forward;
        let all_steps = match forward {
            true => (cluster * columns).next_multiple_of(128) / 16,
            false => cluster * columns / 16,
        };
        let fits = |tiles: usize, splits: usize| {
            let steps = all_steps / splits;
            let whole = match forward {
                // The places of spikes in a word are constants of the code.
                true => steps.is_multiple_of(8),
                false => steps.is_multiple_of(2),
            };
            let row_step = (2 * splits / tiles).max(1);
            all_steps.is_multiple_of(splits)
                && steps > 0
                && whole
                && rows.is_multiple_of(row_step)
                && (2 * splits).is_multiple_of(tiles) | tiles.is_multiple_of(2 * splits)
        };
        // As many warps as possible; then two tiles for each, which share what they decode, and no more sums than
        // needed.
        let candidate = |tiles: usize| {
            let mut splits = (1..=max_warps * tiles / groups).rev();
            let splits = splits.find(|splits| fits(tiles, *splits))?;
            Some((groups / tiles * splits, tiles == 2, splits, tiles))
        };
        let divisors = (1..=groups).filter(|tiles| groups.is_multiple_of(*tiles));
        let (_, _, splits, tiles) = divisors.filter_map(candidate).max()?;
        let gradient_planes = planes.min(2);
        let mut tiling = Self {
            batch,
            features,
            planes,
            gradient_planes,
            cluster,
            columns,
            rows,
            splits,
            tiles,
            steps: all_steps / splits,
            most_parts: 1,
            in_registers: 0,
            in_shared: 0,
            own_shared: 0,
            cost: 0.0,
        };
        let exchange = match forward {
            true => cluster * rows * columns / 8,
            false => 2 * gradient_planes * cluster * rows * columns,
        };
        // Sums, buffers, their barriers.
        tiling.own_shared =
            4 * splits * rows * (columns + 4) + tiling.buffers() * (exchange + 8 * MAX_PARTS);
        let free = gpu.shared_bytes.checked_sub(tiling.own_shared)?;
        let registers = (65536 / tiling.threads()).min(255);
        let taken = 48
            + tiles * rows / 2
            + demand.registers * tiling.elements()
            + if forward {
                rows / 4
            } else {
                rows / 2 * gradient_planes
            };
        let fragments = tiling.fragments();
        tiling.in_registers = (registers.saturating_sub(taken) / 4).min(fragments);
        let rest = fragments - tiling.in_registers;
        tiling.in_shared = (free / (tiling.warps() * FRAGMENT)).min(rest);
        // Each part reads the weights again. A block without others has nothing to wait for; and the backward pass
        // of one plane is shorter than its barriers.
        let on_chip = tiling.far() == 0 && 2 * tiling.in_shared <= fragments;
        if cluster > 1 && on_chip && (forward || planes > 1) {
            tiling.most_parts = MAX_PARTS;
        }
        tiling.cost = tiling.predicted(gpu, &demand);
        Some(tiling)
    }

    /// Predicted microseconds of a time step, of all tiles.
    fn predicted(&self, gpu: &Properties, demand: &Demand) -> f64 {
        let forward = demand.direction == Direction::Forward;
        let latency = match self.cluster {
            1 => 0.5,
            2 => 0.9,
            4 => 1.0,
            _ => 1.1,
        };
        let products = match (forward, self.planes) {
            (true, planes) => planes,
            (false, 1) => 1,
            (false, _) => 3,
        };
        let multiplications = self.rows * self.columns * self.steps * self.splits * 16 * products;
        let at_once = clusters_at_once(gpu, self.cluster, demand.share);
        let waves = self.clusters().div_ceil(at_once);
        let running = self.cluster * self.clusters().min(at_once);
        let far = self.far() * self.warps() * FRAGMENT * running;
        let shared = self.in_shared * self.warps() * FRAGMENT;
        let elements = 0.02 * (self.elements() * self.warps()) as f64;
        waves as f64
            * (latency
                + multiplications as f64 / 2.2e6
                + far as f64 / 4e6
                + shared as f64 / 2e5
                + elements)
    }

    pub(super) fn warps(&self) -> usize {
        self.splits * (self.columns / 16 / self.tiles)
    }

    pub(super) fn threads(&self) -> usize {
        32 * self.warps()
    }

    /// Tiles of the batch.
    pub(super) fn clusters(&self) -> usize {
        self.batch.div_ceil(self.rows)
    }

    /// The parts of a tile: whole groups of eight rows, and whole turns of the threads.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mut whole = (8..=self.rows).step_by(8);
        let unit = whole.find(|rows| rows.is_multiple_of(self.row_step()));
        let unit = unit.unwrap_or(self.rows);
        let units = self.rows / unit;
        let count = units.min(self.most_parts);
        let start = |k: usize| (k * units).div_ceil(count) * unit;
        let part = |index| Part {
            index,
            first_row: start(index),
            rows: start(index + 1) - start(index),
        };
        (0..count).map(part).collect()
    }

    /// All rows.
    pub(super) fn whole(&self) -> Part {
        Part {
            index: 0,
            first_row: 0,
            rows: self.rows,
        }
    }

    /// Neurons of a thread.
    pub(super) fn elements(&self) -> usize {
        self.rows * self.columns / self.threads()
    }

    /// Rows between two neurons of a thread in the same column.
    pub(super) fn row_step(&self) -> usize {
        (self.threads() / self.columns).max(1)
    }

    fn fragments(&self) -> usize {
        self.steps * self.tiles * self.planes
    }

    /// Fragments of a warp that stay in global memory.
    pub(super) fn far(&self) -> usize {
        self.fragments() - self.in_registers - self.in_shared
    }

    /// Buffers of what the blocks exchange: one is read while the next step's is written by other blocks.
    fn buffers(&self) -> usize {
        self.cluster.min(2)
    }

    /// Bytes of dynamic shared memory.
    pub(super) fn shared(&self) -> usize {
        self.in_shared * self.warps() * FRAGMENT + self.own_shared
    }

    /// Bytes of all fragments, if some stay in global memory.
    pub(super) fn workspace(&self) -> usize {
        match self.far() {
            0 => 0,
            _ => self.cluster * self.warps() * self.fragments() * FRAGMENT,
        }
    }

    /// The macros of the device code.
    pub(super) fn defines(&self) -> String {
        let values = [
            ("CLUSTER", self.cluster),
            ("COLUMNS", self.columns),
            ("ROWS", self.rows),
            ("STEPS", self.steps),
            ("SPLITS", self.splits),
            ("TILES", self.tiles),
            ("WARPS", self.warps()),
            ("PLANES", self.planes),
            ("GRADIENT_PLANES", self.gradient_planes),
            ("IN_REGISTERS", self.in_registers),
            ("IN_SHARED", self.in_shared),
            ("FEATURES", self.features),
            ("NEURONS", self.batch * self.features),
            // Of spikes in global memory, as bits.
            ("BATCH", self.batch),
            ("ROW_WORDS", self.features.next_multiple_of(64) / 32),
            ("BUFFERS", self.buffers()),
            ("PARTS", self.parts().len()),
        ];
        let define = |(name, value): (&str, usize)| format!("#define {name} {value}\n");
        values.map(define).concat()
    }

    /// `body` for each neuron of a part. `real` says whether there is one, `n` is its place in a step, which is `shift`
    /// behind the thread's first: a constant, so that an address is computed once a step.
    pub(super) fn each_element(&self, part: &Part, body: &str) -> String {
        let (columns, threads) = (self.columns, self.threads());
        let (rows, turns) = (self.row_step(), columns.div_ceil(threads));
        let conditions = [
            (!self.batch.is_multiple_of(self.rows))
                .then(|| format!("first_row + row < {}", self.batch)),
            (self.cluster * columns != self.features)
                .then(|| "(int)rank * COLUMNS + column < FEATURES".to_string()),
        ];
        let conditions: Vec<String> = conditions.into_iter().flatten().collect();
        let real = match conditions.is_empty() {
            true => "true".to_string(),
            false => conditions.join(" && "),
        };
        format!(
            "#pragma unroll
for (int e = {start}; e < {end}; ++e) {{
const int turn = e % {turns}, group = e / {turns};
const int row = own_row + group * {rows}, column = own_column + turn * {threads};
const int shift = group * {rows} * FEATURES + turn * {threads};
const int word_shift = group * {rows} * ROW_WORDS + turn * {threads} / 32;
const bool real = {real};
const Index n = real ? own_place + shift : 0u;
const int j = 0;
{body}}}\n",
            start = part.first_row / rows * turns,
            end = (part.first_row + part.rows) / rows * turns,
        )
    }

    /// The kernel of all clusters.
    pub(super) fn kernel(&self, name: String) -> KernelSource {
        let geometry = Geometry::Blocks {
            grid: [self.clusters() * self.cluster, 1],
            block: self.threads(),
            shared: self.shared(),
        };
        let mut kernel = KernelSource::new(name, geometry);
        kernel.cluster = self.cluster;
        kernel.line(prologue(self));
        kernel
    }
}

/// The start of both kernels: the thread's place, shared memory, the weights.
fn prologue(tiling: &Tiling) -> String {
    let planes = if tiling.workspace() == 0 {
        "(const uint4*)nullptr"
    } else {
        "(const uint4*)planes"
    };
    format!(
        "  extern __shared__ __align__(128) unsigned char spk_memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned rank = spk_rank();
  const int first_row = blockIdx.x / CLUSTER * ROWS;
  const int own_row = threadIdx.x / COLUMNS, own_column = threadIdx.x % COLUMNS;
  const Index own_place = (first_row + own_row) * FEATURES + rank * COLUMNS + own_column;
  const Index own_word = (first_row + own_row) * ROW_WORDS + (rank * COLUMNS + own_column) / 32;
  spk_weights weights;
  spk_load_weights(weights, (uint4*)spk_memory, w, {planes}, rank, warp, lane);
  float* partial = (float*)(spk_memory + IN_SHARED * WARPS * {});",
        FRAGMENT
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_fits_in_the_shared_memory_of_every_gpu() {
        for gpu in Properties::all_large() {
            for features in [128, 512, 1024] {
                for direction in [Direction::Forward, Direction::Backward] {
                    let demand = Demand {
                        direction,
                        batch: 256,
                        features,
                        planes: 3,
                        registers: 4,
                        share: DeviceShare::Whole,
                    };
                    if let Some(tiling) = Tiling::new(&gpu, demand) {
                        let (needed, has) = (tiling.shared(), gpu.shared_bytes);
                        assert!(
                            needed <= has,
                            "{gpu:?}, {demand:?}: {needed} of {has} bytes"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn consumer_gpus_have_less_shared_memory_than_those_of_data_centers() {
        let of = |capability| Properties::large(capability).shared_bytes >> 10;
        assert_eq!(
            [(9, 0), (10, 3), (12, 0), (12, 1)].map(of),
            [227, 227, 99, 99]
        );
    }
}
