//! The derived multi-step backward pass with feedback.

use super::super::LoweringContext;
use super::super::scan::{arguments, result_arguments, sequence_grads, start};
use super::super::step::{self, array_len};
use super::tiling::{Demand, Direction, Part, Tiling};
use super::{
    each_neuron, each_neuron_of, geometry, params, planes, product_text, prologue, with_weights,
};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource, element};
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
    let (n_in, states) = (r.inputs.len(), r.states.len());
    let mut wanted_inputs = cx.wants_each(Port::Sequence, n_in);
    // It is needed for the product.
    wanted_inputs[0] = true;
    let wanted_params = cx.wants_each(Port::Param, r.params.len());
    let present = op.present_outputs();
    let text = step::backward(r, &present, &wanted_inputs, &wanted_params)?;
    let mut kernel = KernelSource::new(format!("recurrent_{}_bptt", r.name), geometry(tiling));
    kernel.cluster = tiling.cluster;
    kernel.functions = text.functions;
    let weight = op.reads(Port::Weight);
    kernel.before = product_text(tiling, Direction::Backward, &cx.inputs[weight]) + &text.code;

    let read = |kernel: &mut KernelSource, name: String, at: usize| {
        kernel.argument(name, &cx.inputs[at], Binding::Read(at));
    };
    arguments(&mut kernel, r, cx);
    let state_sequences: Vec<usize> = (0..states).filter_map(|k| op.state_operand(k)).collect();
    for (k, at) in state_sequences.iter().enumerate() {
        read(&mut kernel, format!("v_seq{k}"), *at);
    }
    let [output_grads, state_grads] = sequence_grads(op);
    for (k, at) in &output_grads {
        read(&mut kernel, format!("g_seq{k}"), *at);
    }
    for (k, at) in &state_grads {
        read(&mut kernel, format!("gv_seq{k}"), *at);
    }
    let last: Vec<Option<usize>> = (0..states).map(|k| op.operand(Port::LastGrad(k))).collect();
    for (k, at) in last.iter().enumerate() {
        if let Some(at) = at {
            read(&mut kernel, format!("d_last{k}"), *at);
        }
    }
    result_arguments(&mut kernel, cx, "r");

    let elements = tiling.elements();
    let out_inputs: Vec<usize> = (0..n_in).filter(|&k| wanted_inputs[k]).collect();
    let out_params: Vec<usize> = (0..r.params.len()).filter(|&k| wanted_params[k]).collect();
    kernel.line(prologue(tiling));
    kernel.line(format!(
        "  unsigned short* gradients = (unsigned short*)(partial + SPLITS * ROWS * PARTIAL);
  unsigned long long* received = (unsigned long long*)(gradients + BUFFERS * ROWS * CLUSTER * GRADIENT_PLANES * COLUMNS);
  float d[{elements}][{s}], p[{elements}][{p}], dp[{elements}][{}] = {{}};
  float x[{elements}][{i}], v[{elements}][{s}], g[{elements}][{}], dx[{elements}][{}];",
        array_len(out_params.len()),
        array_len(output_grads.len()),
        array_len(out_inputs.len()),
        s = array_len(states),
        p = array_len(r.params.len()),
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
    let (param, load_params) = params(r, cx);
    load.push_str(&load_params);
    load.push_str("      spk_set_sum(partial, row, column, 0.0f);\n");
    kernel.line(each_neuron(tiling, &load));

    let mut fetched = Fetched::default();
    for k in 0..n_in {
        let at = format!("(x_seq{k} + at)[shift]");
        fetched.add(
            format!("x{k}"),
            cx.inputs[op.input(k)].dtype,
            &at,
            &format!("x[e][{k}] ="),
            None,
        );
    }
    for (k, operand) in state_sequences.iter().enumerate() {
        let dtype = cx.inputs[*operand].dtype;
        let at = match dtype {
            DType::Bits => format!(
                "((const unsigned*)v_seq{k} + own_word + at_time * (BATCH * ROW_WORDS))[word_shift]"
            ),
            _ if k == feedback.state => format!("(v_seq{k} + at)[shift]"),
            _ => format!("(v_seq{k} + at - NEURONS)[shift]"),
        };
        let to = format!("v[e][{k}] =");
        let first = start(cx, Port::Initial(k));
        fetched.add(format!("v{k}"), dtype, &at, &to, Some(first));
    }
    for (at, (k, operand)) in output_grads.iter().enumerate() {
        let from = format!("(g_seq{k} + at)[shift]");
        let to = format!("g[e][{at}] =");
        fetched.add(format!("g{k}"), cx.inputs[*operand].dtype, &from, &to, None);
    }
    for (k, operand) in &state_grads {
        let from = format!("(gv_seq{k} + at)[shift]");
        let to = format!("d[e][{k}] +=");
        fetched.add(
            format!("gv{k}"),
            cx.inputs[*operand].dtype,
            &from,
            &to,
            None,
        );
    }
    for (name, ty) in &fetched.registers {
        kernel.line(format!("  {ty} {name}[{elements}] = {{}};"));
    }
    let convert = format!(
        "{}      d[e][{}] += spk_sum(partial, row, column);\n",
        fetched.convert, feedback.state
    );
    let mut compute = format!(
        "      float step_p[{}];
      spk_back(x[e], v[e], p[{param}], g[e], d[e], dx[e], step_p);
      if (!real) dx[e][0] = 0.0f;\n",
        array_len(out_params.len())
    );
    for at in 0..out_params.len() {
        let _ = writeln!(compute, "      dp[e][{at}] += step_p[{at}];");
    }
    // Stores follow the exchange, for which other blocks wait.
    let mut stores = String::new();
    for (at, &k) in out_inputs.iter().enumerate() {
        let result = op.writes(Port::Sequence(k));
        if cx.wanted[result] {
            let _ = writeln!(
                stores,
                "      if (real) spk_set((r{result} + t * NEURONS + own_place)[shift], dx[e][{at}]);"
            );
        }
    }
    let product = op.writes(Port::FirstProduct);
    if cx.wanted[product] {
        let _ = writeln!(
            stores,
            "      if (t == 0 && real) spk_set(r{product}[n], dx[e][0]);"
        );
    }
    let terms = String::from(
        "      float rest = dx[e][0];
      #pragma unroll
      for (int plane = 0; plane < GRADIENT_PLANES; ++plane) {
        spk_bf16 term;
        spk_set(term, rest);
        rest -= spk_get(term);
        own[(plane * PART_ROWS + row - FIRST_ROW) * COLUMNS + spk_place(row, column)] = term.bits;
      }
",
    );
    let parts = tiling.parts();
    // The gradients of a block are one piece.
    let buffer = |part: &Part, of: &str| {
        let first = part.first_row;
        format!(
            "gradients + ({of} % BUFFERS * ROWS + {first}) * CLUSTER * GRADIENT_PLANES * COLUMNS"
        )
    };
    let product = |part: &Part, step: &str| {
        format!(
            "      spk_receive(received + {}, {step});
      spk_product<{}, {}>(weights, {}, partial, warp, lane);
      __syncthreads();
",
            2 * part.index,
            part.first_row / 8,
            part.rows / 8,
            buffer(part, step),
        )
    };
    let step = |part: &Part| {
        let each = |body: &str| each_neuron_of(tiling, *part, body);
        let terms = terms.replace("PART_ROWS", &part.rows.to_string());
        let terms = terms.replace("FIRST_ROW", &part.first_row.to_string());
        format!(
            "    if (step > 0) {{
{product}    }}
{convert}{compute}    if ({exchanges}) {{
      const unsigned sent = {rows} * GRADIENT_PLANES * COLUMNS * 2;
      unsigned short* own = {buffer} + rank * (sent / 2);
      spk_expect(received + {barrier}, step + 1, (CLUSTER - 1) * sent);
{terms}      spk_send(own, sent, rank, received + {barrier}, step + 1);
    }}
{stores}    if (t > 0) {{
      const Index at_time = t - 1, at = at_time * NEURONS + own_place;
{fetch}    }}
",
            product = product(part, "step"),
            exchanges = if feedback.continues { "true" } else { "t > 0" },
            rows = part.rows,
            buffer = buffer(part, "(step + 1)"),
            barrier = 2 * part.index,
            convert = each(&convert),
            compute = each(&compute),
            terms = each(&terms),
            stores = each(&stores),
            fetch = each(&fetched.fetch),
        )
    };
    let time = op.of.time_steps;
    kernel.line(format!(
        "  spk_begin(received);
  {{
    const Index at_time = {time}u - 1, at = at_time * NEURONS + own_place;
{fetch}  }}
  #pragma unroll 1
  for (Index step = 0; step < {time}u; ++step) {{
    const Index t = {time}u - 1 - step;
{steps}  }}",
        fetch = each_neuron(tiling, &fetched.fetch),
        steps = parts.iter().map(step).collect::<String>(),
    ));
    let mut end = String::new();
    if feedback.continues {
        let last = format!("{time}u");
        let products = parts.iter().map(|part| product(part, &last));
        kernel.line(products.collect::<String>());
        let _ = writeln!(
            end,
            "      d[e][{}] += spk_sum(partial, row, column);",
            feedback.state
        );
    }
    for k in 0..states {
        let result = op.writes(Port::Initial(k));
        if cx.wanted[result] {
            let _ = writeln!(end, "      if (real) spk_set(r{result}[n], d[e][{k}]);");
        }
    }
    for (at, k) in out_params.iter().enumerate() {
        let _ = writeln!(
            end,
            "      if (real) spk_set(r{}[n], dp[e][{at}]);",
            op.writes(Port::Param(*k))
        );
    }
    kernel.line(each_neuron(tiling, &end));
    kernel.line("  spk_end();");
    Ok(with_weights(kernel, tiling, cx))
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
