//! The multi-step forward pass (FPTT): a thread takes its neurons through all time steps, with
//! the states in registers.

use super::index::offset;
use super::schedule::{Load, Schedule};
use super::step::{self, room};
use super::Site;
use crate::piece::{Geometry, Leads, Piece, element};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Recurrence, Scan};
use spikelet_graph::{TensorType, broadcast_strides};

/// A sequence's access: plain, or marked as used once.
pub(super) fn access(schedule: &Schedule) -> (&'static str, &'static str) {
    if schedule.once {
        ("spk_load_once", "spk_store_once")
    } else {
        ("spk_load", "spk_store")
    }
}

/// The offset of neuron `i * pack + j` in something that broadcasts to one time step.
fn neuron(ty: &TensorType, step: &[usize], pack: usize) -> String {
    offset(step, &broadcast_strides(&ty.shape, step), &format!("(i * {pack}u + j)"))
}

/// The name of state or parameter `k`, states first.
fn neuron_name(r: &Recurrence, k: usize) -> String {
    match k.checked_sub(r.states.len()) {
        None => format!("v_init{k}"),
        Some(k) => format!("param{k}"),
    }
}

/// The C++ expression of state or parameter `k` of neuron j at the start.
pub(super) fn start(r: &Recurrence, site: &Site<'_>, k: usize, pack: usize) -> String {
    let at = r.inputs.len() + k;
    match site.constants[at] {
        Some(number) => format!("__uint_as_float({:#x}u)", number.to_bits()),
        None => {
            let place = neuron(&site.inputs[at], Scan::step_shape(&site.inputs), pack);
            format!("spk_get({}[{place}])", neuron_name(r, k))
        }
    }
}

/// Declares states and parameters of a thread's neurons and loads them.
pub(super) fn load_neurons(piece: &mut Piece, r: &Recurrence, site: &Site<'_>, pack: usize) {
    let first = r.inputs.len();
    let (states, params) = (r.states.len(), r.params.len());
    for k in 0..states + params {
        let at = first + k;
        if site.constants[at].is_none() {
            piece.argument(neuron_name(r, k), &site.inputs[at], Leads::Read(at));
        }
    }
    piece.line(format!(
        "  float v[{pack}][{}], p[{pack}][{}];\n  #pragma unroll\n  for (int j = 0; j < {pack}; ++j) {{",
        room(states),
        room(params)
    ));
    for k in 0..states {
        piece.line(format!("    v[j][{k}] = {};", start(r, site, k, pack)));
    }
    for k in 0..params {
        piece.line(format!("    p[j][{k}] = {};", start(r, site, states + k, pack)));
    }
    piece.line("  }");
}

