//! Small random graphs, planned without passes and with each of them: the results are the same.

use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{
    BatchMatMul, Concat, Conv, Expand, Fill, Flip, Gather, Indexed, LogSoftmax, Map, MatMul,
    MeanVar, Op, Operation, Permute, Pool, Pooling, Recurrence, Reduce, Reshape, Scan, Slice,
    Window,
};
use spikelet_graph::pass::{self, PIPELINE};
use spikelet_graph::{
    Backend, DType, Error, Graph, InPlaceUpdates, InputKind, Node, Output, Plan, SchedulingPolicy,
    SpikeStorage, Target, Tensor, TensorType, ValueId, WorkspaceQuery, gradients,
};
use std::path::Path;
use std::sync::Arc;

/// The length of every axis is one of these: chunks of time start at aligned addresses.
const T: usize = 4;
const N: usize = 8;
const C: usize = 16;

/// A value with more elements is not used.
const LARGEST: usize = 1 << 13;

/// The CPU, with chunks of few elements.
struct SmallChunks(Cpu);

impl WorkspaceQuery for SmallChunks {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        self.0.workspace(graph, node)
    }
}
impl SpikeStorage for SmallChunks {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        self.0.reads_bits(op, inputs, operand)
    }
    fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
        self.0.writes_bits(op, inputs, result)
    }
}
impl SchedulingPolicy for SmallChunks {
    fn chunk_elements(&self) -> usize {
        N * C
    }
    fn scan_checkpoint(&self, _: &Graph, _: &Node) -> Option<usize> {
        Some(2)
    }
}
impl InPlaceUpdates for SmallChunks {
    fn overwrites_sequences(&self) -> bool {
        self.0.overwrites_sequences()
    }
}
impl Target for SmallChunks {}

/// Bytes as choices; zeros behind the end.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, end: usize) -> usize {
        self.0
            .next()
            .map_or(0, |byte| usize::from(*byte) % end.max(1))
    }

    fn of<V: Copy>(&mut self, all: &[V]) -> V {
        all[self.below(all.len())]
    }
}

/// A leaky neuron whose threshold no sum of the graph is likely to be.
fn neuron() -> Arc<Recurrence> {
    let [v, x, a] = ["v", "x", "a"].map(Expr::symbol);
    let charged = v * 0.5 + x * a;
    let spike = charged.ge(0.731_213);
    let neuron = Recurrence::new("lif", ["x"], ["v"]).output("s", spike.clone(), true);
    Arc::new(neuron.next(vec![charged - spike]).params(["a"]))
}

