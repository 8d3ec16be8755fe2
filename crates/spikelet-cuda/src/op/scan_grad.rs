//! The derived multi-step backward pass (BPTT).
//!
//! Time is divided into segments. For each, from the last to the first, the states are recomputed from
//! the checkpoint at its start and the inputs, and stay in registers while the derived step runs
//! backward. The checkpoints come from the forward pass; without them the kernel computes them first,
//! in its workspace.

use super::scan::{
    access, arguments, by_threads, declare, inputs, load_constants, load_neurons, lowered,
    sequence_grads, unrolled,
};
use super::schedule::{ScanTraffic, Schedule};
use super::step::{self, array_len};
use super::{Lowered, LoweringContext};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, KernelSource, element};
use spikelet_expr::CompileError;
use spikelet_graph::op::{Port, Ports, Scan, ScanGrad};
use spikelet_graph::{DType, TensorType};

/// The memory traffic of the backward kernel.
fn traffic(op: &ScanGrad, inputs: &[TensorType]) -> ScanTraffic {
    let r = &op.of.recurrence;
    let grads = op.present.iter().filter(|port| port.is_sequence()).count();
    ScanTraffic {
        neurons: Scan::step_shape(inputs).iter().product(),
        time: op.of.time_steps,
        bytes: inputs[0].dtype.size_in_bytes(),
        read: r.inputs.len() + grads,
        written: r.inputs.len(),
        states: r.states.len(),
        functions: r.needs_functions(),
    }
}

/// Steps between checkpoints that the forward pass should write; `None` if they do not pay.
pub(crate) fn segment(op: &ScanGrad, gpu: &Properties, inputs: &[TensorType]) -> Option<usize> {
    let steps = Schedule::backward(gpu, traffic(op, inputs)).steps;
    (steps < op.of.time_steps).then_some(steps)
}

pub(super) fn lower<'a>(op: &'a ScanGrad, cx: &'a LoweringContext<'_>) -> Lowered<'a> {
    let traffic = traffic(op, &cx.inputs);
    let schedule = Schedule::backward(cx.gpu, traffic);
    let time = op.of.time_steps;
    let steps = op.of.checkpoint.unwrap_or(schedule.steps);
    let steps = steps.clamp(1, time.max(1));
    // Each state at the starts of all segments but the first.
    let starts = [time.div_ceil(steps).saturating_sub(1), traffic.neurons];
    let starts = TensorType::new(DType::F32, starts);
    let workspace = match op.of.checkpoint {
        Some(_) => 0,
        None => starts.bytes().saturating_mul(traffic.states),
    };
    let found = (traffic.neurons, schedule, steps);
    lowered(cx, workspace, move || kernels(op, found, &starts, cx))
}

