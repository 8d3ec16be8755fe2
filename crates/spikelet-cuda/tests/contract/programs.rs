//! Complete programs: several in sequence, on shared buffers, from several threads.

use crate::harness::{
    Loaded, Near, SUMS, apart, gpu, on_cpu, same, scaled, tensor, thorough, traced, upload,
};
use crate::scan::{lif, plif};
use spikelet_graph::{Backend, DType, Graph, RandomAxes, Tensor, TensorType, Tracer, Var};

/// Two layers of neurons, trained by plain gradient descent on a mean over time.
fn network(tracer: &Tracer) {
    let x = tracer.input("x", DType::F32, [8, 16, 50]);
    let label = tracer.input("label", DType::I64, [16]);
    let g = tracer.input("g", DType::I64, [4]);
    let (w1, w2) = (
        tracer.parameter("w1", [40, 50]),
        tracer.parameter("w2", [10, 40]),
    );
    let decay = tracer.parameter("decay", []);
    let zero = tracer.fill(DType::F32, [], 0.0);
    let spikes = x.bernoulli(&g, RandomAxes::Time);
    let h = Var::scan(&plif(), 8, &[&spikes.linear(&w1)], &[&zero], &[&decay]);
    let y = Var::scan(&lif(), 8, &[&h[0].linear(&w2)], &[&zero], &[]);
    let scores = y[0].mean(&[0]);
    let loss = -(scores.log_softmax() * label.one_hot(10)).sum_all() / 16.0;
    let grads = tracer.gradients(&loss, &[&w1, &w2, &decay]);
    for (w, g) in [&w1, &w2, &decay].into_iter().zip(&grads) {
        tracer.update(w, &(w - g * 0.5));
    }
    tracer.output("loss", &loss);
    tracer.output("correct", &scores.argmax().equals(&label).sum_all());
}

