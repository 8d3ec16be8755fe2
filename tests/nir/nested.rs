//! An imported graph in another network: its export is a graph in the graph.

use crate::nir::exported::{check, exported};
use crate::nir::support::graph;
use spikelet::nir::{self, Convention, ExportOptions, Graph, ImportOptions, NirError, NodeKind};
use spikelet::prelude::*;

/// A network around an imported graph, with the tensors of the graph.
fn around(graph: &Graph, options: &ImportOptions) -> (Sequential, VarStore, usize) {
    behind(graph, options, |_| Sequential::new())
}

/// The same with more layers between, which `more` makes for a number of features.
fn behind(
    graph: &Graph,
    options: &ImportOptions,
    more: impl Fn(usize) -> Sequential,
) -> (Sequential, VarStore, usize) {
    let imported = nir::import(graph, options).expect("a graph");
    let [inputs] = imported.module.inputs()[0].shape[..] else {
        panic!("one axis");
    };
    let tensors = imported.tensors.clone();
    let net = Sequential::new()
        .add(
            Linear::new(6, inputs)
                .bias(false)
                .weight_init(Init::Uniform { bound: 3.0 }),
        )
        .add(more(inputs))
        .add_named("sub", imported.module);
    let mut own = crate::nir::exported::store(&net, &[6]);
    for (name, tensor) in tensors {
        own.set(&format!("sub.{name}"), &tensor.cast(DType::F32))
            .expect("a tensor of the network");
    }
    (net, own, inputs)
}

#[test]
fn a_graph_in_a_network_fires_the_same_spikes() {
    for name in ["lif", "cubalif", "recurrent"] {
        for options in [
            ImportOptions::new(1e-3),
            ImportOptions {
                dt: Some(1e-3),
                ..ImportOptions::of(Convention::Sinabs)
            },
            ImportOptions {
                dt: Some(1e-3),
                ..ImportOptions::of(Convention::Norse)
            },
        ] {
            let (net, own, _) = around(&graph(name), &options);
            let (made, imported) = exported(&net, &own, &[6]);
            assert!(matches!(&made.nodes["sub"].kind, NodeKind::Graph(_)));
            assert!(
                imported
                    .module
                    .nodes()
                    .any(|(path, _)| path.starts_with("sub/"))
            );
            check(name, &net, own, &[6], true);
        }
    }
}

#[test]
fn the_parameters_of_the_graph_are_those_of_the_store() {
    let (net, mut own, inputs) = around(&graph("lif"), &ImportOptions::new(1e-3));
    let name = own
        .names()
        .find(|name| name.starts_with("sub.") && name.ends_with(".weight"))
        .expect("a weight")
        .to_string();
    let shape = own.get(&name).expect("a tensor").shape.clone();
    assert_eq!(shape.last(), Some(&inputs));
    let values = vec![0.75_f32; shape.iter().product()];
    own.set(&name, &Tensor::f32(shape, values))
        .expect("a tensor");
    let (_, imported) = exported(&net, &own, &[6]);
    let node = name["sub.".len()..].to_string();
    let found = imported.tensors[&format!("sub/{node}")].to_f64();
    assert!(found.iter().all(|weight| *weight == 0.75), "{found:?}");
}

#[test]
fn a_graph_with_other_steps_or_other_feedback_is_refused() {
    let refused = |net: &Sequential, own: &VarStore| {
        let error = nir::export(net, own, &ExportOptions::new([6])).expect_err("refused");
        assert!(error.downcast_ref::<NirError>().is_some(), "{error}");
        error.to_string()
    };
    let (net, own, _) = around(&graph("lif"), &ImportOptions::new(1e-4));
    let text = refused(&net, &own);
    assert!(
        text.contains("node `sub`: its graph has steps of 0.0001")
            && text.contains("help: set `ExportOptions::dt` to 0.0001"),
        "{text}"
    );
    let edge = ImportOptions {
        dt: Some(1e-3),
        ..ImportOptions::of(Convention::Norse)
    };
    let recurrent = |features| Sequential::new().add(Recurrent::new(If::new(), features));
    let (net, own, _) = behind(&graph("recurrent"), &edge, recurrent);
    let text = refused(&net, &own);
    assert!(
        text.contains("node `sub`: feedback of its cycles is `edge`") && text.contains("`source`"),
        "{text}"
    );
}
