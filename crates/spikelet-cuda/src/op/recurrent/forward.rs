//! The multi-step forward pass with feedback.

use super::super::LoweringContext;
use super::super::scan::{arguments, start};
use super::super::step::{self, array_len};
use super::tiling::{Demand, Direction, Part, Tiling};
use super::{
    each_neuron, each_neuron_of, geometry, params, planes, product_text, prologue, store,
    with_weights,
};
use crate::gpu::Properties;
use crate::kernel_source::{KernelSource, element};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Feedback, Port, Ports, Scan};
use spikelet_graph::{DType, DeviceShare, TensorType};
use std::fmt::Write;

pub(super) fn tiling(
    op: &Scan,
    feedback: &Feedback,
    (gpu, share): (&Properties, DeviceShare),
    inputs: &[TensorType],
) -> Option<Tiling> {
    let r = &op.recurrence;
    let (batch, features) = Demand::sizes(inputs);
    let demand = Demand {
        direction: Direction::Forward,
        batch,
        features,
        planes: planes(&inputs[op.reads(Port::Weight)], feedback.precision),
        registers: 2 + r.inputs.len() + r.states.len() + r.params.len(),
        share,
    };
    Tiling::new(gpu, demand)
}

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

pub(super) fn kernels(
    op: &Scan,
    feedback: &Feedback,
    tiling: &Tiling,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let wanted = cx.wants_each(Port::Output, r.outputs.len());
    let text = step::forward(r, &wanted)?;
    let mut kernel = KernelSource::new(format!("recurrent_{}_fptt", r.name), geometry(tiling));
    kernel.cluster = tiling.cluster;
    let weight = &cx.inputs[op.reads(Port::Weight)];
    kernel.before = product_text(tiling, Direction::Forward, weight);
    text.define(&mut kernel);
    arguments(&mut kernel, cx, |_| false);
    let forward = Forward {
        op,
        feedback,
        tiling,
        cx,
        written: (0..wanted.len()).filter(|k| wanted[*k]).collect(),
    };
    kernel.line(prologue(tiling));
    kernel.line(forward.declare());
    kernel.line(each_neuron(tiling, &forward.load()));
    kernel.line("spk_begin(received);");
    kernel.line(forward.steps());
    let mut last = String::new();
    for k in 0..r.states.len() {
        last.push_str(&store(cx, Port::Last(k), &format!("v[e][{k}]")));
    }
    kernel.line(each_neuron(tiling, &last));
    kernel.line("spk_end();");
    Ok(with_weights(kernel, tiling, cx))
}

/// What a forward kernel is generated from.
struct Forward<'a> {
    op: &'a Scan,
    feedback: &'a Feedback,
    tiling: &'a Tiling,
    cx: &'a LoweringContext<'a>,
    /// The outputs that `spk_step` computes.
    written: Vec<usize>,
}

