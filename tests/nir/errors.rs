//! Graphs and sequences that cannot be imported or simulated: errors that name the node and say what to do.

use crate::nir::support::{bytes, graph};
use spikelet::nir::{
    self, Convention, Graph, ImportOptions, Limits, Linear as LinearNode, MetadataValue, NirError,
    NodeKind, SimulateOptions,
};
use spikelet::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

fn refused(graph: &Graph, options: &ImportOptions) -> String {
    let error = nir::import(graph, options).expect_err("it is refused");
    assert!(error.downcast_ref::<NirError>().is_some(), "{error}");
    let text = error.to_string();
    assert!(text.contains("\n  help: "), "{text}");
    text
}

#[test]
fn damaged_and_wrong_graphs_are_errors_and_no_panics() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/spikelet-nir/tests/fixtures/bad");
    let mut imported = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of wrong graphs") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let Some(name) = name.strip_suffix(".nir.gz") else {
            continue;
        };
        let Ok(graph) = Graph::from_bytes(bytes("bad", name), &Limits::default()) else {
            continue;
        };
        let Ok(made) = nir::import(&graph, &ImportOptions::new(1e-3)) else {
            continue;
        };
        imported += 1;
        let cx = Context::new(Mode::EVAL, DType::F32);
        let input = |port: &nir::Port| {
            let shape = [&[2, 1], &port.shape[..]].concat();
            cx.tracer().input(&port.path, DType::F32, shape)
        };
        let inputs: Vec<Var> = made.module.inputs().iter().map(input).collect();
        if let Err(error) = made.module.run(&cx, &inputs) {
            assert!(error.to_string().contains("help: "), "{name}: {error}");
        }
    }
    assert_eq!(imported, 4);
}

#[test]
fn a_length_of_a_step_that_is_unknown_or_wrong_is_asked_for() {
    let lif = graph("lif");
    assert!(refused(&lif, &ImportOptions::default()).starts_with("the length of a time step: "));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let text = refused(&lif, &ImportOptions::new(wrong));
        assert!(text.contains(&format!("{wrong} was given")), "{text}");
    }
}

#[test]
fn a_framework_that_compensates_for_dt_gives_it_away() {
    for (name, dt) in [("spikingjelly_cuba", 1e-4), ("snntorch_rsynaptic", 1e-4)] {
        let made = nir::import(&graph(name), &ImportOptions::default()).expect("it is inferred");
        assert!(
            (made.semantics.dt / dt - 1.0).abs() < 1e-4,
            "{name}: {}",
            made.semantics
        );
    }
    let norse = nir::import(
        &graph("norse_git_mlp"),
        &ImportOptions::of(Convention::Norse),
    );
    assert_eq!(norse.expect("the convention has it").semantics.dt, 1e-3);
}

#[test]
fn a_node_without_an_input_is_named() {
    let mut graph = graph("lif");
    let weight = nir::Tensor::from_f32(&[2, 2], &[0.5; 4]).expect("four elements");
    graph.insert("alone", NodeKind::Linear(LinearNode { weight }));
    let text = refused(&graph, &ImportOptions::new(1e-3));
    assert!(
        text.starts_with("node `alone`: no edge leads to it"),
        "{text}"
    );
}

#[test]
fn metadata_that_is_not_known_is_named() {
    let mut graph = graph("lif");
    let group = [("fires".to_string(), MetadataValue::from("sometimes"))].into();
    graph
        .metadata
        .insert("spikelet".to_string(), MetadataValue::Group(group));
    let text = refused(&graph, &ImportOptions::new(1e-3));
    assert!(text.contains("`spikelet/fires` is `sometimes`"), "{text}");
}

#[test]
fn a_delay_of_too_many_steps_is_named() {
    let text = refused(&graph("delay_lif"), &ImportOptions::new(1e-12));
    assert!(text.starts_with("node `delay`: a delay is"), "{text}");
}

#[test]
fn sequences_that_do_not_match_are_named() {
    let lif = graph("lif");
    let options = SimulateOptions {
        import: ImportOptions::new(1e-3),
        ..SimulateOptions::default()
    };
    let run = |name: &str, shape: &[usize]| {
        let x = Tensor::f32(shape, vec![0.0; shape.iter().product()]);
        let inputs = BTreeMap::from([(name.to_string(), x)]);
        nir::simulate(&lif, &inputs, &options)
            .expect_err("it is refused")
            .to_string()
    };
    let input = &nir::import(&lif, &options.import)
        .expect("a graph")
        .module
        .inputs()[0]
        .clone();
    let missing = run("nothing", &[4, 1, 2]);
    assert!(
        missing.starts_with(&format!("input `{}`: there is no sequence", input.path)),
        "{missing}"
    );
    let wide = [&[4, 1], &input.shape[..], &[7]].concat();
    for shape in [
        &wide[..],
        &[4, 1, 99],
        &[4],
        &[0, 1, input.shape[0]],
        &[4, 0, input.shape[0]],
    ] {
        let text = run(&input.path, shape);
        assert!(
            text.contains("expected [T, N]") && text.contains("help: "),
            "{text}"
        );
    }
}

#[test]
fn a_graph_with_two_inputs_is_no_module_but_runs() {
    let made = nir::import(&graph("two_ways"), &ImportOptions::new(1e-3)).expect("a graph");
    let cx = Context::new(Mode::EVAL, DType::F32);
    let input = |port: &nir::Port| {
        let shape = [&[8, 1], &port.shape[..]].concat();
        cx.tracer().input(&port.path, DType::F32, shape)
    };
    let inputs: Vec<Var> = made.module.inputs().iter().map(input).collect();
    let text = made
        .module
        .forward(&cx, &inputs[0])
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("2 Inputs") && text.contains("GraphModule::run"),
        "{text}"
    );
    assert_eq!(
        made.module.run(&cx, &inputs).expect("sequences").len(),
        made.module.outputs().len()
    );
}
