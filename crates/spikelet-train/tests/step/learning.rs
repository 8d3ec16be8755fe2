//! Weights that change by a learning rule while a network runs on a stream.

use super::support::{numbers, store};
use spikelet_core::Result;
use spikelet_data::{ArrayFiles, DType, DataLoader, Dataset, Field, InMemory, LoaderConfig};
use spikelet_graph::op::HostTensor;
use spikelet_nn::learning::{PairStdp, Plastic, Update};
use spikelet_nn::module::observer;
use spikelet_nn::runtime::Program;
use spikelet_train::prelude::*;
use spikelet_train::recording::RecordingError;
use spikelet_train::{Monitor, Outputs, Recorded, Recording, StepError};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const INPUTS: usize = 6;
const WEIGHT: &str = "features.synapses.weight";

fn network() -> Sequential {
    updated(Update::EachStep)
}

fn updated(update: Update) -> Sequential {
    let weights = Init::Between {
        low: 0.3,
        high: 0.9,
    };
    let synapses = Linear::new(INPUTS, 4).bias(false).weight_init(weights);
    let plastic = Plastic::new(synapses, Lif::new(2.0), PairStdp::default()).update(update);
    Sequential::new()
        .add_named("features", plastic)
        .add_named("dropout", Dropout::new(0.5))
        .add_named("readout", Linear::new(4, 2).bias(false))
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
    let mut program = Program::new(cx.tracer().finish()?, &mut trained)?;
    // Of the dropout, which is behind the layer that learns.
    let generator = HostTensor::I64(&[0; 4]);
    program.run_with(vec![("x", HostTensor::F32(&x)), ("generator", generator)])?;
    assert_eq!(after, trained.get(WEIGHT)?, "the same bits as in training");
    Ok(())
}

#[test]
fn a_stream_scales_the_weights_before_each_sequence() -> Result<()> {
    let weights = Init::Between {
        low: 0.3,
        high: 0.9,
    };
    let synapses = Linear::new(INPUTS, 4).bias(false).weight_init(weights);
    let plastic = Plastic::new(synapses, Lif::new(2.0), PairStdp::default()).normalize(3.0);
    let net = Sequential::new().add_named("features", plastic);
    let x: Vec<f32> = numbers(3, 3 * T * INPUTS)
        .iter()
        .map(|x| f32::from(u8::from(*x > 0.0)))
        .collect();
    let mut streamed = store()?;
    let mut stream = step(&net).compile_learning_stream(&mut streamed)?;
    let start = streamed.get(WEIGHT)?;
    let mut trained = store()?;
    let mode = Mode {
        training: true,
        carry_state: true,
    };
    let cx = Context::new(mode, DType::F32);
    let input = cx.tracer().input("x", DType::F32, [T, 1, INPUTS]);
    cx.trace(&net, input)?;
    trained.initialize(&cx.traced(), DType::F32, 0)?;
    trained.insert(WEIGHT, &start)?;
    let mut program = Program::new(cx.tracer().finish()?, &mut trained)?;
    for sequence in x.chunks(T * INPUTS) {
        for frame in sequence.chunks(INPUTS) {
            stream.predict([("x", frame)])?;
        }
        program.run_with(vec![("x", HostTensor::F32(sequence))])?;
        assert_eq!(streamed.get(WEIGHT)?, trained.get(WEIGHT)?);
    }
    Ok(())
}

