//! An operation that owns a graph, for tests of how the planner treats bodies.

use super::{Fill, Map, MatMul, Op, OpKind, Operation};
use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Graph, InputKind, Node, Output, ValueId};
use crate::liveness;
use crate::pass;
use crate::plan::Plan;
use crate::precision::Precision;
use crate::rewrite::for_each_graph;
use crate::semantics::{Class, Kind};
use crate::target::{InPlaceUpdates, SchedulingPolicy, SpikeStorage, Target, WorkspaceQuery};
use crate::text::Text;
use crate::types::{DType, TensorType};
use spikelet_expr::Expr;
use std::sync::Arc;

/// Runs its graph once: its operands are the graph's inputs, its results the graph's outputs.
#[derive(Clone, Debug, Default)]
pub struct WithBody(pub Graph);

impl PartialEq for WithBody {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(&self.0, &other.0)
    }
}

impl Operation for WithBody {
    fn kind(&self) -> Kind {
        Kind::new("with_body", Class::Opaque)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("with_body").body(&mut self.0);
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let expected = self.0.inputs.iter().map(|i| self.0.ty(i.value));
        if !expected.eq(inputs) {
            return Err(InvalidOp::new("operands differ from the body's inputs", ""));
        }
        let outputs = self.0.outputs.iter();
        Ok(outputs.map(|o| self.0.ty(o.value).clone()).collect())
    }

    fn outputs(&self, _: usize) -> usize {
        self.0.outputs.len()
    }

    fn differentiate(&self, _: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None; node.inputs.len()])
    }

    fn body(&self) -> Option<&Graph> {
        Some(&self.0)
    }

    fn body_mut(&mut self) -> Option<&mut Graph> {
        Some(&mut self.0)
    }
}

/// A device whose matrix products need 1000 bytes of workspace, and all else none.
struct Device;

impl WorkspaceQuery for Device {
    fn workspace(&self, _: &Graph, node: &Node) -> usize {
        if matches!(node.op, Op::MatMul(_)) {
            1000
        } else {
            0
        }
    }
}
impl SpikeStorage for Device {}
impl SchedulingPolicy for Device {}
impl InPlaceUpdates for Device {}
impl Target for Device {}

const SIDE: usize = 32;

fn layer() -> Arc<str> {
    Arc::from("l")
}

fn square() -> TensorType {
    TensorType::new(DType::F32, [SIDE, SIDE])
}

fn matmul(graph: &mut Graph, a: ValueId, b: ValueId) -> ValueId {
    graph.push1(MatMul::default(), &[a, b], &layer()).unwrap()
}

fn exp(graph: &mut Graph, x: ValueId) -> ValueId {
    let map = Map::new(vec![Map::operand(0).exp()], [SIDE, SIDE]);
    graph.push1(map, &[x], &layer()).unwrap()
}

fn output(graph: &mut Graph, name: &str, value: ValueId) {
    graph.outputs.push(Output {
        name: name.to_string(),
        value,
        updates: None,
    });
}

/// `y = exp(exp(x))·w`, and a product that is not read.
fn body() -> Graph {
    let mut graph = Graph::default();
    let x = graph.add_input("x", InputKind::Data, square()).unwrap();
    let w = graph.add_input("w", InputKind::Data, square()).unwrap();
    matmul(&mut graph, x, x);
    let hidden = exp(&mut graph, x);
    let hidden = exp(&mut graph, hidden);
    let y = matmul(&mut graph, hidden, w);
    output(&mut graph, "y", y);
    graph
}

/// `y = with_body(exp(x), w)`; the body is [`body`] inside `nested` more bodies.
fn around_body(nested: usize) -> Graph {
    let mut inner = body();
    for _ in 0..=nested {
        let mut graph = Graph::default();
        let x = graph.add_input("x", InputKind::Data, square()).unwrap();
        let w = graph.add_input("w", InputKind::Data, square()).unwrap();
        let hidden = exp(&mut graph, x);
        let inputs = [hidden, w];
        let y = graph.push1(WithBody(inner), &inputs, &layer()).unwrap();
        output(&mut graph, "y", y);
        inner = graph;
    }
    inner
}

fn the_body(graph: &Graph) -> &Graph {
    let found = graph.nodes.iter().find_map(|n| WithBody::of(&n.op));
    &found.expect("an operation with a body").0
}

fn names(graph: &Graph) -> Vec<String> {
    graph.nodes.iter().map(|n| n.op.name()).collect()
}

