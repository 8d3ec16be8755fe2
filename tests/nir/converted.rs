//! Converted networks as graphs: neurons that start at half their threshold, scales, residual branches.

use crate::nir::exported::{check, exported, store};
use spikelet::layer::Rescale;
use spikelet::neuron::HalfThresholdIf;
use spikelet::nir::{NodeKind, VStart};
use spikelet::prelude::*;

/// An integrate-and-fire neuron as conversions make it, with a threshold for each channel.
fn of_channels() -> If {
    let stored = Trainable::new(Granularity::Channel).frozen(true);
    let neuron = If::new().v_threshold(0.7).v_reset(None);
    neuron.trainable("v_threshold", stored)
}

fn net() -> Sequential {
    let half = || HalfThresholdIf::default().v_threshold(0.75);
    let main = Sequential::new()
        .add(Conv2d::new(3, 3, 3).padding(1).bias(true))
        .add(of_channels())
        .add(Conv2d::new(3, 3, 1).bias(true));
    let inner = Residual::new(Conv2d::new(3, 3, 1).bias(false)).names("", "skip");
    let strided =
        Residual::new(Sequential::new().add(Conv2d::new(3, 4, 3).bias(false).padding(1).stride(2)))
            .shortcut(
                Sequential::new()
                    .add(Conv2d::new(3, 4, 1).bias(false).stride(2))
                    .add(BatchNorm2d::new(4)),
            );
    Sequential::new()
        .add(Conv2d::new(2, 3, 3).padding(1).bias(true))
        .add(half())
        .add_named(
            "block",
            Residual::new(main).shortcut(Rescale::each_channel(3)),
        )
        .add(half())
        .add_named("plain", inner)
        .add_named("strided", strided)
        .add(half())
        .add(Rescale::new(0.75))
        .add(Flatten)
        .add(Linear::new(4 * 9, 5).bias(true))
        .add(half())
}

#[test]
fn residual_branches_and_half_thresholds_run_as_in_the_network() {
    let (net, shape) = (net(), [2, 6, 6]);
    let mut own = store(&net, &shape);
    own.set("block.shortcut.scale", &Tensor::f32([3], [0.5, 1.5, 2.0]))
        .expect("a factor each");
    own.set(
        "block.main.1.v_threshold",
        &Tensor::f32([3], [0.3, 0.6, 0.9]),
    )
    .expect("a threshold each");
    let (graph, imported) = exported(&net, &own, &shape);
    assert_eq!(
        imported.semantics.v_start,
        VStart::Zero,
        "the neurons do not agree"
    );
    let into = |name: &str| {
        let edges = graph.edges.iter().filter(|edge| edge.to == name);
        edges.map(|edge| edge.from.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(into("3"), ["block.main.2", "block.shortcut"]);
    assert_eq!(into("strided.main.0"), ["plain", "3"]);
    assert!(matches!(graph.nodes["7"].kind, NodeKind::Scale(_)));
    check("converted", &net, own, &shape, true);
}

#[test]
fn neurons_that_start_at_half_their_threshold_are_the_choice_of_the_graph() {
    let net = Sequential::new()
        .add(Linear::new(3, 4).bias(true))
        .add(HalfThresholdIf::default());
    let own = store(&net, &[3]);
    let (_, imported) = exported(&net, &own, &[3]);
    assert_eq!(imported.semantics.v_start, VStart::HalfThreshold);
    check("half", &net, own, &[3], true);
}
