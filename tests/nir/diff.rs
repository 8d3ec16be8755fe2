//! Two networks on the same input: planted differences are found at their place, and their causes named.

use crate::nir::golden;
use crate::nir::support::graph;
use spikelet::nir::Record;
use spikelet::nir::diff::{Cause, Changed, DiffOptions, DiffReport, Quantity, Side, Trace, diff};
use spikelet::nir::{
    Affine, Discretization, Fires, Graph, ImportOptions, Lif, Linear, NodeKind, Reset,
    SimulateOptions, Tensor as NirTensor, VStart, simulate,
};
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use std::collections::BTreeMap;

const SIZE: usize = 4;

/// Numbers on −0.5 … 0.5 that look random and are the same everywhere.
fn numbers(count: usize, salt: u64) -> Vec<f64> {
    let next = |k: u64| {
        let mixed = (k + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23) ^ salt;
        let mixed = mixed.wrapping_mul(0xD134_2543_DE82_EF95);
        (mixed >> 40) as f64 / f64::from(1 << 24) - 0.5
    };
    (0..count as u64).map(next).collect()
}

fn tensor(shape: &[usize], values: Vec<f64>) -> NirTensor {
    NirTensor::from_f64(shape, &values).expect("as many values")
}

fn weight(salt: u64) -> NirTensor {
    let values = numbers(SIZE * SIZE, salt)
        .into_iter()
        .map(|w| (2.0 * w + 0.3) as f32);
    tensor(&[SIZE, SIZE], values.map(f64::from).collect())
}

fn all(value: f64) -> NirTensor {
    tensor(&[SIZE], vec![value; SIZE])
}

fn lif() -> NodeKind {
    NodeKind::Lif(Lif {
        tau: all(8e-3),
        r: all(4.0),
        v_leak: all(0.0),
        v_threshold: all(1.0),
        v_reset: Some(all(0.4)),
    })
}

/// input → fc1 → lif1 → fc2 → lif2 → output, four neurons each.
fn network() -> Graph {
    let bias = tensor(&[SIZE], vec![0.05, -0.02, 0.03, 0.1]);
    let mut graph = Graph::default();
    graph
        .insert("input", NodeKind::Input { shape: vec![SIZE] })
        .insert(
            "fc1",
            NodeKind::Affine(Affine {
                weight: weight(1),
                bias,
            }),
        )
        .insert("lif1", lif())
        .insert("fc2", NodeKind::Linear(Linear { weight: weight(2) }))
        .insert("lif2", lif())
        .insert("output", NodeKind::Output { shape: vec![SIZE] })
        .connect(&["input", "fc1", "lif1", "fc2", "lif2", "output"]);
    graph
}

fn steps() -> SimulateOptions {
    SimulateOptions {
        import: ImportOptions::new(1e-3),
        record: Record::All,
        ..SimulateOptions::default()
    }
}

/// [24, 2, 4]
fn inputs() -> BTreeMap<String, Tensor> {
    let values: Vec<f64> = numbers(24 * 2 * SIZE, 3)
        .into_iter()
        .map(|x| x + 0.6)
        .collect();
    [("input".to_string(), Tensor::f64([24, 2, SIZE], values))].into()
}

fn weight_of<'a>(graph: &'a mut Graph, name: &str) -> &'a mut NirTensor {
    match &mut graph.nodes.get_mut(name).expect("the node").kind {
        NodeKind::Affine(affine) => &mut affine.weight,
        NodeKind::Linear(linear) => &mut linear.weight,
        other => panic!("{} has no weight", other.name()),
    }
}

/// The sequences of a graph as a trace, only those whose names end with one of these.
fn trace(
    graph: &Graph,
    options: &SimulateOptions,
    inputs: &BTreeMap<String, Tensor>,
    ends: &[&str],
) -> Side {
    let made = simulate(graph, inputs, options).expect("it runs");
    let kept = made.sequences.into_iter();
    let kept = kept.filter(|(name, _)| ends.iter().any(|end| name.ends_with(end)));
    Side::Trace(Trace::new(kept.collect()))
}

