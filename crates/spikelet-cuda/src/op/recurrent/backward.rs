//! The derived multi-step backward pass with feedback.

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
use spikelet_graph::op::{Feedback, Port, Ports, ScanGrad};
use spikelet_graph::{DType, DeviceShare, TensorType};
use std::fmt::Write;

pub(super) fn tiling(
    op: &ScanGrad,
    feedback: &Feedback,
    (gpu, share): (&Properties, DeviceShare),
    inputs: &[TensorType],
) -> Option<Tiling> {
    let r = &op.of.recurrence;
    let (batch, features) = Demand::sizes(inputs);
    let weight = &inputs[op.reads(Port::Weight)];
    let demand = Demand {
        direction: Direction::Backward,
        batch,
        features,
        // The products of the first two terms are precise to 2⁻¹⁶, and sums of many cancel.
        planes: planes(weight, feedback.precision).min(2),
        registers: 4 + r.inputs.len() + 2 * r.states.len() + 2 * r.params.len(),
        share,
    };
    Tiling::new(gpu, demand)
}

pub(super) fn kernels(
    op: &ScanGrad,
    feedback: &Feedback,
    tiling: &Tiling,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.of.recurrence;
    let mut wanted_inputs = cx.wants_each(Port::Sequence, r.inputs.len());
    // It is needed for the product.
    wanted_inputs[0] = true;
    let wanted_params = cx.wants_each(Port::Param, r.params.len());
    let text = step::backward(r, &op.present_outputs(), &wanted_inputs, &wanted_params)?;
    let mut kernel = KernelSource::new(format!("recurrent_{}_bptt", r.name), geometry(tiling));
    kernel.cluster = tiling.cluster;
    let weight = &cx.inputs[op.reads(Port::Weight)];
    kernel.before = product_text(tiling, Direction::Backward, weight);
    text.define(&mut kernel);
    arguments(&mut kernel, cx, |_| false);
    let chosen = |wanted: &[bool]| (0..wanted.len()).filter(|k| wanted[*k]).collect();
    let backward = Backward {
        op,
        feedback,
        tiling,
        cx,
        inputs: chosen(&wanted_inputs),
        params: chosen(&wanted_params),
    };
    kernel.line(prologue(tiling));
    kernel.line(backward.declare());
    let (_, mut load) = params(r, cx);
    for k in (0..r.states.len()).rev() {
        let value = match op.operand(Port::LastGrad(k)) {
            Some(_) => format!("spk_get(d_last{k}[n])"),
            None => "0.0f".to_string(),
        };
        load.insert_str(0, &format!("d[e][{k}] = {value};\n"));
    }
    load.push_str("spk_set_sum(partial, row, column, 0.0f);\n");
    kernel.line(each_neuron(tiling, &load));
    kernel.line(backward.steps());
    kernel.line(each_neuron(tiling, &backward.end()));
    kernel.line("spk_end();");
    Ok(with_weights(kernel, tiling, cx))
}

/// What a backward kernel is generated from.
struct Backward<'a> {
    op: &'a ScanGrad,
    feedback: &'a Feedback,
    tiling: &'a Tiling,
    cx: &'a LoweringContext<'a>,
    /// The inputs and parameters whose gradients are computed.
    inputs: Vec<usize>,
    params: Vec<usize>,
}

