//! Several ranks with a part of the batch each, against one with the whole: batch norm over all of
//! them, and training. Ranks are threads with a CPU each.

use crate::ranks_support as support;
use crate::thread_ranks::ThreadProcessGroup;

use spikelet::graph::{Backend, Buckets, Graph, ProcessGroup, Var};
use spikelet::optim::{Adam, feed_scalars_of, scalar_inputs_of, update};
use spikelet::prelude::*;
use spikelet::train::scaling::UpdateGuard;
use spikelet_cpu::Cpu;
use spikelet_cuda::Cuda;
use std::sync::{Arc, Mutex, PoisonError};
use support::ranks;

/// Numbers on [−1, 1), no two alike.
fn values(count: usize, salt: u64) -> Vec<f32> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f64 / f64::from(1 << 23) - 1.0) as f32
    };
    (0..count).map(next).collect()
}

/// The images `rank·n .. (rank + 1)·n` of every step of `[T, N, …]`.
fn part(whole: &[f32], shape: &[usize], rank: usize, n: usize) -> Vec<f32> {
    let inner: usize = shape[2..].iter().product();
    let steps = whole.chunks(shape[1] * inner);
    steps
        .flat_map(|step| step[rank * n * inner..(rank + 1) * n * inner].to_vec())
        .collect()
}

/// The parts of all ranks as a whole again.
fn join(parts: &[Vec<f64>], steps: usize) -> Vec<f64> {
    let each = parts[0].len() / steps;
    let step = |t: usize| {
        parts
            .iter()
            .flat_map(move |p| p[t * each..][..each].to_vec())
    };
    (0..steps).flat_map(step).collect()
}

#[track_caller]
fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        let near = (a - b).abs() <= tolerance * (1.0 + b.abs());
        assert!(near, "{what}[{k}] is {a}, expected {b}");
    }
}

const SHAPE: [usize; 5] = [3, 8, 4, 5, 5];

/// The results of a module for a part of the batch: output, gradient of the input, running statistics,
/// gradients of what is learned.
struct Made {
    sequences: [Vec<f64>; 2],
    statistics: Vec<Vec<f64>>,
    gradients: Vec<Vec<f64>>,
}

/// L = Σ y·g over a part of the batch; `offset` is far from zero, measured in deviations.
fn run(
    module: &dyn Module,
    size: usize,
    rank: usize,
    offset: f32,
    propagation: Propagation,
    backend: Arc<dyn Backend>,
) -> Result<Made> {
    let n = SHAPE[1] / size;
    let mut shape = SHAPE.to_vec();
    shape[1] = n;
    let cx = Context::new(Mode::TRAIN, DType::F32)
        .propagation(propagation)
        .in_group(size, true);
    let t = cx.tracer();
    let x = t.input("x", DType::F32, shape);
    t.input("x_length", DType::I64, [n]);
    let y = cx.trace(module, x.clone())?;
    let g = t.input("g", DType::F32, y.shape());
    let traced = cx.traced();
    let names = traced.parameters.iter().map(|p| &p.name);
    let learned: Vec<Var> = names.filter_map(|name| t.find_input(name)).collect();
    let wrt: Vec<&Var> = [&x].into_iter().chain(&learned).collect();
    let grads = t.gradients(&(&y * &g).sum_all(), &wrt);
    let mut of_learnt = grads[1..].to_vec();
    if size > 1 {
        of_learnt = t.all_reduce_gradients(&of_learnt, size, Buckets::default());
    }
    t.output("y", &y);
    t.output("dx", &grads[0]);
    for (k, grad) in of_learnt.iter().enumerate() {
        t.output(&format!("d{k}"), &grad.map1(|v| v * 1.0));
    }
    let mut whole = y.shape().to_vec();
    whole[1] = SHAPE[1];
    let mut store = VarStore::new(backend);
    store.initialize(&traced, DType::F32, 1)?;
    if store.ty("weight").is_some() {
        store.insert("weight", &Tensor::f32([4], [0.5, 1.0, 1.5, -2.0]))?;
    }
    let mut program = Program::new(t.finish()?, &mut store)?;
    let count = SHAPE.iter().product();
    let all: Vec<f32> = values(count, 1).iter().map(|x| x + offset).collect();
    program.set("x", &part(&all, &SHAPE, rank, n))?;
    let g = values(whole.iter().product(), 2);
    program.set("g", &part(&g, &whole, rank, n))?;
    if program.has_input("x_length") {
        let lengths: Vec<i64> = (rank * n..(rank + 1) * n)
            .map(|k| 1 + k as i64 % 3)
            .collect();
        program.set("x_length", &lengths)?;
    }
    program.run()?;
    let out = |name: &str| Ok::<_, spikelet::Error>(program.get(name)?.to_f64());
    let kept = traced
        .buffers
        .iter()
        .map(|buffer| Ok(store.get(&buffer.name)?.to_f64()));
    Ok(Made {
        sequences: [out("y")?, out("dx")?],
        statistics: kept.collect::<Result<_>>()?,
        gradients: (0..learned.len())
            .map(|k| out(&format!("d{k}")))
            .collect::<Result<_>>()?,
    })
}

