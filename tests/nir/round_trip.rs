//! `import(export(net))` computes what the network computes, and `to_graph(import(graph))` is the graph.

use crate::nir::exported::{check, device, exported, store};
use crate::nir::support::{golden_names, graph};
use spikelet::layer::{Feedback, FixedDelay, Voting};
use spikelet::neuron::*;
use spikelet::nir::{self, ExportOptions, ImportOptions, MetadataValue, NodeKind};
use spikelet::prelude::*;

/// Two layers of a neuron.
fn layers<N: Neuron + Clone + 'static>(neuron: N) -> Sequential {
    let weights = |inputs, outputs| {
        let init = Init::Uniform { bound: 4.0 };
        Linear::new(inputs, outputs).weight_init(init).bias(true)
    };
    Sequential::new()
        .add(weights(6, 8))
        .add(neuron.clone())
        .add(weights(8, 5))
        .add(neuron)
}

fn check_neuron<N: Neuron + Clone + 'static>(name: &str, neuron: N) {
    let is_spiking = neuron.output_kind() == OutputKind::Spikes;
    let net = layers(neuron);
    let store = store(&net, &[6]);
    check(name, &net, store, &[6], is_spiking);
}

/// A neuron with a hard reset to 0, to another potential, and with a soft reset.
fn check_resets<N: NeuronExt + Clone + 'static>(name: &str, neuron: N) {
    for v_reset in [Some(0.0), Some(-0.2), None] {
        let neuron = neuron.clone().v_threshold(0.4).v_reset(v_reset);
        check_neuron(&format!("{name}, v_reset {v_reset:?}"), neuron);
    }
}

#[test]
fn voting_is_a_product() {
    let linear = Linear::new(6, 8)
        .bias(false)
        .weight_init(Init::Uniform { bound: 4.0 });
    let net = Sequential::new()
        .add(linear)
        .add(If::new())
        .add_named("vote", Voting::new(2));
    let store = store(&net, &[6]);
    let (graph, _) = exported(&net, &store, &[6]);
    assert_eq!(graph.nodes["vote"].kind.name(), "Linear");
    check("voting", &net, store, &[6], false);
}

#[test]
fn neurons_with_an_exact_form_fire_the_same_spikes() {
    check_resets("if", If::new());
    let common = Common::soft_pulse();
    check_resets(
        "soft_pulse_if",
        If {
            common: common.clone(),
        },
    );
    check_resets("lif", Lif::new(3.0));
    check_resets(
        "lif with undivided input",
        Lif {
            decay_input: false,
            ..Lif::new(3.0)
        },
    );
    check_resets("plif", Plif::new(2.5));
    check_resets("sltt_lif", Lif::new(2.0).time_grad(false));
    check_resets("ottt_lif", OtttLif::default());
    let soft_pulse = Lif {
        common,
        ..Lif::new(3.0)
    };
    check_resets("soft_pulse_lif", soft_pulse);
    check_resets("cuba_lif", CubaLif::default());
    check_resets("decay_lif", DecayLif::default());
    check_resets("norse_lif", NorseLif::default());
    check_resets(
        "norse_lif with v_leak",
        NorseLif {
            v_leak: 0.1,
            ..NorseLif::default()
        },
    );
    check_resets(
        "nir_if",
        NirIf {
            r: 0.5,
            ..NirIf::default()
        },
    );
    check_resets("heaviside", Heaviside::default());
    check_resets(
        "nir_if with a late reset",
        NirIf {
            reset_delay: true,
            ..NirIf::default()
        },
    );
    check_resets(
        "nir_lif with a late reset",
        NirLif {
            reset_delay: true,
            ..NirLif::default()
        },
    );
    check_resets(
        "nir_cuba_lif with a late reset",
        NirCubaLif {
            reset_delay: true,
            ..NirCubaLif::default()
        },
    );
    for discretization in nir::Discretization::ALL {
        let lif = NirLif {
            discretization,
            v_leak: 0.1,
            ..NirLif::default()
        }
        .strict(false);
        check_resets(&format!("nir_lif {discretization}"), lif);
        let cuba = NirCubaLif {
            discretization,
            w_in: 2.0,
            ..NirCubaLif::default()
        };
        check_resets(&format!("nir_cuba_lif {discretization}"), cuba);
    }
}

