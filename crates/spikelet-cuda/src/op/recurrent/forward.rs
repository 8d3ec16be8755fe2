//! The multi-step forward pass with feedback.

use super::super::LoweringContext;
use super::super::scan::{arguments, start};
use super::super::step::{self, array_len};
use super::tiling::{Demand, Direction, Tiling};
use super::{each_neuron, geometry, planes, product_text, prologue, with_weights};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource};
use spikelet_expr::CompileError;
use spikelet_graph::op::RecurrentScan;
use spikelet_graph::{DType, TensorType};
use std::fmt::Write;

pub(super) fn tiling(
    op: &RecurrentScan,
    gpu: &Properties,
    inputs: &[TensorType],
) -> Option<Tiling> {
    let r = &op.recurrence;
    let (batch, features) = Demand::sizes(inputs);
    let demand = Demand {
        direction: Direction::Forward,
        batch,
        features,
        planes: planes(&inputs[op.weight()], op.precision),
        registers: 2 + r.inputs.len() + r.states.len() + r.params.len(),
    };
    Tiling::new(gpu, demand)
}

/// Whether a result is written as bits: the spikes that are fed back, as output or before each step.
pub(in super::super) fn writes_bits(
    op: &RecurrentScan,
    inputs: &[TensorType],
    value: usize,
) -> bool {
    let (_, features) = Demand::sizes(inputs);
    let r = &op.recurrence;
    let fed = r
        .outputs
        .get(value)
        .is_some_and(|o| o.value.same_value(&r.next[op.fed]));
    let is_smaller = features % 16 == 0 || features >= 128;
    // A product of 16-bit numbers is faster than one with bits.
    let wide = !inputs[0].dtype.is_half();
    (fed || value == op.before()) && wide && is_smaller && inputs[0].shape.len() > 2
}

