//! Edits, and the questions that a pass asks after each of them.

use super::*;
use crate::graph::InputKind;
use crate::op::{Fill, Map, MatMul, Reshape};

fn layer() -> Arc<str> {
    Arc::from("")
}

fn exp(shape: &[usize]) -> Map {
    Map::new(vec![Map::operand(0).exp()], shape)
}

/// `y` is exp applied `count` times to `x`.
fn chain(count: usize) -> Graph {
    let mut graph = Graph::default();
    let ty = TensorType::new(DType::F32, [4]);
    let mut value = graph.add_input("x", InputKind::Data, ty).unwrap();
    for _ in 0..count {
        value = graph.push1(exp(&[4]), &[value], &layer()).unwrap();
    }
    graph.outputs.push(crate::graph::Output {
        name: "y".to_string(),
        value,
        updates: None,
    });
    graph
}

/// Compares the rewriter's state with one computed from all nodes.
fn assert_consistent(rewriter: &Rewriter<'_>) {
    let order = rewriter.order();
    assert!(order.is_sorted_by_key(|k| rewriter.position(*k)));
    let mut plain = rewriter.graph().clone();
    plain.forget_uses();
    plain.nodes = order.iter().map(|k| rewriter.node(*k).clone()).collect();
    let (producers, counts) = (plain.producers(), plain.use_counts());
    for value in (0..plain.values()).map(|v| ValueId(v as u32)) {
        let producer = producers[value.index()].map(|k| order[k]);
        assert_eq!(rewriter.producer(value), producer, "producer of {value:?}");
        let count = counts[value.index()];
        assert_eq!(rewriter.use_count(value), count, "uses of {value:?}");
        let reads = |k: &&NodeId| rewriter.node(**k).inputs.contains(&value);
        let readers: Vec<NodeId> = order.iter().filter(reads).copied().collect();
        assert_eq!(rewriter.readers(value), readers, "readers of {value:?}");
    }
}

#[test]
fn questions_about_values_are_answered_after_every_edit() {
    let mut graph = chain(3);
    let x = graph.inputs[0].value;
    let mut rewriter = Rewriter::new(&mut graph);
    assert_consistent(&rewriter);
    let [a, b, c] = rewriter.order()[..] else {
        panic!("three nodes")
    };
    let value = |rewriter: &Rewriter<'_>, k| rewriter.node(k).outputs[0];
    assert_eq!(rewriter.only_reader(x), Some(a));
    assert_eq!(rewriter.only_reader(value(&rewriter, a)), Some(b));
    assert_eq!(rewriter.only_reader(value(&rewriter, c)), None, "an output");

    let two = Map::new(vec![Map::operand(0) + Map::operand(1)], [4]);
    let sum = rewriter.make(two, &[x, x], &layer(), false).unwrap();
    let sum = rewriter.insert_before(b, sum);
    assert_eq!(rewriter.use_count(x), 3);
    assert_eq!(rewriter.readers(x), [a, sum]);
    assert_consistent(&rewriter);

    let (from, to) = (value(&rewriter, a), value(&rewriter, sum));
    rewriter.replace(from, to);
    assert_eq!(rewriter.only_reader(to), Some(b));
    assert_consistent(&rewriter);

    assert!(rewriter.remove_if_unread(a));
    assert!(!rewriter.contains(a));
    assert_eq!(rewriter.readers(x), [sum]);
    assert_consistent(&rewriter);

    let last = value(&rewriter, c);
    rewriter.replace(last, to);
    assert_eq!(rewriter.output_count(to), 1);
    assert_eq!(rewriter.remove_unread(), 2);
    assert_consistent(&rewriter);
    drop(rewriter);
    assert_eq!(graph.nodes.len(), 1);
    assert_eq!(graph.outputs[0].value, graph.nodes[0].outputs[0]);
}