#[test]
fn neurons_that_never_fire_have_the_same_potentials() {
    check_neuron("if", If::new().fires(false));
    check_neuron("lif", Lif::new(2.0).fires(false));
    check_neuron("cuba_lif", CubaLif::default().fires(false));
    check_neuron("leaky_integrator", LeakyIntegrator::new(4.0));
    check_neuron(
        "nir_i",
        NirIf {
            r: 0.1,
            ..NirIf::default()
        }
        .fires(false),
    );
    check_neuron("nir_li", NirLif::default().fires(false));
    check_neuron("nir_cuba_li", NirCubaLif::default().fires(false));
}

#[test]
fn trained_constants_are_those_of_each_neuron() {
    let each = Trainable::new(Granularity::Neuron);
    let lif = Lif::new(3.0)
        .v_threshold(0.4)
        .trainable("tau", each.above(1.0).uniform(1.5, 6.0))
        .trainable("v_threshold", each.uniform(0.2, 0.6));
    check_neuron("lif", lif.clone());
    let net = layers(lif);
    let own = store(&net, &[6]);
    let (graph, _) = exported(&net, &own, &[6]);
    let NodeKind::Lif(node) = &graph.nodes["1"].kind else {
        panic!("a LIF node");
    };
    let thresholds = own.get("1.v_threshold").expect("a parameter").to_f64();
    assert_eq!(node.v_threshold.to_f64(), thresholds);
    let tau = node.tau.to_f64();
    assert!(
        tau.iter().all(|tau| *tau > 1.5e-3 && *tau < 6e-3) && tau[0] != tau[1],
        "{tau:?}"
    );
    check_neuron(
        "cuba_lif",
        CubaLif::default().trainable("v_decay", each.uniform(0.3, 0.9)),
    );
    check_neuron(
        "plif of channels",
        Plif {
            granularity: Granularity::Channel,
            ..Plif::new(2.0)
        },
    );
}

#[test]
fn images_pass_convolutions_batch_norm_and_pooling() {
    let net = Sequential::new()
        .add(Conv2d::new(2, 4, 3).bias(false).padding(1).stride(2))
        .add(BatchNorm2d::new(4))
        .add(If::new())
        .add(AvgPool2d::new(2))
        .add(Dropout::new(0.5))
        .add(Flatten)
        .add(Linear::new(4 * 3 * 2, 6).bias(true))
        .add(BatchNorm1d::new(6))
        .add(Lif::new(2.0).v_threshold(0.3));
    let mut own = store(&net, &[2, 12, 8]);
    for (name, values) in [
        ("1.running_mean", vec![0.1_f32, -0.2, 0.3, 0.0]),
        ("1.running_var", vec![0.5, 1.5, 0.2, 0.9]),
        ("1.weight", vec![1.5, 0.8, -0.4, 1.0]),
        ("1.bias", vec![0.2, 0.0, 0.4, -0.1]),
        ("7.running_mean", vec![0.1; 6]),
        ("7.running_var", vec![0.3; 6]),
    ] {
        own.set(name, &Tensor::f32([values.len()], values))
            .expect("a tensor of the network");
    }
    let (graph, imported) = exported(&net, &own, &[2, 12, 8]);
    let kinds: Vec<&str> = imported.module.nodes().map(|(_, kind)| kind).collect();
    let expected = [
        "Conv2d",
        "IF",
        "AvgPool2d",
        "Flatten",
        "Affine",
        "LIF",
        "Input",
        "Output",
    ];
    assert_eq!(kinds, expected);
    let MetadataValue::Group(group) = &graph.nodes["0"].metadata["spikelet"] else {
        panic!("a group");
    };
    assert!(matches!(&group["folded"], MetadataValue::Text(text) if text.contains("`1`")));
    check("images", &net, own, &[2, 12, 8], true);
}

#[test]
fn oblong_images_pass_windows_whose_sides_differ() {
    let net = Sequential::new()
        .add(
            Conv2d::new(2, 4, [3, 5])
                .padding([1, 2])
                .stride([1, 2])
                .bias(true),
        )
        .add(If::new())
        .add(AvgPool2d::new([4, 5]))
        .add(Conv2d::new(4, 3, [1, 4]).groups(1))
        .add(Lif::new(2.0).v_threshold(0.2))
        .add(Flatten)
        .add(Linear::new(3 * 6, 5))
        .add(Lif::new(2.0).v_threshold(0.1));
    let own = store(&net, &[2, 24, 40]);
    check("oblong images", &net, own, &[2, 24, 40], true);
}

#[test]
fn sequences_pass_convolutions_over_one_axis_and_delays() {
    let net = Sequential::new()
        .add(
            Conv1d::new(2, 4, 3)
                .padding(2)
                .dilation(2)
                .groups(2)
                .bias(true),
        )
        .add(If::new())
        .add(FixedDelay::new([3]))
        .add(Flatten)
        .add(Linear::new(4 * 9, 6).bias(false))
        .add(Lif::new(2.0).v_threshold(0.2));
    let own = store(&net, &[2, 9]);
    check("one axis", &net, own, &[2, 9], true);
}