/// The parts of all ranks are what one rank makes of the whole.
#[track_caller]
fn assert_whole(made: &[Made], one: &Made, near: f64) {
    for (k, name) in ["output", "gradient of the input"].iter().enumerate() {
        let parts: Vec<Vec<f64>> = made.iter().map(|m| m.sequences[k].clone()).collect();
        assert_close(name, &join(&parts, SHAPE[0]), &one.sequences[k], near);
    }
    for own in made {
        assert_eq!(own.statistics, made[0].statistics, "the ranks differ");
        assert_eq!(own.gradients, made[0].gradients, "the ranks differ");
        for (own, one) in own.statistics.iter().zip(&one.statistics) {
            assert_close("statistics", own, one, 1e-5);
        }
        for (own, one) in own.gradients.iter().zip(&one.gradients) {
            assert_close("gradients", own, one, 10.0 * near);
        }
    }
}

#[test]
fn batch_norm_over_two_or_four_ranks_is_that_of_the_whole_batch() -> Result<()> {
    use Propagation::{LayerByLayer, StepByStep};
    let all = BatchNorm2d::new(SHAPE[2]);
    let each = all.each_step(true);
    for (norm, propagation, offset) in [
        (all, LayerByLayer, 0.0),
        (all, LayerByLayer, 50.0),
        (all, StepByStep, 0.0),
        (each, LayerByLayer, 0.0),
        (each, LayerByLayer, 50.0),
        (all.lengths("x_length"), LayerByLayer, 0.0),
    ] {
        let one = run(&norm, 1, 0, offset, propagation, Arc::new(Cpu::new(1)?))?;
        // The precision of f32 for values that far from zero.
        let near = 1e-5_f64.max(2e-6 * f64::from(offset));
        for size in [2, 4] {
            let made = ranks(size, |rank, backend| {
                run(&norm, size, rank, offset, propagation, backend).unwrap()
            });
            assert_whole(&made, &one, near);
        }
    }
    Ok(())
}

/// Normalization that becomes part of a neuron, whose spikes leave it as maxima.
fn images() -> Sequential {
    Sequential::new()
        .add(Conv2d::new(SHAPE[2], 6, 2).bias(false))
        .add(BatchNorm2d::new(6))
        .add(If::new())
        .add(MaxPool2d::new(2))
}

#[test]
fn a_network_with_batch_norm_has_the_gradients_of_the_whole_batch() -> Result<()> {
    let (net, layers) = (images(), Propagation::LayerByLayer);
    let one = run(&net, 1, 0, 0.0, layers, Arc::new(Cpu::new(1)?))?;
    assert!(
        one.sequences[0].iter().sum::<f64>() > 10.0,
        "hardly a spike"
    );
    let made = ranks(2, |rank, backend| {
        run(&net, 2, rank, 0.0, layers, backend).unwrap()
    });
    assert_whole(&made, &one, 1e-5);
    Ok(())
}

