//! The number of threads changes nothing.

use crate::harness::{Loaded, buffers, numbers};
use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{Custom, CustomOp, HostCall, Recurrence};
use spikelet_graph::{
    Backend, DType, Error, Graph, InvalidOp, Plan, RandomAxes, Tensor, TensorType, Tracer, Var,
};
use std::sync::Arc;

const F: DType = DType::F32;
const TIME: usize = 6;
const BATCH: usize = 50;
const IN: usize = 196;
const HIDDEN: usize = 70;
const CLASSES: usize = 10;

#[derive(Debug)]
struct Halve;

impl CustomOp for Halve {
    fn name(&self) -> String {
        "halve".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let y = call.outputs[0].f32()?.iter_mut();
        y.zip(call.inputs[0].f32()?).for_each(|(y, x)| *y = 0.5 * x);
        Ok(())
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        None
    }
}

pub fn plif() -> Arc<Recurrence> {
    let [x, v, w] = ["x", "v", "w"].map(Expr::symbol);
    let h = &v + (x - &v) * w.sigmoid();
    let u = &h - 1.0;
    let s = Expr::custom_gradient(u.ge(0.0), (&u * 4.0).sigmoid());
    let next = (1.0 - &s) * &h;
    Arc::new(
        Recurrence::new("plif", ["x"], ["v"])
            .params(["w"])
            .output("s", s, true)
            .next(vec![next]),
    )
}

/// A training step that uses every kernel there is.
fn graph() -> Graph {
    let tracer = Tracer::new(F);
    let image = tracer.input("image", F, [BATCH, IN]);
    let generator = tracer.input("generator", DType::I64, [4]);
    let labels = tracer.input("labels", DType::I64, [BATCH]);
    let (w1, w2) = (
        tracer.parameter("w1", [HIDDEN, IN]),
        tracer.parameter("w2", [CLASSES, HIDDEN]),
    );
    let (t1, t2) = (tracer.parameter("t1", [HIDDEN]), tracer.parameter("t2", []));
    let (v1, v2) = (
        tracer.state("v1", [BATCH, HIDDEN]),
        tracer.state("v2", [BATCH, CLASSES]),
    );

    let spikes = image
        .repeat_over_time(TIME)
        .bernoulli(&generator, RandomAxes::Time);
    let first = Var::scan(&plif(), TIME, &[&spikes.linear(&w1)], &[&v1], &[&t1]);
    let second = Var::scan(&plif(), TIME, &[&first[0].linear(&w2)], &[&v2], &[&t2]);
    let noise = generator.normal([BATCH, CLASSES], RandomAxes::Nothing) * 0.01;
    let scores =
        second[0].mean(&[0]) + noise + generator.uniform([BATCH, 1], RandomAxes::Nothing) * 0.01;
    let loss = -(scores.log_softmax() * labels.one_hot(CLASSES))
        .sum(&[1])
        .mean_all();
    let wrt = [&w1, &w2, &t1, &t2, &v1, &image];
    let grads = tracer.gradients(&loss, &wrt);

    tracer.output("loss", &loss);
    tracer.output("correct", &scores.argmax().equals(&labels).sum_all());
    tracer.output("rates", &first[0].sum(&[0, 2]));
    tracer.output("most", &scores.max(&[0]));
    tracer.output(
        "halved",
        &tracer.apply1(Custom(Arc::new(Halve)), &[&grads[0]]),
    );
    let turned = grads[0].permute(&[1, 0]);
    tracer.output(
        "moved",
        &Var::concat(&[&turned.slice(0, 3..90), &turned], 0),
    );
    tracer.output("repeated", &grads[3].expand([7, 3]));
    tracer.output("filled", &tracer.fill(F, [5], 2.0));
    tracer.output("dimage", &grads[5]);
    tracer.output("dv1", &grads[4]);
    tracer.update(&v1, &first[1]);
    tracer.update(&v2, &second[1]);
    for (k, p) in wrt[..4].iter().enumerate() {
        tracer.update(p, &(*p - &grads[k] * 0.5));
    }
    tracer.finish().unwrap()
}

