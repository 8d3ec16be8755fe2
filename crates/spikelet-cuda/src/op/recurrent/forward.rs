//! The multi-step forward pass with feedback.

use super::super::LoweringContext;
use super::super::scan::{arguments, result_arguments, start};
use super::super::step::{self, array_len};
use super::tiling::{Demand, Direction, Part, Tiling};
use super::{
    each_neuron, each_neuron_of, geometry, params, planes, product_text, prologue, with_weights,
};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource, element};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Feedback, Port, Ports, Scan};
use spikelet_graph::{DType, DeviceShare, TensorType};
use std::fmt::Write;

pub(super) fn tiling(
    op: &Scan,
    feedback: &Feedback,
    (gpu, share): (&Properties, DeviceShare),
    inputs: &[TensorType],
) -> Option<Tiling> {
    let r = &op.recurrence;
    let (batch, features) = Demand::sizes(inputs);
    let demand = Demand {
        direction: Direction::Forward,
        batch,
        features,
        planes: planes(&inputs[op.reads(Port::Weight)], feedback.precision),
        registers: 2 + r.inputs.len() + r.states.len() + r.params.len(),
        share,
    };
    Tiling::new(gpu, demand)
}

/// Whether a result is written as bits: the spikes that are fed back, as output or before each step.
pub(in super::super) fn writes_bits(
    op: &Scan,
    feedback: &Feedback,
    inputs: &[TensorType],
    result: Port,
) -> bool {
    let (_, features) = Demand::sizes(inputs);
    let r = &op.recurrence;
    let fed = match result {
        Port::Output(k) => r.outputs[k].value.same_value(&r.next[feedback.state]),
        port => port == Port::Before,
    };
    let is_smaller = features % 16 == 0 || features >= 128;
    // A product of 16-bit numbers is faster than one with bits.
    let wide = !inputs[0].dtype.is_half();
    fed && wide && is_smaller && inputs[0].shape.len() > 2
}

