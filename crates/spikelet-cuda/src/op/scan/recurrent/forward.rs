//! The multi-step forward pass with feedback.

use super::super::ScanWriter;
use super::super::cluster::{Demand, Part, Tiling};
use super::super::layout::{Layout, word};
use super::super::read::Read;
use super::super::segments::Segments;
use crate::kernel_source::KernelSource;
use crate::op::LoweringContext;
use crate::op::step::{self, array_len};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Feedback, Port, Scan};
use spikelet_graph::{DType, TensorType};
use std::fmt::Write;

/// Whether a result is written as bits: the spikes that are fed back, as output or before each step.
pub(in super::super) fn writes_bits(
    op: &Scan,
    feedback: &Feedback,
    inputs: &[TensorType],
    result: Port,
) -> bool {
    let (_, features) = Demand::sizes(inputs);
    let r = &op.recurrence;
    let fed = match result {
        Port::Output(k) => r.outputs[k].value.same_value(&r.next[feedback.state]),
        port => port == Port::Before,
    };
    let is_smaller = features % 16 == 0 || features >= 128;
    // A product of 16-bit numbers is faster than one with bits.
    let wide = !inputs[0].dtype.is_half();
    fed && wide && is_smaller && inputs[0].shape.len() > 2
}

pub(in super::super) fn write(
    op: &Scan,
    feedback: &Feedback,
    cx: &LoweringContext<'_>,
    (kernel, layout, tiling): (&mut KernelSource, &Layout, &Tiling),
) -> Result<(), CompileError> {
    let r = &*op.recurrence;
    let wanted = cx.wants_each(Port::Output, r.outputs.len());
    step::forward(r, &wanted)?.define(kernel);
    let writer = ScanWriter::new(cx, r, layout, wanted);
    let forward = Forward {
        op,
        feedback,
        tiling,
        writer: &writer,
    };
    let segments = writer.segments(op.time_steps, 1);
    kernel.line(forward.declare() + &segments.declare("", 1));
    kernel.line(layout.each(&(forward.load() + &segments.first())));
    kernel.line("spk_begin(received);");
    kernel.line(forward.steps(&segments));
    let last = |k| writer.store_one(Port::Last(k), &format!("v[e][{k}]"));
    kernel.line(layout.each(&(0..r.states.len()).map(last).collect::<String>()));
    Ok(())
}

/// The parts from which a forward kernel is generated.
struct Forward<'a> {
    op: &'a Scan,
    feedback: &'a Feedback,
    tiling: &'a Tiling,
    writer: &'a ScanWriter<'a>,
}

