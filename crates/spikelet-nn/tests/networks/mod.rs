//! Networks that are lists of layers.

mod cost;
mod errors;
mod named;
mod property;
mod structure;

use spikelet_nn::module::{Traced, TracedTensor};
use spikelet_nn::network::Layers;
use spikelet_nn::prelude::*;

/// The graph of a module as text, with its tensors.
fn traced(module: &dyn Module, mode: Mode, input: &[usize]) -> (String, Vec<TracedTensor>) {
    let cx = Context::new(mode, DType::F32);
    let x = cx.tracer().input("x_seq", DType::F32, input);
    cx.give_label(&cx.tracer().input("label", DType::I64, [input[1]]));
    let y = cx.trace(module, x).expect("it is traced");
    cx.tracer().output("y", &y);
    let Traced {
        mut parameters,
        buffers,
        ..
    } = cx.traced();
    parameters.extend(buffers);
    (cx.tracer().traced().to_string(), parameters)
}

/// A network file with these layers.
fn file(input: &str, layers: &str) -> String {
    format!(
        "[network]\ninput = {input}\nneuron = {{ name = \"lif\", tau = 2.0 }}\nlayers = {layers}\n"
    )
}

fn layers(input: &str, layers: &str) -> Layers {
    let text = file(input, layers);
    Layers::from_toml("net.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}
