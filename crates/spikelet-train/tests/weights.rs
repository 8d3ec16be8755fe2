//! Maps of weights: names, transposes and constants of each framework, both ways.

use spikelet_graph::Tensor;
use spikelet_nn::layer::{Feedback, LifRecurrent, RLif, RadLif, SparchReadout};
use spikelet_nn::neuron::{Klif, MaskedPsn, NorseLif, RLeakyCell, RSynapticCell, SeAdLifCell};
use spikelet_nn::prelude::*;
use spikelet_train::weights::{Framework, InitialWeights, WeightMap, WeightMapError};
use spikelet_weights::Weights;
use std::collections::BTreeMap;

/// Tensors of a network with different values.
fn tensors(map: &WeightMap) -> BTreeMap<String, Tensor> {
    let tensor = |(k, entry): (usize, &spikelet_train::weights::MapEntry)| {
        let count: usize = entry.shape.iter().product();
        let values: Vec<f32> = (0..count)
            .map(|i| 0.25 + 0.01 * (i + 100 * k) as f32 % 0.7)
            .collect();
        (entry.ours.clone(), Tensor::f32(entry.shape.clone(), values))
    };
    map.entries.iter().enumerate().map(tensor).collect()
}

/// The state dict of a network, after a check that it gives the same tensors again.
fn exported(
    framework: Framework,
    net: &Sequential,
    input: &[usize],
) -> (Weights, BTreeMap<String, Tensor>) {
    let map = WeightMap::new(framework, net, input).expect("a map");
    let ours = tensors(&map);
    let weights = map.export(|name| ours.get(name)).expect("a state dict");
    let found = map.import(&weights);
    assert!(found.is_complete(), "{found}");
    assert_eq!(found.to_string(), "");
    for (name, tensor) in &ours {
        let pairs = found.tensors[name]
            .to_f64()
            .into_iter()
            .zip(tensor.to_f64());
        for (found, own) in pairs {
            assert!((found - own).abs() < 1e-5, "{name}: {found}, {own}");
        }
    }
    (weights, ours)
}

