//! Neuron scans of which the maxima of blocks come out.

use crate::harness::{Loaded, for_any_number_of_threads, tensor};
use crate::threads::plif;
use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{Pooling, Port, Recurrence, Scan, ScanGrad, Window};
use spikelet_graph::{Backend, DType, Error, Plan, Tensor, Tracer, Var};
use std::sync::Arc;

/// Two states, two kinds of spikes, a parameter.
fn two_kinds() -> Arc<Recurrence> {
    let [x, u, v, a] = ["x", "u", "v", "a"].map(Expr::symbol);
    let current = &u * 0.5 + x;
    let h = &v + &current * a;
    let spike = |from: f64| {
        let above = &h - from;
        Expr::custom_gradient(above.ge(0.0), (&above * 4.0).sigmoid())
    };
    let (low, high) = (spike(0.2), spike(0.6));
    let next = (1.0 - &low) * &h - &high * 0.1;
    Arc::new(
        Recurrence::new("two_kinds", ["x"], ["u", "v"])
            .params(["a"])
            .output("low", low, true)
            .output("high", high, true)
            .next(vec![current, next]),
    )
}

struct Case {
    recurrence: Arc<Recurrence>,
    time: usize,
    /// Time steps of the input: all, or one.
    input_time: usize,
    step: Vec<usize>,
    block: [usize; 2],
    param: Vec<usize>,
}

/// Maxima of blocks, by the scan or by an operation behind it.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Fused,
    Separate,
}

impl Case {
    fn inputs(&self) -> Vec<Tensor> {
        let x = [&[self.input_time], &self.step[..]].concat();
        let mut inputs = vec![tensor(&x, 1)];
        let scaled = inputs[0]
            .to_f64()
            .iter()
            .map(|x| 1.5 * x + 0.3)
            .collect::<Vec<_>>();
        inputs[0] = Tensor::f64(x, scaled);
        for (k, _) in self.recurrence.states.iter().enumerate() {
            inputs.push(tensor(&self.step, 2 + k as u64));
        }
        inputs.push(tensor(&self.param, 7));
        inputs
    }

    /// Maxima, last states, and the gradients of all operands.
    fn build(&self, way: Way, tracer: &Tracer, v: &[Var]) -> Vec<Var> {
        let r = &self.recurrence;
        let scan = Scan {
            pool: (way == Way::Fused).then_some(self.block),
            ..Scan::new(r.clone(), self.time)
        };
        let made = tracer.apply(scan, &v.iter().collect::<Vec<_>>());
        let (outputs, states) = made.split_at(r.outputs.len());
        let states = &states[..r.states.len()];
        let windows = self.block.map(Window::blocks);
        let maxima: Vec<Var> = outputs
            .iter()
            .map(|s| match way {
                Way::Fused => s.clone(),
                Way::Separate => s.pool(Pooling::Max, windows),
            })
            .collect();
        let mut results = [&maxima[..], states].concat();
        let mut loss = tracer.fill(v[0].ty().dtype, [], 0.0);
        for (k, y) in results.iter().enumerate() {
            let weight = 0.3 + k as f64;
            // The gradient differs from element to element.
            let graded = y * (&y.sum(&[0]) * 0.1 + weight);
            loss = loss + graded.sum_all();
        }
        let wrt: Vec<&Var> = v.iter().collect();
        results.extend(tracer.gradients(&loss, &wrt));
        if way == Way::Separate {
            // A scan whose complete output is read is not fused with the pooling.
            results.extend(outputs.iter().cloned());
        }
        results
    }

