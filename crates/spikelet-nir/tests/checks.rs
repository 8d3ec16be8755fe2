//! Graphs that are built in memory: shapes, and errors that name the node.

use spikelet_nir::{
    Affine, Conv, Delay, Flatten, Graph, Li, Lif, Linear, MetadataValue, NodeKind, Padding, Pool,
    Scale, Sizes, Tensor, Threshold, WriteOptions,
};

fn tensor(shape: &[usize]) -> Tensor {
    Tensor::from_f32(shape, &vec![0.5; shape.iter().product()]).unwrap()
}

fn input(shape: &[usize]) -> NodeKind {
    NodeKind::Input {
        shape: shape.into(),
    }
}

fn output(shape: &[usize]) -> NodeKind {
    NodeKind::Output {
        shape: shape.into(),
    }
}

fn linear(outputs: usize, inputs: usize) -> NodeKind {
    NodeKind::Linear(Linear {
        weight: tensor(&[outputs, inputs]),
    })
}

fn lif(shape: &[usize]) -> NodeKind {
    NodeKind::Lif(Lif {
        tau: tensor(shape),
        r: tensor(shape),
        v_leak: tensor(shape),
        v_threshold: tensor(shape),
        v_reset: None,
    })
}

fn conv() -> Conv {
    Conv {
        input_shape: Sizes::Each(vec![8, 9]),
        weight: tensor(&[4, 1, 3, 5]),
        stride: Sizes::Each(vec![2, 1]),
        padding: Padding::Sizes(Sizes::Each(vec![1, 0])),
        dilation: Sizes::All(1),
        groups: 2,
        bias: tensor(&[4]),
    }
}

/// Input, a node, Output.
fn chain(shape: &[usize], kind: NodeKind) -> Graph {
    let mut graph = Graph::default();
    graph
        .insert("input", input(shape))
        .insert("node", kind)
        .connect(&["input", "node"]);
    graph
}

fn shape(graph: &Graph, node: &str) -> Vec<usize> {
    graph.check().unwrap().shapes[node].output.clone()
}

fn error(graph: &Graph) -> String {
    graph.check().unwrap_err().to_string()
}

#[test]
fn shapes_follow_from_the_parameters() {
    assert_eq!(
        shape(&chain(&[2, 8, 9], NodeKind::Conv2d(conv())), "node"),
        [4, 4, 5]
    );
    let pool = Pool {
        kernel_size: Sizes::Each(vec![3, 2]),
        stride: Sizes::All(2),
        padding: Sizes::Each(vec![1, 0]),
    };
    assert_eq!(
        shape(&chain(&[3, 7, 7], NodeKind::AvgPool2d(pool)), "node"),
        [3, 4, 3]
    );
    let flatten = |start_dim, end_dim| {
        let input_type = None;
        NodeKind::Flatten(Flatten {
            start_dim,
            end_dim,
            input_type,
        })
    };
    assert_eq!(shape(&chain(&[2, 3, 4], flatten(0, -1)), "node"), [24]);
    assert_eq!(shape(&chain(&[2, 3, 4], flatten(1, -1)), "node"), [2, 12]);
    assert_eq!(shape(&chain(&[2, 3, 4], flatten(0, 1)), "node"), [6, 4]);
    let same = Conv {
        input_shape: Sizes::All(9),
        weight: tensor(&[3, 2, 4]),
        stride: Sizes::All(1),
        padding: Padding::Same,
        dilation: Sizes::All(2),
        groups: 1,
        bias: tensor(&[3]),
    };
    assert_eq!(
        shape(&chain(&[2, 9], NodeKind::Conv1d(same)), "node"),
        [3, 9]
    );
    let parallel = NodeKind::Affine(Affine {
        weight: tensor(&[3, 5, 2]),
        bias: tensor(&[3, 5]),
    });
    assert_eq!(shape(&chain(&[3, 2], parallel), "node"), [3, 5]);
}

