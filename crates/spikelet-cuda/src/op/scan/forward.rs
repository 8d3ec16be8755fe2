//! The multi-step forward pass (FPTT): a thread computes all time steps of its neurons, with the states in registers.

use super::bits::Bits;
use super::layout::{Layout, Stored};
use super::pooled::PooledTiling;
use super::segments::{Segments, forwards};
use super::{ScanWriter, arguments, traffic};
use crate::kernel_source::{KernelSource, element};
use crate::op::LoweringContext;
use crate::op::schedule::Schedule;
use crate::op::step;
use spikelet_expr::CompileError;
use spikelet_graph::DType;
use spikelet_graph::op::{Port, Ports, Scan};

/// The neurons of a thread, the steps of a segment, and whether it reads ahead.
fn layout(op: &Scan, cx: &LoweringContext<'_>) -> (Layout, usize, bool) {
    if op.pool.is_some() {
        let tiling = PooledTiling::new(cx.gpu, &cx.inputs, op.time_steps, op.pool);
        return (Layout::blocks(tiling), tiling.steps(op.time_steps), false);
    }
    let written = op.results_that(&|port| matches!(port, Port::Output(_) | Port::StateSeq(_)));
    let written = written.into_iter().filter(|k| cx.wanted[*k]).count();
    let traffic = traffic(op, &cx.inputs, [op.recurrence.inputs.len(), written]);
    let schedule = Schedule::forward(cx.gpu, traffic);
    let layout = Layout::flat(&schedule, traffic.neurons, Bits::of(op, cx));
    (layout, schedule.steps, schedule.prefetch)
}

pub(super) fn kernels(
    op: &Scan,
    cx: &LoweringContext<'_>,
) -> Result<Vec<KernelSource>, CompileError> {
    let r = &*op.recurrence;
    let (layout, steps, ahead) = layout(op, cx);
    let mut steps = steps.min(op.time_steps);
    // Checkpoints are at the ends of segments.
    while op.checkpoint.is_some_and(|every| every % steps != 0) {
        steps -= 1;
    }
    let wanted = cx.wants_each(Port::Output, r.outputs.len());
    let text = step::forward(r, &wanted)?;
    let kind = if op.pool.is_some() { "_pooled" } else { "" };
    let mut kernel = layout.kernel(format!("{}{kind}_fptt", r.name), None);
    text.define(&mut kernel);
    arguments(&mut kernel, cx, |_| false);
    let writer = ScanWriter::new(cx, r, &layout, wanted);
    let (each_step, checkpoint) = (each_step(op, &writer), checkpoint(op, &writer, steps));
    let segments = Segments {
        ahead,
        ..writer.segments(op.time_steps, steps)
    };
    let segments = segments.text(&|count, _| {
        let checkpoint = if count == steps { &checkpoint } else { "" };
        forwards(count, &each_step) + checkpoint
    });
    kernel.line(layout.places() + &layout.base() + &writer.load_shared_params());
    kernel.line(writer.load_constants() + &writer.load_neurons() + &segments);
    for k in 0..r.states.len() {
        kernel.line(writer.store(Port::Last(k), &format!("v{}[{k}]", layout.neuron())));
    }
    Ok(vec![kernel])
}

/// One step of a thread's neurons.
fn each_step(op: &Scan, writer: &ScanWriter<'_>) -> String {
    let ScanWriter { cx, layout, .. } = writer;
    let (pack, neurons, put) = (layout.pack, layout.neurons, layout.access.1);
    let mut inside = writer.advance();
    let [mut before, mut after] = [const { String::new() }; 2];
    let mut stored = vec![];
    for (at, k) in writer.written().enumerate() {
        let to = op.writes(Port::Output(k));
        let dtype = cx.outputs[to].dtype;
        if op.pool.is_some() {
            let (m, length) = layout.element(true);
            before.push_str(&format!("float most{k}[{pack}];\n"));
            inside.push_str(&format!(
                "most{k}[j] = at == 0 || y[{at}] > most{k}[j] ? y[{at}] : most{k}[j];\n"
            ));
            after.push_str(&format!(
                "spk_vec<{}, {pack}> o{k};\n{}{put}(y{to} + (t0 + k) * {length}u + {m}, o{k});\n",
                element(dtype),
                layout.lanes(&format!("o{k}.set(j, most{k}[j]);\n"))
            ));
        } else if let (DType::Bits, Some(bits)) = (dtype, layout.bits()) {
            before.push_str(&format!("unsigned o{k} = 0;\n"));
            inside.push_str(&format!(
                "o{k} |= (y[{at}] != 0.0f && real ? 1u : 0u) << j;\n"
            ));
            after.push_str(&bits.store(k, to, pack));
        } else {
            stored.push(Stored(format!("o{k}"), to, format!("y[{at}]")));
        }
    }
    stored.extend(writer.states("h", Port::StateSeq));
    let to = (put, &*format!("(t0 + k) * {neurons}u + n"));
    before + &layout.each_stored(&cx.outputs, to, &inside, &stored) + &after
}

/// Stores the checkpoint at the end of a segment, if there is one.
fn checkpoint(op: &Scan, writer: &ScanWriter<'_>, steps: usize) -> String {
    let (Some(every), time) = (op.checkpoint, op.time_steps) else {
        return String::new();
    };
    let layout = writer.layout;
    let neurons = layout.neurons;
    let to = ("spk_store", "(kept + n)");
    let store = |one| layout.each_stored(&writer.cx.outputs, to, "", &[one]);
    let stores: String = writer.states("c", Port::Checkpoint).map(store).collect();
    match stores.is_empty() {
        true => stores,
        false => {
            format!(
                "if ((t0 + {steps}u) % {every}u == 0 && t0 + {steps}u < {time}u) {{
const Index kept = ((t0 + {steps}u) / {every}u - 1) * {neurons}u;\n{stores}}}\n"
            )
        }
    }
}
