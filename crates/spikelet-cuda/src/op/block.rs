//! Pooled scans: a thread computes all time steps of a pooling block of neurons, for some neighboring
//! channels, and writes the block's maxima.

use super::LoweringContext;
use super::scan::{arguments, start};
use super::step::{self, array_len};
use crate::gpu::Properties;
use crate::kernel_source::{Geometry, KernelSource, element};
use spikelet_expr::CompileError;
use spikelet_graph::TensorType;
use spikelet_graph::op::{Port, Ports, Recurrence, Scan};

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
        format!("  constexpr Index place[] = {{{}}};", all.join(", "))
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
        format!("  const Index base = {base}, m = window * {channels}u + c;\n")
    }

    /// A loop over the block's positions, with `n` the first neuron of each.
    pub(super) fn each_position(&self, body: &str) -> String {
        format!(
            "    #pragma unroll\n    for (int at = 0; at < {}; ++at) {{\n      const Index n = base + place[at];\n{body}    }}\n",
            self.positions()
        )
    }

    /// A loop over the positions and the neurons `j` of each.
    pub(super) fn each_neuron(&self, body: &str) -> String {
        let lanes = format!(
            "      #pragma unroll\n      for (int j = 0; j < {}; ++j) {{\n{body}      }}\n",
            self.pack
        );
        self.each_position(&lanes)
    }
}

pub(super) fn step_loop(time: usize, body: &str) -> String {
    format!("  #pragma unroll\n  for (int t = 0; t < {time}; ++t) {{\n{body}  }}\n")
}

/// Declares the sequences and loads all of them: `q{k}[t][at]`, or `q{k}[0][at]` for one that is
/// constant over time. Returns the expression of the inputs of neuron j.
pub(super) fn load_inputs(
    text: &mut String,
    r: &Recurrence,
    cx: &LoweringContext<'_>,
    tiling: &PooledTiling,
    time: usize,
) -> String {
    let (pack, neurons, positions) = (tiling.pack, tiling.neurons, tiling.positions());
    let mut values = vec![];
    for k in 0..r.inputs.len() {
        let ty = &cx.inputs[cx.ports().input(k)];
        let steps = if ty.shape[0] == 1 { 1 } else { time };
        text.push_str(&format!(
            "  spk_vec<{}, {pack}> q{k}[{steps}][{positions}];\n",
            element(ty.dtype)
        ));
        let load =
            format!("      q{k}[t][at] = spk_load<{pack}>(x_seq{k} + t * {neurons}u + n);\n");
        text.push_str(&step_loop(steps, &tiling.each_position(&load)));
        let t = if steps == 1 { "0" } else { "t" };
        values.push(format!("q{k}[{t}][at][j]"));
    }
    format!(
        "        const float x[{}] = {{{}}};\n",
        array_len(values.len()),
        values.join(", ")
    )
}

/// Declares and loads the states of the block's neurons.
pub(super) fn load_states(
    r: &Recurrence,
    cx: &LoweringContext<'_>,
    tiling: &PooledTiling,
) -> String {
    let states = r.states.len();
    let mut body = String::new();
    for k in 0..states {
        body.push_str(&format!(
            "        v[at][j][{k}] = {};\n",
            start(cx, Port::Initial(k))
        ));
    }
    format!(
        "  float v[{}][{}][{}];\n{}",
        tiling.positions(),
        tiling.pack,
        array_len(states),
        tiling.each_neuron(&body)
    )
}

/// Declares and loads the parameters, which neurons of a channel share.
pub(super) fn load_params(
    r: &Recurrence,
    cx: &LoweringContext<'_>,
    tiling: &PooledTiling,
) -> String {
    let pack = tiling.pack;
    let mut text = format!("  float p[{pack}][{}];\n", array_len(r.params.len()));
    text.push_str(&format!(
        "  for (int j = 0; j < {pack}; ++j) {{\n    const Index n = c;\n"
    ));
    for k in 0..r.params.len() {
        let value = start(cx, Port::Param(k));
        text.push_str(&format!("    p[j][{k}] = {value};\n"));
    }
    text + "  }\n"
}

pub(crate) fn kernels(
    op: &Scan,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let time = op.time_steps;
    let tiling = PooledTiling::new(cx.gpu, &cx.inputs, time, op.pool);
    let (pack, packs) = (tiling.pack, tiling.channels / tiling.pack);
    let step = step::forward(r, &[true])?;
    let threads = tiling.windows * packs;
    let block = 128;
    let mut kernel = KernelSource::new(
        format!("{}_pooled_fptt", r.name),
        Geometry::Blocks {
            grid: [threads.div_ceil(block), 1],
            block,
            shared: 0,
        },
    );
    kernel.before = step.code;
    kernel.functions = step.functions;
    arguments(&mut kernel, cx, |_| false);
    let pooled = op.writes(Port::Output(0));
    kernel.line(format!(
        "  const Index i = blockIdx.x * {block}u + threadIdx.x;
  if (i >= {threads}u) return;
  const Index window = i / {packs}u, c = i % {packs}u * {pack}u;"
    ));
    kernel.line(tiling.places());
    kernel.line(tiling.base());
    let mut text = String::new();
    let inputs = load_inputs(&mut text, r, cx, &tiling, time);
    text.push_str(&load_states(r, cx, &tiling));
    text.push_str(&load_params(r, cx, &tiling));
    let advance = format!(
        "{inputs}        float y[1];
        spk_step(x, v[at][j], p[j], y);
        most[j] = at == 0 || y[0] > most[j] ? y[0] : most[j];\n"
    );
    let body = format!(
        "    float most[{pack}];\n{}    spk_vec<{}, {pack}> out;
    for (int j = 0; j < {pack}; ++j) out.set(j, most[j]);
    spk_store(y0 + t * {}u + m, out);\n",
        tiling.each_neuron(&advance),
        element(cx.outputs[pooled].dtype),
        tiling.pooled()
    );
    text.push_str(&step_loop(time, &body));
    kernel.line(text);
    Ok(vec![kernel])
}