/// The network against a trace of a changed one, of which all layers or only the spikes of neurons are recorded.
fn against(changed: (&Graph, &SimulateOptions), scale: f64, ends: &[&str]) -> DiffReport {
    let a = Side::graph(network(), steps());
    let mut given = inputs();
    for tensor in given.values_mut() {
        let values: Vec<f64> = tensor.to_f64().iter().map(|x| x * scale).collect();
        *tensor = Tensor::f64(tensor.shape.clone(), values);
    }
    let b = trace(changed.0, changed.1, &given, ends);
    diff(&a, &b, &inputs(), &DiffOptions::default()).expect("they are compared")
}

const ALL: [&str; 4] = ["/out", "/h", "/v", "/i"];
const SPIKES: [&str; 2] = ["lif1/out", "lif2/out"];

/// Checks that the difference is explained by this cause, with all sequences and with spikes only.
fn explained(graph: &Graph, options: &SimulateOptions, scale: f64, cause: Cause, change: &str) {
    for ends in [&ALL[..], &SPIKES] {
        let report = against((graph, options), scale, ends);
        let named = report
            .cause()
            .unwrap_or_else(|| panic!("{ends:?}: {report:#?}"));
        assert_eq!(named.causes, [cause], "{ends:?}: {named:?}");
        assert_eq!(named.changed, Changed::A);
        assert!(named.change.contains(change), "{ends:?}: {named:?}");
    }
}

fn with(set: impl Fn(&mut ImportOptions)) -> SimulateOptions {
    let mut options = steps();
    set(&mut options.import);
    options
}

#[test]
fn a_network_equals_itself_and_its_trace() {
    let a = Side::graph(network(), steps());
    for b in [a.clone(), trace(&network(), &steps(), &inputs(), &ALL)] {
        let report = diff(&a, &b, &inputs(), &DiffOptions::default()).expect("it runs");
        assert!(report.is_equal() && report.trials.is_empty());
        assert_eq!(report.layers.len(), 6);
        assert_eq!(report.outputs[0].other_class, Some(0));
    }
}

#[test]
fn another_kind_of_reset_is_named() {
    let options = with(|o| o.reset = Some(Reset::Subtract));
    explained(&network(), &options, 1.0, Cause::Reset, "reset subtract");
}

#[test]
fn a_reset_one_step_late_is_named() {
    let options = with(|o| o.reset_delay = Some(true));
    explained(&network(), &options, 1.0, Cause::ResetDelay, "a step late");
    let both = with(|o| {
        o.reset = Some(Reset::Subtract);
        o.reset_delay = Some(true);
    });
    explained(
        &network(),
        &both,
        1.0,
        Cause::ResetDelay,
        "reset subtract, a step late",
    );
}

#[test]
fn another_comparison_with_the_threshold_is_named() {
    // Integer inputs reach the threshold exactly.
    let mut graph = Graph::default();
    let lif = NodeKind::Lif(Lif {
        tau: all(2e-3),
        r: all(2.0),
        v_leak: all(0.0),
        v_threshold: all(1.0),
        v_reset: Some(all(0.0)),
    });
    graph
        .insert("input", NodeKind::Input { shape: vec![SIZE] })
        .insert("lif", lif)
        .insert("output", NodeKind::Output { shape: vec![SIZE] })
        .connect(&["input", "lif", "output"]);
    let values: Vec<f32> = (0..40).map(|k| (k % 3) as f32 * 0.5).collect();
    let inputs = [("input".to_string(), Tensor::f32([10, 1, SIZE], values))].into();
    let other = with(|o| o.fires = Some(Fires::AtLeast));
    let a = Side::graph(graph.clone(), steps());
    for ends in [&ALL[..], &["lif/out"]] {
        let b = trace(&graph, &other, &inputs, ends);
        let report = diff(&a, &b, &inputs, &DiffOptions::default()).expect("it runs");
        let first = report.first.as_ref().expect("they differ");
        assert_eq!(
            (first.layer_a.as_str(), first.quantity),
            ("lif", Quantity::Output)
        );
        assert_eq!((first.a, first.b, first.h[0]), (0.0, 1.0, Some(1.0)));
        let cause = report.cause().expect("it is explained");
        assert_eq!(
            (&cause.causes[..], &*cause.change),
            (&[Cause::Fires][..], "fires ge")
        );
    }
}

