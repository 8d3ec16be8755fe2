//! The multi-step forward pass (FPTT): a thread computes all time steps of its neurons, with the states
//! in registers.

use super::LoweringContext;
use super::index::{offset, strides};
use super::schedule::{Load, Schedule};
use super::step::{self, array_len};
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Recurrence, Scan};
use spikelet_graph::{DType, TensorType};

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

/// The name of state or parameter `k`, states first.
pub(super) fn neuron_name(r: &Recurrence, k: usize) -> String {
    match k.checked_sub(r.states.len()) {
        None => format!("v_init{k}"),
        Some(k) => format!("param{k}"),
    }
}

/// The C++ expression of state or parameter `k` of neuron j at the start.
pub(super) fn start(r: &Recurrence, site: &LoweringContext<'_>, k: usize) -> String {
    let at = r.inputs.len() + k;
    match site.constants[at] {
        Some(number) => format!("__uint_as_float({:#x}u)", number.to_bits()),
        None => {
            let place = neuron(&site.inputs[at], Scan::step_shape(&site.inputs));
            format!("spk_get({}[{place}])", neuron_name(r, k))
        }
    }
}

/// Declares states and parameters of a thread's neurons and loads them.
pub(super) fn load_neurons(
    piece: &mut KernelSource,
    r: &Recurrence,
    site: &LoweringContext<'_>,
    pack: usize,
) {
    let first = r.inputs.len();
    let (states, params) = (r.states.len(), r.params.len());
    for k in 0..states + params {
        let at = first + k;
        if site.constants[at].is_none() {
            piece.argument(neuron_name(r, k), &site.inputs[at], Binding::Read(at));
        }
    }
    piece.line(format!(
        "  float v[{pack}][{}], p[{pack}][{}];\n  #pragma unroll\n  for (int j = 0; j < {pack}; ++j) {{",
        array_len(states),
        array_len(params)
    ));
    for k in 0..states {
        piece.line(format!("    v[j][{k}] = {};", start(r, site, k)));
    }
    for k in 0..params {
        piece.line(format!("    p[j][{k}] = {};", start(r, site, states + k)));
    }
    piece.line("  }");
}