pub(super) fn kernels(
    op: &Scan,
    feedback: &Feedback,
    tiling: &Tiling,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let (n_in, outputs, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
    let text = step::forward(r, &cx.wants_each(Port::Output, outputs))?;
    let mut kernel = KernelSource::new(format!("recurrent_{}_fptt", r.name), geometry(tiling));
    kernel.cluster = tiling.cluster;
    kernel.functions = text.functions;
    let weight = &cx.inputs[op.reads(Port::Weight)];
    kernel.before = product_text(tiling, Direction::Forward, weight) + &text.code;
    arguments(&mut kernel, r, cx);
    let product = op.reads(Port::FirstProduct);
    kernel.argument("first", &cx.inputs[product], Binding::Read(product));
    result_arguments(&mut kernel, cx, "y");
    let written: Vec<usize> = (0..outputs)
        .filter(|&k| cx.wants(Port::Output(k)))
        .collect();
    let elements = tiling.elements();
    let (param, load_params) = params(r, cx);
    kernel.line(prologue(tiling));
    kernel.line(format!(
        "  unsigned* spikes = (unsigned*)(partial + SPLITS * ROWS * PARTIAL);
  unsigned long long* received = (unsigned long long*)(spikes + BUFFERS * CLUSTER * ROWS * WORDS);
  for (int k = threadIdx.x; k < BUFFERS * CLUSTER * ROWS * WORDS; k += WARPS * 32) spikes[k] = 0;
  float v[{elements}][{}], p[{elements}][{}], x[{elements}][{}], y[{elements}][{}];
  unsigned word[{elements}];",
        array_len(states),
        array_len(r.params.len()),
        array_len(n_in),
        array_len(written.len()),
    ));
    for k in 0..n_in {
        let ty = element(cx.inputs[op.input(k)].dtype);
        kernel.line(format!("  {ty} next{k}[{elements}] = {{}};"));
    }
    let mut load = String::new();
    for k in 0..states {
        let _ = writeln!(load, "      v[e][{k}] = {};", start(cx, Port::Initial(k)));
    }
    load.push_str(&load_params);
    let bits = |k: usize| cx.outputs[k].dtype == DType::Bits;
    let before = op.writes(Port::Before);
    let writes_word = match tiling.batch.is_multiple_of(tiling.rows) {
        true => "lane == 0 && (rank * COLUMNS + column) / 32 < ROW_WORDS".to_string(),
        false => {
            "lane == 0 && first_row + row < BATCH && (rank * COLUMNS + column) / 32 < ROW_WORDS"
                .to_string()
        }
    };
    let store_word = |k: usize, time: &str, value: &str| {
        format!(
            "      if ({writes_word}) ((unsigned*)y{k} + own_word + {time} * (BATCH * ROW_WORDS))[word_shift] = {value};\n"
        )
    };
    // The spikes before the first step, as a number and as a word.
    let (spike, word) = match feedback.continues {
        true => (format!("v[e][{}]", feedback.state), "word[e]"),
        false => ("0.0f".to_string(), "0u"),
    };
    load.push_str(&match feedback.continues {
        true => format!("      word[e] = __ballot_sync(~0u, real && {spike} != 0.0f);\n"),
        false => "      spk_set_sum(partial, row, column, real ? spk_get(first[n]) : 0.0f);\n"
            .to_string(),
    });
    if cx.wanted[before] {
        load.push_str(&match bits(before) {
            true => store_word(before, "0u", word),
            false => format!("      if (real) spk_set(y{before}[n], {spike});\n"),
        });
    }
    let fetch = |at: &str| -> String {
        let one = |k: usize| format!("      if (real) next{k}[e] = (x_seq{k} + {at})[shift];\n");
        (0..n_in).map(one).collect()
    };
    load.push_str(&fetch("own_place"));
    kernel.line(each_neuron(tiling, &load));
    kernel.line("  spk_begin(received);");
    // What was fetched is converted here: a conversion waits for the value.
    let mut drive = String::new();
    for k in 0..n_in {
        let sum = if k == 0 {
            " + spk_sum(partial, row, column)"
        } else {
            ""
        };
        let _ = writeln!(drive, "      x[e][{k}] = spk_get(next{k}[e]){sum};");
    }
    let mut compute = String::new();
    let store = |k: usize, at: &str, value: &str| {
        format!("      if (real) spk_set((y{k} + {at})[shift], {value});\n")
    };
    // Stores follow the exchange, for which other blocks wait.
    let mut stores = String::new();
    let driven = op.writes(Port::Driven);
    if cx.wanted[driven] {
        stores.push_str(&store(driven, "at", "x[e][0]"));
    }
    let _ = writeln!(
        compute,
        "      spk_step(x[e], v[e], p[{param}], y[e]);
      word[e] = __ballot_sync(~0u, real && v[e][{fed}] != 0.0f);",
        fed = feedback.state,
    );
    for (at, &k) in written.iter().enumerate() {
        let k = op.writes(Port::Output(k));
        stores.push_str(&match bits(k) {
            true => store_word(k, "t", "word[e]"),
            false => store(k, "at", &format!("y[e][{at}]")),
        });
    }
    for k in 0..states {
        let sequence = op.writes(Port::StateSeq(k));
        if cx.wanted[sequence] {
            stores.push_str(&store(sequence, "at", &format!("v[e][{k}]")));
        }
    }
    if cx.wanted[before] {
        let value = format!("v[e][{}]", feedback.state);
        let after = match bits(before) {
            true => store_word(before, "(t + 1)", "word[e]"),
            false => store(before, "at + NEURONS", &value),
        };
        let _ = write!(
            stores,
            "      if (t + 1 < {}u) {{\n{after}      }}\n",
            op.time_steps
        );
    }
    let next = fetch("at + NEURONS");
    // Sends the spikes that are received in a round.
    let send = |part: &Part, round: &str| {
        let received = format!("received + {}", 2 * part.index);
        let word = format!(
            "      spk_send_word(own + row * WORDS + column / 32, word[e], {received}, {round}, lane);\n"
        );
        format!(
            "      unsigned* own = spikes + ({round} % BUFFERS * CLUSTER + rank) * ROWS * WORDS;
      spk_expect({received}, {round}, CLUSTER * {} * WORDS * 4);
      if (lane < CLUSTER) {{
{}      }}
",
            part.rows,
            each_neuron_of(tiling, *part, &word),
        )
    };
    let parts = tiling.parts();
    // A round is an exchange. Spikes before the first step are exchanged like those of a step.
    if feedback.continues {
        let first = parts
            .iter()
            .map(|part| format!("    {{\n{}    }}\n", send(part, "1u")));
        kernel.line(first.collect::<String>());
    }
    let step = |part: &Part| {
        let each = |body: &str| each_neuron_of(tiling, *part, body);
        format!(
            "    if (round > 0) {{
      spk_receive(received + {barrier}, round);
      spk_product<{group}, {groups}>(weights, spikes + round % BUFFERS * CLUSTER * ROWS * WORDS, partial, warp, lane);
      __syncthreads();
    }}
{drive}{compute}    if (t + 1 < {time}u) {{
{send}    }}
{stores}    if (t + 1 < {time}u) {{
{next}    }}
",
            barrier = 2 * part.index,
            group = part.first_row / 8,
            groups = part.rows / 8,
            time = op.time_steps,
            drive = each(&drive),
            compute = each(&compute),
            send = send(part, "(round + 1)"),
            stores = each(&stores),
            next = each(&next),
        )
    };
    kernel.line(format!(
        "  #pragma unroll 1
  for (Index t = 0; t < {time}u; ++t) {{
    const Index at = t * NEURONS + own_place;
    const unsigned round = t + {exchanged}u;
{steps}  }}",
        time = op.time_steps,
        exchanged = u32::from(feedback.continues),
        steps = parts.iter().map(step).collect::<String>(),
    ));
    let mut last = String::new();
    for k in 0..states {
        let result = op.writes(Port::Last(k));
        if cx.wanted[result] {
            let _ = writeln!(last, "      if (real) spk_set(y{result}[n], v[e][{k}]);");
        }
    }
    kernel.line(each_neuron(tiling, &last));
    kernel.line("  spk_end();");
    Ok(with_weights(kernel, tiling, cx))
}