/// The results of two ranks with a GPU each.
fn on_gpus<T: Send>(run: impl Fn(usize, Arc<dyn Backend>) -> Result<T> + Sync) -> Vec<T> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let gpus = [0, 1].map(|k| Cuda::new(k).expect("two NVIDIA GPUs"));
    let run = &run;
    std::thread::scope(|scope| {
        let pairs = ThreadProcessGroup::group(2).into_iter().zip(gpus);
        let threads: Vec<_> = pairs
            .map(|(exchange, gpu)| {
                scope.spawn(move || {
                    let rank = exchange.rank();
                    gpu.join_group(Arc::new(exchange)).expect("NCCL");
                    run(rank, Arc::new(gpu)).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

#[test]
#[ignore = "needs two NVIDIA GPUs and NCCL"]
fn two_gpus_normalize_as_one_cpu() -> Result<()> {
    let layers = Propagation::LayerByLayer;
    let (norm, net) = (BatchNorm2d::new(SHAPE[2]), images());
    for module in [&norm as &dyn Module, &net] {
        let one = run(module, 1, 0, 0.0, layers, Arc::new(Cpu::new(1)?))?;
        let made = on_gpus(|rank, gpu| run(module, 2, rank, 0.0, layers, gpu));
        assert_whole(&made, &one, 5e-5);
    }
    Ok(())
}

#[test]
#[ignore = "needs two NVIDIA GPUs and NCCL"]
fn two_gpus_train_as_one_cpu() -> Result<()> {
    let one = train(1, 0, Buckets::default(), Arc::new(Cpu::new(1)?))?;
    let made = on_gpus(|rank, gpu| train(2, rank, Buckets::default(), gpu));
    assert_eq!(made[0], made[1], "the ranks differ");
    for (found, expected) in made[0].iter().zip(&one) {
        assert_close("parameter", found, expected, 1e-4);
    }
    Ok(())
}

#[test]
fn without_the_option_each_rank_measures_its_own_part() -> Result<()> {
    let collectives = |mode: Mode, ranks: usize, sync: bool| {
        let cx = Context::new(mode, DType::F32).in_group(ranks, sync);
        let x = cx.tracer().input("x", DType::F32, SHAPE);
        let y = cx.trace(&BatchNorm2d::new(SHAPE[2]), x)?;
        cx.tracer().output("y", &y);
        let text = cx.tracer().finish()?.to_string();
        Ok::<usize, spikelet::Error>(text.matches("all_reduce_start").count())
    };
    assert_eq!(collectives(Mode::TRAIN, 2, true)?, 2);
    assert_eq!(collectives(Mode::TRAIN, 2, false)?, 0);
    assert_eq!(collectives(Mode::TRAIN, 1, true)?, 0);
    assert_eq!(collectives(Mode::EVAL, 2, true)?, 0);
    Ok(())
}

const TIME: usize = 6;
const BATCH: usize = 16;
const PIXELS: usize = 64;
const CLASSES: usize = 10;

fn digits() -> Sequential {
    Sequential::new()
        .add(Linear::new(PIXELS, 48).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(48, CLASSES).bias(false))
        .add(Lif::new(2.0))
}

/// A step of Adam on a part of the batch.
fn training_step(size: usize, buckets: Buckets) -> Result<(Graph, spikelet::module::Traced)> {
    let n = BATCH / size;
    let cx = Context::new(Mode::TRAIN, DType::F32).in_group(size, true);
    let t = cx.tracer();
    let x = t.input("x", DType::F32, [TIME, n, PIXELS]);
    let y = t.input("y", DType::F32, [n, CLASSES]);
    let scalars = scalar_inputs_of(t, &Adam::default(), "");
    let scores = cx.trace(&digits(), x)?.mean(&[0]);
    let loss = (scores - y).square().mean_all();
    let traced = cx.traced();
    let names = traced.parameters.iter().map(|p| &p.name);
    let weights: Vec<Var> = names.filter_map(|name| t.find_input(name)).collect();
    let mut grads = t.gradients(&loss, &weights.iter().collect::<Vec<_>>());
    if size > 1 {
        grads = t.all_reduce_gradients(&grads, size, buckets);
    }
    let guard = UpdateGuard::FiniteLoss(loss);
    for (k, (weight, grad)) in weights.iter().zip(&grads).enumerate() {
        let (name, mean) = (format!("{k}"), grad * (1.0 / size as f64));
        update(&Adam::default(), &name, weight, &mean, &scalars, &guard);
    }
    Ok((t.finish()?, traced))
}

/// The parameters after five steps.
fn train(
    size: usize,
    rank: usize,
    buckets: Buckets,
    backend: Arc<dyn Backend>,
) -> Result<Vec<Vec<f64>>> {
    let n = BATCH / size;
    let (graph, traced) = training_step(size, buckets)?;
    let mut store = VarStore::new(backend);
    store.initialize(&traced, DType::F32, 7)?;
    let mut program = Program::new(graph, &mut store)?;
    for step in 1..=5 {
        let shape = [TIME, BATCH, PIXELS];
        let x = values(shape.iter().product(), step);
        let y: Vec<f32> = values(BATCH * CLASSES, 100 + step)
            .iter()
            .map(|y| y.abs())
            .collect();
        program.set("x", &part(&x, &shape, rank, n))?;
        let own = &y[rank * n * CLASSES..][..n * CLASSES];
        program.set("y", own)?;
        feed_scalars_of(&program, &Adam::default(), "", step, 1e-3)?;
        program.run()?;
    }
    let names = traced.parameters.iter().map(|p| &p.name);
    names.map(|name| Ok(store.get(name)?.to_f64())).collect()
}

#[test]
fn two_ranks_with_half_a_batch_train_as_one_with_the_whole() -> Result<()> {
    let one = train(1, 0, Buckets::default(), Arc::new(Cpu::new(1)?))?;
    let each = Buckets {
        first: 1,
        others: 1,
    };
    for buckets in [Buckets::default(), each] {
        let made = ranks(2, |rank, backend| train(2, rank, buckets, backend).unwrap());
        assert_eq!(made[0], made[1], "the ranks differ");
        for (k, (found, expected)) in made[0].iter().zip(&one).enumerate() {
            for (i, (a, b)) in found.iter().zip(expected).enumerate() {
                assert!((a - b).abs() <= 1e-6, "parameter {k}[{i}]: {a}, not {b}");
            }
        }
    }
    Ok(())
}