#[test]
fn passes_rewrite_the_graphs_that_operations_own() {
    let mut graph = around_body(1);
    let mut visited = vec![];
    for_each_graph(&mut graph, &mut |graph| visited.push(graph.nodes.len()));
    assert_eq!(visited, [4, 2, 2], "the innermost graph first");

    let reports = pass::run_all(&mut graph, &Device);
    let changes = |pass: &str| reports.iter().find(|r| r.pass == pass).unwrap().changes;
    assert_eq!(changes("dead code"), 1);
    assert_eq!(changes("elementwise fusion"), 1);
    let innermost = the_body(the_body(&graph));
    assert_eq!(names(innermost), ["map", "matmul"]);
    let twice = Expr::symbol(Map::operand_name(0)).exp().exp();
    let fused = &Map::of(&innermost.nodes[0].op).unwrap().expressions[0];
    assert_eq!(fused.to_string(), twice.to_string());
}

#[test]
fn an_operation_whose_results_are_not_read_is_removed_with_its_body() {
    let mut graph = around_body(0);
    graph.outputs.clear();
    pass::run_all(&mut graph, &Device);
    assert!(graph.nodes.is_empty(), "{graph}");
}

#[test]
fn operands_keep_the_types_of_the_body_s_inputs_in_16_bits() {
    let mut graph = Graph::default();
    let x = graph.add_input("x", InputKind::Data, square()).unwrap();
    let w = graph.add_input("w", InputKind::Data, square()).unwrap();
    // The body reads a product, which is stored in 16 bits.
    let product = matmul(&mut graph, x, w);
    let inputs = [product, w];
    let y = graph.push1(WithBody(body()), &inputs, &layer()).unwrap();
    output(&mut graph, "y", y);
    pass::prepare(&mut graph, Precision::Bf16);
    assert_eq!(graph.ty(product).dtype, DType::BF16, "{graph}");
    let node = graph
        .nodes
        .iter()
        .find(|n| WithBody::of(&n.op).is_some())
        .unwrap();
    let operands: Vec<TensorType> = node.inputs.iter().map(|v| graph.ty(*v).clone()).collect();
    assert!(node.op.infer(&operands).is_ok(), "{graph}");
    let inside = the_body(&graph);
    let y = inside.outputs[0].value;
    assert_eq!(inside.ty(y).dtype, DType::F32, "{inside}");
}

#[test]
fn the_workspace_of_an_operation_holds_the_arena_of_its_body() {
    let plan = Plan::new(around_body(0), &Device);
    plan.check().unwrap();
    plan.check_target(&Device).unwrap();
    let k = plan
        .graph
        .nodes
        .iter()
        .position(|n| WithBody::of(&n.op).is_some());
    let (offset, bytes) = plan.kernels[k.unwrap()].workspace.unwrap();
    let inner = liveness::arena_bytes(the_body(&plan.graph), &Device);
    assert!(inner >= square().bytes() + 1000, "{inner}");
    assert_eq!(bytes, inner);
    // The operand is live while the body runs: its memory is not the body's.
    let operand = plan.allocations.iter().find(|a| a.value.is_some()).unwrap();
    assert!(operand.offset + operand.bytes <= offset || offset + bytes <= operand.offset);

    let nested = Plan::new(around_body(1), &Device);
    assert!(nested.arena_bytes >= plan.arena_bytes + square().bytes());
}

#[test]
fn a_memory_limit_includes_the_arena_of_a_body() {
    let plan = Plan::new(around_body(0), &Device);
    let peak = plan.buffer_bytes() + plan.arena_bytes;
    assert!(Plan::within(around_body(0), &Device, peak).is_ok());
    let inner = liveness::arena_bytes(the_body(&plan.graph), &Device);
    assert!(Plan::within(around_body(0), &Device, peak - inner).is_err());
}

#[test]
fn a_printed_graph_shows_the_body_below_its_operation() {
    let text = around_body(0).to_string();
    assert!(text.contains("with_body(%2, %1)"), "{text}");
    assert!(text.contains("\n    %5 = matmul"), "{text}");
}

#[test]
fn a_fill_in_a_body_is_not_an_operand() {
    let mut inner = body();
    let ty = square();
    let fill = inner.push1(Fill { ty, value: 1.0 }, &[], &layer()).unwrap();
    output(&mut inner, "ones", fill);
    let mut graph = Graph::default();
    let x = graph.add_input("x", InputKind::Data, square()).unwrap();
    let results = graph.push(WithBody(inner), &[x, x], &layer()).unwrap();
    output(&mut graph, "y", results[1]);
    let plan = Plan::new(graph, &Device);
    plan.check().unwrap();
    assert_eq!(plan.graph.nodes[0].outputs.len(), 2);
}