#[test]
fn another_discretization_is_named() {
    let options = with(|o| o.discretization = Some(Discretization::Exact));
    explained(
        &network(),
        &options,
        1.0,
        Cause::Discretization,
        "discretization exact",
    );
}

#[test]
fn another_length_of_a_step_is_named() {
    let options = with(|o| o.dt = Some(5e-4));
    explained(&network(), &options, 1.0, Cause::StepLength, "dt 0.0005");
}

#[test]
fn another_start_is_named() {
    let options = with(|o| o.v_start = Some(VStart::Reset));
    explained(&network(), &options, 1.0, Cause::VStart, "v(0) reset");
}

#[test]
fn a_transposed_weight_is_named_with_its_layer() {
    let mut graph = network();
    let weight = weight_of(&mut graph, "fc2");
    let values = weight.to_f64();
    let transposed = (0..SIZE * SIZE)
        .map(|k| values[k % SIZE * SIZE + k / SIZE])
        .collect();
    *weight = tensor(&[SIZE, SIZE], transposed);
    explained(
        &graph,
        &steps(),
        1.0,
        Cause::TransposedWeight,
        "weight transposed of `fc2`",
    );
}

#[test]
fn weights_of_a_smaller_type_are_named() {
    let mut graph = network();
    for name in ["fc1", "fc2"] {
        let weight = weight_of(&mut graph, name);
        let rounded = Tensor::f64([SIZE, SIZE], weight.to_f64())
            .cast(DType::BF16)
            .to_f64();
        *weight = tensor(&[SIZE, SIZE], rounded);
    }
    if let NodeKind::Affine(affine) = &mut graph.nodes.get_mut("fc1").expect("it is there").kind {
        let rounded = Tensor::f64([SIZE], affine.bias.to_f64())
            .cast(DType::BF16)
            .to_f64();
        affine.bias = tensor(&[SIZE], rounded);
    }
    explained(
        &graph,
        &steps(),
        1.0,
        Cause::Dtype,
        "weights rounded to bf16",
    );
    // The other way around: the weights of B are rounded, since those of A have lost their digits.
    let (a, b) = (Side::graph(graph, steps()), Side::graph(network(), steps()));
    let report = diff(&a, &b, &inputs(), &DiffOptions::default()).expect("it runs");
    let cause = report.cause().expect("it is explained");
    assert_eq!(
        (&cause.causes[..], cause.changed),
        (&[Cause::Dtype][..], Changed::B)
    );
}

#[test]
fn swapped_layers_are_named() {
    let mut graph = network();
    *weight_of(&mut graph, "fc1") = weight(2);
    *weight_of(&mut graph, "fc2") = weight(1);
    // Both without a bias, so that they are of one type.
    let linear = |weight: NirTensor| NodeKind::Linear(Linear { weight });
    let mut a = network();
    a.insert("fc1", linear(weight(1)));
    graph.insert("fc1", linear(weight(2)));
    for ends in [&ALL[..], &SPIKES] {
        let b = trace(&graph, &steps(), &inputs(), ends);
        let a = Side::graph(a.clone(), steps());
        let report = diff(&a, &b, &inputs(), &DiffOptions::default()).expect("it runs");
        let cause = report.cause().expect("it is explained");
        assert_eq!(cause.causes, [Cause::SwappedLayers]);
        assert_eq!(cause.change, "`fc1` and `fc2` exchanged");
    }
}