pub(in super::super) fn kernels(
    op: &RecurrentScan,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let Some(tiling) = tiling(op, cx.gpu, &cx.inputs) else {
        return Ok(vec![]);
    };
    let (n_in, outputs, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
    let text = step::forward(r, &cx.wanted[..outputs])?;
    let mut kernel = KernelSource::new(format!("recurrent_{}_fptt", r.name), geometry(&tiling));
    kernel.cluster = tiling.cluster;
    kernel.functions = text.functions;
    let weight = &cx.inputs[op.weight()];
    kernel.before = product_text(&tiling, Direction::Forward, weight) + &text.code;
    arguments(&mut kernel, r, cx);
    let product = op.first_product();
    kernel.argument("first", &cx.inputs[product], Binding::Read(product));
    for (k, ty) in cx.outputs.iter().enumerate() {
        if cx.wanted[k] {
            kernel.argument(format!("y{k}"), ty, Binding::Write(k));
        }
    }
    let written: Vec<usize> = (0..outputs).filter(|&k| cx.wanted[k]).collect();
    let elements = tiling.elements();
    let (params, inputs) = (r.params.len(), array_len(n_in));
    kernel.line(prologue(&tiling));
    kernel.line(format!(
        "  unsigned* spikes = (unsigned*)(partial + SPLITS * ROWS * PARTIAL);
  unsigned long long* received = (unsigned long long*)(spikes + BUFFERS * CLUSTER * ROWS * WORDS);
  for (int k = threadIdx.x; k < BUFFERS * CLUSTER * ROWS * WORDS; k += WARPS * 32) spikes[k] = 0;
  float v[{elements}][{}], p[{elements}][{}], x[{elements}][{inputs}], y[{elements}][{}];
  unsigned word[{elements}];",
        array_len(states),
        array_len(params),
        array_len(written.len()),
    ));
    let mut load = String::new();
    for k in 0..states {
        let _ = writeln!(load, "      v[e][{k}] = {};", start(r, cx, k));
    }
    for k in 0..params {
        let _ = writeln!(load, "      p[e][{k}] = {};", start(r, cx, states + k));
    }
    let bits = |k: usize| cx.outputs[k].dtype == DType::Bits;
    let before = op.before();
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
    // The initial spikes, as a number and as a word.
    let first_spikes = match op.continues {
        true => [format!("v[e][{}]", op.fed), "word[e]".to_string()],
        false => ["0.0f".to_string(), "0u".to_string()],
    };
    let first_spikes = first_spikes.each_ref().map(String::as_str);
    if op.continues {
        let _ = writeln!(
            load,
            "      word[e] = __ballot_sync(~0u, real && v[e][{}] != 0.0f);",
            op.fed
        );
    }
    if cx.wanted[before] {
        load.push_str(&match bits(before) {
            true => store_word(before, "0u", first_spikes[1]),
            false => format!(
                "      if (real) spk_set(y{before}[n], {});\n",
                first_spikes[0]
            ),
        });
    }
    kernel.line(each_neuron(&tiling, &load));
    kernel.line("  spk_begin(received);");
    if op.continues {
        // The spikes before the first step are exchanged like those of a step.
        kernel.line(format!(
            "  {{
    unsigned* own = spikes + (1 % BUFFERS * CLUSTER + rank) * ROWS * WORDS;
    spk_expect(received, 1, (CLUSTER - 1) * SENT);
{}    spk_send(own, SENT, rank, received, 1);
  }}",
            each_neuron(
                &tiling,
                "      if (lane == 0) own[row * WORDS + column / 32] = word[e];\n"
            )
        ));
    }
    let fetch = |at: &str| -> String {
        let one = |k: usize| {
            format!("      x[e][{k}] = real ? spk_get((x_seq{k} + {at})[shift]) : 0.0f;\n")
        };
        (0..n_in).map(one).collect()
    };
    let mut compute = String::from(match op.continues {
        true => "      x[e][0] += spk_sum(partial, row, column);\n",
        false => "      x[e][0] += t > 0 ? spk_sum(partial, row, column) : spk_get(first[n]);\n",
    });
    let store = |k: usize, at: &str, value: &str| {
        format!("      if (real) spk_set((y{k} + {at})[shift], {value});\n")
    };
    // Stores follow the exchange, for which other blocks wait.
    let mut stores = String::new();
    if cx.wanted[op.driven()] {
        stores.push_str(&store(op.driven(), "at", "x[e][0]"));
    }
    let _ = writeln!(
        compute,
        "      spk_step(x[e], v[e], p[e], y[e]);
      const bool fired = real && v[e][{fed}] != 0.0f;
      word[e] = __ballot_sync(~0u, fired);
      if (lane == 0) own[row * WORDS + column / 32] = word[e];",
        fed = op.fed,
    );
    for (at, &k) in written.iter().enumerate() {
        stores.push_str(&match bits(k) {
            true => store_word(k, "t", "word[e]"),
            false => store(k, "at", &format!("y[e][{at}]")),
        });
    }
    for k in 0..states {
        let sequence = op.state_sequence(k);
        if cx.wanted[sequence] {
            stores.push_str(&store(sequence, "at", &format!("v[e][{k}]")));
        }
    }
    if cx.wanted[before] {
        let value = format!("v[e][{}]", op.fed);
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
    kernel.line(format!(
        "{first}  #pragma unroll 1
  for (Index t = 0; t < {time}u; ++t) {{
    const Index at = t * NEURONS + own_place;
    const unsigned turn = t + {exchanged}u;
    if (turn > 0) {{
      spk_receive(received, turn);
      spk_product(weights, spikes + turn % BUFFERS * CLUSTER * ROWS * WORDS, partial, warp, lane);
      __syncthreads();
    }}
    unsigned* own = spikes + ((turn + 1) % BUFFERS * CLUSTER + rank) * ROWS * WORDS;
    if (t + 1 < {time}u) spk_expect(received, turn + 1, (CLUSTER - 1) * SENT);
{compute}    if (t + 1 < {time}u) spk_send(own, SENT, rank, received, turn + 1);
{stores}    if (t + 1 < {time}u) {{
{next}    }}
  }}",
        time = op.time_steps,
        exchanged = u32::from(op.continues),
        first = each_neuron(&tiling, &fetch("own_place")),
        next = each_neuron(&tiling, &fetch("at + NEURONS")),
        compute = each_neuron(&tiling, &compute),
        stores = each_neuron(&tiling, &stores),
    ));
    let mut last = String::new();
    for k in 0..states {
        if cx.wanted[outputs + k] {
            let _ = writeln!(
                last,
                "      if (real) spk_set(y{}[n], v[e][{k}]);",
                outputs + k
            );
        }
    }
    kernel.line(each_neuron(&tiling, &last));
    kernel.line("  spk_end();");
    Ok(with_weights(kernel, &tiling, cx, op.weight()))
}
