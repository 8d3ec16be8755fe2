//! `{ trace-learning = [{ linear = 10 }], cell = "ottt_lif" }`: a neuron, and layers whose weights learn from the trace of its
//! spikes (OTTT).

use super::keys::{CELL_KEY, key};
use super::{Kind, MainValue};
use crate::layer::TraceLearning;
use crate::module::{Context, GENERATOR, Mode, Module};
use crate::network::build::Builder;
use spikelet_graph::DType;
use std::sync::Arc;

const CELL: &str = "a neuron with a trace of its spikes, such as \"ottt_lif\"";

pub(super) const TRACE_LEARNING: Kind = Kind {
    name: "trace-learning",
    types: &["TraceLearning"],
    summary: "a neuron, and layers that learn from the trace of its spikes",
    main: MainValue::Required(key!(layers: "layers or layer", "a list of layers, or a layer")),
    keys: &[CELL_KEY],
    example: (
        &[8],
        r#"{ trace-learning = { linear = 3 }, cell = "ottt_lif" }"#,
    ),
    build: |layer, b| {
        let node = layer.main()?;
        let neuron = b.neuron_of(layer.fields.get("cell"))?;
        if !neuron.states().iter().any(|state| state.name == "trace") {
            return Err(layer.fields.require("cell", CELL)?.wrong("cell", CELL));
        }
        b.inside("neuron", |b| {
            b.leaf("neuron", neuron.clone(), Some(0), |_| Some(0))
        })?;
        let input = b.shape.clone();
        let then = b.body(node, "then")?;
        if !runs_twice(&*then, &input, b) {
            let expected =
                "layers without states, statistics and random numbers, such as `linear` and `conv`";
            return Err(node.wrong("trace-learning", expected));
        }
        Ok(Arc::new(TraceLearning::of(neuron, then)))
    },
};

/// Whether a module may run on the spikes and on their trace: it has parameters only.
fn runs_twice(module: &dyn Module, input: &[usize], b: &Builder) -> bool {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = b.input_of(&cx, input);
    // What it refuses was refused when it was built.
    let traced = cx.trace(module, x).map(|_| cx.traced());
    traced.is_ok_and(|all| {
        let random = cx.tracer().find_input(GENERATOR).is_some();
        all.states.is_empty() && all.buffers.is_empty() && !random
    })
}
