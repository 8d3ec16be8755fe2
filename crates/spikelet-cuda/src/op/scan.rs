//! The multi-step forward pass (FPTT): a thread computes all time steps of its neurons, with the states
//! in registers.

use super::index::{offset, strides};
use super::schedule::{ScanTraffic, Schedule};
use super::step::{self, array_len};
use super::{Lowered, LoweringContext, float_literal};
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Port, Ports, Recurrence, Scan, ScanGrad};
use spikelet_graph::{DType, TensorType};

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

/// The kernels of a scan or its backward pass, whose bodies are indented here.
pub(super) fn lowered<'a>(
    cx: &'a LoweringContext<'_>,
    workspace: usize,
    write: impl FnOnce() -> Result<Vec<KernelSource>, CompileError> + 'a,
) -> Lowered<'a> {
    Lowered::kernels(workspace, move || {
        let mut kernels = write().map_err(|e| cx.expression(e))?;
        for kernel in &mut kernels {
            kernel.body = indented(&kernel.body);
        }
        Ok(kernels)
    })
}

/// The functions that access a sequence: cached, or streaming.
pub(super) fn access(schedule: &Schedule) -> (&'static str, &'static str) {
    if schedule.streaming {
        ("spk_load_once", "spk_store_once")
    } else {
        ("spk_load", "spk_store")
    }
}

/// The offset of neuron `n + j` in a tensor that broadcasts to one time step.
fn neuron(ty: &TensorType, step: &[usize]) -> String {
    offset(step, &strides(&ty.shape, step), "(n + j)")
}