impl Backward<'_> {
    fn declare(&self) -> String {
        let (r, elements) = (&self.op.of.recurrence, self.tiling.elements());
        let grads = self.op.present_outputs();
        format!(
            "unsigned short* gradients = (unsigned short*)(partial + SPLITS * ROWS * PARTIAL);
unsigned long long* received = (unsigned long long*)(gradients + BUFFERS * ROWS * CLUSTER * GRADIENT_PLANES * COLUMNS);
float d[{elements}][{s}], p[{elements}][{p}], dp[{elements}][{}] = {{}};
float x[{elements}][{i}], v[{elements}][{s}], g[{elements}][{}], dx[{elements}][{}];",
            array_len(self.params.len()),
            array_len(grads.iter().filter(|here| **here).count()),
            array_len(self.inputs.len()),
            s = array_len(r.states.len()),
            p = array_len(r.params.len()),
            i = array_len(r.inputs.len()),
        )
    }

    /// The sequences that are read.
    fn fetched(&self) -> Fetched {
        let (op, cx, r) = (self.op, self.cx, &self.op.of.recurrence);
        let mut fetched = Fetched::default();
        let mut add = |name: String, at: usize, from: &str, to: &str, first: Option<String>| {
            fetched.add(name, cx.inputs[at].dtype, from, to, first);
        };
        for k in 0..r.inputs.len() {
            let from = format!("(x_seq{k} + at)[shift]");
            let to = format!("x[e][{k}] =");
            add(format!("x{k}"), op.input(k), &from, &to, None);
        }
        for k in 0..r.states.len() {
            let Some(operand) = op.state_operand(k) else {
                continue;
            };
            let from = match cx.inputs[operand].dtype {
                DType::Bits => "((const unsigned*)before_seq + own_word + at_time * (BATCH * ROW_WORDS))[word_shift]".to_string(),
                _ if k == self.feedback.state => "(before_seq + at)[shift]".to_string(),
                _ => format!("(v_seq{k} + at - NEURONS)[shift]"),
            };
            let first = start(cx, Port::Initial(k));
            let to = format!("v[e][{k}] =");
            add(format!("v{k}"), operand, &from, &to, Some(first));
        }
        let mut outputs = 0;
        for port in &op.present {
            let (name, k, to) = match port {
                Port::OutputGrad(k) => ("g", k, format!("g[e][{outputs}] =")),
                Port::StateSeqGrad(k) => ("gv", k, format!("d[e][{k}] +=")),
                _ => continue,
            };
            outputs += usize::from(name == "g");
            let from = format!("({name}_seq{k} + at)[shift]");
            add(format!("{name}{k}"), op.reads(*port), &from, &to, None);
        }
        fetched
    }

    fn compute(&self) -> String {
        let mut compute = format!(
            "float step_p[{}];
spk_back(x[e], v[e], p[{}], g[e], d[e], dx[e], step_p);
if (!real) dx[e][0] = 0.0f;\n",
            array_len(self.params.len()),
            params(&self.op.of.recurrence, self.cx).0,
        );
        for at in 0..self.params.len() {
            let _ = writeln!(compute, "dp[e][{at}] += step_p[{at}];");
        }
        compute
    }

    /// Stores the gradients of a step. They follow the exchange, for which other blocks wait.
    fn stores(&self) -> String {
        let (op, cx) = (self.op, self.cx);
        let mut stores = String::new();
        for (at, &k) in self.inputs.iter().enumerate() {
            let to = op.writes(Port::Sequence(k));
            if cx.wanted[to] {
                let _ = writeln!(
                    stores,
                    "if (real) spk_set((y{to} + t * NEURONS + own_place)[shift], dx[e][{at}]);"
                );
            }
        }
        let product = op.writes(Port::FirstProduct);
        if cx.wanted[product] {
            let _ = writeln!(
                stores,
                "if (t == 0 && real) spk_set(y{product}[n], dx[e][0]);"
            );
        }
        stores
    }

    /// The gradients that a part exchanges, which are one piece.
    fn buffer(part: &Part, of: &str) -> String {
        let first = part.first_row;
        format!(
            "gradients + ({of} % BUFFERS * ROWS + {first}) * CLUSTER * GRADIENT_PLANES * COLUMNS"
        )
    }

    fn product(part: &Part, step: &str) -> String {
        format!(
            "spk_receive(received + {}, {step});
spk_product<{}, {}>(weights, {}, partial, warp, lane);
__syncthreads();\n",
            2 * part.index,
            part.first_row / 8,
            part.rows / 8,
            Self::buffer(part, step),
        )
    }

    /// One step of the neurons of a part.
    fn step(&self, part: &Part, fetched: &Fetched) -> String {
        let each = |body: &str| each_neuron_of(self.tiling, *part, body);
        let convert = format!(
            "{}d[e][{}] += spk_sum(partial, row, column);\n",
            fetched.convert, self.feedback.state
        );
        let terms = format!(
            "float rest = dx[e][0];
#pragma unroll
for (int plane = 0; plane < GRADIENT_PLANES; ++plane) {{
spk_bf16 term;
spk_set(term, rest);
rest -= spk_get(term);
own[(plane * {} + row - {}) * COLUMNS + spk_place(row, column)] = term.bits;
}}\n",
            part.rows, part.first_row
        );
        format!(
            "if (step > 0) {{
{product}}}
{convert}{compute}if ({exchanges}) {{
const unsigned sent = {rows} * GRADIENT_PLANES * COLUMNS * 2;
unsigned short* own = {buffer} + rank * (sent / 2);
spk_expect(received + {barrier}, step + 1, (CLUSTER - 1) * sent);
{terms}spk_send(own, sent, rank, received + {barrier}, step + 1);
}}
{stores}if (t > 0) {{
const Index at_time = t - 1, at = at_time * NEURONS + own_place;
{fetch}}}\n",
            product = Self::product(part, "step"),
            exchanges = if self.feedback.continues {
                "true"
            } else {
                "t > 0"
            },
            rows = part.rows,
            buffer = Self::buffer(part, "(step + 1)"),
            barrier = 2 * part.index,
            convert = each(&convert),
            compute = each(&self.compute()),
            terms = each(&terms),
            stores = each(&self.stores()),
            fetch = each(&fetched.fetch),
        )
    }

    /// All steps, from the last to the first.
    fn steps(&self) -> String {
        let (time, elements) = (self.op.of.time_steps, self.tiling.elements());
        let (parts, fetched) = (self.tiling.parts(), self.fetched());
        let declare = |(name, ty): &(String, &str)| format!("{ty} {name}[{elements}] = {{}};\n");
        let last = |part: &Part| Self::product(part, &format!("{time}u"));
        format!(
            "{declared}spk_begin(received);
{{
const Index at_time = {time}u - 1, at = at_time * NEURONS + own_place;
{fetch}}}
#pragma unroll 1
for (Index step = 0; step < {time}u; ++step) {{
const Index t = {time}u - 1 - step;
{steps}}}
{last}",
            declared = fetched.registers.iter().map(declare).collect::<String>(),
            fetch = each_neuron(self.tiling, &fetched.fetch),
            steps = parts
                .iter()
                .map(|part| self.step(part, &fetched))
                .collect::<String>(),
            last = match self.feedback.continues {
                true => parts.iter().map(last).collect(),
                false => String::new(),
            },
        )
    }

    /// Stores the gradients of what precedes the first step.
    fn end(&self) -> String {
        let (cx, state) = (self.cx, self.feedback.state);
        let mut end = match self.feedback.continues {
            true => format!("d[e][{state}] += spk_sum(partial, row, column);\n"),
            false => String::new(),
        };
        for k in 0..self.op.of.recurrence.states.len() {
            end.push_str(&store(cx, Port::Initial(k), &format!("d[e][{k}]")));
        }
        for (at, k) in self.params.iter().enumerate() {
            end.push_str(&store(cx, Port::Param(*k), &format!("dp[e][{at}]")));
        }
        end
    }
}

/// What is read of sequences: it is fetched a step ahead, and converted when it is needed, since a conversion waits
/// for the value.
#[derive(Default)]
struct Fetched {
    /// Names and C++ types of the registers.
    registers: Vec<(String, &'static str)>,
    fetch: String,
    convert: String,
}

impl Fetched {
    /// Reads the element `from`, and assigns it with `to`; at the first time step `first` instead.
    fn add(&mut self, name: String, dtype: DType, from: &str, to: &str, first: Option<String>) {
        let name = format!("next_{name}");
        let (ty, value) = match dtype {
            DType::Bits => (
                "unsigned",
                format!("(float)({name}[e] >> column % 32 & 1u)"),
            ),
            _ => (element(dtype), format!("spk_get({name}[e])")),
        };
        let (value, guard) = match first {
            Some(first) => (format!("t > 0 ? {value} : {first}"), " && at_time > 0"),
            None => (value, ""),
        };
        let _ = writeln!(self.fetch, "      if (real{guard}) {name}[e] = {from};");
        let _ = writeln!(self.convert, "      {to} {value};");
        self.registers.push((name, ty));
    }
}