impl Forward<'_> {
    fn declare(&self) -> String {
        let (r, elements) = (&self.op.recurrence, self.tiling.elements());
        let mut text = format!(
            "unsigned* spikes = (unsigned*)(partial + SPLITS * ROWS * PARTIAL);
unsigned long long* received = (unsigned long long*)(spikes + BUFFERS * CLUSTER * ROWS * WORDS);
for (int k = threadIdx.x; k < BUFFERS * CLUSTER * ROWS * WORDS; k += WARPS * 32) spikes[k] = 0;
float v[{elements}][{}], p[{elements}][{}], x[{elements}][{}], y[{elements}][{}];
unsigned word[{elements}];\n",
            array_len(r.states.len()),
            array_len(r.params.len()),
            array_len(r.inputs.len()),
            array_len(self.written.len()),
        );
        for k in 0..r.inputs.len() {
            let ty = element(self.cx.inputs[self.op.input(k)].dtype);
            let _ = writeln!(text, "{ty} next{k}[{elements}] = {{}};");
        }
        text
    }

    fn is_bits(&self, result: usize) -> bool {
        self.cx.outputs[result].dtype == DType::Bits
    }

    /// Stores the word of a warp's spikes at a step of a result.
    fn store_word(&self, result: usize, step: &str, value: &str) -> String {
        let row = match self.tiling.batch.is_multiple_of(self.tiling.rows) {
            true => "",
            false => "first_row + row < BATCH && ",
        };
        format!(
            "if (lane == 0 && {row}(rank * COLUMNS + column) / 32 < ROW_WORDS) ((unsigned*)y{result} + own_word + {step} * (BATCH * ROW_WORDS))[word_shift] = {value};\n"
        )
    }

    /// Fetches the inputs of a step, of which the thread's first neuron is at `at`.
    fn fetch(&self, at: &str) -> String {
        let one = |k| format!("if (real) next{k}[e] = (x_seq{k} + {at})[shift];\n");
        (0..self.op.recurrence.inputs.len()).map(one).collect()
    }

    /// Loads a neuron, and what precedes its first step.
    fn load(&self) -> String {
        let (cx, r) = (self.cx, &self.op.recurrence);
        let mut load = String::new();
        for k in 0..r.states.len() {
            let _ = writeln!(load, "v[e][{k}] = {};", start(cx, Port::Initial(k)));
        }
        load.push_str(&params(r, cx).1);
        // The spikes before the first step, as a number and as a word.
        let (spike, word) = match self.feedback.continues {
            true => (format!("v[e][{}]", self.feedback.state), "word[e]"),
            false => ("0.0f".to_string(), "0u"),
        };
        load.push_str(&match self.feedback.continues {
            true => format!("word[e] = __ballot_sync(~0u, real && {spike} != 0.0f);\n"),
            false => "spk_set_sum(partial, row, column, real ? spk_get(first[n]) : 0.0f);\n".into(),
        });
        let before = self.op.writes(Port::Before);
        load.push_str(&match self.is_bits(before) && cx.wanted[before] {
            true => self.store_word(before, "0u", word),
            false => store(cx, Port::Before, &spike),
        });
        load + &self.fetch("own_place")
    }

    /// Converts what was fetched: a conversion waits for the value.
    fn drive(&self) -> String {
        let drive = |k| match k {
            0 => "x[e][0] = spk_get(next0[e]) + spk_sum(partial, row, column);\n".to_string(),
            k => format!("x[e][{k}] = spk_get(next{k}[e]);\n"),
        };
        (0..self.op.recurrence.inputs.len()).map(drive).collect()
    }

    /// Stores the results of a step. They follow the exchange, for which other blocks wait.
    fn stores(&self) -> String {
        let (op, cx) = (self.op, self.cx);
        let store = |k: usize, at: &str, value: &str| match cx.wanted[k] {
            true => format!("if (real) spk_set((y{k} + {at})[shift], {value});\n"),
            false => String::new(),
        };
        let mut stores = store(op.writes(Port::Driven), "at", "x[e][0]");
        for (at, &k) in self.written.iter().enumerate() {
            let k = op.writes(Port::Output(k));
            stores.push_str(&match self.is_bits(k) {
                true => self.store_word(k, "t", "word[e]"),
                false => store(k, "at", &format!("y[e][{at}]")),
            });
        }
        for k in 0..op.recurrence.states.len() {
            let sequence = op.writes(Port::StateSeq(k));
            stores.push_str(&store(sequence, "at", &format!("v[e][{k}]")));
        }
        let before = op.writes(Port::Before);
        if cx.wanted[before] {
            let value = format!("v[e][{}]", self.feedback.state);
            let after = match self.is_bits(before) {
                true => self.store_word(before, "(t + 1)", "word[e]"),
                false => store(before, "at + NEURONS", &value),
            };
            let time = op.time_steps;
            let _ = write!(stores, "if (t + 1 < {time}u) {{\n{after}}}\n");
        }
        stores
    }

    /// Sends the spikes that are received in a round.
    fn send(&self, part: &Part, round: &str) -> String {
        let received = format!("received + {}", 2 * part.index);
        let word = format!(
            "spk_send_word(own + row * WORDS + column / 32, word[e], {received}, {round}, lane);\n"
        );
        format!(
            "unsigned* own = spikes + ({round} % BUFFERS * CLUSTER + rank) * ROWS * WORDS;
spk_expect({received}, {round}, CLUSTER * {} * WORDS * 4);
if (lane < CLUSTER) {{\n{}}}\n",
            part.rows,
            each_neuron_of(self.tiling, *part, &word),
        )
    }

    /// One step of the neurons of a part.
    fn step(&self, part: &Part) -> String {
        let each = |body: &str| each_neuron_of(self.tiling, *part, body);
        let compute = format!(
            "spk_step(x[e], v[e], p[{}], y[e]);
word[e] = __ballot_sync(~0u, real && v[e][{}] != 0.0f);\n",
            params(&self.op.recurrence, self.cx).0,
            self.feedback.state,
        );
        format!(
            "if (round > 0) {{
spk_receive(received + {barrier}, round);
spk_product<{group}, {groups}>(weights, spikes + round % BUFFERS * CLUSTER * ROWS * WORDS, partial, warp, lane);
__syncthreads();
}}
{drive}{compute}if (t + 1 < {time}u) {{
{send}}}
{stores}if (t + 1 < {time}u) {{
{next}}}\n",
            barrier = 2 * part.index,
            group = part.first_row / 8,
            groups = part.rows / 8,
            time = self.op.time_steps,
            drive = each(&self.drive()),
            compute = each(&compute),
            send = self.send(part, "(round + 1)"),
            stores = each(&self.stores()),
            next = each(&self.fetch("at + NEURONS")),
        )
    }

    /// All steps. A round is an exchange: spikes before the first step are exchanged like those of a step.
    fn steps(&self) -> String {
        let parts = self.tiling.parts();
        let first = |part: &Part| format!("{{\n{}}}\n", self.send(part, "1u"));
        let first = match self.feedback.continues {
            true => parts.iter().map(first).collect(),
            false => String::new(),
        };
        format!(
            "{first}#pragma unroll 1
for (Index t = 0; t < {time}u; ++t) {{
const Index at = t * NEURONS + own_place;
const unsigned round = t + {exchanged}u;
{steps}}}",
            time = self.op.time_steps,
            exchanged = u32::from(self.feedback.continues),
            steps = parts.iter().map(|part| self.step(part)).collect::<String>(),
        )
    }
}