/// Whether a constant operand is a literal.
pub(super) fn is_literal(port: Port) -> bool {
    matches!(port, Port::Initial(_) | Port::Param(_))
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
pub(super) fn start(cx: &LoweringContext<'_>, port: Port) -> String {
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
pub(super) fn arguments(
    kernel: &mut KernelSource,
    cx: &LoweringContext<'_>,
    elsewhere: fn(Port) -> bool,
) {
    let op = cx.ports();
    for (at, port) in op.operands().into_iter().enumerate() {
        if !is_literal(port) || cx.constants[at].is_none() {
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

/// The present gradients of outputs and of state sequences: the index of each, and its operand.
pub(super) fn sequence_grads(op: &ScanGrad) -> [Vec<(usize, usize)>; 2] {
    let [mut outputs, mut states] = [vec![], vec![]];
    for port in &op.present {
        match port {
            Port::OutputGrad(k) => outputs.push((*k, op.reads(*port))),
            Port::StateSeqGrad(k) => states.push((*k, op.reads(*port))),
            _ => {}
        }
    }
    [outputs, states]
}

/// Declares states and parameters of a thread's neurons and loads them.
pub(super) fn load_neurons(
    kernel: &mut KernelSource,
    r: &Recurrence,
    cx: &LoweringContext<'_>,
    pack: usize,
) {
    let (states, params) = (r.states.len(), r.params.len());
    kernel.line(format!(
        "  float v[{pack}][{}], p[{pack}][{}];\n  #pragma unroll\n  for (int j = 0; j < {pack}; ++j) {{",
        array_len(states),
        array_len(params)
    ));
    for k in 0..states {
        kernel.line(format!("    v[j][{k}] = {};", start(cx, Port::Initial(k))));
    }
    for k in 0..params {
        kernel.line(format!("    p[j][{k}] = {};", start(cx, Port::Param(k))));
    }
    kernel.line("  }");
}

/// Declares the sequences; those that are constant over time are loaded at once. Returns which
/// vary.
pub(super) fn load_constants(
    kernel: &mut KernelSource,
    r: &Recurrence,
    cx: &LoweringContext<'_>,
    time: usize,
    pack: usize,
) -> Vec<usize> {
    let mut varying = vec![];
    for k in 0..r.inputs.len() {
        if cx.inputs[cx.ports().input(k)].shape[0] == 1 && time > 1 {
            kernel.line(format!(
                "  const auto x_all{k} = spk_load<{pack}>(x_seq{k} + n);"
            ));
        } else {
            varying.push(k);
        }
    }
    varying
}

/// The values of neuron j's inputs at step k of a segment: `const float x[] = {…};`
pub(super) fn inputs(r: &Recurrence, varying: &[usize], step: &str) -> String {
    let values: Vec<String> = (0..r.inputs.len())
        .map(|k| {
            if varying.contains(&k) {
                format!("q{k}[{step}][j]")
            } else {
                format!("x_all{k}[j]")
            }
        })
        .collect();
    format!(
        "const float x[{}] = {{{}}};",
        array_len(r.inputs.len()),
        values.join(", ")
    )
}

pub(super) fn declare(
    varying: &[usize],
    cx: &LoweringContext<'_>,
    prefix: &str,
    steps: usize,
    pack: usize,
) -> String {
    let declare = |k: &usize| {
        let ty = element(cx.inputs[cx.ports().input(*k)].dtype);
        format!("    spk_vec<{ty}, {pack}> {prefix}{k}[{steps}];\n")
    };
    varying.iter().map(declare).collect()
}

/// Spikes that are written as bits: rows of `last` neurons, padded to full words.
struct Bits {
    rows: usize,
    last: usize,
    padded: usize,
}

impl Bits {
    fn of(cx: &LoweringContext<'_>, outputs: usize) -> Option<Self> {
        let packed = |k: &usize| {
            let at = cx.ports().writes(Port::Output(*k));
            cx.wanted[at] && cx.outputs[at].dtype == DType::Bits
        };
        (0..outputs).find(packed)?;
        let step = Scan::step_shape(&cx.inputs);
        let last = step.last().copied().unwrap_or(1);
        Some(Self {
            rows: step.iter().product::<usize>() / last.max(1),
            last,
            padded: last.next_multiple_of(64),
        })
    }

    /// Combines the bits of output `k` of neighboring threads into 32-bit words of a result, stored by the first thread
    /// of each.
    fn store(&self, k: usize, result: usize, pack: usize) -> String {
        let words = self.padded / 32;
        let lanes = 32 / pack;
        let mut text = String::new();
        if pack > 1 {
            text.push_str(&format!("      o{k} <<= i % {lanes}u * {pack}u;\n"));
            let mut offset = lanes / 2;
            while offset > 0 {
                text.push_str(&format!(
                    "      o{k} |= __shfl_xor_sync(together, o{k}, {offset});\n"
                ));
                offset /= 2;
            }
        } else {
            text.push_str(&format!("      o{k} = __ballot_sync(together, o{k});\n"));
        }
        text.push_str(&format!(
            "      if (i % {lanes}u == 0) ((unsigned*)y{result})[((t0 + k) * {}u + row) * {words}u + column / 32u] = o{k};\n",
            self.rows
        ));
        text
    }

    /// The threads of one word: they are in one warp and run the same steps.
    fn warp_mask(pack: usize) -> String {
        let lanes = 32 / pack;
        let mask = if lanes == 32 {
            u32::MAX
        } else {
            (1 << lanes) - 1
        };
        format!(
            "  const unsigned together = {mask:#x}u << (threadIdx.x % 32 / {lanes}u * {lanes}u);"
        )
    }
}

/// Whether spikes can be written as bits: packs do not cross the end of a row.
pub(crate) fn writes_bits(inputs: &[TensorType], result: Port) -> bool {
    let step = Scan::step_shape(inputs);
    let last = step.last().copied().unwrap_or(1);
    // For rows that are mostly padding, dense spikes are smaller.
    let is_smaller = last % 16 == 0 || last >= 128;
    matches!(result, Port::Output(_)) && step.len() > 1 && last % 4 == 0 && is_smaller
}

/// A kernel of indexed threads; surplus threads of the last block return.
pub(super) fn by_threads(name: String, block: usize, threads: usize) -> KernelSource {
    let mut kernel = KernelSource::new(
        name,
        Geometry::Blocks {
            grid: [threads.div_ceil(block), 1],
            block,
            shared: 0,
        },
    );
    kernel.line(format!(
        "  const Index i = blockIdx.x * {block}u + threadIdx.x;\n  if (i >= {threads}u) return;"
    ));
    kernel
}

/// `body` for each step `k` of a group.
pub(super) fn unrolled(count: usize, body: &str) -> String {
    format!("    #pragma unroll\n    for (int k = 0; k < {count}; ++k) {{\n{body}    }}\n")
}

/// The memory traffic of the forward kernel.
pub(super) fn traffic(op: &Scan, cx: &LoweringContext<'_>) -> ScanTraffic {
    let r = &op.recurrence;
    let states = r.states.len();
    let written = op.results_that(&|port| matches!(port, Port::Output(_) | Port::StateSeq(_)));
    ScanTraffic {
        neurons: Scan::step_shape(&cx.inputs).iter().product(),
        time: op.time_steps,
        bytes: cx.inputs[0].dtype.size_in_bytes(),
        read: r.inputs.len(),
        written: written.into_iter().filter(|k| cx.wanted[*k]).count(),
        states,
        functions: r.needs_functions(),
    }
}

pub(crate) fn kernels(
    op: &Scan,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let traffic = traffic(op, cx);
    let schedule = Schedule::forward(cx.gpu, traffic);
    let bits = Bits::of(cx, op.recurrence.outputs.len());
    let Schedule {
        mut pack, block, ..
    } = schedule;
    while bits.as_ref().is_some_and(|b| b.last % pack != 0) {
        pack /= 2;
    }
    let (time, neurons) = (op.time_steps, traffic.neurons);
    let checkpoint = op.checkpoint;
    // Checkpoints are at the ends of load groups.
    let mut steps = schedule.steps.min(time);
    while checkpoint.is_some_and(|every| every % steps != 0) {
        steps -= 1;
    }
    let (outputs, states) = (r.outputs.len(), r.states.len());
    let text = step::forward(r, &cx.wants_each(Port::Output, outputs))?;
    let threads = bits.as_ref().map_or(neurons, |b| b.rows * b.padded) / pack;
    let mut kernel = by_threads(format!("{}_fptt", r.name), block, threads);
    kernel.before = text.code;
    kernel.functions = text.functions;
    match &bits {
        None => kernel.line(format!("  const Index n = i * {pack}u;")),
        // Rows are padded to full words; a thread in the padding repeats the work of the first
        // thread of its row and writes nothing.
        Some(Bits { padded, last, .. }) => kernel.line(format!(
            "  const Index row = i * {pack}u / {padded}u, column = i * {pack}u % {padded}u;
  const bool real = column < {last}u;
  const Index n = row * {last}u + (real ? column : 0u);"
        )),
    }
    arguments(&mut kernel, cx, |_| false);
    let varying = load_constants(&mut kernel, r, cx, time, pack);
    load_neurons(&mut kernel, r, cx, pack);
    let guard = if bits.is_some() { "if (real) " } else { "" };
    if bits.is_some() {
        kernel.line(Bits::warp_mask(pack));
    }
    let (get, put) = access(&schedule);
    let fetch = |to: &str, at: &str| -> String {
        let one = |k: &usize| {
            format!("      {to}{k}[k] = {get}<{pack}>(x_seq{k} + ({at}) * {neurons}u + n);\n")
        };
        varying.iter().map(one).collect()
    };
    let mut compute = String::new();
    let output = |k: usize| op.writes(Port::Output(k));
    let state_sequence = |k: usize| op.writes(Port::StateSeq(k));
    let written_outputs: Vec<usize> = (0..outputs).filter(|&k| cx.wanted[output(k)]).collect();
    let state_sequences: Vec<usize> = (0..states)
        .filter(|&k| cx.wanted[state_sequence(k)])
        .collect();
    let packed = |k: usize| cx.outputs[output(k)].dtype == DType::Bits;
    for &k in &written_outputs {
        if packed(k) {
            compute.push_str(&format!("      unsigned o{k} = 0;\n"));
            continue;
        }
        let ty = element(cx.outputs[output(k)].dtype);
        compute.push_str(&format!("      spk_vec<{ty}, {pack}> o{k};\n"));
    }
    for &k in &state_sequences {
        let ty = element(cx.outputs[state_sequence(k)].dtype);
        compute.push_str(&format!("      spk_vec<{ty}, {pack}> h{k};\n"));
    }
    compute.push_str(&format!(
        "      #pragma unroll\n      for (int j = 0; j < {pack}; ++j) {{\n        {}\n        float y[{}];\n        spk_step(x, v[j], p[j], y);\n",
        inputs(r, &varying, "k"),
        array_len(written_outputs.len())
    ));
    for (at, k) in written_outputs.iter().enumerate() {
        if packed(*k) {
            compute.push_str(&format!(
                "        o{k} |= (y[{at}] != 0.0f && real ? 1u : 0u) << j;\n"
            ));
        } else {
            compute.push_str(&format!("        o{k}.set(j, y[{at}]);\n"));
        }
    }
    for k in &state_sequences {
        compute.push_str(&format!("        h{k}.set(j, v[j][{k}]);\n"));
    }
    compute.push_str("      }\n");
    let offset_in_step = format!("(t0 + k) * {neurons}u + n");
    for &k in &written_outputs {
        match &bits {
            Some(bits) if packed(k) => compute.push_str(&bits.store(k, output(k), pack)),
            _ => compute.push_str(&format!(
                "      {guard}{put}(y{} + {offset_in_step}, o{k});\n",
                output(k)
            )),
        }
    }
    for k in &state_sequences {
        compute.push_str(&format!(
            "      {guard}{put}(y{} + {offset_in_step}, h{k});\n",
            state_sequence(*k)
        ));
    }
    let store_checkpoint = checkpoint.map_or(String::new(), |every| {
        let mut text = format!(
            "    if ((t0 + {steps}u) % {every}u == 0 && t0 + {steps}u < {time}u) {{\n      const Index at = ((t0 + {steps}u) / {every}u - 1) * {neurons}u + n;\n"
        );
        for k in 0..states {
            text.push_str(&format!(
                "      spk_vec<float, {pack}> c{k};\n      for (int j = 0; j < {pack}; ++j) c{k}.set(j, v[j][{k}]);\n      {guard}spk_store(y{} + at, c{k});\n",
                op.writes(Port::Checkpoint(k))
            ));
        }
        text.push_str("    }\n");
        text
    });

    let (full, tail) = (time / steps * steps, time % steps);
    if schedule.prefetch {
        let mut text = String::from("  {\n");
        text.push_str(&declare(&varying, cx, "q", steps, pack));
        text.push_str(&unrolled(steps, &fetch("q", "k")));
        text.push_str(&format!(
            "  #pragma unroll 1\n  for (Index t0 = 0; t0 < {full}u; t0 += {steps}u) {{\n"
        ));
        text.push_str(&declare(&varying, cx, "nq", steps, pack));
        let next = fetch("nq", &format!("t0 + {steps}u + k"));
        text.push_str(&unrolled(
            steps,
            &format!("      if (t0 + {steps}u + k < {time}u) {{\n{next}      }}\n"),
        ));
        text.push_str(&unrolled(steps, &compute));
        text.push_str(&store_checkpoint);
        let advance_buffers: String = varying
            .iter()
            .map(|k| format!("      q{k}[k] = nq{k}[k];\n"))
            .collect();
        text.push_str(&unrolled(steps, &advance_buffers));
        text.push_str("  }\n");
        if tail > 0 {
            text.push_str(&format!("  const Index t0 = {full}u;\n"));
            text.push_str(&unrolled(tail, &compute));
        }
        text.push_str("  }\n");
        kernel.line(text);
    } else {
        let segment = |count: usize| {
            let mut text = declare(&varying, cx, "q", count, pack);
            text.push_str(&unrolled(count, &fetch("q", "t0 + k")));
            text.push_str(&unrolled(count, &compute));
            text
        };
        kernel.line(format!(
            "  #pragma unroll 1\n  for (Index t0 = 0; t0 < {full}u; t0 += {steps}u) {{\n{}{store_checkpoint}  }}",
            segment(steps)
        ));
        if tail > 0 {
            kernel.line(format!(
                "  {{\n    const Index t0 = {full}u;\n{}  }}",
                segment(tail)
            ));
        }
    }
    for k in 0..states {
        let last = op.writes(Port::Last(k));
        if cx.wanted[last] {
            kernel.line(format!(
                "  {guard}for (int j = 0; j < {pack}; ++j) spk_set(y{last}[n + j], v[j][{k}]);"
            ));
        }
    }
    Ok(vec![kernel])
}
