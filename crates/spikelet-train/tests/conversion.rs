//! Networks without spikes and the spiking networks that they become.

use spikelet_graph::{Backend, Data};
use spikelet_nn::network::{Layers, Network};
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::host;
use spikelet_train::conversion::{
    Comparison, Conversion, ConversionError, Converter, Factor, MaxPooling, Threshold,
    TrainedLayers,
};
use std::collections::BTreeMap;
use std::sync::Arc;

fn cpu() -> Arc<dyn Backend> {
    Arc::new(spikelet_cpu::Cpu::new(1).expect("a device"))
}

/// Numbers from 0 to 1 that look random.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|_| next()).collect()
}

/// A network with random weights, and statistics of batch norms that are not those of a new one.
fn network(input: &str, layers: &str) -> TrainedLayers {
    let text = format!("[network]\ninput = {input}\nlayers = [{layers}]");
    let layers = Layers::from_toml("net.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let module = layers.module().expect("it is sound");
    let cx = Context::new(Mode::EVAL, DType::F64);
    let shape = [&[1, 1][..], &layers.input].concat();
    let x = cx.tracer().input("x", DType::F64, shape);
    cx.trace(&*module, x).expect("it is traced");
    let mut store = VarStore::new(cpu());
    store
        .initialize(&cx.traced(), DType::F64, 7)
        .expect("memory");
    let mut tensors = BTreeMap::new();
    for (seed, name) in store.names().enumerate() {
        let tensor = store.get(name).expect("it is there");
        let random = noise(tensor.len(), seed as u64 + 3);
        let scaled = |low: f64, high: f64| -> Vec<f64> {
            random.iter().map(|x| low + (high - low) * x).collect()
        };
        let values = match name.rsplit('.').next() {
            Some("running_var") => scaled(0.5, 2.0),
            Some("running_mean") => scaled(-0.2, 0.2),
            Some("bias") => scaled(-0.1, 0.3),
            Some("weight") if tensor.shape.len() == 1 => scaled(0.5, 1.5),
            _ => tensor.to_f64(),
        };
        tensors.insert(name.to_string(), Tensor::f64(tensor.shape.clone(), values));
    }
    TrainedLayers::new(&Network::Layers(layers), tensors).expect("it is complete")
}

fn samples(shape: &[usize], seed: u64) -> Tensor {
    Tensor::f64(shape, noise(shape.iter().product(), seed))
}

fn convert(ann: &TrainedLayers, converter: Converter, shape: &[usize]) -> Conversion {
    let batch = samples(&[&[8], shape].concat(), 1);
    let made = converter.convert(ann, [Ok(batch)], &cpu());
    made.unwrap_or_else(|e| panic!("{e}"))
}

fn compared(made: &Conversion, shape: &[usize], steps: &[usize]) -> Comparison {
    let batch = samples(&[&[8], shape].concat(), 1);
    let found = made.compare([Ok((batch, vec![0; 8]))], steps, &cpu());
    found.unwrap_or_else(|e| panic!("{e}"))
}

/// The output of a network, `[T, N, …]`, for an input that is the same at all steps.
fn outputs(net: &TrainedLayers, x: &Tensor, time_steps: usize) -> Vec<f64> {
    let cx = Context::new(Mode::EVAL, DType::F64);
    let input = cx.tracer().input("x", DType::F64, x.shape.clone());
    let module = net.module().expect("it is sound");
    let y = cx
        .trace(&*module, input.repeat_over_time(time_steps))
        .expect("it is traced");
    cx.tracer().output("y", &y.sum(&[0]));
    let mut store = VarStore::new(cpu());
    for (name, tensor) in &net.tensors {
        store.insert(name, tensor).expect("memory");
    }
    let mut program = cx.compile(&mut store, 0).expect("a program");
    program.run_with([("x", host(x))]).expect("it runs");
    let sums = program.get("y").expect("an output").to_f64();
    sums.into_iter()
        .map(|sum| sum / time_steps as f64)
        .collect()
}

const RESIDUAL: &str = r#"
    { static = [{ conv = 4, kernel = 3, padding = 1 }, "batch-norm", "relu"], name = "stem" },
    { avg-pool = 2 },
    { residual = [{ conv = 4, kernel = 3, padding = 1, bias = true }, "batch-norm", "relu", { conv = 4, kernel = 1 }, "batch-norm"], name = "a" },
    "relu",
    { residual = [{ conv = 6, kernel = 3, padding = 1, stride = 2 }, "relu"], shortcut = { conv = 6, kernel = 1, stride = 2 }, name = "b" },
    { dropout = 0.3 },
    { layers = [{ conv = 6, kernel = 3, padding = 1, groups = 2 }, "batch-norm", "relu"], repeat = 2, name = "c" },
    { branches = [[{ conv = 3, kernel = 1 }, "relu"], []], combine = "concat" },
    { pointwise = 5, bias = true },
    "batch-norm",
    "relu",
    "flatten",
    { linear = 9 },
    "batch-norm",
    "relu",
    { linear = 3, bias = true }"#;

#[test]
fn a_network_with_batch_norms_in_its_weights_is_the_same_function() {
    let ann = network("[2, 8, 8]", RESIDUAL);
    let prepared = Converter::default()
        .prepare(&ann)
        .expect("it can be converted");
    assert!(
        !prepared
            .tensors
            .keys()
            .any(|name| name.contains("running_mean"))
    );
    let x = samples(&[5, 2, 8, 8], 4);
    let (before, after) = (outputs(&ann, &x, 1), outputs(&prepared, &x, 1));
    for (a, b) in before.iter().zip(&after) {
        assert!((a - b).abs() < 1e-12 * a.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn rates_approach_the_activations_in_all_branches() {
    let ann = network("[2, 8, 8]", RESIDUAL);
    for converter in [
        Converter::default(),
        Converter {
            each_channel: true,
            ..Converter::default()
        },
        Converter {
            each_channel: true,
            half_threshold: Some(true),
            ..Converter::default()
        },
        Converter {
            half_threshold: Some(true),
            ..Converter::default()
        },
    ] {
        let made = convert(&ann, converter, &[2, 8, 8]);
        assert_eq!(made.scales.len(), 9);
        let found = compared(&made, &[2, 8, 8], &[16, 4096]);
        for layer in &found.layers {
            let [early, late] = layer.errors[..] else {
                panic!("two numbers of steps")
            };
            assert!(late < 0.01 && late < early, "{converter:?} {layer:?}");
        }
        let x = samples(&[3, 2, 8, 8], 1);
        let (expected, rates) = (outputs(&ann, &x, 1), outputs(&made.snn, &x, 4096));
        for (a, b) in expected.iter().zip(&rates) {
            assert!(
                (a - b).abs() < 0.01 * a.abs().max(0.2),
                "{converter:?}: {a} {b}"
            );
        }
    }
}

#[test]
fn the_spikes_of_all_neurons_but_those_of_sums_are_worth_one() {
    let made = convert(
        &network("[2, 8, 8]", RESIDUAL),
        Converter::default(),
        &[2, 8, 8],
    );
    let text = serde_json::to_string(&made.snn.layers).expect("JSON");
    // The shortcuts of `a`, the main branch of `b`, and both branches of the concatenation.
    assert_eq!(text.matches("\"rescale\":").count(), 4, "{text}");
    let read: Layers = serde_json::from_str(&text).expect("it is a network");
    assert_eq!(read, made.snn.layers);
}

#[test]
fn qcfs_is_reproduced_exactly_after_as_many_steps_as_it_has() {
    let layers = "{ linear = 6, bias = true }, { qcfs = 8, init_lambda = 0.5 }, { linear = 3 }";
    let ann = network("[4]", layers);
    let none: [spikelet_nn::Result<Tensor>; 0] = [];
    let made = Converter::default()
        .convert(&ann, none, &cpu())
        .expect("it needs no samples");
    assert_eq!(made.scales[0].scale, Factor::Layer(0.5));
    let found = compared(&made, &[4], &[4, 8]);
    assert!(found.layers[0].errors[1] < 1e-12, "{found:?}");
    assert!(found.layers[0].errors[0] > 1e-3, "{found:?}");
    let neuron = &made.snn.layers.layers[1]["neuron"];
    assert_eq!(neuron["neuron"], "half_threshold_if");
    let whole = Converter {
        half_threshold: Some(false),
        ..Converter::default()
    };
    let made = convert(&ann, whole, &[4]);
    assert_eq!(made.snn.layers.layers[1]["neuron"]["neuron"], "if");
}

#[test]
fn max_pooling_is_refused_or_comes_before_the_neuron() {
    let layers = r#"{ layers = [{ conv = 3, kernel = 3 }, "relu"], name = "g" }, { max-pool = 2 }, "flatten", { linear = 2 }"#;
    let ann = network("[1, 6, 6]", layers);
    let refused = Converter::default().prepare(&ann).expect_err("refused");
    assert!(
        matches!(refused.downcast_ref(), Some(ConversionError::Layer { layer, kind, .. }) if layer == "1" && kind == "max-pool"),
        "{refused}"
    );
    let before = Converter {
        max_pooling: MaxPooling::BeforeNeuron,
        ..Converter::default()
    };
    let prepared = before.prepare(&ann).expect("it can be converted");
    let x = samples(&[4, 1, 6, 6], 2);
    assert_eq!(outputs(&ann, &x, 1), outputs(&prepared, &x, 1));
    // The input of the layer is the same at all steps: the maximum is exact.
    let made = convert(&ann, before, &[1, 6, 6]);
    assert!(compared(&made, &[1, 6, 6], &[2048]).layers[0].errors[0] < 0.01);
    let spikes = Converter {
        max_pooling: MaxPooling::OfSpikes,
        ..before
    };
    let made = convert(&ann, spikes, &[1, 6, 6]);
    let (rates, expected) = (outputs(&made.snn, &x, 512), outputs(&ann, &x, 1));
    assert_ne!(rates, expected);
}

#[test]
fn layers_that_cannot_be_converted_are_named() {
    for (layers, layer, kind) in [
        (
            r#""flatten", { linear = 4 }, { leaky-relu = 0.1, name = "act" }"#,
            "act",
            "leaky-relu",
        ),
        (r#""flatten", { linear = 4 }, "gelu""#, "2", "gelu"),
        (r#""flatten", { linear = 4 }, "tanh""#, "2", "tanh"),
        (r#""flatten", { linear = 4 }, "neuron""#, "2", "neuron"),
        (
            r#"{ layers = [{ conv = 4, kernel = 3 }, { group-norm = 2 }, "relu"], name = "g" }"#,
            "g.1",
            "group-norm",
        ),
        (
            r#"{ conv = 4, kernel = 3 }, { layer = "batch-norm", time_steps = 1 }, "relu""#,
            "1",
            "batch-norm",
        ),
        (
            r#"{ residual = [{ conv = 1, kernel = 1 }, "relu"], join = "iand" }"#,
            "0",
            "residual",
        ),
        (
            r#""flatten", { linear = 4 }, "relu", "time-last""#,
            "3",
            "time-last",
        ),
    ] {
        let ann = network("[1, 6, 6]", layers);
        let error = Converter::default().prepare(&ann).expect_err(layers);
        let text = error.to_string();
        assert!(text.contains("help: "), "{text}");
        let found = error.downcast_ref::<ConversionError>();
        assert!(
            matches!(found, Some(ConversionError::Layer { layer: l, kind: k, .. }) if l == layer && k == kind),
            "{layers}: {text}"
        );
    }
}

#[test]
fn scales_and_options_that_are_no_thresholds_are_refused() {
    let mut ann = network(
        "[3]",
        r#"{ linear = 4, name = "fc" }, "relu", { linear = 2 }"#,
    );
    let none: [spikelet_nn::Result<Tensor>; 0] = [];
    let error = Converter::default()
        .convert(&ann, none, &cpu())
        .expect_err("no samples");
    assert!(
        error
            .to_string()
            .contains("no samples to measure activations on"),
        "{error}"
    );
    ann.tensors
        .insert("fc.weight".to_string(), Tensor::f64([4, 3], [-1.0; 12]));
    let x = || Ok(samples(&[2, 3], 5));
    let error = Converter::default()
        .convert(&ann, [x()], &cpu())
        .expect_err("it never fires");
    assert!(
        error
            .to_string()
            .contains("the activation `1` has the scale 0"),
        "{error}"
    );
    // A channel that never fires has the smallest threshold.
    let each = Converter {
        each_channel: true,
        ..Converter::default()
    };
    let made = each
        .convert(&ann, [x()], &cpu())
        .expect("thresholds of channels");
    assert_eq!(made.scales[0].scale, Factor::Channel(vec![1e-6; 4]));
    ann.tensors
        .insert("fc.weight".to_string(), Tensor::f64([4, 3], [f64::NAN; 12]));
    for converter in [Converter::default(), each] {
        let error = converter
            .convert(&ann, [x()], &cpu())
            .expect_err("not finite");
        let text = error.to_string();
        assert!(
            text.contains("tensor `fc.weight` has values that are not finite"),
            "{text}"
        );
    }
    let nan = Tensor::f64([1, 3], [0.5, f64::NAN, 0.5]);
    let sound = network("[3]", r#"{ linear = 4 }, "relu""#);
    let error = each
        .convert(&sound, [Ok(nan)], &cpu())
        .expect_err("not finite");
    assert!(
        error
            .to_string()
            .contains("a batch of samples has values that are not finite"),
        "{error}"
    );
    for wrong in [
        Converter {
            threshold: Threshold::Percentile(101.0),
            ..Converter::default()
        },
        Converter {
            threshold: Threshold::Percentile(f64::NAN),
            ..Converter::default()
        },
        Converter {
            threshold: Threshold::Factor(0.0),
            ..Converter::default()
        },
        Converter {
            momentum: 1.5,
            ..Converter::default()
        },
        Converter {
            epsilon: 0.0,
            ..Converter::default()
        },
    ] {
        let error = wrong
            .convert(&ann, [x()], &cpu())
            .expect_err("out of range");
        let found = error.downcast_ref::<ConversionError>();
        assert!(
            matches!(found, Some(ConversionError::Option { .. })),
            "{error}"
        );
    }
    let mut qcfs = network("[3]", "{ linear = 4 }, { qcfs = 4 }, { linear = 2 }");
    qcfs.tensors
        .insert("1.lambda".to_string(), Tensor::f64([], [-0.5]));
    let error = Converter::default()
        .convert(&qcfs, [x()], &cpu())
        .expect_err("below 0");
    assert!(
        error
            .to_string()
            .contains("the activation `1` has the scale -0.5"),
        "{error}"
    );
}

#[test]
fn a_missing_tensor_and_one_of_another_shape_are_named() {
    let ann = network("[3]", r#"{ linear = 4 }, "relu""#);
    let net = Network::Layers(ann.layers.clone());
    let missing = TrainedLayers::new(&net, BTreeMap::new()).expect_err("no weight");
    assert!(
        missing
            .to_string()
            .contains("tensor `0.weight`: it is missing"),
        "{missing}"
    );
    let other = BTreeMap::from([("0.weight".to_string(), Tensor::f32([3, 4], [0.0; 12]))]);
    let wrong = TrainedLayers::new(&net, other).expect_err("another shape");
    assert!(
        wrong
            .to_string()
            .contains("its shape is [3, 4], expected [4, 3]"),
        "{wrong}"
    );
}

#[test]
fn batches_of_any_size_and_order_are_compared_from_the_start() {
    let ann = network(
        "[4]",
        r#"{ linear = 6, bias = true }, "relu", { linear = 3 }"#,
    );
    let made = convert(&ann, Converter::default(), &[4]);
    let all = samples(&[7, 4], 9);
    let part = |from: usize, to: usize| {
        let Data::F64(values) = &all.data else {
            panic!("f64")
        };
        Ok((
            Tensor::f64([to - from, 4], &values[4 * from..4 * to]),
            vec![1; to - from],
        ))
    };
    let whole = made
        .compare([part(0, 7)], &[1, 3, 9], &cpu())
        .expect("compared");
    let parts = [part(0, 3), part(3, 4), part(4, 7)];
    let parts = made
        .compare(parts, &[9, 1, 3, 3], &cpu())
        .expect("compared");
    assert_eq!(whole.time_steps, parts.time_steps);
    for (a, b) in whole.layers.iter().zip(&parts.layers) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(a.errors.iter().zip(&b.errors).all(near), "{a:?} {b:?}");
    }
    for steps in [&[][..], &[0, 1]] {
        assert!(made.compare([part(0, 7)], steps, &cpu()).is_err());
    }
}