/// The next operation, with operands that it may not fit.
fn operation(graph: &Graph, values: &[ValueId], next: &mut Choices<'_>) -> (Op, Vec<ValueId>) {
    let kind = next.below(20);
    let mut value = || values[values.len() - 1 - next.below(values.len().min(12))];
    let (x, y) = (value(), value());
    let shape = graph.shape(x).to_vec();
    let axis = next.below(shape.len());
    let length = shape.get(axis).copied().unwrap_or(1);
    let (a, b) = (Map::operand(0), Map::operand(1));
    let dtype = DType::F64;
    match kind {
        0 => {
            let bounded = [
                a.tanh(),
                a.clone() * 0.5,
                a.clone() * a.clone() * 0.25,
                a.clone() + 1.0,
            ];
            let chosen = bounded[next.below(4)].clone();
            (Map::new(vec![chosen], shape).into(), vec![x])
        }
        1..=3 => {
            let whole = spikelet_graph::broadcast(&shape, graph.shape(y)).unwrap_or(shape);
            let both = [&a + &b, &a - &b, &a * &b, a.max(b)];
            let chosen = both[next.below(4)].clone() * 0.7;
            (Map::new(vec![chosen], whole).into(), vec![x, y])
        }
        4 | 5 => {
            let op = MatMul::new(next.below(4) == 0, next.below(2) == 0);
            (op.into(), vec![x, y])
        }
        6 => {
            let op = BatchMatMul::new(next.below(2) == 0, next.below(2) == 0);
            (op.into(), vec![x, y])
        }
        7 => (Reduce::sum([axis]).into(), vec![x]),
        8 => (Reduce::max([axis]).into(), vec![x]),
        9 => {
            let mut shape = shape;
            match next.below(3) {
                0 if shape.len() > 1 => {
                    let first = shape.remove(0);
                    shape[0] *= first;
                }
                1 if length.is_multiple_of(2) => {
                    shape.splice(axis..=axis, [2, length / 2]).for_each(drop)
                }
                _ => shape.insert(0, 1),
            }
            (Reshape { shape }.into(), vec![x])
        }
        10 => {
            let mut order: Vec<usize> = (0..shape.len()).collect();
            order.rotate_left(axis);
            if next.below(2) == 0 && order.len() > 1 {
                order.swap(0, 1);
            }
            (Permute { order }.into(), vec![x])
        }
        11 => {
            let mut shape = shape;
            match length {
                1 if !shape.is_empty() => shape[axis] = T,
                _ => shape.insert(0, T),
            }
            (Expand { shape }.into(), vec![x])
        }
        12 => {
            let (start, end) = (length / 2, length);
            (Slice { axis, start, end }.into(), vec![x])
        }
        13 => (Concat { axis }.into(), vec![x, y]),
        14 => (Flip { axis }.into(), vec![x]),
        15 | 16 => {
            let scan = Scan::new(neuron(), shape.first().copied().unwrap_or(1));
            (scan.into(), vec![x, y, value_of(values, next)])
        }
        17 => {
            let few: [Op; 3] = [LogSoftmax.into(), MeanVar.into(), Conv::new(1).into()];
            let op = few[next.below(3)].clone();
            let operands = match &op {
                op if op.name() == "conv1d" => vec![x, y],
                _ => vec![x],
            };
            (op, operands)
        }
        18 => {
            let pool = Pool {
                pooling: Pooling::Max,
                windows: vec![Window::blocks(2)],
            };
            (pool.into(), vec![x])
        }
        _ => {
            let ty = TensorType::new(dtype, next.of(&[&[T, N, C][..], &[1], &[N, C]]));
            match next.below(2) {
                0 => (Fill { ty, value: 0.5 }.into(), vec![]),
                _ => {
                    let indexed = Indexed::Slices;
                    (
                        Gather { axis, indexed }.into(),
                        vec![x, graph.inputs[0].value],
                    )
                }
            }
        }
    }
}

fn value_of(values: &[ValueId], next: &mut Choices<'_>) -> ValueId {
    values[next.below(values.len())]
}

/// The graph that bytes describe: operations that do not fit are left out.
pub fn graph_of(bytes: &[u8]) -> Graph {
    let mut graph = Graph::default();
    let next = &mut Choices(bytes.iter());
    let mut add = |name: &str, dtype: DType, shape: &[usize]| {
        let ty = TensorType::new(dtype, shape);
        graph
            .add_input(name, InputKind::Data, ty)
            .expect("another name")
    };
    add("index", DType::I64, &[T]);
    let inputs: [(&str, &[usize]); 6] = [
        ("x", &[T, N, C]),
        ("once", &[1, N, C]),
        ("w", &[C, C]),
        ("v", &[N, C]),
        ("a", &[C]),
        ("kernel", &[C, 1, C]),
    ];
    let inputs = inputs.map(|(name, shape)| add(name, DType::F64, shape));
    let mut values = inputs.to_vec();
    let layer = Arc::from("fuzz");
    for _ in 0..bytes.len().min(120) / 4 {
        let (op, operands) = operation(&graph, &values, next);
        let types: Vec<TensorType> = operands.iter().map(|v| graph.ty(*v).clone()).collect();
        let fits = op
            .infer(&types)
            .is_ok_and(|made| made.iter().all(|ty| ty.len() <= LARGEST));
        if let Some(made) = fits
            .then(|| graph.push(op, &operands, &layer))
            .transpose()
            .ok()
            .flatten()
        {
            values.extend(made);
        }
    }
    let last = values[values.len() - 1];
    let mut results: Vec<ValueId> = values.split_off(inputs.len());
    results.reverse();
    results.truncate(3);
    if next.below(2) == 0 {
        let mut derived = graph.clone();
        let axes: Vec<usize> = (0..graph.shape(last).len()).collect();
        let sum = derived.push1(Reduce::sum(axes), &[last], &layer);
        if let Some(grads) = sum
            .ok()
            .and_then(|sum| gradients(&mut derived, sum, &inputs).ok())
        {
            results.extend(grads);
            graph = derived;
        }
    }
    for (k, value) in results.into_iter().enumerate() {
        graph.outputs.push(Output {
            name: format!("y{k}"),
            value,
            updates: None,
        });
    }
    pass::dead_code::run(&mut graph);
    graph
}

