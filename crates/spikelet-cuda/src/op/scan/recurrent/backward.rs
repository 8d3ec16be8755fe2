//! The derived multi-step backward pass with feedback.

use super::super::backward::grads;
use super::super::cluster::{Part, Tiling};
use super::super::layout::Layout;
use super::super::read::Read;
use super::super::segments::Segments;
use super::super::{ScanWriter, argument, start};
use crate::kernel_source::KernelSource;
use crate::op::LoweringContext;
use crate::op::step::{self, array_len};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Feedback, Port, Ports, ScanGrad};
use std::fmt::Write;

pub(in super::super) fn write(
    op: &ScanGrad,
    feedback: &Feedback,
    cx: &LoweringContext<'_>,
    (kernel, layout, tiling): (&mut KernelSource, &Layout, &Tiling),
) -> Result<(), CompileError> {
    let r = &*op.of.recurrence;
    let mut wanted_inputs = cx.wants_each(Port::Sequence, r.inputs.len());
    // It is needed for the product.
    wanted_inputs[0] = true;
    let wanted_params = cx.wants_each(Port::Param, r.params.len());
    step::backward(r, &op.present_outputs(), &wanted_inputs, &wanted_params)?.define(kernel);
    let writer = ScanWriter::new(cx, r, layout, vec![]);
    let chosen = |wanted: &[bool]| (0..wanted.len()).filter(|k| wanted[*k]).collect();
    let backward = Backward {
        op,
        feedback,
        tiling,
        writer: &writer,
        inputs: chosen(&wanted_inputs),
        params: chosen(&wanted_params),
        states: states(op, feedback, cx),
        grads: grads(op, cx),
    };
    let segments = Segments {
        reverse: true,
        reads: vec![&writer.sequences, &backward.states, &backward.grads],
        ..writer.segments(op.of.time_steps, 1)
    };
    kernel.line(backward.declare());
    let load: String = (0..r.states.len()).map(|k| writer.load_grad(k)).collect();
    let load = load + &writer.load_params() + "spk_set_sum(partial, row, column, 0.0f);\n";
    kernel.line(layout.each(&load) + &segments.declare("", 1));
    kernel.line("spk_begin(received);");
    kernel.line(segments.first() + &backward.steps(&segments));
    kernel.line(layout.each(&backward.end()));
    Ok(())
}

/// The states before each step that are read.
fn states(op: &ScanGrad, feedback: &Feedback, cx: &LoweringContext<'_>) -> Vec<Read> {
    let read = |k| {
        let at = op.state_operand(k)?;
        let from = argument(op.operands()[at]);
        let lag = match k == feedback.state {
            true => "",
            false => " - NEURONS",
        };
        let read = Read::new(format!("before{k}"), from, &cx.inputs[at], false);
        let first = Some((start(cx, Port::Initial(k)), lag));
        Some(Read { first, ..read })
    };
    let states = 0..op.of.recurrence.states.len();
    states.filter_map(read).collect()
}

/// The parts from which a backward kernel is generated.
struct Backward<'a> {
    op: &'a ScanGrad,
    feedback: &'a Feedback,
    tiling: &'a Tiling,
    writer: &'a ScanWriter<'a>,
    /// The inputs and parameters whose gradients are computed.
    inputs: Vec<usize>,
    params: Vec<usize>,
    /// The states and gradients that are read.
    states: Vec<Read>,
    grads: Vec<Read>,
}