#[test]
fn a_convolution_that_contradicts_its_input_is_an_error_where_no_exporter_writes_it() {
    let square = |input_shape: Vec<i64>, groups: usize| Conv {
        input_shape: Sizes::Each(input_shape),
        weight: tensor(&[4, 2_usize / groups, 3, 3]),
        groups: groups as i64,
        ..conv()
    };
    let chained = |conv| chain(&[2, 8, 9], NodeKind::Conv2d(conv));
    let doubtful = |graph: &Graph| {
        let warnings = graph.check().unwrap().warnings.into_iter();
        let shapes = warnings.filter(|warning| warning.problem.contains("comes in, and is used"));
        shapes.count()
    };
    assert_eq!(doubtful(&chained(square(vec![8, 9], 1))), 0);
    let message = error(&chained(square(vec![9, 8], 1)));
    let expected =
        "node `node`: `input_shape` says that its input is [2, 9, 8]; [2, 8, 9] comes in";
    assert!(message.contains(expected), "{message}");
    // Those that `nir` infers wrongly, and time or batch in front.
    let mut behind = chained(Conv {
        groups: 1,
        weight: tensor(&[2, 2, 3, 5]),
        bias: tensor(&[2]),
        ..conv()
    });
    behind
        .insert("last", NodeKind::Conv2d(square(vec![8, 9], 1)))
        .connect(&["node", "last"]);
    for graph in [
        chained(square(vec![9, 8], 2)),
        chained(square(vec![1, 8, 9], 1)),
        behind,
    ] {
        assert_eq!(doubtful(&graph), 1);
    }
}

#[test]
fn one_number_for_all_neurons_takes_the_shape_of_the_input() {
    let li = NodeKind::Li(Li {
        tau: tensor(&[]),
        r: tensor(&[]),
        v_leak: tensor(&[]),
    });
    assert_eq!(shape(&chain(&[4, 5], li), "node"), [4, 5]);
    let mixed = NodeKind::Li(Li {
        tau: tensor(&[]),
        r: tensor(&[4]),
        v_leak: tensor(&[]),
    });
    assert_eq!(shape(&chain(&[4], mixed), "node"), [4]);
}

#[test]
fn wrong_parameters_are_named() {
    let with = |change: fn(&mut Conv)| {
        let mut own = conv();
        change(&mut own);
        error(&chain(&[2, 8, 9], NodeKind::Conv2d(own)))
    };
    for (found, words) in [
        (
            with(|conv| conv.groups = 3),
            "`groups` is 3; expected a divisor of the 4 outputs",
        ),
        (with(|conv| conv.groups = 1), "the input has 2 channels"),
        (
            with(|conv| conv.bias = tensor(&[5])),
            "`bias` has the shape [5]",
        ),
        (
            with(|conv| conv.stride = Sizes::All(0)),
            "`stride` is 0; expected 2 integers of at least 1",
        ),
        (
            with(|conv| conv.dilation = Sizes::Each(vec![1])),
            "`dilation` is [1]",
        ),
        (
            with(|conv| conv.padding = Padding::Sizes(Sizes::All(-1))),
            "`padding` is -1",
        ),
        (
            with(|conv| conv.weight = tensor(&[4, 1, 3])),
            "`weight` has the shape [4, 1, 3]",
        ),
        (
            with(|conv| conv.dilation = Sizes::All(i64::MAX)),
            "the kernel spans",
        ),
        (
            error(&chain(
                &[3],
                NodeKind::Linear(Linear {
                    weight: tensor(&[3]),
                }),
            )),
            "expected [out, in]",
        ),
        (
            error(&chain(
                &[2, 3],
                NodeKind::Flatten(Flatten {
                    start_dim: 1,
                    end_dim: 2,
                    input_type: None,
                }),
            )),
            "axes 1 to 2 are joined, but the input has the shape [2, 3]",
        ),
        (
            error(&chain(
                &[2],
                NodeKind::Delay(Delay {
                    delay: Tensor::from_f64(&[2], &[0.0, -0.1]).unwrap(),
                }),
            )),
            "`delay` of neuron 1 is -0.1; expected a time of at least 0",
        ),
        (
            error(&chain(
                &[1],
                NodeKind::Threshold(Threshold {
                    threshold: Tensor::from_f64(&[1], &[f64::NAN]).unwrap(),
                }),
            )),
            "`threshold` of neuron 0 is NaN",
        ),
    ] {
        assert!(
            found.starts_with("node `node`: ") && found.contains(words),
            "{found}"
        );
    }
}