fn inputs() -> Vec<(&'static str, Tensor)> {
    let label: Vec<i64> = (0..16).map(|k| k * 7 % 10).collect();
    vec![
        ("x", scaled(&[8, 16, 50], 1, 0.5, 0.5)),
        ("label", Tensor::i64([16], label)),
        ("g", Tensor::i64([4], [5, 1, 0, 0])),
        ("w1", scaled(&[40, 50], 2, 0.3, 0.02)),
        ("w2", scaled(&[10, 40], 3, 0.4, 0.02)),
        ("decay", Tensor::f32([], [0.3])),
    ]
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_step_of_training_a_spiking_network_agrees() {
    same(&inputs(), SUMS, network);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_same_training_twice_has_the_same_bits() {
    let gpu = gpu();
    let train = || -> Vec<Vec<Tensor>> {
        let mut loaded = Loaded::new(traced(network), &gpu);
        loaded.set_all(&inputs());
        let mut steps = vec![];
        for step in 0..5 {
            loaded.set("g", &Tensor::i64([4], [5, step, 0, 0]));
            loaded.run();
            steps.push(
                ["loss", "w1", "w2", "decay"]
                    .map(|name| loaded.get(name))
                    .to_vec(),
            );
        }
        steps
    };
    let (one, other) = (train(), train());
    assert_eq!(one, other);
    assert_ne!(one[0], one[4], "something is learned");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn measuring_kernels_runs_the_program_once_and_times_each() {
    let gpu = gpu();
    let mut loaded = Loaded::new(traced(network), &gpu);
    loaded.set_all(&inputs());
    let seconds = loaded.profile();
    assert_eq!(seconds.len(), loaded.plan.kernels.len());
    assert!(seconds.iter().all(|s| *s >= 0.0) && seconds.iter().sum::<f64>() > 0.0);
    let profiled = loaded.results();
    loaded.set_all(&inputs());
    loaded.run();
    assert_eq!(loaded.results(), profiled);
    // Between replays too.
    loaded.set_all(&inputs());
    loaded.run();
    loaded.set_all(&inputs());
    loaded.profile();
    assert_eq!(loaded.results(), profiled);
}

fn times(factor: f64) -> Graph {
    traced(|tracer| {
        let w = tracer.parameter("w", [1000]);
        tracer.update(&w, &(&w * factor));
    })
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn programs_that_share_buffers_run_in_the_order_in_which_they_are_called() {
    let gpu = gpu();
    let w = gpu
        .allocate(&TensorType::new(DType::F32, [1000]))
        .expect("memory");
    let share = |_: &TensorType| Ok(w.clone());
    let load = |graph| Loaded::with_inputs(graph, &gpu, share).expect("it loads");
    let (mut double, mut third) = (load(times(2.0)), load(times(1.0 / 3.0)));
    let read = traced(|tracer| {
        let w = tracer.parameter("w", [1000]);
        tracer.output("y", &(&w + 1.0));
    });
    let mut read = load(read);
    let mut expected = tensor(&[1000], 1).as_f32().expect("f32").to_vec();
    upload(&gpu, &w, &tensor(&[1000], 1));
    let mut waiting = vec![];
    for k in 0..9 {
        if k % 3 == 0 {
            third.run();
            expected
                .iter_mut()
                .for_each(|w| *w *= (1.0_f64 / 3.0) as f32);
        } else {
            double.run();
            expected.iter_mut().for_each(|w| *w *= 2.0);
        }
        read.run();
        let y: Vec<f32> = expected.iter().map(|w| w + 1.0).collect();
        waiting.push((gpu.fetch(&[read.buffer("y")]).expect("a fetch"), y));
    }
    for (pending, y) in waiting {
        assert_eq!(pending.wait().expect("results"), [Tensor::f32([1000], y)]);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_program_outlives_the_buffers_that_it_was_loaded_with() {
    let gpu = gpu();
    let mut loaded = Loaded::new(times(2.0), &gpu);
    loaded.set("w", &tensor(&[1000], 1));
    let kept = loaded.inputs[0].clone();
    loaded.inputs.clear();
    for _ in 0..3 {
        loaded.run();
    }
    let expected: Vec<f32> = tensor(&[1000], 1)
        .as_f32()
        .expect("f32")
        .iter()
        .map(|w| w * 8.0)
        .collect();
    assert_eq!(
        crate::harness::download(&gpu, &kept),
        Tensor::f32([1000], expected)
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_program_without_kernels_copies_its_inputs() {
    let x = tensor(&[3, 4], 1);
    same(&[("x", x.clone())], Near::Bits, |tracer| {
        let x = tracer.input("x", DType::F32, [3, 4]);
        tracer.output("y", &x);
        tracer.output("z", &x.reshape([12]));
    });
    same(&[("v", x.clone())], Near::Bits, |tracer| {
        let v = tracer.state("v", [3, 4]);
        tracer.update(&v, &v);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn one_gpu_serves_several_threads() {
    let gpu = gpu();
    let rounds = if thorough() { 30 } else { 3 };
    std::thread::scope(|threads| {
        for seed in 0..4_u64 {
            let gpu = gpu.clone();
            threads.spawn(move || {
                for round in 0..rounds {
                    // Recorded here while others allocate, copy and run.
                    let n = 1000 + 10 * seed as usize;
                    let x = tensor(&[n], seed);
                    let graph = traced(|tracer| {
                        let x = tracer.input("x", DType::F32, [n]);
                        let mut y = x;
                        for k in 0..20 {
                            y = y.reshape([10, n / 10]).permute(&[1, 0]).reshape([n]) + k as f64;
                        }
                        tracer.output("y", &y);
                    });
                    let inputs = [("x", x)];
                    let expected = on_cpu(graph.clone(), &inputs).expect("the CPU");
                    let mut loaded = Loaded::new(graph, &gpu);
                    loaded.set_all(&inputs);
                    for run in 0..4 {
                        let fresh = gpu
                            .allocate(&TensorType::new(DType::F32, [n]))
                            .expect("memory");
                        upload(&gpu, &fresh, &tensor(&[n], 99));
                        loaded.run();
                        gpu.synchronize().expect("no error");
                        let same = crate::harness::download(&gpu, &fresh) == tensor(&[n], 99);
                        assert!(same, "a buffer of thread {seed}, round {round}, run {run}");
                        let apart = apart(&loaded.get("y"), &expected["y"], Near::Bits);
                        assert_eq!(apart, None, "thread {seed}, round {round}, run {run}");
                    }
                }
            });
        }
    });
}