fn kernels(
    op: &ScanGrad,
    (neurons, schedule, steps): (usize, Schedule, usize),
    starts: &TensorType,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.of.recurrence;
    let Schedule { pack, block, .. } = schedule;
    let time = op.of.time_steps;
    let segments = time.div_ceil(steps);
    let (n_in, n_out, states) = (r.inputs.len(), r.outputs.len(), r.states.len());
    let wanted_inputs = cx.wants_each(Port::Sequence, n_in);
    let wanted_params = cx.wants_each(Port::Param, r.params.len());
    let forward = step::forward(r, &vec![false; n_out])?;
    let backward = step::backward(r, &op.present_outputs(), &wanted_inputs, &wanted_params)?;
    let threads = neurons / pack;
    let mut kernel = by_threads(format!("{}_bptt", r.name), block, threads);
    kernel.before = format!("{}{}", forward.code, backward.code);
    kernel.functions = forward.functions;
    kernel.functions.extend(backward.functions);
    kernel.line(format!("  const Index n = i * {pack}u;"));
    arguments(&mut kernel, cx, |_| false);
    let varying = load_constants(&mut kernel, r, cx, time, pack);
    load_neurons(&mut kernel, r, cx, pack);

    // Incoming gradients.
    let [output_grads, state_grads] = sequence_grads(op);
    let outputs = output_grads.iter().map(|(k, at)| (format!("g{k}"), *at));
    let states_after = state_grads.iter().map(|(k, at)| (format!("gv{k}"), *at));
    let grads: Vec<(String, usize)> = outputs.chain(states_after).collect();
    kernel.line(format!("  float d[{pack}][{}];", array_len(states)));
    for k in 0..states {
        let start = match op.operand(Port::LastGrad(k)) {
            Some(_) => format!("spk_get(d_last{k}[n + j])"),
            None => "0.0f".to_string(),
        };
        kernel.line(format!(
            "  for (int j = 0; j < {pack}; ++j) d[j][{k}] = {start};"
        ));
    }

    // Outgoing gradients.
    let out_params: Vec<usize> = (0..r.params.len()).filter(|&k| wanted_params[k]).collect();
    let out_inputs: Vec<usize> = (0..n_in).filter(|&k| wanted_inputs[k]).collect();
    let of_input = |k: usize| op.writes(Port::Sequence(k));
    kernel.line(format!(
        "  float sum_x[{pack}][{}] = {{}}, sum_p[{pack}][{}] = {{}};",
        array_len(out_inputs.len()),
        array_len(out_params.len())
    ));

    for (at, &k) in out_params.iter().enumerate() {
        if op.operand(Port::Accumulator(k)).is_some() {
            kernel.line(format!(
                "  for (int j = 0; j < {pack}; ++j) sum_p[j][{at}] = more{k}[n + j];"
            ));
        }
    }

    // States at the starts of the segments.
    let computes_checkpoints = op.of.checkpoint.is_none() && segments > 1;
    if computes_checkpoints {
        for k in 0..states {
            let at = Binding::Workspace(k * starts.bytes());
            kernel.argument(format!("start{k}"), starts, at);
        }
    }
    let (get, put) = access(&schedule);
    let fetch_x = |to: &str, at: &str| -> String {
        let one = |k: &usize| {
            format!("      {to}{k}[k] = {get}<{pack}>(x_seq{k} + ({at}) * {neurons}u + n);\n")
        };
        varying.iter().map(one).collect()
    };
    let fetch_g = |prefix: &str, at: &str| -> String {
        let one = |(name, _): &(String, usize)| {
            let from = name.replace('g', "g_seq").replace("g_seqv", "gv_seq");
            format!("      {prefix}{name}[k] = {get}<{pack}>({from} + ({at}) * {neurons}u + n);\n")
        };
        grads.iter().map(one).collect()
    };
    let declare_g = |prefix: &str, count: usize| -> String {
        let one = |(name, at): &(String, usize)| {
            let ty = element(cx.inputs[*at].dtype);
            format!("    spk_vec<{ty}, {pack}> {prefix}{name}[{count}];\n")
        };
        grads.iter().map(one).collect()
    };
    let lanes = |body: &str| {
        format!("      #pragma unroll\n      for (int j = 0; j < {pack}; ++j) {{\n{body}      }}\n")
    };
    let advance = format!(
        "        {}\n        float y[1];\n        spk_step(x, v[j], p[j], y);\n",
        inputs(r, &varying, "k")
    );

    if computes_checkpoints {
        let mut body = declare(&varying, cx, "q", steps, pack);
        body.push_str(&unrolled(steps, &fetch_x("q", "t0 + k")));
        body.push_str(&unrolled(steps, &lanes(&advance)));
        let mut stores = String::new();
        for k in 0..states {
            stores.push_str(&format!(
                "    for (int j = 0; j < {pack}; ++j) start{k}[(t0 / {steps}u) * {neurons}u + n + j] = v[j][{k}];\n"
            ));
        }
        kernel.line(format!(
            "  #pragma unroll 1\n  for (Index t0 = 0; t0 < {}u; t0 += {steps}u) {{\n{body}{stores}  }}",
            (segments - 1) * steps
        ));
    }

    // One segment: recompute the states, then run backward.
    let recompute = lanes(&format!(
        "        for (int m = 0; m < {0}; ++m) before[k][j][m] = v[j][m];\n{advance}",
        array_len(states)
    ));
    let mut inside = format!("        {}\n", inputs(r, &varying, "k"));
    let values: Vec<String> = output_grads
        .iter()
        .map(|(k, _)| format!("g{k}[k][j]"))
        .collect();
    inside.push_str(&format!(
        "        const float g[{}] = {{{}}};\n        float dx[{}], dp[{}];\n",
        array_len(output_grads.len()),
        values.join(", "),
        array_len(out_inputs.len()),
        array_len(out_params.len())
    ));
    for (k, _) in &state_grads {
        inside.push_str(&format!("        d[j][{k}] += gv{k}[k][j];\n"));
    }
    inside.push_str("        spk_back(x, before[k][j], p[j], g, d[j], dx, dp);\n");
    let mut declared = String::new();
    let mut stored = String::new();
    for (at, &k) in out_inputs.iter().enumerate() {
        if varying.contains(&k) {
            let ty = element(cx.outputs[of_input(k)].dtype);
            declared.push_str(&format!("      spk_vec<{ty}, {pack}> o{k};\n"));
            inside.push_str(&format!("        o{k}.set(j, dx[{at}]);\n"));
            stored.push_str(&format!(
                "      {put}(y{} + (t0 + k) * {neurons}u + n, o{k});\n",
                of_input(k)
            ));
        } else {
            inside.push_str(&format!("        sum_x[j][{at}] += dx[{at}];\n"));
        }
    }
    for at in 0..out_params.len() {
        inside.push_str(&format!("        sum_p[j][{at}] += dp[{at}];\n"));
    }
    let reverse = format!("{declared}{}{stored}", lanes(&inside));
    let backwards = |count: usize, body: &str| {
        format!("    #pragma unroll\n    for (int k = {count} - 1; k >= 0; --k) {{\n{body}    }}\n")
    };
    let before = |count: usize| {
        format!(
            "    float before[{count}][{pack}][{}];\n",
            array_len(states)
        )
    };
    let starts = |to: &str, index: &str| -> String {
        let mut first = String::new();
        let mut later = String::new();
        for k in 0..states {
            let init = super::scan::start(cx, Port::Initial(k));
            first.push_str(&format!("{to}[j][{k}] = {init}; "));
            later.push_str(&format!(
                "{to}[j][{k}] = start{k}[({index} - 1) * {neurons}u + n + j]; "
            ));
        }
        if segments == 1 {
            return String::new();
        }
        format!(
            "    #pragma unroll\n    for (int j = 0; j < {pack}; ++j) {{ if ({index} == 0) {{ {first}}} else {{ {later}}} }}\n"
        )
    };
    if schedule.prefetch && segments > 1 {
        let last = segments - 1;
        let mut text = String::from("  {\n");
        text.push_str(&declare(&varying, cx, "q", steps, pack));
        text.push_str(&declare_g("", steps));
        let first = format!("{}u + k", last * steps);
        let loads = format!("{}{}", fetch_x("q", &first), fetch_g("", &first));
        text.push_str(&unrolled(
            steps,
            &format!("      if ({first} < {time}u) {{\n{loads}      }}\n"),
        ));
        text.push_str(&starts("v", &format!("{last}u")));
        text.push_str(&format!("  #pragma unroll 1\n  for (Index b = {segments}u; b-- > 0;) {{\n    const Index t0 = b * {steps}u;\n"));
        text.push_str(&declare(&varying, cx, "nq", steps, pack));
        text.push_str(&declare_g("n", steps));
        text.push_str(&format!(
            "    float next[{pack}][{}];\n    if (b > 0) {{\n",
            array_len(states)
        ));
        let loads = format!(
            "{}{}",
            fetch_x("nq", &format!("t0 - {steps}u + k")),
            fetch_g("n", &format!("t0 - {steps}u + k"))
        );
        text.push_str(&unrolled(steps, &loads));
        text.push_str(&starts("next", "(b - 1)"));
        text.push_str("    }\n");
        text.push_str(&before(steps));
        let guard = |body: &str| {
            if time.is_multiple_of(steps) {
                body.to_string()
            } else {
                format!("      if (t0 + k < {time}u) {{\n{body}      }}\n")
            }
        };
        text.push_str(&unrolled(steps, &guard(&recompute)));
        text.push_str(&backwards(steps, &guard(&reverse)));
        let mut advance_buffers = String::new();
        for k in &varying {
            advance_buffers.push_str(&format!("      q{k}[k] = nq{k}[k];\n"));
        }
        for (name, _) in &grads {
            advance_buffers.push_str(&format!("      {name}[k] = n{name}[k];\n"));
        }
        text.push_str(&unrolled(steps, &advance_buffers));
        text.push_str(&format!(
            "    #pragma unroll\n    for (int j = 0; j < {pack}; ++j)\n      for (int m = 0; m < {}; ++m) v[j][m] = next[j][m];\n  }}\n  }}",
            array_len(states)
        ));
        kernel.line(text);
    } else {
        let segment = |count: usize| {
            let mut text = declare(&varying, cx, "q", count, pack);
            text.push_str(&declare_g("", count));
            text.push_str(&unrolled(count, &fetch_x("q", "t0 + k")));
            text.push_str(&unrolled(count, &fetch_g("", "t0 + k")));
            text.push_str(&before(count));
            text.push_str(&unrolled(count, &recompute));
            text.push_str(&backwards(count, &reverse));
            text
        };
        let tail = time - (segments - 1) * steps;
        let mut full = segments;
        if tail != steps {
            full -= 1;
            kernel.line(format!(
                "  {{\n    const Index b = {full}u, t0 = {}u;\n{}{}  }}",
                full * steps,
                starts("v", "b"),
                segment(tail)
            ));
        }
        if full > 0 {
            kernel.line(format!(
                "  #pragma unroll 1\n  for (Index b = {full}u; b-- > 0;) {{\n    const Index t0 = b * {steps}u;\n{}{}  }}",
                starts("v", "b"),
                segment(steps)
            ));
        }
    }

    for (at, &k) in out_inputs.iter().enumerate() {
        if !varying.contains(&k) {
            kernel.line(format!(
                "  for (int j = 0; j < {pack}; ++j) spk_set(y{}[n + j], sum_x[j][{at}]);",
                of_input(k)
            ));
        }
    }
    for k in 0..states {
        let result = op.writes(Port::Initial(k));
        if cx.wanted[result] {
            kernel.line(format!(
                "  for (int j = 0; j < {pack}; ++j) spk_set(y{result}[n + j], d[j][{k}]);"
            ));
        }
    }
    for (at, &k) in out_params.iter().enumerate() {
        kernel.line(format!(
            "  for (int j = 0; j < {pack}; ++j) spk_set(y{}[n + j], sum_p[j][{at}]);",
            op.writes(Port::Param(k))
        ));
    }
    Ok(vec![kernel])
}