impl Backward<'_> {
    fn declare(&self) -> String {
        let (r, elements) = (self.writer.r, self.writer.layout.of_neurons());
        let grads = self.op.present_outputs();
        format!(
            "unsigned short* gradients = (unsigned short*)(partial + SPLITS * ROWS * PARTIAL);
unsigned long long* received = (unsigned long long*)(gradients + BUFFERS * ROWS * CLUSTER * GRADIENT_PLANES * COLUMNS);
float d{elements}[{s}], p{elements}[{p}], dp{elements}[{}] = {{}};
float x{elements}[{i}], v{elements}[{s}], g{elements}[{}], dx{elements}[{}];",
            array_len(self.params.len()),
            array_len(grads.iter().filter(|here| **here).count()),
            array_len(self.inputs.len()),
            s = array_len(r.states.len()),
            p = array_len(r.params.len()),
            i = array_len(r.inputs.len()),
        )
    }

    /// Converts what was read.
    fn convert(&self) -> String {
        let op = self.op;
        let kept = (0..self.writer.r.states.len()).filter(|k| op.state_operand(*k).is_some());
        let inputs = (0..self.writer.r.inputs.len()).map(|k| format!("x[e][{k}] ="));
        let states = kept.map(|k| format!("v[e][{k}] ="));
        let mut outputs = 0..;
        let grads = op.present.iter().filter_map(|port| match port {
            Port::OutputGrad(_) => Some(format!("g[e][{}] =", outputs.next()?)),
            Port::StateSeqGrad(k) => Some(format!("d[e][{k}] +=")),
            _ => None,
        });
        let reads = [&self.writer.sequences, &self.states, &self.grads];
        let to = inputs.chain(states).chain(grads);
        let assign = |(read, to): (&Read, _)| format!("{to} {};\n", read.value());
        let assign: String = reads.into_iter().flatten().zip(to).map(assign).collect();
        let fed = self.feedback.state;
        format!("{assign}d[e][{fed}] += spk_sum(partial, row, column);\n")
    }

    fn compute(&self) -> String {
        let mut compute = format!(
            "float step_p[{}];
spk_back(x[e], v[e], p{}, g[e], d[e], dx[e], step_p);
if (!real) dx[e][0] = 0.0f;\n",
            array_len(self.params.len()),
            self.writer.param()[0],
        );
        for at in 0..self.params.len() {
            let _ = writeln!(compute, "dp[e][{at}] += step_p[{at}];");
        }
        compute
    }

    /// Stores the gradients of a step. They follow the exchange, for which other blocks wait.
    fn stores(&self) -> String {
        let store = |(at, k): (usize, &usize)| {
            let (port, value) = (Port::Sequence(*k), format!("dx[e][{at}]"));
            self.writer
                .store_at(port, "t * NEURONS + own_place", &value)
        };
        let stores = self.inputs.iter().enumerate().map(store).collect();
        match &*self.writer.store_one(Port::FirstProduct, "dx[e][0]") {
            "" => stores,
            first => stores + "if (t == 0) " + first,
        }
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
    fn step(&self, part: &Part, layout: &Layout) -> String {
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
{stores}",
            product = Self::product(part, "step"),
            exchanges = if self.feedback.continues {
                "true"
            } else {
                "t > 0"
            },
            rows = part.rows,
            buffer = Self::buffer(part, "(step + 1)"),
            barrier = 2 * part.index,
            convert = layout.each(&self.convert()),
            compute = layout.each(&self.compute()),
            terms = layout.each(&terms),
            stores = layout.each(&self.stores()),
        )
    }

    /// All steps, from the last to the first.
    fn steps(&self, segments: &Segments<'_>) -> String {
        let parts = super::layouts(self.tiling);
        let steps = segments.rounds(&|next| {
            let step = |(part, layout): &(Part, Layout)| self.step(part, layout) + &next(layout);
            parts.iter().map(step).collect()
        });
        let time = format!("{}u", segments.time);
        let last = |(part, _): &(Part, Layout)| Self::product(part, &time);
        match self.feedback.continues {
            true => steps + &parts.iter().map(last).collect::<String>(),
            false => steps,
        }
    }

    /// Stores the gradients of what precedes the first step.
    fn end(&self) -> String {
        let (writer, state) = (self.writer, self.feedback.state);
        let mut end = match self.feedback.continues {
            true => format!("d[e][{state}] += spk_sum(partial, row, column);\n"),
            false => String::new(),
        };
        for k in 0..writer.r.states.len() {
            end.push_str(&writer.store_one(Port::Initial(k), &format!("d[e][{k}]")));
        }
        for (at, k) in self.params.iter().enumerate() {
            end.push_str(&writer.store_one(Port::Param(*k), &format!("dp[e][{at}]")));
        }
        end
    }
}