    fn run(&self, way: Way, dtype: DType) -> Vec<Vec<u64>> {
        let inputs: Vec<Tensor> = self.inputs().iter().map(|t| t.cast(dtype)).collect();
        let tracer = Tracer::new(dtype);
        let named = |(k, t): (usize, &Tensor)| tracer.input(&format!("x{k}"), dtype, &t.shape[..]);
        let vars: Vec<Var> = inputs.iter().enumerate().map(named).collect();
        let results = self.build(way, &tracer, &vars);
        for (k, y) in results.iter().enumerate() {
            tracer.output(&format!("y{k}"), y);
        }
        let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
        let text = loaded.plan.graph.to_string();
        assert_eq!(text.contains("max_pool"), way == Way::Separate, "{text}");
        assert_eq!(text.contains("pooled"), way == Way::Fused, "{text}");
        for (k, input) in inputs.iter().enumerate() {
            loaded.set(&format!("x{k}"), input);
        }
        loaded.run();
        let bits = |k: usize| -> Vec<u64> {
            let values = loaded.get(&format!("y{k}")).to_f64();
            values.iter().map(|x| x.to_bits()).collect()
        };
        let results = self.recurrence.outputs.len() + 2 * self.recurrence.states.len() + 2;
        (0..results).map(bits).collect()
    }

    fn check(&self) {
        for dtype in [DType::F32, DType::F64] {
            let (one, two) = (self.run(Way::Fused, dtype), self.run(Way::Separate, dtype));
            for (k, (one, two)) in one.iter().zip(&two).enumerate() {
                assert_eq!(one.len(), two.len());
                let at = one.iter().zip(two).position(|(a, b)| a != b);
                assert_eq!(
                    at, None,
                    "result {k} of {:?} by {:?}",
                    self.step, self.block
                );
            }
            let ones = one[0].iter().filter(|x| f64::from_bits(**x) == 1.0).count();
            assert!(ones > 0, "no neuron fires");
        }
    }
}

#[test]
fn a_pooled_scan_is_a_scan_and_a_pool_bit_for_bit() {
    for recurrence in [plif(), two_kinds()] {
        for (step, block) in [
            (vec![2, 4, 6, 3], [2, 2]),
            (vec![3, 6, 4, 70], [3, 1]),
            (vec![6, 5, 1], [1, 5]),
            (vec![2, 2, 2, 4, 130], [2, 4]),
            (vec![2, 28, 28, 9], [2, 2]),
        ] {
            let channels = *step.last().unwrap();
            for (time, input_time) in [(1, 1), (4, 4), (3, 1)] {
                for param in [vec![], vec![channels], step.clone()] {
                    Case {
                        recurrence: recurrence.clone(),
                        time,
                        input_time,
                        step: step.clone(),
                        block,
                        param,
                    }
                    .check();
                }
            }
        }
    }
}

#[test]
fn a_pooled_scan_gives_the_same_bits_for_any_number_of_threads() {
    let case = Case {
        recurrence: two_kinds(),
        time: 5,
        input_time: 5,
        step: vec![4, 14, 14, 33],
        block: [2, 2],
        param: vec![33],
    };
    let inputs: Vec<Tensor> = case.inputs().iter().map(|t| t.cast(DType::F32)).collect();
    for_any_number_of_threads(&inputs, |tracer, v| case.build(Way::Fused, tracer, v));
}

#[test]
fn a_backward_pass_that_sums_over_channels_is_refused() {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [4, 2, 3]);
    let (v, w) = (tracer.parameter("v", [2, 3]), tracer.parameter("w", []));
    let g = tracer.input("g", DType::F32, [4, 2, 3]);
    let op = ScanGrad {
        channel_sums: true,
        ..ScanGrad::new(Scan::new(plif(), 4), vec![Port::OutputGrad(0)])
    };
    let made = tracer.apply(op, &[&x, &v, &w, &g]);
    tracer.output("dx", &made[0]);
    let cpu = Cpu::new(1).unwrap();
    let plan = Plan::new(tracer.finish().unwrap(), &cpu);
    let graph = &plan.graph;
    let buffer = |value| cpu.allocate(graph.ty(value)).unwrap();
    let inputs: Vec<_> = graph.inputs.iter().map(|i| buffer(i.value)).collect();
    let fresh = graph.outputs.iter().map(|o| Some(buffer(o.value)));
    let outputs: Vec<_> = fresh.collect();
    let loaded = cpu.load(&plan, &inputs, &outputs);
    assert!(matches!(loaded.err(), Some(Error::Plan { .. })));
}