fn names(weights: &Weights) -> Vec<&str> {
    let mut names: Vec<&str> = weights.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

fn value(weights: &Weights, name: &str) -> f64 {
    weights.get(name).expect("an entry").to_f64()[0]
}

#[test]
fn spikingjelly_has_trained_constants_only() {
    let net = Sequential::new()
        .add(Conv2d::new(1, 2, 3).bias(true))
        .add(BatchNorm2d::new(2))
        .add(Plif::new(2.0))
        .add(Flatten)
        .add(Linear::new(8, 3).bias(false))
        .add(Lif::new(3.0).trainable("tau", Trainable::default().above(1.0)))
        .add(Recurrent::through(
            Klif::default(),
            Feedback::new(3).bias(true),
        ))
        .add(MaskedPsn::new(2));
    let (weights, ours) = exported(Framework::SpikingJelly, &net, &[4, 1, 1, 4, 4]);
    let expected = [
        "0.bias",
        "0.weight",
        "1.bias",
        "1.num_batches_tracked",
        "1.running_mean",
        "1.running_var",
        "1.weight",
        "2.w",
        "4.weight",
        "5.w",
        "6.rc.bias",
        "6.rc.weight",
        "6.sub_module.k",
        "7._lambda_",
        "7.bias",
        "7.mask0",
        "7.mask1",
        "7.weight",
    ];
    assert_eq!(names(&weights), expected);
    // τ = 1 + ln(1 + eᵖ) = 1 + e^(−w).
    let p = ours["5.tau"].to_f64()[0];
    let expected = -(1.0 + p.exp()).ln().ln();
    assert!((value(&weights, "5.w") - expected).abs() < 1e-5);
    let rc = weights.get("6.rc.weight").expect("an entry");
    assert_eq!(rc.shape(), [3, 6]);
    assert_eq!(rc.to_f64()[..3], [1.0, 0.0, 0.0]);
    let band = weights.get("7.mask0").expect("a mask").to_f64();
    assert_eq!(band[..8], [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn snntorch_has_all_constants() {
    let trained = RLeakyCell::default()
        .trainable("beta", Trainable::new(Granularity::Channel).clamp(0.0, 1.0));
    let net = Sequential::new()
        .add_named("conv", Conv2d::new(1, 2, 3).bias(false))
        .add_named("lif1", trained)
        .add_named("flatten", Flatten)
        .add_named("fc", Linear::new(8, 3).bias(false))
        .add_named(
            "lif2",
            Recurrent::through(RSynapticCell::default(), Feedback::new(3)),
        )
        .add_named("lif3", RLeakyCell::one_to_one(Granularity::Neuron))
        .add_named(
            "lif4",
            Lif {
                decay_input: false,
                ..Lif::new(4.0)
            }
            .v_threshold(0.5),
        );
    let (weights, _) = exported(Framework::SnnTorch, &net, &[4, 1, 1, 4, 4]);
    let shape = |name: &str| weights.get(name).expect("an entry").shape().to_vec();
    // A value for each channel broadcasts over images.
    assert_eq!(shape("lif1.beta"), [2, 1, 1]);
    assert_eq!(value(&weights, "lif1.reset_mechanism_val"), 0.0);
    assert_eq!(shape("lif2.recurrent.weight"), [3, 3]);
    // snnTorch's feedback always has a bias.
    assert_eq!(
        weights.get("lif2.recurrent.bias").map(|b| b.to_f64()),
        Some(vec![0.0; 3])
    );
    assert!((value(&weights, "lif2.alpha") - 0.9).abs() < 1e-6);
    assert_eq!(
        (shape("lif3.V"), shape("lif3.recurrent.V")),
        (vec![3], vec![3])
    );
    assert_eq!(
        (
            value(&weights, "lif4.beta"),
            value(&weights, "lif4.threshold")
        ),
        (0.75, 0.5)
    );
    assert_eq!(value(&weights, "lif4.reset_mechanism_val"), 1.0);
    assert_eq!(value(&weights, "lif4.graded_spikes_factor"), 1.0);
}

#[test]
fn norse_has_weights_only() {
    let net = Sequential::new()
        .add(Linear::new(4, 3).bias(true))
        .add(NorseLif::default())
        .add(LifRecurrent::new(3, 3));
    let (weights, ours) = exported(Framework::Norse, &net, &[4, 1, 4]);
    assert_eq!(
        names(&weights),
        [
            "0.bias",
            "0.weight",
            "2.input_weights",
            "2.recurrent_weights"
        ]
    );
    let theirs = weights
        .get("2.recurrent_weights")
        .expect("an entry")
        .to_f64();
    assert_eq!(theirs, ours["2.feedback.weight"].to_f64());
}

#[test]
fn sparch_counts_layers_and_has_a_row_for_each_sender() {
    let net = Sequential::new()
        .add(Flatten)
        .add(RadLif::new(4, 3))
        .add(RLif::new(3, 3).recurrent(false))
        .add(SparchReadout::new(3, 2));
    let (weights, ours) = exported(Framework::Sparch, &net, &[4, 1, 1, 2, 2]);
    let theirs = weights.get("snn.0.V.weight").expect("an entry").to_f64();
    let own = ours["1.feedback.weight"].to_f64();
    assert_eq!((theirs[1], theirs[3]), (own[3], own[1]));
    for name in [
        "snn.0.a",
        "snn.1.alpha",
        "snn.1.norm.num_batches_tracked",
        "snn.2.W.weight",
    ] {
        assert!(weights.get(name).is_some(), "{name}: {:?}", names(&weights));
    }
    assert!(weights.get("snn.1.V.weight").is_none());
}

#[test]
fn neurons_and_constants_that_do_not_fit_are_named() {
    let net = Sequential::new()
        .add(Linear::new(4, 3).bias(false))
        .add_named("adlif", SeAdLifCell::default());
    let map = WeightMap::new(Framework::SnnTorch, &net, &[4, 1, 4]).expect("a map");
    let own = tensors(&map);
    let error = map
        .export(|name| own.get(name))
        .expect_err("no such neuron");
    let error: &WeightMapError = error.downcast_ref().expect("of a map");
    assert!(
        error
            .to_string()
            .contains("snnTorch 1.0 has no place for `adlif (SeAdLifCell)`"),
        "{error}"
    );

    // A trained constant that SpikingJelly does not train.
    let lif = Lif::new(2.0).trainable("v_threshold", Trainable::default());
    let net = Sequential::new()
        .add(Linear::new(4, 3).bias(false))
        .add(lif);
    let map = WeightMap::new(Framework::SpikingJelly, &net, &[4, 1, 4]).expect("a map");
    let own = tensors(&map);
    let error = map
        .export(|name| own.get(name))
        .expect_err("no such entry")
        .to_string();
    assert!(error.contains("no place for `1.v_threshold`"), "{error}");
    let missing = map.import(&Weights::default()).to_string();
    assert!(missing.contains("`1.v_threshold` []"), "{missing}");

    let net = |beta| {
        let cell = RLeakyCell {
            beta,
            ..RLeakyCell::default()
        };
        Sequential::new()
            .add_named("fc", Linear::new(4, 3).bias(false))
            .add_named("lif", cell)
    };
    let (weights, _) = exported(Framework::SnnTorch, &net(0.5), &[4, 1, 4]);
    let map = WeightMap::new(Framework::SnnTorch, &net(0.9), &[4, 1, 4]).expect("a map");
    let found = map.import(&weights);
    assert_eq!(
        found.to_string(),
        "of another value: `lif.beta` is 0.5, the network has 0.8999999761581421"
    );
    let error = found.complete().expect_err("another constant").to_string();
    assert!(error.contains("help: set the constants"), "{error}");
}

#[test]
fn a_training_starts_from_weights_of_any_framework_with_a_new_head() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint.pt");
    let net = |classes| {
        Sequential::new()
            .add(Linear::new(4, 3).bias(true))
            .add(Plif::new(2.0))
            .add(Linear::new(3, classes).bias(true))
            .add(Plif::new(2.0))
    };
    let (weights, ours) = exported(Framework::SpikingJelly, &net(10), &[4, 1, 4]);
    let mut wrapped = Weights::default();
    for (name, tensor) in weights.iter() {
        wrapped
            .insert(&format!("module.net.{name}"), tensor.clone())
            .expect("a name");
    }
    wrapped
        .insert("module.net.extra", weights.get("1.w").expect("w").clone())
        .expect("a name");
    wrapped.write_torch(&path).expect("written");

    let same = InitialWeights::read(&path, &net(10), &[4, 1, 4]).expect("read");
    assert_eq!((&same.tensors, same.new_head.len()), (&ours, 0));
    let other = InitialWeights::read(&path, &net(4), &[4, 1, 4]).expect("read");
    assert_eq!(other.new_head, ["2.weight", "2.bias"]);
    assert_eq!(other.left_over, ["extra"]);
    assert_eq!(other.tensors["0.weight"], ours["0.weight"]);
    assert!(
        other
            .to_string()
            .contains("new, for another number of classes: `2.weight`, `2.bias`")
    );

    // Only the head may have another shape.
    let narrow = Sequential::new()
        .add(Linear::new(4, 5).bias(true))
        .add(Plif::new(2.0))
        .add(Linear::new(5, 10).bias(true))
        .add(Plif::new(2.0));
    let error = InitialWeights::read(&path, &narrow, &[4, 1, 4])
        .expect_err("another width")
        .to_string();
    assert!(
        error.contains("of another shape: `0.weight` [3, 4] for `0.weight` [5, 4]"),
        "{error}"
    );
}

#[test]
fn weights_of_oblong_kernels_keep_their_axes_in_files_of_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    // 2 × 24 × 40 → 3 × 12 × 10.
    let net = Sequential::new()
        .add(Conv2d::new(2, 3, [2, 4]).stride([2, 4]).bias(true))
        .add(Plif::new(2.0))
        .add(Flatten)
        .add(Linear::new(3 * 12 * 10, 5).bias(true))
        .add(Plif::new(2.0));
    let shape = [4, 1, 2, 24, 40];
    let (weights, ours) = exported(Framework::SpikingJelly, &net, &shape);
    assert_eq!(
        weights.get("0.weight").expect("a kernel").shape(),
        [3, 2, 2, 4]
    );
    let path = |name: &str| folder.path().join(name);
    weights.write_torch(path("a.pt")).expect("written");
    weights.write_npz(path("a.npz")).expect("written");
    weights
        .write_safetensors(path("a.safetensors"))
        .expect("written");
    for name in ["a.pt", "a.npz", "a.safetensors"] {
        let read = InitialWeights::read(path(name), &net, &shape).expect("read");
        assert_eq!(read.tensors, ours, "{name}");
    }
    // The transposed network has other kernels.
    let transposed = Sequential::new()
        .add(Conv2d::new(2, 3, [4, 2]).stride([4, 2]).bias(true))
        .add(Plif::new(2.0))
        .add(Flatten)
        .add(Linear::new(3 * 10 * 12, 5).bias(true))
        .add(Plif::new(2.0));
    let error = InitialWeights::read(path("a.pt"), &transposed, &[4, 1, 2, 40, 24]);
    let error = error.expect_err("another kernel").to_string();
    assert!(
        error.contains("`0.weight` [3, 2, 2, 4] for `0.weight` [3, 2, 4, 2]"),
        "{error}"
    );
}
