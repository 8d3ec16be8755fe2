//! Weights that change by a learning rule while a network runs on a stream.

use super::support::{numbers, store};
use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_nn::learning::{PairStdp, Plastic};
use spikelet_train::prelude::*;
use spikelet_train::{Outputs, StepError};

const INPUTS: usize = 6;
const WEIGHT: &str = "features.synapses.weight";

fn network() -> Sequential {
    let weights = Init::Between {
        low: 0.3,
        high: 0.9,
    };
    let synapses = Linear::new(INPUTS, 4).weight_init(weights);
    let plastic = Plastic::new(synapses, Lif::new(2.0), PairStdp::default());
    Sequential::new()
        .add_named("features", plastic)
        .add_named("dropout", Dropout::new(0.5))
        .add_named("readout", Linear::new(4, 2))
}

fn step(net: &Sequential) -> spikelet_train::Step<'_> {
    spikelet_train::Step::new(move |cx, inputs| {
        let scores = cx.trace(net, inputs["x"].clone())?;
        Ok(Outputs::loss(scores.mean_all()).output("scores", &scores))
    })
    .batch_size(1)
    .sequence("x", DType::F32, [20, INPUTS])
}

#[test]
fn weights_change_in_a_stream_that_learns_as_in_training() -> Result<()> {
    let net = network();
    let x: Vec<f32> = numbers(3, 20 * INPUTS)
        .iter()
        .map(|x| f32::from(u8::from(*x > 0.0)))
        .collect();
    let frames = || x.chunks(INPUTS).map(HostTensor::F32);

    let mut fixed = store()?;
    let mut stream = step(&net).compile_stream(&mut fixed)?;
    let before = fixed.get(WEIGHT)?;
    for frame in frames() {
        stream.predict([("x", frame)])?;
    }
    assert_eq!(fixed.get(WEIGHT)?, before, "it does not learn by itself");

    let mut learned = store()?;
    let mut stream = step(&net).compile_learning_stream(&mut learned)?;
    assert_eq!(learned.get(WEIGHT)?, before);
    let readout = learned.get("readout.weight")?;
    for frame in frames() {
        stream.predict([("x", frame)])?;
    }
    assert_eq!(learned.get("readout.weight")?, readout);
    let after = learned.get(WEIGHT)?;
    assert_ne!(after, before);

    let mut trained = store()?;
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let input = cx.tracer().input("x", DType::F32, [20, 1, INPUTS]);
    cx.trace(&net, input)?;
    trained.initialize(&cx.traced(), DType::F32, 0)?;
    trained.insert(WEIGHT, &before)?;
    let mut program = spikelet_nn::runtime::Program::new(cx.tracer().finish()?, &mut trained)?;
    // Of the dropout, which is behind the layer that learns.
    let generator = HostTensor::I64(&[0; 4]);
    program.run_with(vec![("x", HostTensor::F32(&x)), ("generator", generator)])?;
    assert_eq!(after, trained.get(WEIGHT)?, "the same bits as in training");
    Ok(())
}

#[test]
fn a_network_without_plastic_layers_does_not_learn_in_a_stream() -> Result<()> {
    let net = Sequential::new().add(Linear::new(INPUTS, 2));
    let refused = step(&net).compile_learning_stream(&mut store()?);
    let Err(error) = refused else {
        panic!("nothing learns");
    };
    assert!(matches!(
        error.downcast_ref(),
        Some(StepError::NothingLearns)
    ));
    Ok(())
}
