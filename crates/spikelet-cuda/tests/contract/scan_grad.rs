//! Backward scans: gradients of sequences, initial states and parameters.

use crate::harness::{KeepsNothing, SUMS, gpu, same_on, scaled, thorough};
use crate::scan::{Case, adaptive, crowds, lif, plif};
use spikelet_cuda::Cuda;
use spikelet_graph::op::Op;
use spikelet_graph::{Backend, Plan, Tensor, Tracer, Var};

/// Which of a scan's results have a gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WithGradient {
    Outputs,
    FirstOutput,
    LastStates,
    StateSequences,
    OutputsAndLastStates,
    All,
}

const WITH_GRADIENT: [WithGradient; 6] = [
    WithGradient::Outputs,
    WithGradient::FirstOutput,
    WithGradient::LastStates,
    WithGradient::StateSequences,
    WithGradient::OutputsAndLastStates,
    WithGradient::All,
];

impl WithGradient {
    fn contains(self, name: &str, first: &str) -> bool {
        let (last, seq) = (name.starts_with("last "), name.starts_with("seq "));
        match self {
            Self::Outputs => !last && !seq,
            Self::FirstOutput => name == first,
            Self::LastStates => last,
            Self::StateSequences => seq,
            Self::OutputsAndLastStates => !seq,
            Self::All => true,
        }
    }
}

/// The results that have a gradient, and these gradients.
fn gradients(case: &Case, given: WithGradient) -> Vec<(String, Tensor)> {
    let names = case.results();
    let step = &case.operands[0].1.shape[1..];
    let whole = [&[case.time], step].concat();
    let mut grads = vec![];
    for (k, name) in names.iter().enumerate() {
        if !name.starts_with("kept ") && given.contains(name, &names[0]) {
            let shape = if name.starts_with("last ") {
                step
            } else {
                &whole
            };
            grads.push((
                format!("grad {name}"),
                scaled(shape, 50 + k as u64, 1.0, 0.1),
            ));
        }
    }
    grads
}

fn trace(tracer: &Tracer, case: &Case, grads: &[(String, Tensor)], wanted: &[&str]) {
    let (made, operands) = case.trace(tracer, None);
    let names = case.results();
    let of = |(name, t): &(String, Tensor)| -> (Var, Var) {
        let k = names.iter().position(|n| format!("grad {n}") == *name);
        (
            made[k.expect("a result")].clone(),
            crate::harness::data(tracer, name, t),
        )
    };
    let pairs: Vec<(Var, Var)> = grads.iter().map(of).collect();
    let pairs: Vec<(&Var, &Var)> = pairs.iter().map(|(v, g)| (v, g)).collect();
    let all = case.operands.iter().zip(&operands);
    let wrt: Vec<(&str, &Var)> = all
        .map(|((name, _), var)| (name.as_str(), var))
        .filter(|(name, _)| wanted.is_empty() || wanted.contains(name))
        .collect();
    let found = tracer.gradients_given(&pairs, &wrt.iter().map(|(_, v)| *v).collect::<Vec<_>>());
    for ((name, _), grad) in wrt.iter().zip(&found) {
        tracer.output(&format!("d{name}"), grad);
    }
    tracer.output("forward", &made[0]);
}

fn check_on(backend: &dyn Backend, case: &Case, given: WithGradient, wanted: &[&str]) {
    let grads = gradients(case, given);
    same_on(
        backend,
        &case.inputs(&grads),
        |_| SUMS,
        |tracer| {
            trace(tracer, case, &grads, wanted);
        },
    );
}

