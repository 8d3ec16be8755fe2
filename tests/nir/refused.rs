//! Networks that NIR cannot express: each is refused with the reason.

use spikelet::layer::{Dcls1d, RLeaky, RadLif, Reshape, Static};
use spikelet::neuron::{FireOn, LeakyIntegrator, NEURONS, RLeakyCell, SparchLif};
use spikelet::nir::{self, ExportOptions, NirError};
use spikelet::prelude::*;
use spikelet::surrogate::MultiLevelSpikeCount;
use std::sync::Arc;

/// The message of a network whose input has this shape.
fn refused_with(net: &dyn Module, shape: &[usize], options: &ExportOptions) -> String {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx
        .tracer()
        .input("x", DType::F32, [&[4, 2], shape].concat());
    cx.trace(net, x).expect("a network");
    let mut store = VarStore::new(spikelet::device::find("cpu", 1).expect("a CPU"));
    store
        .initialize(&cx.traced(), DType::F32, 0)
        .expect("a store");
    let error = nir::export(net, &store, options).expect_err("it is refused");
    assert!(error.downcast_ref::<NirError>().is_some(), "{error}");
    let text = error.to_string();
    assert!(text.contains("\n  help: "), "{text}");
    text
}

fn refused(net: &dyn Module, shape: &[usize]) -> String {
    refused_with(net, shape, &ExportOptions::new(shape))
}