#[test]
fn a_missing_bias_is_named() {
    let mut graph = network();
    let weight = weight(1);
    graph.insert("fc1", NodeKind::Linear(Linear { weight }));
    explained(
        &graph,
        &steps(),
        1.0,
        Cause::MissingBias,
        "bias of `fc1` removed",
    );
    // The other way around: the bias is estimated from the outputs.
    let a = Side::graph(graph.clone(), steps());
    let b = trace(&network(), &steps(), &inputs(), &["/out"]);
    let report = diff(&a, &b, &inputs(), &DiffOptions::default()).expect("it runs");
    assert_eq!(
        report.cause().expect("it is explained").causes,
        [Cause::MissingBias]
    );
    // Between two graphs, the bias of B is removed.
    let b = Side::graph(network(), steps());
    let report = diff(&a, &b, &inputs(), &DiffOptions::default()).expect("it runs");
    assert_eq!(
        report.cause().expect("it is explained").causes,
        [Cause::MissingBias]
    );
}

#[test]
fn a_factor_of_the_input_is_named() {
    explained(
        &network(),
        &steps(),
        0.5,
        Cause::InputScale,
        "input multiplied by 0.5",
    );
    let report = against((&network(), &steps()), 1.37, &ALL);
    let cause = report.cause().expect("it is explained");
    assert_eq!(cause.change, "input multiplied by 1.37");
}

#[test]
fn two_differences_at_once_are_named_together() {
    let mut graph = network();
    let values = weight_of(&mut graph, "fc2").to_f64();
    let transposed = (0..SIZE * SIZE)
        .map(|k| values[k % SIZE * SIZE + k / SIZE])
        .collect();
    *weight_of(&mut graph, "fc2") = tensor(&[SIZE, SIZE], transposed);
    let options = with(|o| o.reset = Some(Reset::Subtract));
    let report = against((&graph, &options), 1.0, &ALL);
    let cause = report.cause().expect("it is explained");
    assert_eq!(cause.causes.len(), 2, "{cause:?}");
    for expected in [Cause::Reset, Cause::TransposedWeight] {
        assert!(cause.causes.contains(&expected), "{cause:?}");
    }
}

#[test]
fn parameters_of_another_network_are_named_if_nothing_more_specific_explains() {
    let mut graph = network();
    *weight_of(&mut graph, "fc2") = weight(9);
    let (a, b) = (
        Side::graph(network(), steps()),
        Side::graph(graph.clone(), steps()),
    );
    let report = diff(&a, &b, &inputs(), &DiffOptions::default()).expect("it runs");
    let cause = report.cause().expect("it is explained");
    assert_eq!(cause.causes, [Cause::Parameters]);
    assert!(cause.change.starts_with("weight (by up to "), "{cause:?}");
    // A trace does not have parameters, so that nothing explains it.
    let report = against((&graph, &steps()), 1.0, &ALL);
    assert!(report.cause().is_none() && !report.trials.is_empty());
    let first = report.first.expect("they differ");
    assert_eq!((&*first.layer_a, first.quantity), ("fc2", Quantity::Output));
}

#[test]
fn the_trace_may_come_first_and_have_other_names() {
    let options = with(|o| o.reset = Some(Reset::Subtract));
    let made = simulate(&network(), &inputs(), &options).expect("it runs");
    let renamed = [("lif1/out", "0.sn/out"), ("lif2/out", "10.sn/out")];
    let renamed = renamed.map(|(own, other)| (other.to_string(), made.sequences[own].clone()));
    let a = Side::Trace(Trace::new(renamed.into()));
    let b = Side::graph(network(), steps());
    let report = diff(&a, &b, &inputs(), &DiffOptions::default()).expect("it runs");
    let pairs: Vec<_> = report
        .layers
        .iter()
        .map(|layer| (&*layer.layer_a, &*layer.layer_b))
        .collect();
    assert_eq!(pairs, [("0.sn", "lif1"), ("10.sn", "lif2")]);
    let cause = report.cause().expect("it is explained");
    assert_eq!(
        (&cause.causes[..], cause.changed),
        (&[Cause::Reset][..], Changed::B)
    );
    let map = vec![("10.sn".to_string(), "lif2".to_string())];
    let options = DiffOptions {
        map,
        ..DiffOptions::default()
    };
    assert!(diff(&a, &b, &inputs(), &options).is_ok());
}

