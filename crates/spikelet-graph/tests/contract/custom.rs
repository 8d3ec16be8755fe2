//! Operations that the graph does not know: what passes and plans do with them, and do not.

use crate::graphs::{F, channels_last, channels_second, neuron, traced};
use crate::targets::{Binary, Plain};
use insta::assert_snapshot;
use spikelet_graph::op::{BackwardOperand, CustomOp, Op, Operation};
use spikelet_graph::{
    Allocation, DType, Error, Graph, InPlaceUpdates, InvalidOp, Kernel, Location, Node, Plan,
    Precision, SchedulingPolicy, SpikeStorage, Target, TensorType, Tracer, Var, WorkspaceQuery,
    pass,
};
use std::sync::Arc;

/// One sequence and a state in, two sequences out, of which the second is for the backward pass,
/// as a neuron's kernel has them.
#[derive(Clone, Debug, Default)]
struct Neuron {
    operands: Option<Vec<BackwardOperand>>,
    without_backward: bool,
}

#[derive(Debug)]
struct NeuronGrad;

impl CustomOp for Neuron {
    fn name(&self) -> String {
        "neuron".to_string()
    }
    fn outputs(&self) -> usize {
        2
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        let [x, v] = inputs else {
            return Err(InvalidOp::new("two operands are needed", "pass x and v"));
        };
        if x.shape[1..] != v.shape[..] {
            return Err(InvalidOp::new("x is not [T, v…]", "add the axis of time"));
        }
        Ok(vec![x.clone(), x.clone()])
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        (!self.without_backward).then(|| Arc::new(NeuronGrad) as Arc<dyn CustomOp>)
    }
    fn backward_operands(&self, _: usize, _: usize) -> Vec<BackwardOperand> {
        use BackwardOperand::{Gradient, Output};
        let usual = vec![Gradient(0), Output(1)];
        self.operands.clone().unwrap_or(usual)
    }
    fn may_skip(&self, output: usize) -> bool {
        output == 1
    }
}

impl CustomOp for NeuronGrad {
    fn name(&self) -> String {
        "neuron_grad".to_string()
    }
    fn outputs(&self) -> usize {
        2
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        let x = inputs[0].clone();
        let v = TensorType::new(x.dtype, &x.shape[1..]);
        Ok(vec![x, v])
    }
    fn may_skip(&self, _: usize) -> bool {
        true
    }
}

fn neurons(op: &Neuron, x: &Var, v: &Var) -> Vec<Var> {
    x.tracer()
        .scope("lif", || Var::custom(Arc::new(op.clone()), &[x, v]))
}

/// The loss of the spikes, and the gradient of what made them.
fn training(op: &Neuron) -> Tracer {
    let t = Tracer::new(F);
    let (x, v) = (t.input("x", F, [4, 8, 6]), t.state("v", [8, 6]));
    let w = t.parameter("w", [6, 6]);
    let made = neurons(op, &x.linear(&w), &v);
    let loss = made[0].square().sum_all();
    let dw = t.gradients(&loss, &[&w]).remove(0);
    t.output("loss", &loss);
    t.update(&w, &(&w - dw));
    t
}

