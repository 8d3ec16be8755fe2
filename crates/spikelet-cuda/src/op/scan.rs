//! Scans and their backward passes: one writer for a thread's own neurons, alone or by pooling blocks; those with feedback
//! run on clusters.

mod backward;
mod bits;
mod cluster;
mod forward;
mod layout;
mod pooled;
mod read;
mod recurrent;
mod segments;

pub(crate) use recurrent::overlap_chunks;

use super::index::{offset, strides};
use super::schedule::ScanTraffic;
use super::step::array_len;
use super::{CudaKernel, Lowered, LoweringContext, float_literal};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource, element};
use layout::{Layout, Places, Stored};
use read::Read;
use segments::Segments;
use spikelet_expr::CompileError;
use spikelet_graph::op::{Port, Ports, Recurrence, Scan, ScanGrad};
use spikelet_graph::{Result, TensorType};

/// Whether a constant operand is a literal.
fn takes_literal(op: &dyn Ports, operand: usize) -> bool {
    matches!(op.operands()[operand], Port::Initial(_) | Port::Param(_))
}

/// Whether the threads of a backward scan have blocks of neurons.
fn is_by_blocks(op: &ScanGrad) -> bool {
    op.of.pool.is_some() || op.channel_sums
}

impl CudaKernel for Scan {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        match &self.feedback {
            Some(feedback) => recurrent::lower(cx, "fptt", move |kernel, layout, tiling| {
                recurrent::forward::write(self, feedback, cx, (kernel, layout, tiling))
            }),
            None => Ok(lowered(cx, 0, || forward::kernels(self, cx))),
        }
    }

    fn takes_literal(&self, operand: usize) -> bool {
        takes_literal(self, operand)
    }

    fn writes_bits(&self, inputs: &[TensorType], result: usize) -> bool {
        let port = self.results()[result];
        match &self.feedback {
            Some(feedback) => recurrent::forward::writes_bits(self, feedback, inputs, port),
            None => self.pool.is_none() && bits::writes_bits(inputs, port),
        }
    }
}

impl CudaKernel for ScanGrad {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        match &self.of.feedback {
            Some(feedback) => recurrent::lower(cx, "bptt", move |kernel, layout, tiling| {
                recurrent::backward::write(self, feedback, cx, (kernel, layout, tiling))
            }),
            None => Ok(backward::lower(self, cx)),
        }
    }

    fn takes_literal(&self, operand: usize) -> bool {
        takes_literal(self, operand)
    }

    fn reads_bits(&self, _: &Properties, _: &[TensorType], operand: usize) -> bool {
        self.operand(Port::Before) == Some(operand)
    }

    fn sums_channels(&self, inputs: &[TensorType]) -> bool {
        backward::sums_channels(self, inputs)
    }

    fn checkpoint(&self, gpu: &Properties, inputs: &[TensorType]) -> Option<usize> {
        let recomputes = self.of.feedback.is_none() && !is_by_blocks(self);
        recomputes.then(|| backward::segment(self, gpu, inputs))?
    }
}

/// The kernels of a scan or its backward pass, whose bodies are indented here.
fn lowered<'a>(
    cx: &'a LoweringContext<'_>,
    workspace: usize,
    write: impl FnOnce() -> std::result::Result<Vec<KernelSource>, CompileError> + 'a,
) -> Lowered<'a> {
    Lowered::kernels(workspace, move || {
        let mut kernels = write().map_err(|e| cx.expression(e))?;
        for kernel in &mut kernels {
            kernel.body = indented(&kernel.body);
        }
        Ok(kernels)
    })
}

/// The body with two spaces before a line for each brace around it.
fn indented(body: &str) -> String {
    let mut depth = 1_usize;
    let mut text = String::new();
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let closed = line.chars().take_while(|c| *c == '}').count();
        text.push_str(&"  ".repeat(depth.saturating_sub(closed)));
        text.push_str(line);
        text.push('\n');
        let count = |brace: char| line.matches(brace).count();
        depth = (depth + count('{')).saturating_sub(count('}'));
    }
    text
}

/// The offset of neuron `n + j` in a tensor that broadcasts to one time step.
fn neuron(ty: &TensorType, step: &[usize]) -> String {
    offset(step, &strides(&ty.shape, step), "(n + j)")
}

/// The name of the argument that points to an operand.
fn argument(port: Port) -> String {
    match port {
        Port::Sequence(k) => format!("x_seq{k}"),
        Port::Driven => "x_seq0".to_string(),
        Port::Initial(k) => format!("v_init{k}"),
        Port::Param(k) => format!("param{k}"),
        Port::FirstProduct => "first".to_string(),
        Port::Weight => "w".to_string(),
        Port::StateSeq(k) => format!("v_seq{k}"),
        Port::Before => "before_seq".to_string(),
        Port::OutputGrad(k) => format!("g_seq{k}"),
        Port::StateSeqGrad(k) => format!("gv_seq{k}"),
        Port::LastGrad(k) => format!("d_last{k}"),
        Port::Accumulator(k) => format!("more{k}"),
        Port::Checkpoint(k) => format!("start{k}"),
        Port::Output(_) | Port::Last(_) => unreachable!("no scan reads {port:?}"),
    }
}