#[test]
fn recurrent_layers_are_cycles() {
    let lif = || Lif::new(2.0).v_threshold(0.3);
    let nets: [(&str, Sequential); 3] = [
        (
            "recurrent",
            Sequential::new()
                .add(Linear::new(6, 8).bias(false))
                .add(Recurrent::new(lif(), 8)),
        ),
        (
            "feedback with bias and without a diagonal",
            Sequential::new()
                .add(Linear::new(6, 8).bias(false))
                .add(Recurrent::through(
                    lif(),
                    Feedback::new(8)
                        .bias(true)
                        .zero_diagonal(true)
                        .bias_init(Init::Constant(0.1)),
                )),
        ),
        (
            "rnn",
            Sequential::new()
                .add(Rnn::new(lif(), 6, 8).bias(true))
                .add_named("input", Linear::new(8, 3).bias(false))
                .add(Lif::new(2.0).fires(false)),
        ),
    ];
    for (name, net) in nets {
        let own = store(&net, &[6]);
        check(name, &net, own, &[6], name != "rnn");
    }
}

#[test]
fn an_approximation_is_made_if_asked_and_is_part_of_the_metadata() {
    let net = Sequential::new()
        .add(If::new())
        .add(RefractoryLif::default());
    let own = store(&net, &[6]);
    let refused = nir::export(&net, &own, &ExportOptions::new([6]))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("node `1`") && refused.contains("help: allow it with --approximate"),
        "{refused}"
    );
    let options = ExportOptions {
        approximate: true,
        ..ExportOptions::new([6])
    };
    let made = nir::export(&net, &own, &options).expect("approximations");
    assert_eq!(made.notes.len(), 1);
    let MetadataValue::Group(group) = &made.graph.nodes["1"].metadata["spikelet"] else {
        panic!("a group");
    };
    let text = &group["approximation"];
    assert!(matches!(text, MetadataValue::Text(text) if text.contains("refractory period")));
}

#[test]
fn every_reference_graph_comes_back_as_it_was() {
    let mut count = 0;
    for name in golden_names() {
        let before = graph(&name);
        // Graphs that are wrong are refused; see the tests of errors.
        let Ok(imported) = nir::import(&before, &ImportOptions::new(1e-3)) else {
            continue;
        };
        count += 1;
        for float in [DType::F32, DType::F64] {
            let store = imported.store(device(), float).expect("a store");
            let after = imported.to_graph(&store).expect("a graph");
            assert_eq!(
                (&after.nodes, &after.edges),
                (&before.nodes, &before.edges),
                "{name}"
            );
            let again = nir::import(&after, &ImportOptions::default()).expect("a module");
            assert_eq!(again.tensors, imported.tensors, "{name}");
            let (a, b) = (again.semantics, imported.semantics);
            assert_eq!(
                (a.dt, a.discretization, a.fires),
                (b.dt, b.discretization, b.fires)
            );
        }
    }
    assert_eq!(count, 52);
}

#[test]
fn trained_parameters_are_written_in_the_units_of_the_graph() {
    let options = ImportOptions {
        train_neurons: true,
        ..ImportOptions::new(1e-3)
    };
    for name in [
        "lif",
        "cubalif",
        "if",
        "integrators",
        "nested",
        "conv2d",
        "scale_delay_threshold",
        "zero_d",
    ] {
        let imported = nir::import(&graph(name), &options).expect("a graph");
        let mut store = imported.store(device(), DType::F64).expect("a store");
        for (tensor, values) in imported
            .tensors
            .iter()
            .filter(|(name, _)| !name.ends_with(".delay"))
        {
            let changed = values
                .to_f64()
                .iter()
                .map(|value| 1.25 * value + 0.5)
                .collect::<Vec<_>>();
            store
                .set(tensor, &Tensor::f64(values.shape.clone(), changed))
                .expect("a tensor");
        }
        let trained = imported.to_graph(&store).expect("a graph");
        let again = nir::import(&trained, &ImportOptions::default()).expect("a module");
        for (tensor, values) in &again.tensors {
            let expected = store.get(tensor).expect("a tensor").to_f64();
            let near = |(a, b): (f64, &f64)| (a - b).abs() <= 1e-6 * b.abs();
            assert!(
                values.to_f64().into_iter().zip(&expected).all(near),
                "{name}: {tensor}"
            );
        }
    }
}
