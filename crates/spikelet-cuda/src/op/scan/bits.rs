//! Spikes that are written as bits.

use super::super::LoweringContext;
use spikelet_graph::op::{Port, Ports, Scan};
use spikelet_graph::{DType, TensorType};

/// Rows of `last` neurons, padded to full words.
pub(super) struct Bits {
    rows: usize,
    pub(super) last: usize,
    width: usize,
}

/// Whether spikes can be written as bits: packs do not cross the end of a row.
pub(super) fn writes_bits(inputs: &[TensorType], result: Port) -> bool {
    let step = Scan::step_shape(inputs);
    let last = step.last().copied().unwrap_or(1);
    // For rows that are mostly padding, dense spikes are smaller.
    let is_smaller = last % 16 == 0 || last >= 128;
    matches!(result, Port::Output(_)) && step.len() > 1 && last % 4 == 0 && is_smaller
}

impl Bits {
    /// The rows of a scan with outputs that are written as bits.
    pub(super) fn of(op: &Scan, cx: &LoweringContext<'_>) -> Option<Self> {
        let packed = |at: usize| cx.wanted[at] && cx.outputs[at].dtype == DType::Bits;
        let mut outputs = op
            .results_that(&|port| matches!(port, Port::Output(_)))
            .into_iter();
        outputs.find(|at| packed(*at))?;
        let step = Scan::step_shape(&cx.inputs);
        let last = step.last().copied().unwrap_or(1);
        Some(Self {
            rows: step.iter().product::<usize>() / last.max(1),
            last,
            width: last.next_multiple_of(64),
        })
    }

    /// Neurons of a step with those in the padding.
    pub(super) fn padded(&self) -> usize {
        self.rows * self.width
    }

    /// Declares the place of thread `i`, and the threads of its word: they are in one warp and run the same steps. A thread
    /// in the padding repeats the work of the first thread of its row and writes nothing.
    pub(super) fn place(&self, pack: usize) -> String {
        let (width, last, lanes) = (self.width, self.last, 32 / pack);
        let mask = u32::MAX >> (32 - lanes);
        format!(
            "const Index row = i * {pack}u / {width}u, column = i * {pack}u % {width}u;
const bool real = column < {last}u;
const Index n = row * {last}u + (real ? column : 0u);
const unsigned together = {mask:#x}u << (threadIdx.x % 32 / {lanes}u * {lanes}u);"
        )
    }

    /// Combines the bits `o{k}` of neighboring threads into 32-bit words of a result, stored by the first thread of each.
    pub(super) fn store(&self, k: usize, result: usize, pack: usize) -> String {
        let (words, lanes, rows) = (self.width / 32, 32 / pack, self.rows);
        let mut text = match pack {
            1 => format!("o{k} = __ballot_sync(together, o{k});\n"),
            _ => format!("o{k} <<= i % {lanes}u * {pack}u;\n"),
        };
        let mut offset = if pack > 1 { lanes / 2 } else { 0 };
        while offset > 0 {
            text.push_str(&format!(
                "o{k} |= __shfl_xor_sync(together, o{k}, {offset});\n"
            ));
            offset /= 2;
        }
        text + &format!(
            "if (i % {lanes}u == 0) ((unsigned*)y{result})[((t0 + k) * {rows}u + row) * {words}u + column / 32u] = o{k};\n"
        )
    }
}