fn mentions(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Neurons with a form; `round_trip.rs` compares their spikes.
const EXACT: [&str; 16] = [
    "if",
    "half_threshold_if",
    "lif",
    "plif",
    "cuba_lif",
    "ottt_lif",
    "decay_lif",
    "norse_lif",
    "leaky_integrator",
    "nir_if",
    "nir_lif",
    "nir_cuba_lif",
    "heaviside",
    "synaptic",
    "rleaky_cell",
    "rsynaptic_cell",
];

/// The reason of every other neuron.
const REFUSED: [(&str, &str); 27] = [
    ("qif", "nonlinear"),
    ("eif", "nonlinear"),
    ("izhikevich", "nonlinear"),
    ("adex", "nonlinear"),
    ("klif", "rectified"),
    ("liaf", "real number"),
    ("gated_lif", "gates"),
    ("ilif", "several spikes"),
    ("clif", "complementary potential"),
    ("raf", "oscillates"),
    ("brf", "oscillates"),
    ("csilif_cell", "oscillates"),
    ("ternary_if", "negative spikes"),
    ("ternary_lif", "negative spikes"),
    ("psn", "product over the time axis"),
    ("masked_psn", "product over the time axis"),
    ("sliding_psn", "product over the time axis"),
    ("alif", "threshold adapts"),
    ("yin_alif", "threshold adapts"),
    ("eprop_alif", "threshold adapts"),
    ("sparch_lif", "starts from random values"),
    ("alpha", "two synaptic currents"),
    ("refractory_lif", "refractory period"),
    ("adlif_cell", "adaptation current"),
    ("silif_cell", "adaptation current"),
    ("se_adlif_cell", "adaptation current"),
    ("ef_adlif_cell", "adaptation current"),
];

#[test]
fn every_neuron_has_a_form_or_a_reason() {
    for own in NEURONS.names() {
        let is_exact = EXACT.contains(&own);
        let reason = REFUSED.iter().find(|(name, _)| *name == own);
        assert!(is_exact != reason.is_some(), "{own}");
        let Some((name, reason)) = reason else {
            continue;
        };
        let neuron: Arc<dyn Neuron> = NEURONS.named(own).expect("the defaults");
        let net = Sequential::new().add_named("layer", neuron);
        let text = refused(&net, &[3]);
        mentions(&text, &["node `layer`", reason]);
        assert!(text.contains("NIR"), "{name}: {text}");
    }
}

#[test]
fn constants_without_a_form_are_named() {
    let named = |neuron: Arc<dyn Neuron>| Sequential::new().add_named("layer", neuron);
    let cases: Vec<(Arc<dyn Neuron>, &str)> = vec![
        (Arc::new(If::new().spiking(false)), "`spiking` is false"),
        (
            Arc::new(Lif::new(2.0).surrogate(MultiLevelSpikeCount::default())),
            "surrogate counts spikes",
        ),
        (
            Arc::new(CubaLif {
                c_decay: 1.0,
                ..CubaLif::default()
            }),
            "`c_decay` is 1",
        ),
        (
            Arc::new(CubaLif {
                v_decay: 1.0,
                ..CubaLif::default()
            }),
            "`v_decay` is 1",
        ),
        (
            Arc::new(LeakyIntegrator {
                alpha: 1.0,
                ..LeakyIntegrator::default()
            }),
            "`alpha` is 1",
        ),
        (
            Arc::new(LeakyIntegrator {
                random_start: true,
                ..LeakyIntegrator::default()
            }),
            "random values",
        ),
        (
            Arc::new(CubaLif::default().trainable("i_start", Trainable::default())),
            "`i_start` is trained",
        ),
        (
            Arc::new(RLeakyCell::default().resets(false)),
            "`resets` is false",
        ),
        (
            Arc::new(Lif::default().fire_on(FireOn::Previous)),
            "`fire_on` is previous",
        ),
        (
            Arc::new(RLeakyCell {
                reset_delay: false,
                ..RLeakyCell::default()
            }),
            "twice the threshold",
        ),
        (
            Arc::new(
                SparchLif {
                    random_start: false,
                    ..SparchLif::default()
                }
                .v_threshold(0.5),
            ),
            "its reset subtracts 1, and its threshold is 0.5",
        ),
        (
            Arc::new(Lif::new(2.0).trainable("v_start", Trainable::default().uniform(0.1, 0.2))),
            "neither 0, v_leak, v_reset nor half the threshold",
        ),
        (
            Arc::new(Plif {
                granularity: Granularity::Step,
                ..Plif::new(2.0)
            }),
            "`w` has a value for each time step",
        ),
    ];
    for (neuron, reason) in cases {
        mentions(&refused(&named(neuron), &[3]), &["node `layer", reason]);
    }
}

#[test]
fn layers_without_a_form_are_named() {
    let named = |layer: Box<dyn Module>| Sequential::new().add_named("layer", layer);
    let image = [2, 6, 6];
    let cases: Vec<(Box<dyn Module>, &[usize], &str)> = vec![
        (Box::new(MaxPool2d::new(2)), &image, "maximum pooling"),
        (
            Box::new(AvgPool2d::new(4).ceil(true)),
            &image,
            "extends beyond the end",
        ),
        (
            Box::new(AvgPool2d::new(3).padding(1).count_padding(false)),
            &image,
            "leave padding out",
        ),
        (
            Box::new(AdaptiveAvgPool2d::new(2)),
            &image,
            "no form in NIR",
        ),
        (
            Box::new(BatchNorm2d::new(2)),
            &image,
            "not behind a linear layer",
        ),
        (Box::new(Reshape::new([3, 24])), &image, "does not divide"),
        (
            Box::new(
                Sequential::new()
                    .add(TimeMean)
                    .add(Linear::new(3, 2).bias(false)),
            ),
            &[3],
            "behind the readout over time `TimeMean`",
        ),
        (
            Box::new(Static(Linear::new(3, 2).bias(false))),
            &[3],
            "the first time step only",
        ),
        (
            Box::new(RLeaky::new(3, 4).bidirectional(true)),
            &[3],
            "in reverse",
        ),
        (
            Box::new(RadLif::new(3, 4)),
            &[3],
            "has an adaptation current",
        ),
        (
            Box::new(Recurrent::new(Lif::new(2.0), 3).feeding(State::new("v", 0.0))),
            &[3],
            "a state of its neuron",
        ),
        (
            Box::new(BatchNorm1d::temporal_effective(3, 4)),
            &[3],
            "each time step",
        ),
        (
            Box::new(Dcls1d::new(3, 2, 5).bias(false)),
            &[3],
            "no form in NIR",
        ),
    ];
    for (layer, shape, reason) in cases {
        mentions(&refused(&named(layer), shape), &["node `layer", reason]);
    }
}

#[test]
fn a_module_of_ones_own_is_named_by_its_type() {
    struct Doubled;
    impl Module for Doubled {
        fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
            Ok(x * 2.0)
        }
    }
    let net = Sequential::new()
        .add(Linear::new(3, 2).bias(false))
        .add_named("twice", Doubled);
    mentions(
        &refused(&net, &[3]),
        &["node `twice`: `Doubled` has no form in NIR"],
    );
}

#[test]
fn options_that_do_not_fit_are_named() {
    let net = Sequential::new().add(Linear::new(3, 2).bias(false));
    let text = refused_with(&net, &[3], &ExportOptions::new([4]));
    mentions(
        &text,
        &["node `0`", "[4]", "expected [3]", "ExportOptions::input"],
    );
    let options = ExportOptions {
        dt: 0.0,
        ..ExportOptions::new([3])
    };
    mentions(
        &refused_with(&net, &[3], &options),
        &["the length of a time step: 0 was given"],
    );
}
