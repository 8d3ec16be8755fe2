//! The derived multi-step backward pass (BPTT).
//!
//! Time is divided into segments. For each, from the last to the first, the states are recomputed from the checkpoint at
//! its start and the inputs, and stay in registers while the derived step runs backward. The checkpoints come from the
//! forward pass; without them the kernel computes them first, in its workspace.
//!
//! With a pool each gradient is that of the first neuron of its block that fired. Gradients of parameters shared by a
//! channel are summed over the thread's blocks, then over threads, in a fixed order.

use super::layout::{Layout, Places, Stored};
use super::pooled::PooledTiling;
use super::read::Read;
use super::segments::{Segments, backwards, forwards};
use super::{ScanWriter, argument, arguments, is_by_blocks, lowered, traffic};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource};
use crate::op::channels::ChannelReduceTiling;
use crate::op::schedule::Schedule;
use crate::op::step::{self, array_len};
use crate::op::{Lowered, LoweringContext};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Port, Ports, Recurrence, Scan, ScanGrad};
use spikelet_graph::{DType, TensorType};

/// The schedule of threads with neighboring neurons.
fn schedule(op: &ScanGrad, gpu: &Properties, inputs: &[TensorType]) -> Schedule {
    let sequences = op.of.recurrence.inputs.len();
    let grads = op.present.iter().filter(|port| port.is_sequence()).count();
    Schedule::backward(gpu, traffic(&op.of, inputs, [sequences + grads, sequences]))
}

/// Steps between checkpoints that the forward pass should write; `None` if they do not pay.
pub(super) fn segment(op: &ScanGrad, gpu: &Properties, inputs: &[TensorType]) -> Option<usize> {
    let steps = schedule(op, gpu, inputs).steps;
    (steps < op.of.time_steps).then_some(steps)
}

/// Whether the sums over channels are computed in registers: few steps, parameters per channel, no gradients of states.
pub(super) fn sums_channels(op: &ScanGrad, inputs: &[TensorType]) -> bool {
    let scan = &op.of;
    let mut present = op.present.iter();
    scan.recurrence.outputs.len() == 1
        && present.all(|port| matches!(port, Port::OutputGrad(_)))
        && scan.feedback.is_none()
        && scan.checkpoint.is_none()
        && PooledTiling::is_short(scan.time_steps, scan.pool)
        && op.params_by_channel(inputs)
}

/// The gradients that are read.
pub(super) fn grads(op: &ScanGrad, cx: &LoweringContext<'_>) -> Vec<Read> {
    let read = |port: &Port| {
        let (name, pooled) = match port {
            Port::OutputGrad(k) => (format!("g{k}"), true),
            Port::StateSeqGrad(k) => (format!("gv{k}"), false),
            _ => return None,
        };
        let ty = &cx.inputs[op.reads(*port)];
        Some(Read::new(name, argument(*port), ty, pooled))
    };
    // Those of outputs precede those of states.
    op.present.iter().filter_map(read).collect()
}

/// The parts from which a backward kernel is generated.
struct Backward<'a> {
    op: &'a ScanGrad,
    cx: &'a LoweringContext<'a>,
    r: &'a Recurrence,
    layout: Layout,
    /// Steps of a segment.
    steps: usize,
    ahead: bool,
    /// The inputs and parameters whose gradients are wanted.
    inputs: Vec<usize>,
    params: Vec<usize>,
    /// The tiling of sums over channels.
    sums: Option<ChannelReduceTiling>,
    /// One state at the starts of all segments but the first.
    starts: TensorType,
}

pub(super) fn lower<'a>(op: &'a ScanGrad, cx: &'a LoweringContext<'_>) -> Lowered<'a> {
    let backward = Backward::new(op, cx);
    let states = match backward.computes_starts() {
        true => backward.r.states.len(),
        false => 0,
    };
    let starts = backward.starts.bytes().saturating_mul(states);
    let workspace = backward.partial_bytes().saturating_add(starts);
    lowered(cx, workspace, move || backward.kernels())
}

