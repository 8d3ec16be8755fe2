//! The derived backward pass of scans with few steps, by blocks of neurons and by channels.
//!
//! A thread processes a block of neurons for some neighboring channels: it recomputes their states for
//! all steps, routes each pooled gradient to the first neuron of its block that fired, and runs the
//! derived step backward. Gradients of parameters shared by a channel are summed over the thread's
//! blocks, then over threads, in a fixed order.

use super::block::{PooledTiling, load_inputs, load_params, load_states, step_loop};
use super::channels::ChannelReduceTiling;
use super::scan::{arguments, lowered};
use super::step::{self, array_len};
use super::{Lowered, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_expr::CompileError;
use spikelet_graph::TensorType;
use spikelet_graph::op::{Port, Ports, ScanGrad};

/// Whether the kernels support it: few steps, parameters per channel, no gradients of states.
pub(crate) fn supports(op: &ScanGrad, inputs: &[TensorType]) -> bool {
    let scan = &op.of;
    let mut present = op.present.iter();
    scan.recurrence.outputs.len() == 1
        && present.all(|port| matches!(port, Port::OutputGrad(_)))
        && scan.feedback.is_none()
        && scan.checkpoint.is_none()
        && PooledTiling::is_short(scan.time_steps, scan.pool)
        && op.params_by_channel(inputs)
}

fn channel_sums(
    op: &ScanGrad,
    cx: &LoweringContext<'_>,
    tiling: &PooledTiling,
) -> Option<(ChannelReduceTiling, Vec<usize>)> {
    let wanted = (0..op.of.recurrence.params.len()).filter(|k| cx.wants(Port::Param(*k)));
    let wanted: Vec<usize> = wanted.collect();
    // As many as are resident with some 96 registers each.
    let threads = cx.gpu.saturating_threads() * 5 / 4;
    (op.channel_sums && !wanted.is_empty()).then(|| {
        (
            ChannelReduceTiling::with(threads, tiling.windows, tiling.channels, tiling.pack),
            wanted,
        )
    })
}

pub(super) fn lower<'a>(op: &'a ScanGrad, cx: &'a LoweringContext<'_>) -> Lowered<'a> {
    let tiling = PooledTiling::backward(cx.gpu, &cx.inputs, op.of.time_steps, op.of.pool);
    let sums = channel_sums(op, cx, &tiling);
    let partial = (sums.as_ref()).map(|(tiling, wanted)| tiling.partial(wanted.len()));
    let workspace = partial.map_or(0, |partial| partial.bytes());
    lowered(cx, workspace, move || kernels(op, &tiling, sums, cx))
}

