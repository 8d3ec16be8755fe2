//! Every operation, divided along every axis that its semantics state: parts, run one by one and joined, are the whole.

mod cases;

use crate::harness::Loaded;
use cases::{Case, Draws, cases, views};
use spikelet_graph::op::{Op, Operation};
use spikelet_graph::semantics::{InPlace, Join, Role, Semantics};
use spikelet_graph::{DType, Graph, InputKind, Output, Tensor, TensorType};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The results of an operation.
fn run(op: &Op, inputs: &[Tensor]) -> Vec<Tensor> {
    let mut graph = Graph::default();
    let mut operands = vec![];
    for (k, input) in inputs.iter().enumerate() {
        let made = graph.add_input(&format!("x{k}"), InputKind::Data, input.ty());
        operands.push(made.unwrap());
    }
    let made = graph.push(op.clone(), &operands, &Arc::from("test"));
    let made = made.unwrap_or_else(|error| panic!("{}: {error}", op.describe()));
    for (k, &value) in made.iter().enumerate() {
        graph.outputs.push(Output {
            name: format!("y{k}"),
            value,
            updates: None,
        });
    }
    let mut loaded = Loaded::new(graph, 2);
    for (k, input) in inputs.iter().enumerate() {
        loaded.set(&format!("x{k}"), input);
    }
    loaded.run();
    (0..made.len())
        .map(|k| loaded.get(&format!("y{k}")))
        .collect()
}

fn tensor(dtype: DType, shape: Vec<usize>, values: Vec<f64>) -> Tensor {
    match dtype {
        DType::I64 => Tensor::i64(shape, values.iter().map(|x| *x as i64).collect::<Vec<_>>()),
        dtype => Tensor::f64(shape, values).cast(dtype),
    }
}

/// The elements `range` along an axis.
fn elements(whole: &Tensor, axis: usize, range: &Range<usize>) -> Tensor {
    let inner: usize = whole.shape[axis + 1..].iter().product();
    let mut shape = whole.shape.clone();
    let length = std::mem::replace(&mut shape[axis], range.len());
    let values = whole.to_f64();
    let rows = values.chunks((length * inner).max(1));
    let kept = rows.flat_map(|row| &row[range.start * inner..range.end * inner]);
    let kept = kept.copied().collect();
    tensor(whole.ty().dtype, shape, kept)
}

/// Two tensors behind each other along an axis.
fn concatenated(a: &Tensor, b: &Tensor, axis: usize) -> Tensor {
    let outer: usize = a.shape[..axis].iter().product();
    let (x, y) = (a.to_f64(), b.to_f64());
    let mut values = vec![];
    for k in 0..outer {
        for part in [&x, &y] {
            let row = part.len() / outer;
            values.extend(&part[k * row..(k + 1) * row]);
        }
    }
    let mut shape = a.shape.clone();
    shape[axis] += b.shape[axis];
    tensor(a.ty().dtype, shape, values)
}

/// A result without the axis, of parts with so many iterations, in the order in which they ran.
fn joined(join: Join, result: usize, parts: [&[Tensor]; 2], counts: [usize; 2]) -> Tensor {
    let values = parts.map(|part| part.iter().map(Tensor::to_f64).collect::<Vec<_>>());
    let each = |of: &dyn Fn(usize) -> f64| -> Tensor {
        let like = &parts[0][result];
        let all = (0..like.len()).map(of).collect();
        tensor(like.ty().dtype, like.shape.clone(), all)
    };
    let [a, b] = [0, 1].map(|k| &values[k][result]);
    let [n, m] = counts.map(|n| n as f64);
    match join {
        Join::Sum => each(&|k| a[k] + b[k]),
        Join::Max => each(&|k| a[k].max(b[k])),
        Join::Last => parts[1][result].clone(),
        Join::Never => unreachable!("parts do not compute it"),
        Join::MeanVar => {
            let mean = |k: usize| (values[0][0][k] * n + values[1][0][k] * m) / (n + m);
            let spread =
                |part: usize, k: usize| values[part][1][k] + (values[part][0][k] - mean(k)).powi(2);
            match result {
                0 => each(&mean),
                _ => each(&|k| (spread(0, k) * n + spread(1, k) * m) / (n + m)),
            }
        }
    }
}

