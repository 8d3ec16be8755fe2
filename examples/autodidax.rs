//! Autodidax: the engine in one file, to be read from top to bottom.
//!
//! A layer of leaky integrate-and-fire neurons learns to tell four patterns apart, with nothing but
//! std. Each chapter ends with the files in which the engine does the same: `expr/derive.rs` stands
//! for `crates/spikelet-expr/src/derive.rs`.
//!
//!     cargo run --release --example autodidax

use Expr::*;
use std::{collections::HashMap, ops::Range};

// 1. A formula is a value ========================================================================
// A neuron's equation is differentiated, simplified, printed and computed. A Rust function can only
// be called, so a formula is a tree. No part of it is ever freed, which makes it `Copy`.

#[derive(Clone, Copy, Debug)]
enum Expr {
    Arg(usize),
    Const(f64),
    Add(&'static Expr, &'static Expr),
    Mul(&'static Expr, &'static Expr),
    /// A spike: 1 where the operand is at least 0, otherwise 0.
    Spike(&'static Expr),
    /// The same without the jump: sigmoid(4x).
    Smooth(&'static Expr),
}

impl Expr {
    fn kept(self) -> &'static Expr {
        Box::leak(Box::new(self))
    }

    fn value(&self, args: &[f64]) -> f64 {
        match self {
            Arg(k) => args[*k],
            Const(x) => *x,
            Add(a, b) => a.value(args) + b.value(args),
            Mul(a, b) => a.value(args) * b.value(args),
            Spike(a) => f64::from(a.value(args) >= 0.0),
            Smooth(a) => 1.0 / (1.0 + (-4.0 * a.value(args)).exp()),
        }
    }
}

// Derivatives are full of 1·x and x + 0. A term that is never built needs no pass that removes it.
impl std::ops::Add for Expr {
    type Output = Expr;
    fn add(self, other: Expr) -> Expr {
        match (self, other) {
            (Const(0.0), x) | (x, Const(0.0)) => x,
            (x, y) => Add(x.kept(), y.kept()),
        }
    }
}

impl std::ops::Mul for Expr {
    type Output = Expr;
    fn mul(self, other: Expr) -> Expr {
        match (self, other) {
            (Const(1.0), x) | (x, Const(1.0)) => x,
            (x, y) => Mul(x.kept(), y.kept()),
        }
    }
}

// In the engine: `expr/expr.rs`, `expr/construct.rs`, `expr/simplify.rs`, `expr/print.rs`. A formula
// is not walked through for each element there, but compiled for blocks of elements
// (`expr/program/compile.rs`) or printed as CUDA C++ (`expr/text/statements.rs`).

// 2. The derivative of a formula =================================================================
// Reverse mode: the gradient `g` of the result comes in, each primitive multiplies it by its slope
// and passes it to its operands, until it arrives at the arguments. It is a formula again.

fn vjp(f: Expr, g: Expr, mut grads: [Expr; 4]) -> [Expr; 4] {
    if let Arg(k) = f {
        grads[k] = grads[k] + g;
    }
    let one_minus = |x| Const(1.0) + Const(-1.0) * x;
    let passed = match f {
        Arg(_) | Const(_) => vec![],
        Add(a, b) => vec![(a, g), (b, g)],
        Mul(a, b) => vec![(a, g * *b), (b, g * *a)],
        // A jump has no slope to learn by. It is given that of the smooth function: the surrogate
        // gradient, without which spiking networks could not be trained.
        Spike(a) | Smooth(a) => vec![(a, g * Const(4.0) * Smooth(a) * one_minus(Smooth(a)))],
    };
    passed.iter().fold(grads, |sum, (x, g)| vjp(**x, *g, sum))
}

// In the engine: `expr/derive.rs`. Any formula may be a surrogate: `nn/surrogate/mod.rs`.

// 3. A neuron is its equation, written once ======================================================
/// τ dV/dt = −V + X, τ = 2, threshold 1, reset to 0: (input a, potential b) → [spike, potential].
fn lif(fire: fn(&'static Expr) -> Expr) -> [Expr; 2] {
    let charged = (Arg(0) + Arg(1)) * Const(0.5); // v + (x − v)/τ
    let fired = fire((charged + Const(-1.0)).kept());
    [fired, charged * (Const(1.0) + Const(-1.0) * fired)]
}

// In the engine: `nn/neuron/lif.rs`, a file for each neuron; `nn/neuron/step.rs` joins charge, fire
// and reset; `graph/op/recurrence.rs` derives the step back for `graph/op/scan_grad.rs`.

// 4. Tracing =====================================================================================
// A network is a function that is called once, without numbers: each operation that it applies
// becomes a node of a graph. The axes of values have names: t is time, n the samples, i the inputs
// of the layer, c the classes.

type Axes = &'static str;
fn size(axes: &str) -> usize {
    let size = |axis| [8, 12, 12, 4]["tnic".find(axis).expect("an axis")];
    axes.chars().map(size).product()
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Input(&'static str, Axes),
    /// A formula of each element of values with equal axes.
    Map(Expr),
    /// The product of values, summed over all axes that the result does not have: `ni, ic → nc` is
    /// a product of matrices, `tnc → nc` a sum over time, `ni → tni` a repetition.
    Product(Axes),
    /// A neuron's step, from the first time step to the last; the potential is 0 before it.
    Scan([Expr; 2]),
    /// The same, then the derived step, from the last time step to the first.
    ScanGrad([Expr; 2], [Expr; 4]),
}

/// An operation, the values that it reads, its axes. A value has the number of its node.
#[derive(Clone)]
struct Node(Op, Vec<usize>, Axes);

/// Nodes in order of execution. An output with the name of an input replaces it after a run: state
/// and parameters go in and come out, none is hidden.
#[derive(Default)]
struct Graph {
    nodes: Vec<Node>,
    outputs: Vec<(&'static str, usize)>,
}

impl Graph {
    fn push(&mut self, op: Op, inputs: &[usize]) -> usize {
        let of = Vec::from_iter(inputs.iter().map(|&v| self.nodes[v].2));
        let axes = match (op, &of[..]) {
            (Op::Input(_, axes), []) | (Op::Product(axes), _) => axes,
            (Op::Scan(_), [x]) if x.starts_with('t') => x,
            (Op::Map(_) | Op::ScanGrad(..), [x, g @ ..]) if g.iter().all(|y| x == y) => x,
            _ => panic!("{op:?} does not take values with the axes {of:?}"),
        };
        self.nodes.push(Node(op, inputs.to_vec(), axes));
        self.nodes.len() - 1
    }
}

// In the engine: `graph/graph.rs`; `graph/op/mod.rs` with a file for each operation, three for the
// product here: `graph/op/matmul.rs`, `graph/op/reduce.rs`, `graph/op/expand.rs`. Layers such as
// `nn/layer/linear.rs` are written with the methods and operators of `graph/trace/var.rs`.

// 5. The derivative of a graph ===================================================================
// Chapter 2 again, with nodes in place of primitives. The gradients are ordinary nodes, so that the
// passes of the next chapter optimize forward and backward pass together.

impl Graph {
    fn gradients(&mut self, loss: usize) -> HashMap<usize, usize> {
        let mut grads = HashMap::from([(loss, self.push(Op::Map(Const(1.0)), &[loss]))]);
        for k in (0..=loss).rev() {
            let Node(op, inputs, _) = self.nodes[k].clone();
            let parts = self.differentiate(op, &inputs, grads[&k]);
            for (x, mut part) in inputs.iter().zip(parts) {
                if let Some(&other) = grads.get(x) {
                    part = self.push(Op::Map(Arg(0) + Arg(1)), &[other, part]);
                }
                grads.insert(*x, part);
            }
        }
        grads
    }

    fn differentiate(&mut self, op: Op, inputs: &[usize], g: usize) -> Vec<usize> {
        let count = inputs.len();
        match op {
            Op::Input(..) => vec![],
            Op::Map(f) => {
                let grads = &vjp(f, Arg(count), [Const(0.0); 4])[..count];
                let all = [inputs, &[g]].concat();
                Vec::from_iter(grads.iter().map(|d| self.push(Op::Map(*d), &all)))
            }
            // The gradient of a factor is `g` times the other factors, with the factor's axes.
            Op::Product(_) => Vec::from_iter((0..count).map(|k| {
                let others = [&inputs[..k], &inputs[k + 1..], &[g]].concat();
                self.push(Op::Product(self.nodes[inputs[k]].2), &others)
            })),
            // Step back: (a, b, gradients c and d of both results) → gradients of a and b.
            Op::Scan(step) => {
                let back = vjp(step[1], Arg(3), vjp(step[0], Arg(2), [Const(0.0); 4]));
                vec![self.push(Op::ScanGrad(step, back), &[inputs[0], g])]
            }
            Op::ScanGrad(..) => panic!("{op:?} has no derivative"),
        }
    }
}

// In the engine: `graph/backward.rs`, and `differentiate` in the file of each operation.

// 6. Passes ======================================================================================
// A pass is a function from graph to graph with the same outputs: a pattern and its replacement.
// `rewrite` offers each node that an output needs to a rule, which may return another value for it.

type Rule = fn(&mut Graph, Op, &[usize]) -> Option<usize>;
const PIPELINE: [(&str, Rule); 2] = [
    ("a repetition is not stored", fold_repetitions),
    ("a node that no output needs is removed", |_, _, _| None),
];

fn rewrite(graph: &Graph, rule: Rule) -> Graph {
    let (mut new, mut moved) = (Graph::default(), HashMap::new());
    let mut needed = Vec::from_iter(graph.outputs.iter().map(|o| o.1));
    for (k, Node(_, inputs, _)) in graph.nodes.iter().enumerate().rev() {
        if needed.contains(&k) {
            needed.extend(inputs);
        }
    }
    for (k, Node(op, inputs, _)) in graph.nodes.iter().enumerate() {
        if needed.contains(&k) {
            let inputs = Vec::from_iter(inputs.iter().map(|v| moved[v]));
            let value = rule(&mut new, *op, &inputs);
            moved.insert(k, value.unwrap_or_else(|| new.push(*op, &inputs)));
        }
    }
    let outputs = graph.outputs.iter().map(|&(name, v)| (name, moved[&v]));
    new.outputs = outputs.collect();
    new
}

/// repeated(x)·w → x·w, where the result or w has all axes of the repetition.
fn fold_repetitions(graph: &mut Graph, op: Op, inputs: &[usize]) -> Option<usize> {
    let Node(inner, from, _) = graph.nodes[*inputs.first()?].clone();
    let (Op::Product(to), Op::Product(axes), [_, w], [x]) = (op, inner, inputs, &from[..]) else {
        return None;
    };
    let others = to.to_string() + graph.nodes[*w].2;
    let repeats = graph.nodes[*x].2.chars().all(|axis| axes.contains(axis));
    let known = axes.chars().all(|axis| others.contains(axis));
    (repeats && known).then(|| graph.push(op, &[*x, *w]))
}

// In the engine: `graph/pass/pipeline.rs` lists the passes, `graph/rewrite.rs` is their toolkit. This
// one is `graph/pass/hoist_time.rs`; `graph/pass/fuse.rs` puts formulas into formulas.

// 7. The plan ====================================================================================
// Where a value lies in memory is decided before anything runs. It lives from its node to its last
// reader, at the lowest place where nothing else lives.

fn plan(graph: &Graph) -> Vec<Range<usize>> {
    let mut last = vec![0; graph.nodes.len()];
    for (k, Node(_, inputs, _)) in graph.nodes.iter().enumerate() {
        inputs.iter().for_each(|&v| last[v] = k);
    }
    graph.outputs.iter().for_each(|o| last[o.1] = last.len());
    let mut places: Vec<Range<usize>> = vec![];
    for (k, Node(.., axes)) in graph.nodes.iter().enumerate() {
        let alive = || (0..k).filter(|&v| last[v] > k).map(|v| &places[v]);
        let free = |&at: &usize| alive().all(|p| p.end <= at || at + size(axes) <= p.start);
        let ends = alive().map(|p| p.end);
        let start = ends.chain([0]).filter(free).min().expect("a last end");
        places.push(start..start + size(axes));
    }
    places
}

// In the engine: `graph/liveness.rs`, `graph/arena.rs`, `graph/plan.rs`. Kernels write in place
// there; over which operand one may is decided by `graph/liveness/in_place.rs`.

// 8. Kernels =====================================================================================
// One for each operation. Only those of scans have to go through time in order.

fn kernel(op: Op, inputs: &[(&[f64], Axes)], axes: Axes) -> Vec<f64> {
    let mut y = vec![0.0; size(axes)];
    let args = |i| Vec::from_iter(inputs.iter().map(|x| x.0[i]));
    match op {
        Op::Input(..) => unreachable!("an input is a buffer"),
        Op::Map(f) => (0..y.len()).for_each(|i| y[i] = f.value(&args(i))),
        Op::Product(_) => {
            let named = String::from_iter(inputs.iter().map(|x| x.1)) + axes;
            let all = String::from_iter("tnic".chars().filter(|&axis| named.contains(axis)));
            for point in 0..size(&all) {
                // The index of the point in a value that has some of the axes.
                let index = |axes: &str| {
                    axes.chars().fold(0, |index, axis| {
                        let (_, inner) = all.split_once(axis).expect("one of all axes");
                        let n = size(&axis.to_string());
                        index * n + point / size(inner) % n
                    })
                };
                let factors = inputs.iter().map(|(x, axes)| x[index(axes)]);
                y[index(axes)] += factors.product::<f64>();
            }
        }
        Op::Scan(step) | Op::ScanGrad(step, _) => {
            let x = inputs[0].0;
            let mut v = vec![0.0; x.len() / size("t")];
            for i in 0..x.len() {
                y[i] = step[0].value(&[x[i], v[i]]);
                v.push(step[1].value(&[x[i], v[i]]));
            }
            if let Op::ScanGrad(_, back) = op {
                let mut g_next = vec![0.0; x.len() / size("t")];
                for i in (0..x.len()).rev() {
                    let n = i % g_next.len();
                    let args = [x[i], v[i], inputs[1].0[i], g_next[n]];
                    (y[i], g_next[n]) = (back[0].value(&args), back[1].value(&args));
                }
            }
        }
    }
    y
}

/// Runs a graph, replaces the buffers by the outputs of their names, and returns the loss.
fn run(graph: &Graph, places: &[Range<usize>], buffers: &mut HashMap<Axes, Vec<f64>>) -> f64 {
    let mut arena = vec![0.0; places.iter().map(|p| p.end).max().unwrap_or(0)];
    for (k, Node(op, inputs, axes)) in graph.nodes.iter().enumerate() {
        let value = |&v: &usize| (&arena[places[v].clone()], graph.nodes[v].2);
        let y = match op {
            Op::Input(name, _) => buffers[name].clone(),
            _ => kernel(*op, &Vec::from_iter(inputs.iter().map(value)), axes),
        };
        arena[places[k].clone()].copy_from_slice(&y);
    }
    let outputs = graph.outputs.iter();
    buffers.extend(outputs.map(|(name, v)| (*name, arena[places[*v].clone()].to_vec())));
    buffers["loss"][0]
}

// In the engine: `cpu/executor.rs` and `cpu/op/scan.rs`; on GPUs an operation writes the source of
// its kernels (`cuda/op/scan.rs`), and all launches of a run become one (`cuda/library/driver/graph.rs`).

// 9. Training ====================================================================================
const RATE: f64 = 0.1;

/// Image, target and weight in; loss and updated weight out.
fn trace(fire: fn(&'static Expr) -> Expr) -> Graph {
    let mut g = Graph::default();
    let image = g.push(Op::Input("image", "ni"), &[]);
    let target = g.push(Op::Input("target", "nc"), &[]);
    let w = g.push(Op::Input("w", "ic"), &[]);
    let sequence = g.push(Op::Product("tni"), &[image]);
    let current = g.push(Op::Product("tnc"), &[sequence, w]);
    let spikes = g.push(Op::Scan(lif(fire)), &[current]);
    let count = g.push(Op::Product("nc"), &[spikes]);
    let error = Arg(0) * Const(1.0 / size("t") as f64) + Const(-1.0) * Arg(1);
    let square = g.push(Op::Map(error * error), &[count, target]);
    let loss = g.push(Op::Product(""), &[square]);
    let grad = g.gradients(loss)[&w];
    let updated = g.push(Op::Map(Arg(0) + Const(-RATE) * Arg(1)), &[w, grad]);
    g.outputs = vec![("loss", loss), ("w", updated)];
    g
}

fn main() {
    let noise = |i: usize| (i * 7919 % 1009) as f64 / 1009.0 - 0.5;
    let class = |i, columns| f64::from(i / columns % 4 == i % columns % 4);
    let fill = |axes, f: &dyn Fn(usize) -> f64| Vec::from_iter((0..size(axes)).map(f));
    let mut buffers = HashMap::from([
        ("image", fill("ni", &|i| class(i, 12) + noise(i))),
        ("target", fill("nc", &|i| class(i, 4))),
        ("w", fill("ic", &noise)),
    ]);
    // Without jumps the loss has a slope that finite differences can measure.
    let smooth = trace(Smooth);
    for k in [0, 17, 42] {
        let moved = |delta| {
            let mut buffers = buffers.clone();
            buffers.get_mut("w").expect("a weight")[k] += delta;
            (run(&smooth, &plan(&smooth), &mut buffers), buffers["w"][k])
        };
        let measured = (moved(1e-5).0 - moved(-1e-5).0) / 2e-5;
        let derived = (buffers["w"][k] - moved(0.0).1) / RATE;
        println!("dL/dw[{k}] = {derived:.6}, by differences {measured:.6}");
        assert!((derived - measured).abs() < 1e-6);
    }
    let mut graph = trace(Spike);
    let before = run(&graph, &plan(&graph), &mut buffers.clone());
    for (what, rule) in PIPELINE {
        graph = rewrite(&graph, rule);
        println!("{what}: {} nodes", graph.nodes.len());
    }
    let places = plan(&graph);
    for (k, (Node(op, inputs, axes), place)) in graph.nodes.iter().zip(&places).enumerate() {
        let op = format!("{op:?}");
        println!("%{k} = {op:.70} of {inputs:?}: [{axes}] at {place:?}");
    }
    let losses = Vec::from_iter((0..60).map(|_| run(&graph, &places, &mut buffers)));
    for loss in losses.iter().step_by(10) {
        println!("loss {loss:.4}");
    }
    assert!((losses[0] - before).abs() < 1e-12 && losses[59] < losses[0] / 4.0);
}

// In the engine: `train/step/trace.rs` is `trace`, `train/fit.rs` the loop in `main`; `spikelet plan`
// prints the plan of a network; `graph/text.rs` prints graphs and reads them.