/// With and without the checkpoints that the GPU requests.
fn check(gpu: &Cuda, case: &Case, given: WithGradient) {
    check_on(gpu, case, given, &[]);
    check_on(&KeepsNothing(gpu.clone()), case, given, &[]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn few_neurons_over_any_number_of_steps_have_the_gradients_of_the_cpu() {
    let gpu = gpu();
    for neurons in [1, 3, 40, 1000] {
        for time in [1, 2, 7, 16, 33, 130, 500] {
            if thorough() || time <= 33 {
                check(
                    &gpu,
                    &Case::dense(lif(), time, &[neurons]),
                    WithGradient::Outputs,
                );
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn many_neurons_have_the_gradients_of_the_cpu() {
    let gpu = gpu();
    for neurons in crowds(&gpu) {
        for time in [1, 2, 7, 33, 64] {
            check(
                &gpu,
                &Case::dense(lif(), time, &[neurons]),
                WithGradient::Outputs,
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn learnable_parameters_have_the_gradients_of_the_cpu() {
    let gpu = gpu();
    for (time, step) in [
        (1, vec![3]),
        (7, vec![5, 8]),
        (33, vec![64]),
        (130, vec![2, 20]),
    ] {
        for shape in [vec![], vec![1], step.clone()] {
            let case = Case::new(plif(), time, &step, &[], &[("w", &shape)]);
            for given in WITH_GRADIENT {
                check(&gpu, &case, given);
                if !thorough() {
                    break;
                }
            }
        }
    }
    let crowd = crowds(&gpu)[1 % crowds(&gpu).len()];
    check(
        &gpu,
        &Case::new(plif(), 9, &[crowd], &[], &[("w", &[])]),
        WithGradient::All,
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn several_sequences_states_and_parameters_have_the_gradients_of_the_cpu() {
    let gpu = gpu();
    for time in [1, 2, 7, 16, 33, 70] {
        for given in WITH_GRADIENT {
            check(&gpu, &Case::dense(adaptive(), time, &[6, 7]), given);
            if !thorough() {
                break;
            }
        }
    }
    for neurons in crowds(&gpu) {
        check(
            &gpu,
            &Case::dense(adaptive(), 11, &[neurons]),
            WithGradient::All,
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn constant_and_broadcast_operands_have_the_gradients_of_the_cpu() {
    let gpu = gpu();
    let crowd = crowds(&gpu)[0].next_multiple_of(4) / 2;
    for (rows, columns) in [(6, 10), (2, crowd)] {
        let shapes: [&[(&str, &[usize])]; 2] = [
            &[("v", &[]), ("tau", &[1]), ("k", &[])],
            &[
                ("v", &[columns]),
                ("b", &[rows, 1]),
                ("tau", &[1, columns]),
                ("i", &[1, 1]),
            ],
        ];
        for shapes in shapes {
            for constant in [&["x"][..], &["m"], &["x", "m"]] {
                for time in [1, 6, 40] {
                    let case = Case::new(adaptive(), time, &[rows, columns], constant, shapes);
                    check(&gpu, &case, WithGradient::All);
                    if !thorough() {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn only_gradients_that_are_read_are_computed() {
    let gpu = gpu();
    let case = Case::dense(adaptive(), 20, &[50]);
    for wanted in ["x", "m", "v", "i", "b", "tau", "k"] {
        check_on(&gpu, &case, WithGradient::Outputs, &[wanted]);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn any_checkpoint_interval_gives_the_same_gradients() {
    let gpu = gpu();
    let crowd = crowds(&gpu)[0];
    for (neurons, time, every) in [
        (40, 7, 1),
        (40, 7, 3),
        (40, 33, 5),
        (40, 33, 12),
        (40, 130, 7),
        (crowd, 7, 3),
        (crowd, 20, 12),
    ] {
        let case = Case::dense(lif(), time, &[neurons]);
        let grads = gradients(&case, WithGradient::Outputs);
        same_on(
            &gpu,
            &case.inputs(&grads),
            |_| SUMS,
            |tracer| {
                let (made, operands) = case.trace(tracer, Some(every));
                let g = crate::harness::data(tracer, &grads[0].0, &grads[0].1);
                let wrt: Vec<&Var> = operands.iter().collect();
                let found = tracer.gradients_given(&[(&made[0], &g)], &wrt);
                tracer.output("dx", &found[0]);
                tracer.output("dv", &found[1]);
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn checkpoints_are_requested_for_sequences_longer_than_a_segment() {
    let gpu = gpu();
    let kept = |time: usize, target: &dyn Backend| -> Option<usize> {
        let case = Case::dense(lif(), time, &[1000]);
        let grads = gradients(&case, WithGradient::Outputs);
        let graph = crate::harness::traced(|tracer| trace(tracer, &case, &grads, &[]));
        let plan = Plan::new(graph, target);
        let mut of_grads = plan.graph.nodes.iter().filter_map(|node| match &node.op {
            Op::ScanGrad(op) => Some(op.of.checkpoint),
            _ => None,
        });
        of_grads.next().expect("a backward scan")
    };
    assert!(kept(500, &gpu).is_some());
    assert_eq!(kept(2, &gpu), None);
    assert_eq!(kept(500, &KeepsNothing(gpu.clone())), None);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn checkpoints_do_not_change_the_bits_of_a_gradient() {
    let gpu = gpu();
    for (time, neurons) in [(33, 40), (500, 3), (40, crowds(&gpu)[0])] {
        let case = Case::dense(plif(), time, &[neurons]);
        let grads = gradients(&case, WithGradient::All);
        let run = |backend: &dyn Backend| {
            let graph = crate::harness::traced(|tracer| trace(tracer, &case, &grads, &[]));
            let mut loaded = crate::harness::Loaded::new(graph, backend);
            crate::harness::run_twice(&mut loaded, &case.inputs(&grads))
        };
        assert_eq!(
            run(&gpu),
            run(&KeepsNothing(gpu.clone())),
            "T={time}, {neurons}"
        );
    }
}