#[test]
fn the_backward_operation_reads_what_it_names_and_nothing_else_is_kept() {
    let plan = Plan::new(training(&Neuron::default()).finish().unwrap(), &Plain);
    assert_snapshot!(plan.graph, @"
    %0 = Data `x`  f32[4, 8, 6]
    %1 = State `v`  f32[8, 6]
    %2 = Parameter `w`  f32[6, 6]
    %3 = matmul[a·bᵀ](%0, %2)  f32[4, 8, 6]
    %4, %5 = neuron(%3, %1)  f32[4, 8, 6], f32[4, 8, 6]  lif
    %6 = map[x0 · x0](%4)  f32[4, 8, 6]
    %7 = sum[0, 1, 2](%6)  f32[]
    %8 = fill[1]()  f32[]  ∂ loss
    %9 = reshape[1, 1, 1](%8)  f32[1, 1, 1]  ∂
    %11 = map[x1 · x0 + x1 · x0 as f32](%4, %9)  f32[4, 8, 6]  ∂
    %12, %13 = neuron_grad(%11, %5)  f32[4, 8, 6], f32[8, 6]  ∂ lif
    %14 = matmul[aᵀ·b](%12, %0)  f32[6, 6]  ∂
    %15 = map[x0 - x1](%2, %14)  f32[6, 6]
    `loss` = %7
    `w`: %2 becomes %15
    ");
    assert!(plan.is_sound());
    // The spikes and what the backward pass reads have memory, the state's gradient has none.
    let has_memory = |name: &str| -> Vec<bool> {
        let named = |k: &&Kernel| plan.graph.nodes[k.node].op.name() == name;
        let kernel = plan.kernels.iter().find(named).unwrap();
        kernel
            .writes
            .iter()
            .map(|p| *p != Location::Unused)
            .collect()
    };
    assert_eq!(has_memory("neuron"), [true, true]);
    assert_eq!(has_memory("neuron_grad"), [true, false]);
}

#[test]
fn an_output_that_only_the_backward_pass_reads_has_no_memory_without_one() {
    let t = Tracer::new(F);
    let (x, v) = (t.input("x", F, [4, 8, 6]), t.state("v", [8, 6]));
    t.output("s", &neurons(&Neuron::default(), &x, &v)[0]);
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    assert_eq!(
        plan.kernels[0].writes,
        [Location::Output(0), Location::Unused]
    );
    assert_eq!(plan.arena_bytes, 0);
}

#[test]
fn gradients_that_cannot_be_had_are_errors_that_say_what_to_do() {
    use BackwardOperand::{Gradient, Input, Output};
    let problem = |op: Neuron| training(&op).finish().unwrap_err().to_string();
    let reads = |operands: Vec<BackwardOperand>| Neuron {
        operands: Some(operands),
        ..Neuron::default()
    };
    assert_snapshot!(problem(Neuron { without_backward: true, ..Neuron::default() }), @"no gradient of `neuron`: the operation defines no `backward`; implement it or detach the result");
    assert_snapshot!(problem(reads(vec![Input(0), Output(1)])), @"no gradient of `neuron`: the loss depends on its output 0, whose gradient its backward does not read; detach that output, or list its gradient in `backward_operands`");
    assert_snapshot!(problem(reads(vec![Gradient(0), Input(2)])), @"no gradient of `neuron`: its backward reads Input(2), but it has 2 inputs; list 0 to 1 in `backward_operands`");
    assert_snapshot!(problem(reads(vec![Gradient(0), Output(7)])), @"no gradient of `neuron`: its backward reads Output(7), but it has 2 outputs; list 0 to 1 in `backward_operands`");
    assert_snapshot!(problem(reads(vec![Gradient(0), Gradient(2)])), @"no gradient of `neuron`: its backward reads Gradient(2), but it has 2 outputs; list 0 to 1 in `backward_operands`");
}

#[test]
fn operands_that_do_not_fit_are_errors_that_name_the_layer() {
    let t = Tracer::new(F);
    let (x, v) = (t.input("x", F, [4, 8, 6]), t.state("v", [6]));
    let made = neurons(&Neuron::default(), &x, &v);
    // Values computed from them are ignored.
    t.output("y", &(&made[0] + &made[1]).sum_all());
    assert_snapshot!(t.finish().unwrap_err(), @"
    neuron in `lif`: x is not [T, v…]
      given: f32[4, 8, 6] and f32[6]
      help: add the axis of time
    ");
}

#[test]
fn a_gradient_that_nothing_depends_on_is_zeros() {
    let op = Neuron {
        operands: Some(vec![
            BackwardOperand::Gradient(0),
            BackwardOperand::Gradient(1),
            BackwardOperand::Input(0),
        ]),
        ..Neuron::default()
    };
    let graph = training(&op).finish().unwrap().to_string();
    assert!(graph.contains("fill[0]"), "{graph}");
}

#[test]
fn operands_and_results_keep_the_types_that_they_were_traced_with() {
    for precision in [Precision::Bf16, Precision::F16] {
        let t = Tracer::new(F);
        t.set_precision(precision);
        let (x, v) = (t.input("x", F, [4, 8, 6]), t.state("v", [8, 6]));
        let w = t.parameter("w", [6, 6]);
        let made = neurons(&Neuron::default(), &x.linear(&w), &v);
        let loss = made[0].linear(&w).square().sum_all();
        let dw = t.gradients(&loss, &[&w]).remove(0);
        t.update(&w, &(&w - dw));
        let graph = Plan::new(t.finish().unwrap(), &Plain).graph;
        let mut seen = 0;
        for node in graph.nodes.iter().filter(|n| matches!(n.op, Op::Custom(_))) {
            for value in node.inputs.iter().chain(&node.outputs) {
                assert_eq!(graph.ty(*value).dtype, F, "{graph}");
            }
            seen += 1;
        }
        assert_eq!(seen, 2);
        let stored = precision.storage_dtype();
        assert!(graph.to_string().contains(&stored.to_string()), "{graph}");
    }
    // One that was traced in 16 bits stays in 16 bits.
    let t = Tracer::new(F);
    t.set_precision(Precision::F16);
    let (x, v) = (t.input("x", F, [4, 6]), t.state("v", [6]));
    let made = neurons(&Neuron::default(), &x.cast(DType::F16), &v.cast(DType::F16));
    t.output("s", &made[0]);
    assert_eq!(made[0].ty().dtype, DType::F16);
    let graph = t.finish().unwrap();
    let custom = graph.nodes.iter().find(|n| matches!(n.op, Op::Custom(_)));
    let types = custom.unwrap().inputs.iter().map(|v| graph.ty(*v).dtype);
    assert_eq!(types.collect::<Vec<_>>(), [DType::F16; 2]);
}

#[test]
fn the_layout_that_was_traced_is_the_layout_that_is_read() {
    let mut graph = traced(|t| {
        let x = t.input("x", F, [4, 8, 5, 5, 3]);
        let v = t.state("v", [8, 3, 5, 5]);
        let made = neurons(&Neuron::default(), &channels_second(&x), &v);
        t.output("y", &channels_last(&made[0]));
    });
    let before = graph.to_string();
    pass::layout::run(&mut graph);
    assert_eq!(graph.to_string(), before);
}

#[test]
fn what_is_constant_over_time_is_repeated_for_it() {
    let t = Tracer::new(F);
    let (x, v) = (t.input("x", F, [8, 6]), t.state("v", [8, 6]));
    let made = neurons(&Neuron::default(), &(x.repeat_over_time(4) * 2.0), &v);
    t.output("s", &made[0]);
    assert_snapshot!(Plan::new(t.finish().unwrap(), &Plain).graph, @"
    %0 = Data `x`  f32[8, 6]
    %1 = State `v`  f32[8, 6]
    %2 = reshape[1, 8, 6](%0)  f32[1, 8, 6]
    %7 = map[x0 · 2](%2)  f32[1, 8, 6]
    %4 = expand[4, 8, 6](%7)  f32[4, 8, 6]
    %5, %6 = neuron(%4, %1)  f32[4, 8, 6], f32[4, 8, 6]  lif
    `s` = %5
    ");
}

/// A custom operation that reads a neuron's spikes, and whose results products read.
fn among_spikes() -> Graph {
    let t = Tracer::new(F);
    let (x, v) = (t.input("x", F, [4, 8, 64]), t.state("v", [8, 64]));
    let w = t.parameter("w", [64, 64]);
    let spikes = Var::scan(&neuron(), 4, &[&x], &[&v], &[]).swap_remove(0);
    let made = neurons(&Neuron::default(), &spikes, &v);
    t.output("y", &(spikes.linear(&w) + made[0].linear(&w)));
    t.finish().unwrap()
}

#[test]
fn it_neither_reads_nor_writes_bits() {
    let plan = Plan::new(among_spikes(), &Binary);
    assert!(!plan.graph.to_string().contains("bits["), "{plan}");
}

#[test]
fn nothing_is_written_over_what_it_reads() {
    // Its operand is read for the last time, so that a map could overwrite it.
    let t = Tracer::new(F);
    let (x, v) = (t.input("x", F, [4, 8, 6]), t.state("v", [8, 6]));
    let w = t.parameter("w", [6, 6]);
    let made = neurons(&Neuron::default(), &x.linear(&w), &v);
    t.output("y", &made[0].sum(&[0]));
    // An update that reads the old value other than element by element.
    t.update(
        &w,
        &neurons(&Neuron::default(), &w, &w.slice(0, 0..1).reshape([6]))[0],
    );
    let mut plan = Plan::new(t.finish().unwrap(), &Plain);
    assert!(plan.is_sound(), "{plan}");
    let custom: Vec<usize> = (0..plan.kernels.len())
        .filter(|&k| matches!(plan.graph.nodes[plan.kernels[k].node].op, Op::Custom(_)))
        .collect();
    for &k in &custom {
        let kernel = &plan.kernels[k];
        let mut writes = kernel.writes.iter().filter(|p| **p != Location::Unused);
        assert!(writes.all(|w| !kernel.reads.contains(w)), "{plan}");
    }
    assert_eq!(plan.copies.len(), 1, "w is copied to its place");
    let kernel = &mut plan.kernels[custom[0]];
    kernel.writes[0] = kernel.reads[0];
    assert_snapshot!(plan.check().unwrap_err(), @"the plan cannot be loaded: neuron overwrites an operand that it still reads, or an operand has no location");
}

/// Gives custom operations scratch memory.
struct Scratch;

impl WorkspaceQuery for Scratch {
    fn workspace(&self, _: &Graph, node: &Node) -> usize {
        match node.op {
            Op::Custom(_) => 300,
            _ => 0,
        }
    }
}

impl SpikeStorage for Scratch {}

impl SchedulingPolicy for Scratch {}

impl InPlaceUpdates for Scratch {}

impl Target for Scratch {}

#[test]
fn scratch_memory_is_a_piece_of_the_arena_of_its_own() {
    let plan = Plan::new(training(&Neuron::default()).finish().unwrap(), &Scratch);
    assert!(plan.is_sound(), "{plan}");
    let own: Vec<&Allocation> = plan
        .allocations
        .iter()
        .filter(|a| a.value.is_none())
        .collect();
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|a| a.bytes == 300 && a.alive.0 == a.alive.1));
}

#[test]
fn under_a_memory_budget_it_is_run_again_like_any_other() {
    let graph = || {
        let t = Tracer::new(F);
        let (x, v) = (t.input("x", F, [8, 64, 64]), t.input("v", F, [64, 64]));
        let w = t.parameter("w", [64, 64]);
        let mut y = x;
        for _ in 0..4 {
            y = neurons(&Neuron::default(), &y.linear(&w), &v).swap_remove(0);
        }
        let loss = y.square().sum_all();
        let dw = t.gradients(&loss, &[&w]).remove(0);
        t.output("loss", &loss);
        t.update(&w, &(&w - dw));
        t.finish().unwrap()
    };
    let count = |plan: &Plan| {
        let nodes = plan.graph.nodes.iter();
        nodes.filter(|n| matches!(n.op, Op::Custom(_))).count()
    };
    let natural = Plan::new(graph(), &Plain);
    let most = natural.peak_bytes() * 8 / 10;
    let tight = Plan::within(graph(), &Plain, most).unwrap();
    assert!(tight.is_sound() && tight.peak_bytes() <= most);
    assert!(count(&tight) > count(&natural), "{tight}");
}

/// Says that it has one result, and infers two.
#[derive(Debug)]
struct Miscounted;

impl CustomOp for Miscounted {
    fn name(&self) -> String {
        "miscounted".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(vec![inputs[0].clone(); 2])
    }
}

#[test]
fn as_many_results_come_out_after_an_error_as_without_one() {
    let t = Tracer::new(F);
    let (x, v) = (t.input("x", F, [4, 8, 6]), t.state("v", [8, 6]));
    let good: [Var; 2] = neurons(&Neuron::default(), &x, &v).try_into().unwrap();
    // Its own refusal, then an operand that is the result of one.
    let refused: [Var; 2] = neurons(&Neuron::default(), &v, &v).try_into().unwrap();
    let after: [Var; 2] = neurons(&Neuron::default(), &refused[0], &v)
        .try_into()
        .unwrap();
    assert_eq!((good[1].id().is_some(), after[1].id()), (true, None));
    let error = t.finish().unwrap_err();
    assert!(matches!(&error, Error::Shape { operation, .. } if operation == "neuron"));
}

#[test]
fn another_number_of_types_than_of_declared_results_is_refused() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [4]);
    assert_eq!(Var::custom(Arc::new(Miscounted), &[&x]).len(), 1);
    let error = t.finish().unwrap_err();
    let Error::Shape { problem, help, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(problem, "has 1 results, but `infer` returns 2 types");
    assert!(help.contains("`outputs`"));
}