/// Declares the sequences; those that are constant over time are loaded at once. Returns which
/// vary.
pub(super) fn load_constants(
    piece: &mut KernelSource,
    r: &Recurrence,
    site: &LoweringContext<'_>,
    time: usize,
    pack: usize,
) -> Vec<usize> {
    let mut varying = vec![];
    for k in 0..r.inputs.len() {
        let ty = &site.inputs[k];
        piece.argument(format!("x_seq{k}"), ty, Binding::Read(k));
        if ty.shape[0] == 1 && time > 1 {
            piece.line(format!(
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
    site: &LoweringContext<'_>,
    prefix: &str,
    steps: usize,
    pack: usize,
) -> String {
    let declare = |k: &usize| {
        let ty = element(site.inputs[*k].dtype);
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
    fn of(site: &LoweringContext<'_>, outputs: usize) -> Option<Self> {
        let packed = |k: &usize| site.wanted[*k] && site.outputs[*k].dtype == DType::Bits;
        (0..outputs).find(packed)?;
        let step = Scan::step_shape(&site.inputs);
        let last = step.last().copied().unwrap_or(1);
        Some(Self {
            rows: step.iter().product::<usize>() / last.max(1),
            last,
            padded: last.next_multiple_of(64),
        })
    }

    /// Combines the bits of neighboring threads into 32-bit words, stored by the first thread of each.
    fn store(&self, k: usize, pack: usize) -> String {
        let words = self.padded / 32;
        let lanes = 32 / pack;
        let mut text = String::new();
        if pack > 1 {
            text.push_str(&format!("      o{k} <<= i % {lanes}u * {pack}u;\n"));
            let mut apart = lanes / 2;
            while apart > 0 {
                text.push_str(&format!(
                    "      o{k} |= __shfl_xor_sync(together, o{k}, {apart});\n"
                ));
                apart /= 2;
            }
        } else {
            text.push_str(&format!("      o{k} = __ballot_sync(together, o{k});\n"));
        }
        text.push_str(&format!(
            "      if (i % {lanes}u == 0) ((unsigned*)y{k})[((t0 + k) * {}u + row) * {words}u + column / 32u] = o{k};\n",
            self.rows
        ));
        text
    }

    /// The threads of one word: they are in one warp and run the same steps.
    fn together(pack: usize) -> String {
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
pub(crate) fn writes_bits(op: &Scan, inputs: &[TensorType], value: usize) -> bool {
    let step = Scan::step_shape(inputs);
    let last = step.last().copied().unwrap_or(1);
    // For rows that are mostly padding, dense spikes are smaller.
    let worth = last % 16 == 0 || last >= 128;
    value < op.recurrence.outputs.len() && step.len() > 1 && last % 4 == 0 && worth
}

/// A kernel of indexed threads; surplus threads of the last block return.
pub(super) fn by_threads(name: String, block: usize, threads: usize) -> KernelSource {
    let mut piece = KernelSource::new(
        name,
        Geometry::Blocks {
            grid: [threads.div_ceil(block), 1],
            block,
            shared: 0,
        },
    );
    piece.line(format!(
        "  const Index i = blockIdx.x * {block}u + threadIdx.x;\n  if (i >= {threads}u) return;"
    ));
    piece
}

/// `body` for each step `k` of a group.
pub(super) fn unrolled(count: usize, body: &str) -> String {
    format!("    #pragma unroll\n    for (int k = 0; k < {count}; ++k) {{\n{body}    }}\n")
}

/// The memory traffic of the forward kernel.
pub(super) fn load(op: &Scan, site: &LoweringContext<'_>) -> Load {
    let r = &op.recurrence;
    let (outputs, states) = (r.outputs.len(), r.states.len());
    let sequences =
        |range: std::ops::Range<usize>| site.wanted[range].iter().filter(|w| **w).count();
    Load {
        neurons: Scan::step_shape(&site.inputs).iter().product(),
        time: op.time_steps,
        bytes: site.inputs[0].dtype.size_in_bytes(),
        read: r.inputs.len(),
        written: sequences(0..outputs) + sequences(outputs + states..outputs + 2 * states),
        states,
        functions: r.needs_functions(),
    }
}

pub(crate) fn pieces(
    op: &Scan,
    site: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let load = load(op, site);
    let schedule = Schedule::forward(site.gpu, load);
    let bits = Bits::of(site, op.recurrence.outputs.len());
    let Schedule {
        mut pack, block, ..
    } = schedule;
    while bits.as_ref().is_some_and(|b| b.last % pack != 0) {
        pack /= 2;
    }
    let (time, neurons) = (op.time_steps, load.neurons);
    let checkpoint = op.checkpoint;
    // Checkpoints are at the ends of load groups.
    let mut steps = schedule.steps.min(time);
    while checkpoint.is_some_and(|every| every % steps != 0) {
        steps -= 1;
    }
    let (outputs, states) = (r.outputs.len(), r.states.len());
    let text = step::forward(r, &site.wanted[..outputs])?;
    let threads = bits.as_ref().map_or(neurons, |b| b.rows * b.padded) / pack;
    let mut piece = by_threads(format!("{}_fptt", r.name), block, threads);
    piece.before = text.code;
    piece.functions = text.functions;
    match &bits {
        None => piece.line(format!("  const Index n = i * {pack}u;")),
        // Rows are padded to full words; a thread in the padding repeats the work of the first
        // thread of its row and writes nothing.
        Some(Bits { padded, last, .. }) => piece.line(format!(
            "  const Index row = i * {pack}u / {padded}u, column = i * {pack}u % {padded}u;
  const bool real = column < {last}u;
  const Index n = row * {last}u + (real ? column : 0u);"
        )),
    }
    let varying = load_constants(&mut piece, r, site, time, pack);
    load_neurons(&mut piece, r, site, pack);
    let guard = if bits.is_some() { "if (real) " } else { "" };
    if bits.is_some() {
        piece.line(Bits::together(pack));
    }
    for (k, ty) in site.outputs.iter().enumerate() {
        if site.wanted[k] {
            piece.argument(format!("y{k}"), ty, Binding::Write(k));
        }
    }

    let (get, put) = access(&schedule);
    let fetch = |to: &str, at: &str| -> String {
        let one = |k: &usize| {
            format!("      {to}{k}[k] = {get}<{pack}>(x_seq{k} + ({at}) * {neurons}u + n);\n")
        };
        varying.iter().map(one).collect()
    };
    let mut compute = String::new();
    let chosen: Vec<usize> = (0..outputs).filter(|&k| site.wanted[k]).collect();
    let kept: Vec<usize> = (0..states)
        .filter(|&k| site.wanted[outputs + states + k])
        .collect();
    let packed = |k: usize| site.outputs[k].dtype == DType::Bits;
    for &k in &chosen {
        if packed(k) {
            compute.push_str(&format!("      unsigned o{k} = 0;\n"));
            continue;
        }
        let ty = element(site.outputs[k].dtype);
        compute.push_str(&format!("      spk_vec<{ty}, {pack}> o{k};\n"));
    }
    for &k in &kept {
        let ty = element(site.outputs[outputs + states + k].dtype);
        compute.push_str(&format!("      spk_vec<{ty}, {pack}> h{k};\n"));
    }
    compute.push_str(&format!(
        "      #pragma unroll\n      for (int j = 0; j < {pack}; ++j) {{\n        {}\n        float y[{}];\n        spk_step(x, v[j], p[j], y);\n",
        inputs(r, &varying, "k"),
        array_len(chosen.len())
    ));
    for (at, k) in chosen.iter().enumerate() {
        if packed(*k) {
            compute.push_str(&format!(
                "        o{k} |= (y[{at}] != 0.0f && real ? 1u : 0u) << j;\n"
            ));
        } else {
            compute.push_str(&format!("        o{k}.set(j, y[{at}]);\n"));
        }
    }
    for k in &kept {
        compute.push_str(&format!("        h{k}.set(j, v[j][{k}]);\n"));
    }
    compute.push_str("      }\n");
    let place = format!("(t0 + k) * {neurons}u + n");
    for &k in &chosen {
        match &bits {
            Some(bits) if packed(k) => compute.push_str(&bits.store(k, pack)),
            _ => compute.push_str(&format!("      {guard}{put}(y{k} + {place}, o{k});\n")),
        }
    }
    for k in &kept {
        compute.push_str(&format!(
            "      {guard}{put}(y{} + {place}, h{k});\n",
            outputs + states + k
        ));
    }
    let keep = checkpoint.map_or(String::new(), |every| {
        let mut text = format!(
            "    if ((t0 + {steps}u) % {every}u == 0 && t0 + {steps}u < {time}u) {{\n      const Index at = ((t0 + {steps}u) / {every}u - 1) * {neurons}u + n;\n"
        );
        for k in 0..states {
            text.push_str(&format!(
                "      spk_vec<float, {pack}> c{k};\n      for (int j = 0; j < {pack}; ++j) c{k}.set(j, v[j][{k}]);\n      {guard}spk_store(y{} + at, c{k});\n",
                outputs + 2 * states + k
            ));
        }
        text.push_str("    }\n");
        text
    });

    let (whole, tail) = (time / steps * steps, time % steps);
    if schedule.ahead {
        let mut text = String::from("  {\n");
        text.push_str(&declare(&varying, site, "q", steps, pack));
        text.push_str(&unrolled(steps, &fetch("q", "k")));
        text.push_str(&format!(
            "  #pragma unroll 1\n  for (Index t0 = 0; t0 < {whole}u; t0 += {steps}u) {{\n"
        ));
        text.push_str(&declare(&varying, site, "n", steps, pack));
        let next = fetch("n", &format!("t0 + {steps}u + k"));
        text.push_str(&unrolled(
            steps,
            &format!("      if (t0 + {steps}u + k < {time}u) {{\n{next}      }}\n"),
        ));
        text.push_str(&unrolled(steps, &compute));
        text.push_str(&keep);
        let take: String = varying
            .iter()
            .map(|k| format!("      q{k}[k] = n{k}[k];\n"))
            .collect();
        text.push_str(&unrolled(steps, &take));
        text.push_str("  }\n");
        if tail > 0 {
            text.push_str(&format!("  const Index t0 = {whole}u;\n"));
            text.push_str(&unrolled(tail, &compute));
        }
        text.push_str("  }\n");
        piece.line(text);
    } else {
        let segment = |count: usize| {
            let mut text = declare(&varying, site, "q", count, pack);
            text.push_str(&unrolled(count, &fetch("q", "t0 + k")));
            text.push_str(&unrolled(count, &compute));
            text
        };
        piece.line(format!(
            "  #pragma unroll 1\n  for (Index t0 = 0; t0 < {whole}u; t0 += {steps}u) {{\n{}{keep}  }}",
            segment(steps)
        ));
        if tail > 0 {
            piece.line(format!(
                "  {{\n    const Index t0 = {whole}u;\n{}  }}",
                segment(tail)
            ));
        }
    }
    for k in 0..states {
        if site.wanted[outputs + k] {
            piece.line(format!(
                "  {guard}for (int j = 0; j < {pack}; ++j) spk_set(y{}[n + j], v[j][{k}]);",
                outputs + k
            ));
        }
    }
    Ok(vec![piece])
}