/// The C++ expression of an initial state or parameter of neuron j.
fn start(cx: &LoweringContext<'_>, port: Port) -> String {
    let at = cx.ports().reads(port);
    match cx.constants[at] {
        Some(value) => float_literal(value),
        None => {
            let at_start = neuron(&cx.inputs[at], Scan::step_shape(&cx.inputs));
            format!("spk_get({}[{at_start}])", argument(port))
        }
    }
}

/// Declares the operands that are no literals, then the results that are read, but those that another kernel writes.
fn arguments(
    kernel: &mut KernelSource,
    cx: &LoweringContext<'_>,
    elsewhere: impl Fn(Port) -> bool,
) {
    let op = cx.ports();
    for (at, port) in op.operands().into_iter().enumerate() {
        if !takes_literal(op, at) || cx.constants[at].is_none() {
            kernel.argument(argument(port), &cx.inputs[at], Binding::Read(at));
        }
    }
    for (at, port) in op.results().into_iter().enumerate() {
        if cx.wanted[at] && !elsewhere(port) {
            let name = format!("y{at}");
            kernel.argument(name, &cx.outputs[at], Binding::Write(at));
        }
    }
}

/// The memory traffic of a kernel that reads and writes so many sequences.
fn traffic(op: &Scan, inputs: &[TensorType], [read, written]: [usize; 2]) -> ScanTraffic {
    let r = &op.recurrence;
    ScanTraffic {
        neurons: Scan::step_shape(inputs).iter().product(),
        time: op.time_steps,
        bytes: inputs[0].dtype.size_in_bytes(),
        read,
        written,
        states: r.states.len(),
        functions: r.needs_functions(),
    }
}

/// The parts of the kernels of a scan and of its backward pass that do not depend on the direction.
struct ScanWriter<'a> {
    cx: &'a LoweringContext<'a>,
    r: &'a Recurrence,
    layout: &'a Layout,
    /// The outputs that `spk_step` computes.
    outputs: Vec<bool>,
    /// The sequences that vary over time.
    sequences: Vec<Read>,
}

impl<'a> ScanWriter<'a> {
    fn new(
        cx: &'a LoweringContext<'_>,
        r: &'a Recurrence,
        layout: &'a Layout,
        outputs: Vec<bool>,
    ) -> Self {
        let mut writer = Self {
            cx,
            r,
            layout,
            outputs,
            sequences: vec![],
        };
        let varying = (0..r.inputs.len()).filter(|k| writer.varies(*k));
        let read = |k| {
            let ty = &cx.inputs[cx.ports().input(k)];
            Read::new(format!("q{k}"), format!("x_seq{k}"), ty, false)
        };
        writer.sequences = varying.map(read).collect();
        writer
    }

