//! The derived multi-step backward pass with feedback.

use super::super::LoweringContext;
use super::super::scan::{arguments, start};
use super::super::step::{self, array_len};
use super::tiling::{Demand, Direction, Tiling};
use super::{each_neuron, geometry, planes, product_text, prologue, with_weights};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource};
use spikelet_expr::CompileError;
use spikelet_graph::op::RecurrentScanGrad;
use spikelet_graph::{DType, TensorType};
use std::fmt::Write;

pub(super) fn tiling(
    op: &RecurrentScanGrad,
    gpu: &Properties,
    inputs: &[TensorType],
) -> Option<Tiling> {
    let r = &op.recurrence;
    let (batch, features) = Demand::sizes(inputs);
    let weight = &inputs[op.weight_operand()];
    let demand = Demand {
        direction: Direction::Backward,
        batch,
        features,
        // The products of the first two terms are precise to 2⁻¹⁶, and sums of many cancel.
        planes: planes(weight, op.precision).min(2),
        registers: 4 + r.inputs.len() + 2 * r.states.len() + 2 * r.params.len(),
    };
    Tiling::new(gpu, demand)
}

pub(in super::super) fn kernels(
    op: &RecurrentScanGrad,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let Some(tiling) = tiling(op, cx.gpu, &cx.inputs) else {
        return Ok(vec![]);
    };
    let (n_in, outputs, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
    let params = r.params.len();
    let mut wanted_inputs = cx.wanted[..n_in].to_vec();
    // It is needed for the product.
    wanted_inputs[0] = true;
    let wanted_params = &cx.wanted[n_in + states..][..params];
    let text = step::backward(r, &op.present[..outputs], &wanted_inputs, wanted_params)?;
    let mut kernel = KernelSource::new(format!("recurrent_{}_bptt", r.name), geometry(&tiling));
    kernel.cluster = tiling.cluster;
    kernel.functions = text.functions;
    let weight = op.weight_operand();
    kernel.before = product_text(&tiling, Direction::Backward, &cx.inputs[weight]) + &text.code;

    let read = |kernel: &mut KernelSource, name: String, at: usize| {
        kernel.argument(name, &cx.inputs[at], Binding::Read(at));
    };
    arguments(&mut kernel, r, cx);
    for k in 0..states {
        read(&mut kernel, format!("v_seq{k}"), op.state_operand(k));
    }
    let output_grads: Vec<usize> = (0..outputs).filter(|&k| op.present[k]).collect();
    let state_grads: Vec<usize> = (0..states)
        .filter(|&k| op.present[outputs + states + k])
        .collect();
    for &k in &output_grads {
        let at = op.grad_operand(k).expect("it is present");
        read(&mut kernel, format!("g_seq{k}"), at);
    }
    for &k in &state_grads {
        let at = op
            .grad_operand(outputs + states + k)
            .expect("it is present");
        read(&mut kernel, format!("gv_seq{k}"), at);
    }
    let last: Vec<Option<usize>> = (0..states).map(|k| op.grad_operand(outputs + k)).collect();
    for (k, at) in last.iter().enumerate() {
        if let Some(at) = at {
            read(&mut kernel, format!("d_last{k}"), *at);
        }
    }
    for (k, ty) in cx.outputs.iter().enumerate() {
        if cx.wanted[k] {
            kernel.argument(format!("r{k}"), ty, Binding::Write(k));
        }
    }

    let elements = tiling.elements();
    let out_inputs: Vec<usize> = (0..n_in).filter(|&k| wanted_inputs[k]).collect();
    let out_params: Vec<usize> = (0..params).filter(|&k| wanted_params[k]).collect();
    kernel.line(prologue(&tiling));
    kernel.line(format!(
        "  unsigned short* gradients = (unsigned short*)(partial + SPLITS * ROWS * PARTIAL);
  unsigned long long* received = (unsigned long long*)(gradients + BUFFERS * CLUSTER * SENT / 2);
  float d[{elements}][{s}], p[{elements}][{p}], dp[{elements}][{}] = {{}};
  float x[{elements}][{i}], v[{elements}][{s}], g[{elements}][{}], dv[{elements}][{}], dx[{elements}][{}];",
        array_len(out_params.len()),
        array_len(output_grads.len()),
        array_len(state_grads.len()),
        array_len(out_inputs.len()),
        s = array_len(states),
        p = array_len(params),
        i = array_len(n_in),
    ));
    let mut load = String::new();
    for (k, at) in last.iter().enumerate() {
        let value = match at {
            Some(_) => format!("spk_get(d_last{k}[n])"),
            None => "0.0f".to_string(),
        };
        let _ = writeln!(load, "      d[e][{k}] = {value};");
    }
    for k in 0..params {
        let _ = writeln!(load, "      p[e][{k}] = {};", start(r, cx, states + k));
    }
    kernel.line(each_neuron(&tiling, &load));
    let mut fetch = String::new();
    for k in 0..n_in {
        let _ = writeln!(
            fetch,
            "      x[e][{k}] = real ? spk_get((x_seq{k} + at)[shift]) : 0.0f;"
        );
    }
    for k in 0..states {
        let at = op.state_operand(k);
        let value = match cx.inputs[at].dtype {
            DType::Bits => format!(
                "(float)((((const unsigned*)v_seq{k} + own_word + at_time * (BATCH * ROW_WORDS))[word_shift] >> column % 32) & 1u)"
            ),
            _ if k == op.fed => format!("spk_get((v_seq{k} + at)[shift])"),
            _ => format!("spk_get((v_seq{k} + at - NEURONS)[shift])"),
        };
        let _ = writeln!(
            fetch,
            "      if (at_time > 0) v[e][{k}] = real ? {value} : 0.0f; else v[e][{k}] = {};",
            start(r, cx, k)
        );
    }
    for (at, k) in output_grads.iter().enumerate() {
        let _ = writeln!(
            fetch,
            "      g[e][{at}] = real ? spk_get((g_seq{k} + at)[shift]) : 0.0f;"
        );
    }
    for (at, k) in state_grads.iter().enumerate() {
        let _ = writeln!(
            fetch,
            "      dv[e][{at}] = real ? spk_get((gv_seq{k} + at)[shift]) : 0.0f;"
        );
    }
    let mut compute = format!(
        "      if (t + 1 < {time}u) d[e][{fed}] += spk_sum(partial, row, column);\n",
        time = op.time_steps,
        fed = op.fed
    );
    for (at, k) in state_grads.iter().enumerate() {
        let _ = writeln!(compute, "      d[e][{k}] += dv[e][{at}];");
    }
    let _ = writeln!(
        compute,
        "      float step_p[{}];
      spk_back(x[e], v[e], p[e], g[e], d[e], dx[e], step_p);
      if (!real) dx[e][0] = 0.0f;",
        array_len(out_params.len())
    );
    for at in 0..out_params.len() {
        let _ = writeln!(compute, "      dp[e][{at}] += step_p[{at}];");
    }
    // Stores follow the exchange, for which other blocks wait.
    let mut stores = String::new();
    for (at, &k) in out_inputs.iter().enumerate() {
        if cx.wanted[k] {
            let _ = writeln!(
                stores,
                "      if (real) spk_set((r{k} + t * NEURONS + own_place)[shift], dx[e][{at}]);"
            );
        }
    }
    let product = op.first_product();
    if cx.wanted[product] {
        let _ = writeln!(
            stores,
            "      if (t == 0 && real) spk_set(r{product}[n], dx[e][0]);"
        );
    }
    compute.push_str(
        "      float rest = dx[e][0];
      #pragma unroll
      for (int plane = 0; plane < GRADIENT_PLANES; ++plane) {
        spk_bf16 term;
        spk_set(term, rest);
        rest -= spk_get(term);
        own[(plane * ROWS + row) * COLUMNS + spk_place(row, column)] = term.bits;
      }
",
    );
    kernel.line(format!(
        "  spk_begin(received);
  {{
    const Index at_time = {time}u - 1, at = at_time * NEURONS + own_place;
{fetch}  }}
  #pragma unroll 1
  for (Index step = 0; step < {time}u; ++step) {{
    const Index t = {time}u - 1 - step;
    unsigned short* own = gradients + ((step + 1) % BUFFERS * CLUSTER + rank) * SENT / 2;
    if (step > 0) {{
      spk_receive(received, step);
      spk_product(weights, gradients + step % BUFFERS * CLUSTER * SENT / 2, partial, warp, lane);
      __syncthreads();
    }}
    if ({exchanges}) spk_expect(received, step + 1, (CLUSTER - 1) * SENT);
{compute}    if ({exchanges}) spk_send(own, SENT, rank, received, step + 1);
{stores}    if (t > 0) {{
      const Index at_time = t - 1, at = at_time * NEURONS + own_place;
{fetch}    }}
  }}",
        time = op.time_steps,
        exchanges = if op.continues { "true" } else { "t > 0" },
        fetch = each_neuron(&tiling, &fetch),
        compute = each_neuron(&tiling, &compute),
        stores = each_neuron(&tiling, &stores),
    ));
    let mut end = String::new();
    if op.continues {
        kernel.line(format!(
            "  spk_receive(received, {time}u);
  spk_product(weights, gradients + {time}u % BUFFERS * CLUSTER * SENT / 2, partial, warp, lane);
  __syncthreads();",
            time = op.time_steps,
        ));
        let _ = writeln!(
            end,
            "      d[e][{}] += spk_sum(partial, row, column);",
            op.fed
        );
    }
    for k in 0..states {
        if cx.wanted[n_in + k] {
            let _ = writeln!(end, "      if (real) spk_set(r{}[n], d[e][{k}]);", n_in + k);
        }
    }
    for (at, k) in out_params.iter().enumerate() {
        let _ = writeln!(
            end,
            "      if (real) spk_set(r{}[n], dp[e][{at}]);",
            n_in + states + k
        );
    }
    kernel.line(each_neuron(&tiling, &end));
    kernel.line("  spk_end();");
    Ok(with_weights(kernel, &tiling, cx, weight))
}