/// Declares the sequences; those that are constant over time are loaded at once. Returns which
/// vary.
pub(super) fn load_constants(
    piece: &mut Piece,
    r: &Recurrence,
    site: &Site<'_>,
    time: usize,
    pack: usize,
) -> Vec<usize> {
    let mut varying = vec![];
    for k in 0..r.inputs.len() {
        let ty = &site.inputs[k];
        piece.argument(format!("x_seq{k}"), ty, Leads::Read(k));
        if ty.shape[0] == 1 && time > 1 {
            piece.line(format!("  const auto x_all{k} = spk_load<{pack}>(x_seq{k} + i * {pack}u);"));
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
    format!("const float x[{}] = {{{}}};", room(r.inputs.len()), values.join(", "))
}

pub(super) fn declare(varying: &[usize], site: &Site<'_>, prefix: &str, steps: usize, pack: usize) -> String {
    let declare = |k: &usize| {
        let ty = element(site.inputs[*k].dtype);
        format!("    spk_pack<{ty}, {pack}> {prefix}{k}[{steps}];\n")
    };
    varying.iter().map(declare).collect()
}

/// What the forward kernel touches.
pub(super) fn load(op: &Scan, site: &Site<'_>) -> Load {
    let r = &op.recurrence;
    let (outputs, states) = (r.outputs.len(), r.states.len());
    let sequences = |range: std::ops::Range<usize>| site.wanted[range].iter().filter(|w| **w).count();
    Load {
        neurons: Scan::step_shape(&site.inputs).iter().product(),
        time: op.time_steps,
        bytes: site.inputs[0].bytes() / site.inputs[0].len().max(1),
        read: r.inputs.len(),
        written: sequences(0..outputs) + sequences(outputs + states..outputs + 2 * states),
        states,
    }
}

pub(crate) fn pieces(op: &Scan, site: &Site<'_>) -> Result<Vec<Piece>, CompileError> {
    let r = &*op.recurrence;
    let load = load(op, site);
    let schedule = Schedule::forward(site.gpu, load);
    let Schedule { pack, block, .. } = schedule;
    let (time, neurons) = (op.time_steps, load.neurons);
    let checkpoint = op.checkpoint;
    // Both are powers of two: kept states fall on the ends of load groups.
    let steps = schedule.steps.min(time).min(checkpoint.unwrap_or(time));
    let (outputs, states) = (r.outputs.len(), r.states.len());
    let text = step::forward(r, &site.wanted[..outputs])?;
    let threads = neurons / pack;
    let mut piece = Piece::new(
        format!("{}_fptt", r.name),
        Geometry::Blocks {
            grid: [threads.div_ceil(block), 1],
            block: block as u32,
            shared: 0,
        },
    );
    piece.before = text.code;
    piece.functions = text.functions;
    piece.line(format!(
        "  const Index i = blockIdx.x * {block}u + threadIdx.x;\n  if (i >= {threads}u) return;"
    ));
    let varying = load_constants(&mut piece, r, site, time, pack);
    load_neurons(&mut piece, r, site, pack);
    for (k, ty) in site.outputs.iter().enumerate() {
        if site.wanted[k] {
            piece.argument(format!("y{k}"), ty, Leads::Write(k));
        }
    }

    let (get, put) = access(&schedule);
    let fetch = |to: &str, at: &str| -> String {
        let one = |k: &usize| {
            format!("      {to}{k}[k] = {get}<{pack}>(x_seq{k} + ({at}) * {neurons}u + i * {pack}u);\n")
        };
        varying.iter().map(one).collect()
    };
    let mut compute = String::new();
    let chosen: Vec<usize> = (0..outputs).filter(|&k| site.wanted[k]).collect();
    let kept: Vec<usize> = (0..states).filter(|&k| site.wanted[outputs + states + k]).collect();
    for &k in &chosen {
        let ty = element(site.outputs[k].dtype);
        compute.push_str(&format!("      spk_pack<{ty}, {pack}> o{k};\n"));
    }
    for &k in &kept {
        let ty = element(site.outputs[outputs + states + k].dtype);
        compute.push_str(&format!("      spk_pack<{ty}, {pack}> h{k};\n"));
    }
    compute.push_str(&format!(
        "      #pragma unroll\n      for (int j = 0; j < {pack}; ++j) {{\n        {}\n        float y[{}];\n        spk_step(x, v[j], p[j], y);\n",
        inputs(r, &varying, "k"),
        room(chosen.len())
    ));
    for (at, k) in chosen.iter().enumerate() {
        compute.push_str(&format!("        o{k}.set(j, y[{at}]);\n"));
    }
    for k in &kept {
        compute.push_str(&format!("        h{k}.set(j, v[j][{k}]);\n"));
    }
    compute.push_str("      }\n");
    let place = format!("(t0 + k) * {neurons}u + i * {pack}u");
    for k in &chosen {
        compute.push_str(&format!("      {put}(y{k} + {place}, o{k});\n"));
    }
    for k in &kept {
        compute.push_str(&format!("      {put}(y{} + {place}, h{k});\n", outputs + states + k));
    }
    let keep = checkpoint.map_or(String::new(), |every| {
        let mut text = format!(
            "    if ((t0 + {steps}u) % {every}u == 0 && t0 + {steps}u < {time}u) {{\n      const Index at = ((t0 + {steps}u) / {every}u - 1) * {neurons}u + i * {pack}u;\n"
        );
        for k in 0..states {
            text.push_str(&format!(
                "      spk_pack<float, {pack}> c{k};\n      for (int j = 0; j < {pack}; ++j) c{k}.set(j, v[j][{k}]);\n      spk_store(y{} + at, c{k});\n",
                outputs + 2 * states + k
            ));
        }
        text.push_str("    }\n");
        text
    });

    let (whole, tail) = (time / steps * steps, time % steps);
    let unrolled = |count: usize, body: &str| {
        format!("    #pragma unroll\n    for (int k = 0; k < {count}; ++k) {{\n{body}    }}\n")
    };
    if schedule.ahead {
        let mut text = String::from("  {\n");
        text.push_str(&declare(&varying, site, "q", steps, pack));
        text.push_str(&unrolled(steps, &fetch("q", "k")));
        text.push_str(&format!("  #pragma unroll 1\n  for (Index t0 = 0; t0 < {whole}u; t0 += {steps}u) {{\n"));
        text.push_str(&declare(&varying, site, "n", steps, pack));
        let next = fetch("n", &format!("t0 + {steps}u + k"));
        text.push_str(&unrolled(steps, &format!("      if (t0 + {steps}u + k < {time}u) {{\n{next}      }}\n")));
        text.push_str(&unrolled(steps, &compute));
        text.push_str(&keep);
        let take: String = varying.iter().map(|k| format!("      q{k}[k] = n{k}[k];\n")).collect();
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
            piece.line(format!("  {{\n    const Index t0 = {whole}u;\n{}  }}", segment(tail)));
        }
    }
    for k in 0..states {
        if site.wanted[outputs + k] {
            piece.line(format!(
                "  for (int j = 0; j < {pack}; ++j) spk_set(y{}[i * {pack}u + j], v[j][{k}]);",
                outputs + k
            ));
        }
    }
    Ok(vec![piece])
}
