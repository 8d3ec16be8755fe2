//! The numbers that a network computes with.

use crate::gpu;

use gpu::gpu;
use spikelet::data::synthetic;
use spikelet::device;
use spikelet::graph::op::Operation;
use spikelet::graph::{Graph, Plan};
use spikelet::module::TracedTensor;
use spikelet::prelude::*;
use spikelet::train::{BatchShape, Step};
use std::sync::Arc;

const SHAPE: BatchShape = BatchShape {
    batch: 32,
    image: [1, 28, 28],
};

fn network() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 64).bias(true))
        .add(Lif::new(2.0).v_threshold(0.2))
        .add(Dropout::new(0.1))
        .add(Linear::new(64, 10).bias(false))
        .add(Plif::new(2.0).v_threshold(0.2))
}

/// The losses of a few steps.
fn losses(backend: Arc<dyn Backend>, precision: Precision) -> Result<Vec<f64>> {
    let settings = Settings {
        batch_size: SHAPE.batch,
        precision,
        ..Settings::default()
    };
    let mut store = VarStore::new(backend);
    let mut step = Step::classifier(&network(), &settings, SHAPE)?.compile(&mut store)?;
    let data = synthetic::digits_of(2, 320, 10);
    let config = spikelet::data::LoaderConfig {
        batch_size: SHAPE.batch,
        shuffle: true,
        drop_last: true,
        ..Default::default()
    };
    let loader = spikelet::data::DataLoader::new(data.train.clone(), config)?;
    let batches = (0..3).flat_map(|epoch| loader.epoch(epoch, 0));
    let losses: Result<Vec<f64>> = batches
        .map(|batch| Ok(step.run_batch(&batch?)?.loss))
        .collect();
    if precision == Precision::F16 {
        let steps = store.get("loss_scale_steps")?.to_f64()[0];
        assert!(steps > 0.0, "steps that update");
    }
    losses
}

#[test]
fn f32_products_with_fewer_digits_are_f32_products_on_the_cpu() -> Result<()> {
    let [full, fewer] =
        [Precision::F32, Precision::Tf32].map(|precision| losses(device::cpu()?, precision));
    assert_eq!(full?, fewer?);
    Ok(())
}

#[test]
fn the_cpu_learns_in_every_precision() -> Result<()> {
    learns_in_every_precision(&device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_gpu_learns_in_every_precision() -> Result<()> {
    learns_in_every_precision(&gpu())
}

fn learns_in_every_precision(backend: &Arc<dyn Backend>) -> Result<()> {
    let end = |losses: &[f64]| losses[25..].iter().sum::<f64>() / 5.0;
    let expected = losses(backend.clone(), Precision::F32)?;
    assert!(end(&expected) < 0.6 * expected[0], "{expected:?}");
    for precision in [Precision::Tf32, Precision::Bf16, Precision::F16] {
        let found = losses(backend.clone(), precision)?;
        let apart = (end(&found) - end(&expected)).abs();
        assert!(apart < 0.15 * end(&expected), "{precision}: {found:?}");
    }
    Ok(())
}

fn forward(precision: Precision) -> Result<Graph> {
    let cx = Context::new(Mode::TRAIN, DType::F32).precision(precision);
    let x = cx.tracer().input("x", DType::F32, [4, 28, 28]);
    let output = cx.trace_encoded(&network(), &Poisson, &x, 3)?;
    let traced = cx.traced();
    let weights: Vec<Var> = (traced.parameters.iter())
        .filter_map(|p| cx.tracer().find_input(&p.name))
        .collect();
    let loss = output.mean().square().mean_all();
    cx.tracer().output("spikes", &output.join());
    cx.tracer().output("loss", &loss);
    let grads = cx
        .tracer()
        .gradients(&loss, &weights.iter().collect::<Vec<_>>());
    for (TracedTensor { name, .. }, grad) in traced.parameters.iter().zip(&grads) {
        cx.tracer().output(&format!("grad {name}"), grad);
    }
    Ok(cx.tracer().finish()?)
}

#[test]
fn sequences_have_16_bits_parameters_and_losses_32() -> Result<()> {
    for precision in Precision::ALL {
        let plan = Plan::new(forward(precision)?, &*device::cpu()?);
        let graph = &plan.graph;
        for input in graph.inputs.iter().filter(|i| i.name != "generator") {
            assert_eq!(graph.ty(input.value).dtype, DType::F32, "{}", input.name);
        }
        for output in &graph.outputs {
            assert_eq!(graph.ty(output.value).dtype, DType::F32, "{}", output.name);
        }
        for node in &graph.nodes {
            let name = node.op.name();
            let neuron = ["lif", "plif"].contains(&name.as_str());
            if neuron || (name == "matmul" && !node.backward) {
                let dtype = graph.ty(node.outputs[0]).dtype;
                assert_eq!(dtype, precision.storage_dtype(), "{name}");
            }
        }
    }
    Ok(())
}
