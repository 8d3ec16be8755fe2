//! Networks and their exports on the same input.

use spikelet::nir::{self, ExportOptions, Graph, ImportOptions, Limits, WriteOptions};
use spikelet::prelude::*;
use spikelet::runtime::host;

const STEPS: usize = 40;
const BATCH: usize = 3;

pub fn device() -> std::sync::Arc<dyn Backend> {
    spikelet::device::find("cpu", 1).expect("a CPU")
}

/// Values from 0 to 2.5.
pub fn input(shape: &[usize]) -> Tensor {
    let shape = [&[STEPS, BATCH], shape].concat();
    let count: usize = shape.iter().product();
    let value = |k: usize| ((k * 7_919 + k / 13) % 1009) as f32 / 403.0;
    Tensor::f32(shape, (0..count).map(value).collect::<Vec<f32>>())
}

/// A store with the initial tensors of a network.
pub fn store(net: &dyn Module, shape: &[usize]) -> VarStore {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx
        .tracer()
        .input("x", DType::F32, [&[STEPS, BATCH], shape].concat());
    cx.trace(net, x).expect("a network");
    let mut store = VarStore::new(device());
    store
        .initialize(&cx.traced(), DType::F32, 3)
        .expect("a store");
    store
}

pub fn outputs(net: &dyn Module, store: &mut VarStore, x: &Tensor) -> Tensor {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let input = cx.tracer().input("x", DType::F32, x.shape.clone());
    let y = cx.trace(net, input).expect("a network");
    cx.tracer().output("y", &y);
    let mut program = cx.compile(store, 0).expect("a program");
    program.run_with([("x", host(x))]).expect("a run");
    program.get("y").expect("an output")
}

/// The exported network, from a file, as a module.
pub fn exported(net: &dyn Module, store: &VarStore, shape: &[usize]) -> (Graph, nir::Imported) {
    let made = nir::export(net, store, &ExportOptions::new(shape)).expect("an exact form");
    let bytes = made
        .graph
        .to_bytes(&WriteOptions::default())
        .expect("a valid graph");
    let graph = Graph::from_bytes(bytes, &Limits::default()).expect("a graph");
    assert_eq!(graph, made.graph);
    let imported = nir::import(&graph, &ImportOptions::default()).expect("a module");
    (graph, imported)
}

/// Compares a network with its export.
pub fn check(name: &str, net: &dyn Module, mut own: VarStore, shape: &[usize], is_spiking: bool) {
    let x = input(shape);
    let (_, imported) = exported(net, &own, shape);
    let expected = outputs(net, &mut own, &x);
    let mut store = imported.store(device(), DType::F32).expect("a store");
    let found = outputs(&imported.module, &mut store, &x);
    assert_eq!(found.shape, expected.shape, "{name}");
    let (found, expected) = (found.to_f64(), expected.to_f64());
    assert!(
        expected.iter().any(|y| *y != 0.0),
        "{name}: nothing comes out"
    );
    if is_spiking {
        assert_eq!(found, expected, "{name}");
    } else {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
        assert!(found.iter().zip(&expected).all(near), "{name}");
    }
}