impl<'a> Backward<'a> {
    fn new(op: &'a ScanGrad, cx: &'a LoweringContext<'_>) -> Self {
        let r = &*op.of.recurrence;
        let (time, pool) = (op.of.time_steps, op.of.pool);
        let neurons = Scan::step_shape(&cx.inputs).iter().product();
        let chosen = |wanted: Vec<bool>| (0..wanted.len()).filter(|k| wanted[*k]).collect();
        let params: Vec<usize> = chosen(cx.wants_each(Port::Param, r.params.len()));
        let mut sums = None;
        let (layout, steps, ahead) = if is_by_blocks(op) {
            let tiling = PooledTiling::backward(cx.gpu, &cx.inputs, time, pool);
            // As many as are resident with some 96 registers each.
            let threads = cx.gpu.saturating_threads() * 5 / 4;
            sums = (op.channel_sums && !params.is_empty()).then(|| {
                ChannelReduceTiling::with(threads, tiling.windows, tiling.channels, tiling.pack)
            });
            (Layout::blocks(tiling), tiling.steps(time), false)
        } else {
            let schedule = schedule(op, cx.gpu, &cx.inputs);
            let layout = Layout::flat(&schedule, neurons, None);
            (layout, schedule.steps, schedule.prefetch)
        };
        let steps = op.of.checkpoint.unwrap_or(steps).clamp(1, time.max(1));
        let starts = [time.div_ceil(steps).saturating_sub(1), neurons];
        Self {
            op,
            cx,
            r,
            layout,
            steps,
            ahead,
            inputs: chosen(cx.wants_each(Port::Sequence, r.inputs.len())),
            params,
            sums,
            starts: TensorType::new(DType::F32, starts),
        }
    }

    /// Bytes of the partial sums over channels, which precede the starts in the workspace.
    fn partial_bytes(&self) -> usize {
        let partial = |sums: &ChannelReduceTiling| sums.partial(self.params.len()).bytes();
        self.sums.as_ref().map_or(0, partial)
    }

    fn computes_starts(&self) -> bool {
        self.op.of.checkpoint.is_none() && self.starts.shape[0] > 0
    }

    fn kernels(&self) -> Result<Vec<KernelSource>, CompileError> {
        let Self {
            op, cx, r, layout, ..
        } = self;
        // The spikes of a block tell whose gradient it is.
        let present = op.present_outputs();
        let pooled = op.of.pool.is_some();
        let recomputed: Vec<bool> = present.iter().map(|here| *here && pooled).collect();
        let inputs = cx.wants_each(Port::Sequence, r.inputs.len());
        let params = cx.wants_each(Port::Param, r.params.len());
        let kind = if is_by_blocks(op) { "_block" } else { "" };
        let mut kernel = layout.kernel(format!("{}{kind}_bptt", r.name), self.sums.as_ref());
        step::forward(r, &recomputed)?.define(&mut kernel);
        step::backward(r, &present, &inputs, &params)?.define(&mut kernel);
        let summed = self.sums.is_some();
        arguments(&mut kernel, cx, |port| {
            summed && matches!(port, Port::Param(_))
        });
        if self.computes_starts() {
            for k in 0..r.states.len() {
                let at = Binding::Workspace(self.partial_bytes() + k * self.starts.bytes());
                kernel.argument(format!("start{k}"), &self.starts, at);
            }
        }
        let writer = ScanWriter::new(cx, r, layout, recomputed);
        kernel.line(layout.places() + &writer.load_shared_params());
        let text = layout.base() + &self.text(&writer);
        let (Some(sums), Places::Blocks(tiling)) = (&self.sums, &layout.places) else {
            kernel.line(text);
            return Ok(vec![kernel]);
        };
        kernel.line(self.declare_param_sums());
        kernel.line(format!(
            "#pragma unroll 1\nfor (Index window = row0; window < {}u; window += step) {{\n{text}}}",
            tiling.windows
        ));
        let second = self.join_sums(sums, &mut kernel);
        Ok(vec![kernel, second])
    }