fn given(seed: u64, shape: &[usize], scale: f64, offset: f64) -> Tensor {
    let values = numbers(shape.iter().product(), seed);
    Tensor::f32(
        shape,
        values
            .iter()
            .map(|x| (x * scale + offset) as f32)
            .collect::<Vec<_>>(),
    )
}

/// All inputs but the generator's state.
fn set(loaded: &Loaded) {
    loaded.set("image", &given(1, &[BATCH, IN], 0.3, 0.2));
    let labels: Vec<i64> = (0..BATCH as i64).map(|k| k % CLASSES as i64).collect();
    loaded.set("labels", &Tensor::i64([BATCH], labels));
    loaded.set("w1", &given(2, &[HIDDEN, IN], 0.3, 0.05));
    loaded.set("w2", &given(3, &[CLASSES, HIDDEN], 0.5, 0.1));
    loaded.set("t1", &given(4, &[HIDDEN], 0.5, 0.0));
    loaded.set("t2", &Tensor::f32([], [-0.2]));
}

#[test]
fn results_are_bitwise_equal_for_any_number_of_threads() {
    let mut all = vec![];
    for threads in [1, 2, 8] {
        let mut loaded = Loaded::new(graph(), threads);
        set(&loaded);
        let mut results = vec![];
        for step in 0..3 {
            loaded.set("generator", &Tensor::i64([4], [5, step, 0, 0]));
            loaded.run();
            results.push(loaded.results());
        }
        let names: Vec<String> = loaded
            .plan
            .graph
            .nodes
            .iter()
            .map(|n| spikelet_graph::op::Operation::name(&n.op))
            .collect();
        for kernel in [
            "bernoulli",
            "normal",
            "uniform",
            "matmul",
            "plif",
            "plif_grad",
            "map",
            "sum",
            "max",
            "log_softmax",
            "one_hot",
            "argmax",
            "equal",
            "permute",
            "slice",
            "concat",
            "expand",
            "fill",
            "halve",
        ] {
            assert!(names.iter().any(|n| n == kernel), "{kernel} is missing");
        }
        assert!(loaded.plan.graph.to_string().contains("bits["));
        let moved = results[0]["rates"].to_f64().iter().sum::<f64>();
        assert!(moved > 100.0, "the network hardly fires: {moved}");
        let gradient = results[0]["moved"].to_f64();
        assert!(gradient.iter().all(|g| g.is_finite()) && gradient.iter().any(|g| *g != 0.0));
        all.push(results);
    }
    for (threads, results) in [2, 8].iter().zip(&all[1..]) {
        for (step, (one, many)) in all[0].iter().zip(results).enumerate() {
            for (name, tensor) in one {
                let bits = |t: &Tensor| t.to_f64().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(
                    bits(tensor),
                    bits(&many[name]),
                    "`{name}`, step {step}, {threads} threads"
                );
            }
        }
    }
}

#[test]
fn a_plan_for_other_threads_is_refused_or_gives_the_same_bits() {
    let run = |made_for: usize, on: usize| {
        let plan = Plan::new(graph(), &Cpu::new(made_for).unwrap());
        let cpu = Cpu::new(on).unwrap();
        let (inputs, outputs) = buffers(&plan, &cpu);
        if let Err(error) = cpu.load(&plan, &inputs, &outputs) {
            assert!(matches!(error, Error::Plan { .. }), "{error}");
            return None;
        }
        let mut loaded = Loaded::with_plan(plan, cpu);
        set(&loaded);
        loaded.set("generator", &Tensor::i64([4], [5, 0, 0, 0]));
        loaded.run();
        Some(loaded.results())
    };
    let own = run(2, 2);
    let mut refused = 0;
    for (made_for, on) in [(1, 4), (4, 1), (2, 8), (8, 2), (3, 5)] {
        match run(made_for, on) {
            Some(results) => assert_eq!(Some(results), own, "{made_for} on {on}"),
            None => refused += 1,
        }
    }
    assert!((1..5).contains(&refused), "{refused} of 5");
}