impl Forward<'_> {
    fn declare(&self) -> String {
        let (r, elements) = (self.writer.r, self.writer.layout.of_neurons());
        format!(
            "unsigned* spikes = (unsigned*)(partial + SPLITS * ROWS * PARTIAL);
unsigned long long* received = (unsigned long long*)(spikes + BUFFERS * CLUSTER * ROWS * WORDS);
for (int k = threadIdx.x; k < BUFFERS * CLUSTER * ROWS * WORDS; k += WARPS * 32) spikes[k] = 0;
float v{elements}[{}], p{elements}[{}], x{elements}[{}], y{elements}[{}];
unsigned word{elements};\n",
            array_len(r.states.len()),
            array_len(r.params.len()),
            array_len(r.inputs.len()),
            array_len(self.writer.written().count()),
        )
    }

    /// The index of a wanted result of bits.
    fn bits(&self, port: Port) -> Option<usize> {
        let to = self.writer.wanted(port)?;
        (self.writer.cx.outputs[to].dtype == DType::Bits).then_some(to)
    }

    /// Stores the word of a warp's spikes at a step of a result.
    fn store_word(&self, result: usize, step: &str, value: &str) -> String {
        let row = match self.tiling.batch.is_multiple_of(self.tiling.rows) {
            true => "",
            false => "first_row + row < BATCH && ",
        };
        let to = word(&format!("(unsigned*)y{result}"), step);
        format!(
            "if (lane == 0 && {row}(rank * COLUMNS + column) / 32 < ROW_WORDS) {to} = {value};\n"
        )
    }

    /// Stores a value at `at` of a result, or the word of a warp's spikes at a step of it.
    fn store(&self, port: Port, [at, step]: [&str; 2], value: &str) -> String {
        match self.bits(port) {
            Some(to) => self.store_word(to, step, "word[e]"),
            None => self.writer.store_at(port, at, value),
        }
    }

    /// Collects the word of a warp's spikes.
    fn ballot(&self) -> String {
        let state = self.feedback.state;
        format!("word[e] = __ballot_sync(~0u, real && v[e][{state}] != 0.0f);\n")
    }

    /// Loads a neuron, and what precedes its first step.
    fn load(&self) -> String {
        let state = format!("v[e][{}]", self.feedback.state);
        let first = "spk_set_sum(partial, row, column, real ? spk_get(first[n]) : 0.0f);\n";
        // The spikes before the first step, as a number and as a word.
        let (spike, word, before) = match self.feedback.continues {
            true => (&*state, "word[e]", self.ballot()),
            false => ("0.0f", "0u", first.to_string()),
        };
        let store = match self.bits(Port::Before) {
            Some(to) => self.store_word(to, "0u", word),
            None => self.writer.store_one(Port::Before, spike),
        };
        self.writer.load_states() + &self.writer.load_params() + &before + &store
    }

    /// Converts what was read.
    fn drive(&self) -> String {
        let drive = |(k, read): (usize, &Read)| {
            let sum = match k {
                0 => " + spk_sum(partial, row, column)",
                _ => "",
            };
            format!("x[e][{k}] = {}{sum};\n", read.value())
        };
        let reads = self.writer.sequences.iter().enumerate();
        reads.map(drive).collect()
    }

    /// Stores the results of a step. They follow the exchange, for which other blocks wait.
    fn stores(&self) -> String {
        let state = |k: usize| format!("v[e][{k}]");
        let mut stores = self.store(Port::Driven, ["at", "t"], "x[e][0]");
        for (at, k) in self.writer.written().enumerate() {
            stores.push_str(&self.store(Port::Output(k), ["at", "t"], &format!("y[e][{at}]")));
        }
        for k in 0..self.writer.r.states.len() {
            stores.push_str(&self.store(Port::StateSeq(k), ["at", "t"], &state(k)));
        }
        let to = ["at + NEURONS", "(t + 1)"];
        let before = self.store(Port::Before, to, &state(self.feedback.state));
        if !before.is_empty() {
            let time = self.op.time_steps;
            let _ = write!(stores, "if (t + 1 < {time}u) {{\n{before}}}\n");
        }
        stores
    }

    /// Sends the spikes of a part that are received in a round.
    fn send(&self, (part, layout): &(Part, Layout), round: &str) -> String {
        let received = format!("received + {}", 2 * part.index);
        let word = format!(
            "spk_send_word(own + row * WORDS + column / 32, word[e], {received}, {round}, lane);\n"
        );
        format!(
            "unsigned* own = spikes + ({round} % BUFFERS * CLUSTER + rank) * ROWS * WORDS;
spk_expect({received}, {round}, CLUSTER * {} * WORDS * 4);
if (lane < CLUSTER) {{\n{}}}\n",
            part.rows,
            layout.each(&word),
        )
    }

    /// One step of the neurons of a part.
    fn step(&self, of: &(Part, Layout)) -> String {
        let (part, layout) = of;
        let param = self.writer.param()[0];
        let compute = format!("spk_step(x[e], v[e], p{param}, y[e]);\n{}", self.ballot());
        format!(
            "if (round > 0) {{
spk_receive(received + {barrier}, round);
spk_product<{group}, {groups}>(weights, spikes + round % BUFFERS * CLUSTER * ROWS * WORDS, partial, warp, lane);
__syncthreads();
}}
{drive}{compute}if (t + 1 < {time}u) {{
{send}}}
{stores}",
            barrier = 2 * part.index,
            group = part.first_row / 8,
            groups = part.rows / 8,
            time = self.op.time_steps,
            drive = layout.each(&self.drive()),
            compute = layout.each(&compute),
            send = self.send(of, "(round + 1)"),
            stores = layout.each(&self.stores()),
        )
    }

    /// All steps. A round is an exchange: spikes before the first step are exchanged like those of a step.
    fn steps(&self, segments: &Segments<'_>) -> String {
        let parts = super::layouts(self.tiling);
        let first = |part| format!("{{\n{}}}\n", self.send(part, "1u"));
        let first = match self.feedback.continues {
            true => parts.iter().map(first).collect(),
            false => String::new(),
        };
        let exchanged = u32::from(self.feedback.continues);
        first
            + &segments.rounds(&|next| {
                let step = |part: &(Part, Layout)| self.step(part) + &next(&part.1);
                let steps: String = parts.iter().map(step).collect();
                format!("const unsigned round = t + {exchanged}u;\n{steps}")
            })
    }
}