/// Runs a case whole, and in two parts that meet at `at` along an axis.
fn check(case: &Case, whole: &[Tensor], s: &Semantics, axis: usize, at: usize) {
    let types: Vec<TensorType> = whole.iter().map(Tensor::ty).collect();
    let (role, length) = (s.axes[axis].role, s.axes[axis].length);
    let mut ranges = [0..at, at..length];
    let reverse = role == Role::Carried { reverse: true };
    if reverse {
        ranges.reverse();
    }
    let mut parts: Vec<Vec<Tensor>> = vec![];
    for range in &ranges {
        let operands = case.inputs.iter().zip(&s.operands).enumerate();
        let operands = operands.map(|(k, (operand, access))| {
            let before = parts
                .last()
                .filter(|_| matches!(role, Role::Carried { .. }));
            let carried = s.carries.iter().find(|(_, to)| *to == k).zip(before);
            match (carried, access.place(axis)) {
                (Some(((from, _), before)), _) => before[*from].clone(),
                (None, Some(place)) => {
                    let each = operand.shape[place] / length;
                    elements(operand, place, &(range.start * each..range.end * each))
                }
                (None, None) => operand.clone(),
            }
        });
        let operands: Vec<Tensor> = operands.collect();
        let part = case.op.part(s, &types, axis, range);
        parts.push(run(&part, &operands));
    }
    let counts = ranges.map(|range| range.len());
    for (k, whole) in whole.iter().enumerate() {
        let place = s.results[k].place(axis);
        let made = match place {
            Some(place) if reverse => concatenated(&parts[1][k], &parts[0][k], place),
            Some(place) => concatenated(&parts[0][k], &parts[1][k], place),
            None => joined(s.joins[k], k, [&parts[0], &parts[1]], counts),
        };
        assert_eq!(
            made.ty(),
            whole.ty(),
            "result {k} of {:?} along {axis}",
            case.op
        );
        // A sum of other sizes may have another order.
        let sums = s.reduces() || place.is_none() && s.joins[k] == Join::Sum;
        let tolerance = match (sums, whole.ty().dtype) {
            (false, _) => 0.0,
            (true, DType::F64) => 1e-13,
            (true, _) => 1e-5,
        };
        for (a, b) in whole.to_f64().iter().zip(made.to_f64()) {
            let near = a.to_bits() == b.to_bits() || (a - b).abs() <= tolerance * (1.0 + a.abs());
            let shapes: Vec<_> = case.inputs.iter().map(|t| t.ty().to_string()).collect();
            assert!(
                near,
                "result {k} of {} of {}: {a}, divided at {at} along axis {axis} of {:?}: {b}",
                case.op.describe(),
                shapes.join(", "),
                s.axes
            );
        }
    }
}

#[test]
fn parts_along_every_axis_are_joined_to_the_whole() {
    let mut divided = 0;
    for (seed, dtype) in (1..=6).flat_map(|k: u64| [(k, DType::F64), (k, DType::F32)]) {
        let draws = &mut Draws {
            seed: seed << 32,
            dtype,
        };
        for case in cases(draws) {
            let whole = run(&case.op, &case.inputs);
            let types = |tensors: &[Tensor]| tensors.iter().map(Tensor::ty).collect::<Vec<_>>();
            let s = case.op.semantics(&types(&case.inputs), &types(&whole));
            for (axis, of) in s.axes.iter().enumerate().filter(|(_, of)| of.length > 1) {
                // A backward scan starts each part from states that its forward scan left.
                if matches!(of.role, Role::Carried { .. }) && s.carries.is_empty() {
                    continue;
                }
                let at = 1 + (seed as usize + axis) % (of.length - 1);
                check(&case, &whole, &s, axis, at);
                divided += 1;
            }
        }
    }
    assert!(divided > 1000, "{divided}");
}

#[test]
fn every_kind_of_operation_has_a_case_and_consistent_semantics() {
    let draws = &mut Draws {
        seed: 7,
        dtype: DType::F32,
    };
    let mut all = cases(draws);
    views(draws, &mut |op, inputs| all.push(Case { op, inputs }));
    let mut found = BTreeSet::new();
    for case in all {
        let kind = format!("{:?}", case.op);
        found.insert(kind.split(['(', ' ']).next().unwrap_or("").to_string());
        let inputs: Vec<TensorType> = case.inputs.iter().map(Tensor::ty).collect();
        let outputs = case.op.infer(&inputs).unwrap();
        let s = case.op.semantics(&inputs, &outputs);
        let lists = [&s.operands, &s.results];
        for (accesses, types) in lists.into_iter().zip([&inputs, &outputs]) {
            assert_eq!(accesses.len(), types.len(), "{kind}");
            for (access, ty) in accesses.iter().zip(types) {
                assert_eq!(access.0.len(), ty.shape.len(), "{kind}");
                for (at, axis) in access.0.iter().enumerate() {
                    let Some(axis) = axis else { continue };
                    assert_eq!(
                        access.place(*axis),
                        Some(at),
                        "{kind} has axis {axis} twice"
                    );
                    let length = s.axes[*axis].length.max(1);
                    assert!(ty.shape[at].is_multiple_of(length), "{kind}: {s:?}");
                }
            }
        }
        assert_eq!(s.joins.len(), outputs.len());
        for (result, ty) in outputs.iter().enumerate() {
            let in_place = case.op.in_place(result);
            if let InPlace::ElementsOf(k) | InPlace::Operand(k) = in_place {
                assert_eq!(inputs[k], *ty, "{kind}");
            }
        }
    }
    // These have no axes, or one whose bits are not on the host.
    found.extend(["AllReduceStart", "AllReduceDone", "Custom", "Pack"].map(String::from));
    let all: BTreeSet<String> = Op::KINDS.iter().map(ToString::to_string).collect();
    assert_eq!(found, all);
}