#[test]
fn a_node_that_takes_the_place_of_another_keeps_its_id() {
    let mut graph = chain(2);
    let x = graph.inputs[0].value;
    let mut rewriter = Rewriter::new(&mut graph);
    let [a, b] = rewriter.order()[..] else {
        panic!("two nodes")
    };
    let node = Node {
        op: Map::new(vec![-Map::operand(0)], [4]).into(),
        inputs: vec![x],
        ..rewriter.node(b).clone()
    };
    rewriter.set(b, node);
    assert!(rewriter.remove_if_unread(a));
    assert_eq!(rewriter.only_reader(x), Some(b));
    assert_consistent(&rewriter);
}

#[test]
fn nodes_are_ordered_after_many_insertions_in_one_place() {
    let mut graph = chain(2);
    let x = graph.inputs[0].value;
    let mut rewriter = Rewriter::new(&mut graph);
    let [a, b] = rewriter.order()[..] else {
        panic!("two nodes")
    };
    let mut inserted = vec![];
    for _ in 0..200 {
        let node = rewriter.make(exp(&[4]), &[x], &layer(), false).unwrap();
        inserted.push(rewriter.insert_before(b, node));
    }
    let order = rewriter.order();
    assert_eq!(order[1..201], inserted);
    assert!(rewriter.precedes(a, inserted[0]) && rewriter.precedes(inserted[199], b));
    rewriter.move_after(inserted[199], Some(a));
    rewriter.move_after(inserted[198], None);
    assert_eq!(rewriter.order()[..3], [inserted[198], a, inserted[199]]);
    assert_consistent(&rewriter);
}

#[test]
fn a_rule_is_offered_each_node_once() {
    let mut graph = chain(5);
    let changes = Rewriter::new(&mut graph).apply(|graph, k| {
        let source = graph.node(k).inputs[0];
        let node = graph.make(exp(&[4]), &[source], &layer(), false).ok()?;
        graph.insert_before(k, node);
        Some(())
    });
    assert_eq!((changes, graph.nodes.len()), (5, 10));
}

#[test]
fn patterns_name_the_operation_that_they_match() {
    let mut graph = chain(1);
    let shape = vec![2, 2];
    let value = graph.outputs[0].value;
    let made = graph.push1(Reshape { shape }, &[value], &layer()).unwrap();
    graph.outputs[0].value = made;
    let rewriter = Rewriter::new(&mut graph);
    let (reshape, op) = rewriter.made_by::<Reshape>(made).unwrap();
    assert_eq!(op.shape, [2, 2]);
    assert!(rewriter.made_by::<MatMul>(made).is_none());
    assert!(
        rewriter
            .made_by::<Map>(rewriter.node(reshape).inputs[0])
            .is_some()
    );
}

#[test]
fn the_cost_of_a_node_follows_its_operation() {
    let mut graph = chain(1);
    let mut rewriter = Rewriter::new(&mut graph);
    let node = rewriter.order()[0];
    assert_eq!(rewriter.cost(node), 32, "16 bytes read, 16 written");
    let ty = TensorType::new(DType::F32, [4]);
    let fill = Node {
        op: Fill { ty, value: 0.0 }.into(),
        inputs: vec![],
        ..rewriter.node(node).clone()
    };
    rewriter.set(node, fill);
    assert_eq!(rewriter.cost(node), 16);
}

#[test]
fn a_trial_that_is_undone_leaves_no_trace() {
    let mut graph = chain(3);
    let (before, values) = (graph.to_string(), graph.values());
    let x = graph.inputs[0].value;
    let mut trial = Trial::new(&mut graph);
    let made = trial.make_at(1, exp(&[4]), &[x], (&layer(), true)).unwrap();
    trial.set_input(2, 0, made);
    let node = trial.graph.nodes[2].clone();
    trial.insert(2, node);
    assert_ne!(trial.graph.to_string(), before);
    trial.undo();
    assert_eq!((graph.to_string(), graph.values()), (before, values));
}