    /// Adds the sums of all threads over channels, in a second kernel.
    fn join_sums(&self, sums: &ChannelReduceTiling, kernel: &mut KernelSource) -> KernelSource {
        let count = self.params.len();
        let add = format!("for (int s = 0; s < {count}; ++s) a[s] += b[s];");
        sums.combine_rows(kernel, "sum_p", count, &add);
        let store = |s: usize| format!("if (which == {s}u) y{s}[channel] = total;");
        let stores: Vec<String> = (0..count).map(store).collect();
        let mut second = sums.sums("channel_sums", count, &stores.join("\n"));
        for (s, k) in self.params.iter().enumerate() {
            let at = self.op.writes(Port::Param(*k));
            second.argument(format!("y{s}"), &self.cx.outputs[at], Binding::Write(at));
        }
        second
    }

    /// The dimensions and the index of the sums of the parameters' gradients.
    fn param_sums(&self) -> (String, &'static str) {
        match self.sums {
            Some(_) => (format!("[{}]", self.layout.pack), "[j]"),
            None => (self.layout.of_neurons(), self.layout.neuron()),
        }
    }

    fn declare_param_sums(&self) -> String {
        let (dims, neuron) = self.param_sums();
        let mut text = format!(
            "float sum_p{dims}[{}] = {{}};\n",
            array_len(self.params.len())
        );
        for (at, k) in self.params.iter().enumerate() {
            if self.op.operand(Port::Accumulator(*k)).is_some() {
                let add = format!("sum_p{neuron}[{at}] = more{k}[n + j];\n");
                text.push_str(&self.layout.each(&add));
            }
        }
        text
    }

    /// All steps of a thread's neurons.
    fn text(&self, writer: &ScanWriter<'_>) -> String {
        let Self { op, layout, r, .. } = self;
        let (dims, states) = (layout.of_neurons(), r.states.len());
        let mut text = writer.load_constants() + &writer.load_neurons();
        text.push_str(&format!("float d{dims}[{}];\n", array_len(states)));
        for k in 0..states {
            text.push_str(&layout.each(&writer.load_grad(k)));
        }
        text.push_str(&format!(
            "float sum_x{dims}[{}] = {{}};\n",
            array_len(self.inputs.len())
        ));
        if self.sums.is_none() {
            text.push_str(&self.declare_param_sums());
        }
        if self.computes_starts() {
            text.push_str(&self.store_starts(writer));
        }
        let grads = grads(op, self.cx);
        let segments = Segments {
            reverse: true,
            ahead: self.ahead,
            reads: vec![&writer.sequences, &grads],
            restart: &|to, index| self.restart(to, index),
            ..writer.segments(op.of.time_steps, self.steps)
        };
        let (recompute, reverse) = (self.recompute(writer), self.reverse(writer));
        text.push_str(&segments.text(&|count, guard| {
            let declare = format!("float before[{count}]{dims}[{}];\n", array_len(states));
            let first = writer
                .written()
                .map(|o| format!("int first{o}[{count}][{}];\n", layout.pack));
            declare
                + &first.collect::<String>()
                + &forwards(count, &guard(&recompute))
                + &backwards(count, &guard(&reverse))
        }));
        text + &self.store_sums(writer)
    }

    /// Computes the states at the starts of the segments.
    fn store_starts(&self, writer: &ScanWriter<'_>) -> String {
        let (layout, states, steps) = (&self.layout, self.r.states.len(), self.steps);
        let segments = writer.segments(self.starts.shape[0] * steps, steps);
        let (neurons, neuron) = (layout.neurons, layout.neuron());
        let store = |k| {
            layout.each(&format!(
                "start{k}[(t0 / {steps}u) * {neurons}u + n + j] = v{neuron}[{k}];\n"
            ))
        };
        let stores: String = (0..states).map(store).collect();
        let advance = layout.each(&writer.advance());
        segments.text(&|count, _| forwards(count, &advance) + &stores)
    }

    /// Sets the states `to` to those at the start of a segment.
    fn restart(&self, to: &str, index: &str) -> String {
        let (layout, neurons) = (&self.layout, self.layout.neurons);
        let neuron = layout.neuron();
        let [mut first, mut later] = [const { String::new() }; 2];
        for k in 0..self.r.states.len() {
            let start = super::start(self.cx, Port::Initial(k));
            first.push_str(&format!("{to}{neuron}[{k}] = {start};\n"));
            later.push_str(&format!(
                "{to}{neuron}[{k}] = start{k}[({index} - 1) * {neurons}u + n + j];\n"
            ));
        }
        match self.starts.shape[0] {
            0 => String::new(),
            _ => layout.each(&format!(
                "if ({index} == 0) {{\n{first}}} else {{\n{later}}}\n"
            )),
        }
    }