#[test]
fn a_network_without_plastic_layers_does_not_learn_in_a_stream() -> Result<()> {
    let net = Sequential::new().add(Linear::new(INPUTS, 2).bias(false));
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

const T: usize = 20;
const N: usize = 5;

/// Spikes `[N, T, INPUTS]`.
fn samples() -> Vec<f32> {
    let spikes = numbers(3, N * T * INPUTS);
    spikes
        .iter()
        .map(|x| f32::from(u8::from(*x > 0.0)))
        .collect()
}

fn loader() -> Result<DataLoader> {
    let field = Field::new("x", DType::F32, [T, INPUTS]).sequence();
    let data = InMemory::new("spikes").with(field, samples())?;
    Ok(DataLoader::new(Arc::new(data), LoaderConfig::default())?)
}

/// The values of a training program that watches, for samples `range`, which changes the weights of the store.
fn trained(net: &Sequential, range: Range<usize>, store: &mut VarStore) -> Result<[Vec<f64>; 3]> {
    let cx = Context::new(Mode::TRAIN, DType::F32).observer(observer::States);
    let n = range.len();
    let input = cx.tracer().input("x", DType::F32, [T, n, INPUTS]);
    cx.trace(net, input)?;
    let names = ["weight_seq", "change_seq", "r1"];
    for name in names {
        let value = cx.recorded(&format!("features.{name}"))?;
        cx.tracer().output(name, &value);
    }
    store.initialize(&cx.traced(), DType::F32, 0)?;
    let mut program = Program::new(cx.tracer().finish()?, store)?;
    let all = samples();
    let at = |t: usize, sample: usize| (sample * T + t) * INPUTS;
    let x = (0..T).flat_map(|t| range.clone().map(move |sample| at(t, sample)));
    let x: Vec<f32> = x.flat_map(|at| all[at..at + INPUTS].to_vec()).collect();
    let generator = HostTensor::I64(&[0; 4]);
    program.run_with(vec![("x", HostTensor::F32(&x)), ("generator", generator)])?;
    let [weights, changes, trace] = names.map(|name| program.get(name));
    Ok([weights?.to_f64(), changes?.to_f64(), trace?.to_f64()])
}

fn read(path: &Path, name: &str) -> Result<(Vec<usize>, Vec<f64>)> {
    let file = ArrayFiles::npz(path, &[name])?;
    let (mut shape, mut values) = (vec![file.len()], vec![]);
    shape.extend(file.fields()[0].shape.iter().flatten());
    for k in 0..file.len() {
        let sample = file.sample(k)?;
        let row = sample.require(name)?;
        values.extend(row.as_f32().into_iter().flatten().map(|&v| f64::from(v)));
    }
    Ok((shape, values))
}

/// Entries `range` of axis 1 of `[steps, len, …]`.
fn entries(values: &[f64], steps: usize, len: usize, range: Range<usize>) -> Vec<f64> {
    let row = values.len() / steps / len;
    let steps = values.chunks(len * row);
    let chosen = steps.flat_map(|step| &step[range.start * row..range.end * row]);
    chosen.copied().collect()
}

#[test]
fn recorded_weights_changes_and_traces_are_those_of_training() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("learning.npz");
    for (update, weights) in [(Update::EachStep, T), (Update::EndOfCall, 1)] {
        let net = updated(update);
        let mut learned = store()?;
        let recording = Recording::new("features")
            .values([Recorded::Weights, Recorded::Changes, Recorded::Traces])
            .samples(0..4)
            .learning(3);
        let file = step(&net).record(&recording, &loader()?, &mut learned, &path)?;
        let names: Vec<&str> = file.arrays.iter().map(|a| a.name.as_str()).collect();
        let [weight_seq, change_seq, r1, o1] =
            ["weight_seq", "change_seq", "r1", "o1"].map(|name| format!("features.{name}"));
        assert_eq!(names, [&*weight_seq, &change_seq, &r1, &o1, "indices"]);
        let found = [&weight_seq, &change_seq, &r1].map(|name| read(&path, name));
        let [found_weights, changes, traces] = found;
        let (found_weights, changes, traces) = (found_weights?, changes?, traces?);
        // Two batches: of three samples, and of the one that is left.
        assert_eq!(found_weights.0, [weights, 2, 4, INPUTS]);
        assert_eq!(changes.0, [T, 2, 4, INPUTS]);
        assert_eq!(traces.0, [T, 4, INPUTS]);

        let mut expected = store()?;
        for (batch, range) in [0..3, 3..4].into_iter().enumerate() {
            let [w, c, r] = trained(&net, range.clone(), &mut expected)?;
            let own = batch..batch + 1;
            assert_eq!(entries(&found_weights.1, weights, 2, own.clone()), w);
            assert_eq!(entries(&changes.1, T, 2, own), c);
            assert_eq!(entries(&traces.1, T, 4, range), r);
        }
        assert_eq!(learned.get(WEIGHT)?, expected.get(WEIGHT)?);
    }
    Ok(())
}

#[test]
fn values_of_rules_need_layers_that_learn() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none.npz");
    let weights = Recording::new("*").values([Recorded::Weights]);
    let fixed = step(&network()).record(&weights, &loader()?, &mut store()?, &path);
    let error = fixed.expect_err("weights are fixed");
    assert!(matches!(
        error.downcast_ref(),
        Some(RecordingError::Fixed { value: "weights" })
    ));
    let net = Sequential::new()
        .add(Linear::new(INPUTS, 2).bias(false))
        .add(Lif::new(2.0));
    let refused = step(&net).record(&weights.learning(2), &loader()?, &mut store()?, &path);
    let error = refused.expect_err("nothing learns");
    assert!(matches!(
        error.downcast_ref(),
        Some(StepError::NothingLearns)
    ));
    let spikes = Recording::new("features").values([Recorded::Spikes, Recorded::Weights]);
    assert!(!path.exists());
    let file = step(&network()).record(&spikes.learning(2), &loader()?, &mut store()?, &path)?;
    let left_out: Vec<String> = file.left_out.iter().map(ToString::to_string).collect();
    let expected = "spikes: no chosen layer has them; they are those of features.neuron";
    assert_eq!(left_out, [expected]);
    Ok(())
}

#[test]
fn a_frozen_layer_with_a_rule_of_the_optimizer_trains_nothing() -> Result<()> {
    let plastic = |update| {
        let linear = Linear::new(INPUTS, 4).bias(false);
        let plastic = Plastic::new(linear, Lif::new(2.0), PairStdp::default()).update(update);
        Sequential::new().add(plastic)
    };
    let net = plastic(Update::Gradient);
    let trained = || step(&net).optimizer(Sgd::new(0.1));
    trained().compile(&mut store()?)?;
    let refused = trained().freeze("*").compile(&mut store()?);
    let error = refused.expect_err("nothing is trained");
    assert!(
        matches!(error.downcast_ref(), Some(StepError::NothingTrained { .. })),
        "{error}"
    );
    // A rule without an optimizer trains, but there is no gradient to measure.
    let net = plastic(Update::EachStep);
    let measured = step(&net).monitor(Monitor::Gradient, "*");
    let error = measured.compile(&mut store()?).expect_err("no parameter");
    let expected = "monitor gradient: the network has no parameter with a gradient";
    assert!(error.to_string().starts_with(expected), "{error}");
    Ok(())
}