/// The outputs of a plan.
fn outputs(cpu: &Cpu, plan: &Plan) -> Vec<Vec<f64>> {
    plan.check().expect("a plan is sound");
    let buffer = |value: ValueId| cpu.allocate(plan.graph.ty(value)).expect("memory");
    let mut inputs = vec![];
    for (seed, input) in plan.graph.inputs.iter().enumerate() {
        let buffer = buffer(input.value);
        // Irregular numbers: equal maxima would be chosen by the last bits of sums.
        let number = |k: usize| {
            let x = (k * 31 + seed * 7 + 1) as f64;
            (x * x * 0.618_033_988_749_895).fract() * 2.0 - 0.97
        };
        let count = buffer.ty.len();
        let values = match buffer.ty.dtype {
            DType::I64 => Tensor::i64([count], (0..count as i64).rev().collect::<Vec<_>>()),
            _ => Tensor::f64([count], (0..count).map(number).collect::<Vec<_>>()),
        };
        cpu.upload(&buffer, (&values).into())
            .expect("values of the buffer's type");
        inputs.push(buffer);
    }
    let results: Vec<_> = plan
        .graph
        .outputs
        .iter()
        .map(|o| Some(buffer(o.value)))
        .collect();
    let mut executor = cpu
        .load(plan, &inputs, &results)
        .expect("a plan for this device");
    executor.run().expect("a run");
    let read = results.iter().flatten().map(|buffer| {
        let mut tensor = Tensor::zeros(&buffer.ty).expect("memory");
        cpu.download(buffer, (&mut tensor).into()).expect("values");
        tensor.to_f64()
    });
    read.collect()
}

/// Random bytes.
pub fn corpus(_: &Path) -> Vec<Vec<u8>> {
    let bytes = |seed: u64| -> Vec<u8> {
        let mut state = seed;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        (0..64 + seed as usize % 64).map(next).collect()
    };
    (1..=32).map(bytes).collect()
}

/// Runs the graph of these bytes as it is, after each pass, with all of them, and in less memory.
pub fn run_graph(bytes: &[u8], _: &Path) {
    let graph = graph_of(bytes);
    let cpu = Cpu::new(1).expect("a CPU");
    let small = SmallChunks(cpu.clone());
    let compare = comparison(&cpu, &graph);
    for pass in PIPELINE {
        let mut changed = graph.clone();
        pass.run_alone(&mut changed, &small);
        pass::dead_code::run(&mut changed);
        let mut nodes = changed.nodes.iter();
        // An expansion to the same shape is a copy.
        let idle = nodes.find(|node| {
            let is_copy = matches!(node.op, Op::Expand(_));
            !is_copy && node.op.changes_nothing(&changed.types(&node.inputs))
        });
        assert!(idle.is_none(), "{}: {idle:?}, of\n{graph}", pass.name);
        compare(pass.name, &Plan::without_passes(changed, &cpu));
    }
    let plan = Plan::new(graph.clone(), &small);
    compare("all passes", &plan);
    let least = least_bytes(&graph, &small);
    for limit in [least, least.midpoint(plan.peak_bytes())] {
        if let Ok(plan) = Plan::within(graph.clone(), &small, limit) {
            compare("a memory limit", &plan);
        }
    }
}

/// The smallest peak of a graph that a plan finds.
pub fn least_bytes(graph: &Graph, target: &dyn Target) -> usize {
    match Plan::within(graph.clone(), target, 0) {
        Err(Error::Budget { least, .. }) => least,
        Err(error) => panic!("{error}"),
        Ok(plan) => plan.peak_bytes(),
    }
}

/// Compares the results of plans with those of the graph as it is.
pub fn comparison<'a>(cpu: &'a Cpu, graph: &'a Graph) -> impl Fn(&str, &Plan) + 'a {
    let expected = outputs(cpu, &Plan::without_passes(graph.clone(), cpu));
    move |name, plan| {
        for (k, (got, want)) in outputs(cpu, plan).iter().zip(&expected).enumerate() {
            let largest = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
            for (got, want) in got.iter().zip(want) {
                let same = (got - want).abs() <= 1e-9 * largest || got.to_bits() == want.to_bits();
                let lost = !want.is_finite() || got.is_nan() == want.is_nan() && want.is_nan();
                assert!(
                    same || lost,
                    "{name}: y{k} is {got}, not {want}, of\n{graph}\nas\n{}",
                    plan.graph
                );
            }
        }
    }
}