    /// A loop over time without reading ahead, whose steps read the sequences.
    fn segments(&'a self, time: usize, steps: usize) -> Segments<'a> {
        Segments {
            layout: self.layout,
            time,
            steps,
            reverse: false,
            ahead: false,
            reads: vec![&self.sequences],
            states: self.r.states.len(),
            restart: &|_, _| String::new(),
        }
    }

    /// Whether a sequence is not one step for all.
    fn varies(&self, k: usize) -> bool {
        let op = self.cx.ports();
        self.cx.inputs[op.input(k)].shape[0] != 1 || op.scan().time_steps == 1
    }

    /// The outputs that `spk_step` computes, in their order in `y`.
    fn written(&self) -> impl Iterator<Item = usize> {
        let outputs = self.outputs.iter().enumerate();
        outputs.filter(|(_, here)| **here).map(|(k, _)| k)
    }

    /// Declares and loads the sequences that are constant over time.
    fn load_constants(&self) -> String {
        let (layout, pack) = (self.layout, self.layout.pack);
        let load = |k: usize| {
            let ty = element(self.cx.inputs[self.cx.ports().input(k)].dtype);
            let load = format!(
                "x_all{k}{} = spk_load<{pack}>(x_seq{k} + n);\n",
                layout.at()
            );
            let places = layout.of_places();
            format!(
                "spk_vec<{ty}, {pack}> x_all{k}{places};\n{}",
                layout.each_place(&load)
            )
        };
        let constant = (0..self.r.inputs.len()).filter(|k| !self.varies(*k));
        constant.map(load).collect()
    }

    /// Whether neurons of a channel share the parameters in the registers of a thread.
    fn params_by_channel(&self) -> bool {
        !self.layout.at().is_empty() && self.cx.ports().params_by_channel(&self.cx.inputs)
    }

    /// The index of the parameters of a neuron, and the condition of their load.
    fn param(&self) -> [&'static str; 2] {
        match (self.params_by_channel(), &self.layout.places) {
            (true, Places::Cluster(..)) => ["[turn]", "if (group == 0) "],
            (true, _) => ["[j]", ""],
            (false, _) => [self.layout.neuron(), ""],
        }
    }

    /// Declares and loads the parameters that neurons of a channel share; the others are loaded with the states.
    fn load_shared_params(&self) -> String {
        let (layout, pack) = (self.layout, self.layout.pack);
        match self.params_by_channel() {
            true => format!(
                "float p[{pack}][{}];\n{}",
                array_len(self.r.params.len()),
                layout.lanes(&format!("const Index n = c;\n{}", self.load_params()))
            ),
            false => String::new(),
        }
    }

    fn load_params(&self) -> String {
        let [param, guard] = self.param();
        let load = |k| {
            format!(
                "{guard}p{param}[{k}] = {};\n",
                start(self.cx, Port::Param(k))
            )
        };
        (0..self.r.params.len()).map(load).collect()
    }

    /// Loads the states of a neuron.
    fn load_states(&self) -> String {
        let neuron = self.layout.neuron();
        let load = |k| format!("v{neuron}[{k}] = {};\n", start(self.cx, Port::Initial(k)));
        (0..self.r.states.len()).map(load).collect()
    }

    /// Loads the gradient of a neuron's last state.
    fn load_grad(&self, k: usize) -> String {
        let start = match self.cx.ports().operand(Port::LastGrad(k)) {
            Some(_) => format!("spk_get(d_last{k}[n + j])"),
            None => "0.0f".to_string(),
        };
        format!("d{}[{k}] = {start};\n", self.layout.neuron())
    }

    /// Declares and loads the states of each neuron and its parameters.
    fn load_neurons(&self) -> String {
        let (layout, states, params) = (self.layout, self.r.states.len(), self.r.params.len());
        let (dims, mut load) = (layout.of_neurons(), self.load_states());
        let mut declare = format!("float v{dims}[{}];\n", array_len(states));
        if !self.params_by_channel() {
            declare.push_str(&format!("float p{dims}[{}];\n", array_len(params)));
            load.push_str(&self.load_params());
        }
        declare + &layout.each(&load)
    }

    /// The values of a neuron's inputs at step k of a segment: `const float x[] = {…};`
    fn inputs(&self) -> String {
        let at = self.layout.at();
        let value = |k| match self.varies(k) {
            true => format!("q{k}[k]{at}[j]"),
            false => format!("x_all{k}{at}[j]"),
        };
        let values: Vec<String> = (0..self.r.inputs.len()).map(value).collect();
        let (count, values) = (array_len(values.len()), values.join(", "));
        format!("const float x[{count}] = {{{values}}};\n")
    }

    /// Advances the states of a neuron by one step.
    fn advance(&self) -> String {
        let (neuron, [param, _]) = (self.layout.neuron(), self.param());
        format!(
            "{}float y[{}];\nspk_step(x, v{neuron}, p{param}, y);\n",
            self.inputs(),
            array_len(self.written().count())
        )
    }

    /// The index of a wanted result.
    fn wanted(&self, port: Port) -> Option<usize> {
        let to = self.cx.ports().result(port)?;
        self.cx.wanted[to].then_some(to)
    }

    /// The wanted results among those of the states.
    fn states(&self, name: &str, port: fn(usize) -> Port) -> impl Iterator<Item = Stored> {
        (0..self.r.states.len()).filter_map(move |k| {
            let value = format!("v{}[{k}]", self.layout.neuron());
            Some(Stored(format!("{name}{k}"), self.wanted(port(k))?, value))
        })
    }

    /// Stores a value at `offset` of a result, if it is wanted.
    fn store_at(&self, port: Port, offset: &str, value: &str) -> String {
        let put = |to| self.layout.put(to, (self.layout.access.1, offset), value);
        self.wanted(port).map_or(String::new(), put)
    }

    /// Stores a value of a neuron, if the result is wanted.
    fn store_one(&self, port: Port, value: &str) -> String {
        let guard = self.layout.guard();
        let set = |to| format!("{guard}spk_set(y{to}[n + j], {value});\n");
        self.wanted(port).map_or(String::new(), set)
    }

    /// The same for each neuron.
    fn store(&self, port: Port, value: &str) -> String {
        match &*self.store_one(port, value) {
            "" => String::new(),
            one => self.layout.each(one),
        }
    }
}