    /// Computes a step again, and keeps the states before it.
    fn recompute(&self, writer: &ScanWriter<'_>) -> String {
        let layout = &self.layout;
        let mut inside =
            layout.copy_states(self.r.states.len(), "before[k]", "v") + &writer.advance();
        let mut declare = String::new();
        for (at, o) in writer.written().enumerate() {
            declare.push_str(&format!("float most{o}[{}];\n", layout.pack));
            inside.push_str(&format!(
                "if (at == 0 || y[{at}] > most{o}[j]) {{ most{o}[j] = y[{at}]; first{o}[k][j] = at; }}\n"
            ));
        }
        declare + &layout.each(&inside)
    }

    /// The derived step.
    fn reverse(&self, writer: &ScanWriter<'_>) -> String {
        let Self { op, layout, .. } = self;
        let (at_place, neuron) = (layout.at(), layout.neuron());
        let present = op.present_outputs();
        let mut values = vec![];
        for k in (0..present.len()).filter(|k| present[*k]) {
            values.push(match op.of.pool {
                Some(_) => format!("first{k}[k][j] == at ? g{k}[k][j] : 0.0f"),
                None => format!("g{k}[k][j]"),
            });
        }
        let mut inside = writer.inputs()
            + &format!(
                "const float g[{}] = {{{}}};\nfloat dx[{}], dp[{}];\n",
                array_len(values.len()),
                values.join(", "),
                array_len(self.inputs.len()),
                array_len(self.params.len())
            );
        for port in &op.present {
            if let Port::StateSeqGrad(k) = port {
                inside.push_str(&format!("d{neuron}[{k}] += gv{k}[k]{at_place}[j];\n"));
            }
        }
        inside.push_str(&format!(
            "spk_back(x, before[k]{neuron}, p{}, g, d{neuron}, dx, dp);\n",
            writer.param()[0]
        ));
        let mut stored = vec![];
        for (at, k) in self.inputs.iter().enumerate() {
            match writer.varies(*k) {
                true => stored.push(Stored(
                    format!("o{k}"),
                    op.writes(Port::Sequence(*k)),
                    format!("dx[{at}]"),
                )),
                false => inside.push_str(&format!("sum_x{neuron}[{at}] += dx[{at}];\n")),
            }
        }
        let sum = self.param_sums().1;
        for at in 0..self.params.len() {
            inside.push_str(&format!("sum_p{sum}[{at}] += dp[{at}];\n"));
        }
        let offset = format!("(t0 + k) * {}u + n", layout.neurons);
        layout.each_stored(
            &self.cx.outputs,
            (layout.access.1, &offset),
            &inside,
            &stored,
        )
    }

    /// Stores the gradients of what is constant over time.
    fn store_sums(&self, writer: &ScanWriter<'_>) -> String {
        let (op, layout, neuron) = (self.op, &self.layout, self.layout.neuron());
        let inputs = self.inputs.iter().enumerate();
        let constant = inputs.filter(|(_, k)| !writer.varies(**k)).map(|(at, k)| {
            Stored(
                format!("o{k}"),
                op.writes(Port::Sequence(*k)),
                format!("sum_x{neuron}[{at}]"),
            )
        });
        let constant: Vec<Stored> = constant.collect();
        let mut text = match constant.is_empty() {
            true => String::new(),
            false => format!(
                "{{\n{}}}\n",
                layout.each_stored(&self.cx.outputs, ("spk_store", "n"), "", &constant)
            ),
        };
        for k in 0..self.r.states.len() {
            text.push_str(&writer.store(Port::Initial(k), &format!("d{neuron}[{k}]")));
        }
        if self.sums.is_none() {
            for (at, k) in self.params.iter().enumerate() {
                text.push_str(&writer.store(Port::Param(*k), &format!("sum_p{neuron}[{at}]")));
            }
        }
        text
    }
}