fn kernels(
    op: &ScanGrad,
    tiling: &PooledTiling,
    sums: Option<(ChannelReduceTiling, Vec<usize>)>,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.of.recurrence;
    let time = op.of.time_steps;
    let (n_in, states) = (r.inputs.len(), r.states.len());
    let (pack, packs, positions) = (
        tiling.pack,
        tiling.channels / tiling.pack,
        tiling.positions(),
    );
    let (neurons, pooled) = (tiling.neurons, tiling.pooled());
    let wanted_inputs = cx.wants_each(Port::Sequence, n_in);
    let wanted_params = cx.wants_each(Port::Param, r.params.len());
    let forward = step::forward(r, &[true])?;
    let backward = step::backward(r, &op.present_outputs(), &wanted_inputs, &wanted_params)?;
    let threads = tiling.windows * packs;
    let block = 128;
    let name = format!("{}_block_bptt", r.name);
    let mut kernel = match &sums {
        Some((channel_sums, _)) => channel_sums.kernel(&name),
        None => KernelSource::new(
            name,
            Geometry::Blocks {
                grid: [threads.div_ceil(block), 1],
                block,
                shared: 0,
            },
        ),
    };
    kernel.before = format!("{}{}", forward.code, backward.code);
    kernel.functions = forward.functions;
    kernel.functions.extend(backward.functions);
    let by_channel = sums.is_some();
    arguments(
        &mut kernel,
        cx,
        match by_channel {
            true => |port| matches!(port, Port::Param(_)),
            false => |_| false,
        },
    );
    let out_inputs: Vec<usize> = (0..n_in).filter(|&k| wanted_inputs[k]).collect();
    let out_params: Vec<usize> = (0..r.params.len()).filter(|&k| wanted_params[k]).collect();
    let of_input = |k: usize| op.writes(Port::Sequence(k));
    let grad_operand = op.operand(Port::OutputGrad(0));
    kernel.line(tiling.places());
    let params = load_params(r, cx, tiling);
    let param_sums = out_params.len();
    let declare_total = format!("  float sum_p[{pack}][{}] = {{}};\n", array_len(param_sums));
    // Without sums over the channels, a gradient for each neuron.
    let of_neurons = sums.is_none() && param_sums > 0;

    // One block of neurons.
    let mut text = tiling.base();
    let inputs = load_inputs(&mut text, r, cx, tiling, time);
    if let Some(at) = grad_operand {
        let ty = element(cx.inputs[at].dtype);
        text.push_str(&format!("  spk_vec<{ty}, {pack}> g0[{time}];\n"));
        let load = format!("    g0[t] = spk_load<{pack}>(g_seq0 + t * {pooled}u + m);\n");
        text.push_str(&step_loop(time, &load));
    }
    text.push_str(&load_states(r, cx, tiling));
    let state_len = array_len(states);
    text.push_str(&format!(
        "  float before[{time}][{positions}][{pack}][{state_len}];\n  int first[{time}][{pack}];\n"
    ));
    let recompute = format!(
        "        for (int s = 0; s < {state_len}; ++s) before[t][at][j][s] = v[at][j][s];
{inputs}        float y[1];
        spk_step(x, v[at][j], p[j], y);
        if (at == 0 || y[0] > most[j]) {{ most[j] = y[0]; first[t][j] = at; }}\n"
    );
    let recompute = format!(
        "    float most[{pack}];\n{}",
        tiling.each_neuron(&recompute)
    );
    text.push_str(&step_loop(time, &recompute));
    text.push_str(&format!(
        "  float d[{positions}][{pack}][{state_len}] = {{}};\n  float sum_x[{positions}][{pack}][{}] = {{}};\n",
        array_len(out_inputs.len())
    ));
    let gradient = match grad_operand {
        Some(_) => "first[t][j] == at ? g0[t][j] : 0.0f",
        None => "0.0f",
    };
    let mut inside = format!(
        "{inputs}        const float g[1] = {{{gradient}}};
        float dx[{}], dp[{}];
        spk_back(x, before[t][at][j], p[j], g, d[at][j], dx, dp);\n",
        array_len(out_inputs.len()),
        array_len(param_sums)
    );
    let place = if of_neurons { "[at]" } else { "" };
    for k in 0..param_sums {
        inside.push_str(&format!("        sum_p{place}[j][{k}] += dp[{k}];\n"));
    }
    let varies = |k: usize| cx.inputs[op.input(k)].shape[0] != 1 || time == 1;
    let mut declared = String::new();
    let mut stored = String::new();
    let mut last = String::new();
    for (at, &k) in out_inputs.iter().enumerate() {
        let (ty, result) = (element(cx.outputs[of_input(k)].dtype), of_input(k));
        if varies(k) {
            declared.push_str(&format!("      spk_vec<{ty}, {pack}> o{k};\n"));
            inside.push_str(&format!("        o{k}.set(j, dx[{at}]);\n"));
            stored.push_str(&format!(
                "      spk_store(y{result} + t * {neurons}u + n, o{k});\n"
            ));
        } else {
            inside.push_str(&format!("        sum_x[at][j][{at}] += dx[{at}];\n"));
            last.push_str(&tiling.each_position(&format!(
                "      spk_vec<{ty}, {pack}> o{k};
      #pragma unroll
      for (int j = 0; j < {pack}; ++j) o{k}.set(j, sum_x[at][j][{at}]);
      spk_store(y{result} + n, o{k});\n"
            )));
        }
    }
    let lanes = format!(
        "{declared}      #pragma unroll\n      for (int j = 0; j < {pack}; ++j) {{\n{inside}      }}\n{stored}"
    );
    text.push_str(&format!(
        "  #pragma unroll\n  for (int t = {time} - 1; t >= 0; --t) {{\n{}  }}\n{last}",
        tiling.each_position(&lanes)
    ));
    for k in 0..states {
        let result = op.writes(Port::Initial(k));
        if cx.wanted[result] {
            let store = format!("        spk_set(y{result}[n + j], d[at][j][{k}]);\n");
            text.push_str(&tiling.each_neuron(&store));
        }
    }

    if of_neurons {
        for (s, k) in out_params.iter().enumerate() {
            let to = op.writes(Port::Param(*k));
            let store = format!("        spk_set(y{to}[n + j], sum_p[at][j][{s}]);\n");
            text.push_str(&tiling.each_neuron(&store));
        }
    }

    let Some((channel_sums, wanted)) = sums else {
        kernel.line(format!(
            "  const Index i = blockIdx.x * {block}u + threadIdx.x;
  if (i >= {threads}u) return;
  const Index window = i / {packs}u, c = i % {packs}u * {pack}u;"
        ));
        kernel.line(params);
        kernel.line(format!(
            "  float sum_p[{positions}][{pack}][{}] = {{}};",
            array_len(param_sums)
        ));
        kernel.line(text);
        return Ok(vec![kernel]);
    };
    kernel.line(params);
    kernel.line(declare_total);
    kernel.line(format!(
        "  #pragma unroll 1\n  for (Index window = row0; window < {}u; window += step) {{\n{text}  }}",
        tiling.windows
    ));
    channel_sums.combine_rows(
        &mut kernel,
        "sum_p",
        param_sums,
        &format!("for (int s = 0; s < {param_sums}; ++s) a[s] += b[s];"),
    );
    let stores = (0..wanted.len()).map(|s| format!("if (which == {s}u) y{s}[channel] = total;"));
    let stores: Vec<String> = stores.collect();
    let mut second = channel_sums.sums("channel_sums", param_sums, &stores.join("\n    "));
    for (s, k) in wanted.into_iter().enumerate() {
        let at = op.writes(Port::Param(k));
        second.argument(format!("y{s}"), &cx.outputs[at], Binding::Write(at));
    }
    Ok(vec![kernel, second])
}