#[test]
fn reference_simulations_are_equal_to_the_graphs_that_they_are_of() {
    for (name, run, dt) in [
        ("lif", "euler_value", 1e-3),
        ("cubalif", "exact_value", 1e-3),
        ("recurrent", "euler_value", 1e-3),
        ("nested", "euler_value", 1e-3),
    ] {
        let (case, path) = golden::case(name);
        let how = &case["runs"][run];
        assert!(how.is_object(), "{name} has no run {run}: {case}");
        assert_eq!(case["dt"].as_f64(), Some(dt), "{name}");
        let file = TensorFile::read(path).expect("a tensor file");
        let prefix = format!("{run}/");
        let tensors = file.tensors.into_iter().filter_map(|(name, tensor)| {
            let name = name
                .strip_prefix(&prefix)
                .or(name.starts_with("in/").then_some(&*name))?;
            Some((name.to_string(), tensor))
        });
        let trace = Trace::new(tensors.collect());
        let inputs = trace.inputs.clone();
        let import = golden::options(how, dt);
        let a = Side::graph(
            graph(name),
            SimulateOptions {
                import,
                ..SimulateOptions::default()
            },
        );
        let report = diff(&a, &Side::Trace(trace), &inputs, &DiffOptions::default());
        let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(report.is_equal(), "{name}: {:?}", report.first);
        assert!(report.only_b.is_empty(), "{name}: {:?}", report.only_b);
    }
}

#[test]
fn networks_that_cannot_be_compared_are_errors_that_say_what_to_do() {
    let a = Side::graph(network(), steps());
    let of = |name: &str, shape: &[usize]| {
        let count = shape.iter().product();
        let tensor = Tensor::f32(shape, vec![0.5; count]);
        Side::Trace(Trace::new([(name.to_string(), tensor)].into()))
    };
    let other_name = of("layer/out", &[24, 2, SIZE + 1]);
    let cases = [
        (
            other_name,
            vec![],
            ["no layers correspond", "lif1", "--map"],
        ),
        (
            of("lif1/out", &[20, 2, SIZE]),
            vec![],
            ["other time steps", "[20, 2, 4]", "help"],
        ),
        (
            of("lif1/out", &[24, 3, SIZE]),
            vec![],
            ["other samples", "[24, 3, 4]", "help"],
        ),
        (
            of("lif1/out", &[24]),
            vec![],
            ["`lif1/out`", "[T, N, …]", "help"],
        ),
        (
            of("lif1/out", &[24, 2, SIZE]),
            vec![("nobody", "lif1")],
            ["`nobody`", "fc1", "--map"],
        ),
        (
            of("x1/out", &[24, 2, 3]),
            vec![("lif1", "x1")],
            ["`x1`", "[24, 2, 3]", "same shape"],
        ),
        (
            of("lif1/i", &[24, 2, SIZE]),
            vec![],
            ["no sequence in common", "lif/out", "help"],
        ),
    ];
    for (b, map, parts) in cases {
        let map = map
            .into_iter()
            .map(|(a, b)| (a.to_string(), b.to_string()))
            .collect();
        let options = DiffOptions {
            map,
            ..DiffOptions::default()
        };
        let error = diff(&a, &b, &inputs(), &options)
            .expect_err("it is wrong")
            .to_string();
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    let error = diff(&a, &a, &BTreeMap::new(), &DiffOptions::default()).expect_err("no input");
    assert!(error.to_string().contains("input `input`"), "{error}");
}