#[test]
fn edges_must_fit() {
    let mut graph = chain(&[3], linear(4, 3));
    graph.insert("lif", lif(&[5])).connect(&["node", "lif"]);
    assert!(error(&graph).starts_with("edge `node` -> `lif`: `node` gives [4], `lif` takes [5]"));

    let mut graph = chain(&[3], lif(&[3]));
    graph
        .insert("output", output(&[4]))
        .connect(&["node", "output"]);
    assert!(
        error(&graph).starts_with("edge `node` -> `output`: `node` gives [3], `output` takes [4]")
    );
}

#[test]
fn a_cycle_needs_a_state() {
    let cycle = |kind: NodeKind| {
        let mut graph = chain(&[2], linear(2, 2));
        graph
            .insert("back", kind)
            .connect(&["node", "back", "node"]);
        graph
    };
    let found = error(&cycle(linear(2, 2)));
    assert!(
        found.contains("no node of the cycle `back` -> `node` has a state"),
        "{found}"
    );
    cycle(lif(&[2])).check().unwrap();
    cycle(NodeKind::Delay(Delay {
        delay: tensor(&[2]),
    }))
    .check()
    .unwrap();
    let mut graph = chain(
        &[2],
        NodeKind::Scale(Scale {
            scale: tensor(&[2]),
        }),
    );
    graph.connect(&["node", "node"]);
    assert!(error(&graph).contains("cycle `node`"));
}

#[test]
fn graphs_in_graphs_are_checked_with_their_paths() {
    let inner = |linear: NodeKind| {
        let mut inner = Graph::default();
        inner
            .insert("in", input(&[3]))
            .insert("fc", linear)
            .insert("out", output(&[2]))
            .connect(&["in", "fc", "out"]);
        NodeKind::Graph(inner)
    };
    let mut graph = chain(&[3], inner(linear(2, 3)));
    graph
        .insert("output", output(&[2]))
        .connect(&["node", "output"]);
    assert_eq!(shape(&graph, "node/fc"), [2]);
    assert_eq!(shape(&graph, "output"), [2]);
    let edges = graph.expand().unwrap().edges;
    assert_eq!(
        (edges[2].from.as_str(), edges[2].to.as_str()),
        ("input", "node/in")
    );

    let graph = chain(&[3], inner(linear(2, 4)));
    let found = error(&graph);
    assert!(found.starts_with("edge `node/in` -> `node/fc`"), "{found}");

    let mut empty = Graph::default();
    empty.insert("fc", linear(2, 3));
    let found = error(&chain(&[3], NodeKind::Graph(empty)));
    assert!(
        found.starts_with("node `node`: the graph has no Input"),
        "{found}"
    );
}

#[test]
fn names_and_text_that_cannot_be_stored_are_refused() {
    for name in ["a/b", "", "."] {
        let mut graph = chain(&[3], lif(&[3]));
        graph.insert(name, output(&[3]));
        assert!(
            error(&graph).contains("this name cannot be stored"),
            "{name}"
        );
    }
    let mut graph = chain(&[3], lif(&[3]));
    graph
        .metadata
        .insert("note".into(), MetadataValue::from("a\0b"));
    let found = graph
        .to_bytes(&WriteOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        found.contains("/node/metadata/note") && found.contains("zero byte"),
        "{found}"
    );
}

#[test]
fn a_wrong_graph_is_not_written_and_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.nir");
    std::fs::write(&path, b"before").unwrap();
    let graph = chain(&[3], lif(&[4]));
    let found = graph.write(&path).unwrap_err().to_string();
    assert!(
        found.contains("graph.nir: edge `input` -> `node`"),
        "{found}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
