//! A pipeline computes what one device computes.

use spikelet::data::Batch;
use spikelet::graph::Backend;
use spikelet::graph::op::HostTensor;
use spikelet::model::{Compiled, Store};
use spikelet::network::Cifar10Net;
use spikelet::optim::Clip;
use spikelet::pipeline::{
    Layout, ModelPipeline, PipelineEval, PipelineStep, Reduce, Schedule, Team,
};
use spikelet::prelude::*;
use spikelet::train::{EvalStep, Shape, TrainStep};
use std::sync::Arc;

const STEPS: u64 = 20;
const CLASSES: usize = 3;

/// How many GPUs are to be used in place of CPU devices.
fn gpus() -> Option<usize> {
    let said = std::env::var("SPIKELET_TEST_GPUS").ok()?;
    said.parse().ok().filter(|n| *n > 0)
}

/// CPU devices; with `SPIKELET_TEST_GPUS=2`, two GPUs by turns.
fn devices(count: usize) -> Result<Vec<Arc<dyn Backend>>> {
    let gpus = gpus();
    let name = |k: usize| match gpus {
        Some(gpus) => format!("cuda:{}", k % gpus),
        None => format!("cpu:{k}"),
    };
    (0..count)
        .map(|k| spikelet::device::find(&name(k), 1))
        .collect()
}

/// Irregular images between 0 and 2 with labels.
fn batch(count: usize, image: [usize; 3], seed: u64) -> Batch {
    let each: usize = image.iter().product();
    let value = |k: usize| {
        let mixed = (k as u64 + 1 + seed * 1_000_003).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        2.0 * (mixed >> 40) as f32 / (1_u32 << 24) as f32
    };
    let label = |k: usize| ((k * 7 + seed as usize) % CLASSES) as i64;
    Batch {
        images: (0..count * each).map(value).collect(),
        labels: (0..count).map(label).collect(),
        indices: (0..count as u32).collect(),
        index_in_epoch: 0,
    }
}

/// A network, its images and how it is trained.
#[derive(Clone)]
struct Case {
    module: Arc<dyn Module>,
    image: [usize; 3],
    settings: Settings,
}

fn linear() -> Case {
    let module = Sequential::new()
        .add(Flatten)
        .add(Linear::new(16, 12))
        .add(Lif::new(2.0).v_threshold(0.2))
        .add(Linear::new(12, 10))
        .add(Plif::new(2.0).v_threshold(0.2))
        .add(Linear::new(10, CLASSES))
        .add(Lif::new(2.0).v_threshold(0.2));
    Case {
        module: Arc::new(module),
        image: [1, 4, 4],
        settings: Settings {
            time_steps: 6,
            batch_size: 8,
            learning_rate: 1e-2,
            encoder: "direct".to_string(),
            ..Settings::default()
        },
    }
}

fn convolutional() -> Result<Case> {
    let net = Cifar10Net {
        inputs: 2,
        size: 8,
        channels: 4,
        classes: CLASSES,
        // Batch norm takes a bias out again: its gradient would be rounding errors.
        bias: false,
        neuron: serde_json::json!({
            "neuron": "lif", "params": {"tau": 2.0, "decay_input": false, "v_threshold": 0.3},
            "surrogate": {"name": "atan", "alpha": 2.0},
        }),
    };
    Ok(Case {
        module: Arc::new(net.module()?),
        image: [2, 8, 8],
        settings: Settings {
            time_steps: 4,
            batch_size: 6,
            ..Cifar10Net::settings()
        },
    })
}

/// How a network is spread and cut.
#[derive(Clone, Debug)]
struct Spread {
    firsts: Vec<usize>,
    /// The devices of each stage.
    homes: Vec<Vec<usize>>,
    split: usize,
    chunk: Option<usize>,
    schedule: Schedule,
}

impl Spread {
    fn of(firsts: &[usize], split: usize, schedule: Schedule) -> Self {
        Self {
            firsts: firsts.to_vec(),
            homes: (0..=firsts.len()).map(|k| vec![k]).collect(),
            split,
            chunk: None,
            schedule,
        }
    }

    fn layout(&self, case: &Case) -> Result<Layout> {
        let most = self.homes.iter().flatten().max().copied().unwrap_or(0);
        let devices = devices(1 + most)?;
        let team = |home: &Vec<usize>| {
            let team: Vec<_> = home.iter().map(|d| devices[*d].clone()).collect();
            Team::from(team)
        };
        let backends: Vec<Team> = self.homes.iter().map(team).collect();
        let (split, chunk) = (self.split, self.chunk);
        Layout::at(
            &case.module,
            &self.firsts,
            &backends,
            split,
            chunk,
            self.schedule,
        )
    }
}

/// Losses of all steps, and all tensors after them.
#[derive(Debug, PartialEq)]
struct Trained {
    losses: Vec<f64>,
    correct: Vec<f64>,
    tensors: Vec<(String, Vec<f64>)>,
}

fn tensors(store: &Store) -> Result<Vec<(String, Vec<f64>)>> {
    let names: Vec<String> = store.names().map(String::from).collect();
    names
        .into_iter()
        .map(|name| Ok((name.clone(), store.get(&name)?.to_f64())))
        .collect()
}

fn through(case: &Case, spread: &Spread) -> Result<Trained> {
    let layout = spread.layout(case)?;
    let mut store = Store::new(layout.devices()[0].clone());
    let mut step = PipelineStep::new(&layout, &case.settings, case.image, &mut store)?;
    let (mut losses, mut correct) = (vec![], vec![]);
    for k in 1..=STEPS {
        let found = step.run(&batch(case.settings.batch_size, case.image, k), k, 0.0)?;
        losses.push(found.loss);
        correct.push(found.correct);
    }
    Ok(Trained {
        losses,
        correct,
        tensors: tensors(&store)?,
    })
}

fn alone(case: &Case) -> Result<Trained> {
    let shape = Shape {
        batch: case.settings.batch_size,
        image: case.image,
    };
    let mut store = Store::new(devices(1)?.remove(0));
    let mut step = TrainStep::new(&*case.module, &case.settings, shape, &mut store)?;
    let (mut losses, mut correct) = (vec![], vec![]);
    for k in 1..=STEPS {
        let found = step.run(&batch(shape.batch, case.image, k), k, 0.0)?;
        losses.push(found.loss);
        correct.push(found.correct);
    }
    Ok(Trained {
        losses,
        correct,
        tensors: tensors(&store)?,
    })
}

fn assert_close(a: &Trained, b: &Trained, most: f64, what: &str) {
    assert_eq!(a.correct, b.correct, "{what}");
    for (a, b) in a.losses.iter().zip(&b.losses) {
        assert!((a - b).abs() <= most, "{what}: losses {a} and {b}");
    }
    for ((name, a), (other, b)) in a.tensors.iter().zip(&b.tensors) {
        assert_eq!(name, other, "{what}");
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() <= most, "{what}: {name}: {x} and {y}");
        }
    }
}

/// Cuts into two to five stages: of the linear network anywhere, of the other one behind neurons.
fn cuts(case: &Case) -> [&'static [usize]; 4] {
    match case.image {
        [1, ..] => [&[3], &[1, 4], &[2, 3, 5], &[1, 2, 4, 6]],
        _ => [&[7], &[3, 14], &[7, 10, 17], &[3, 7, 10, 14]],
    }
}

#[test]
fn any_stages_train_to_the_same_bits_as_one_that_takes_the_same_micro_batches() -> Result<()> {
    for case in [linear(), convolutional()?] {
        for split in [1, 2, 3, 4, 8] {
            let one = through(&case, &Spread::of(&[], split, Schedule::Auto))?;
            assert!(one.losses.iter().all(|loss| loss.is_finite()));
            let changes = one.losses.iter().any(|loss| *loss != one.losses[0]);
            assert!(changes, "something fires and learns");
            for firsts in cuts(&case) {
                for schedule in [Schedule::FillDrain, Schedule::OneForwardOneBackward] {
                    let spread = Spread::of(firsts, split, schedule);
                    assert!(through(&case, &spread)? == one, "{spread:?}");
                }
            }
        }
    }
    Ok(())
}

/// A bias or a normalisation and its neuron are one kernel unless they are cut apart: the same sums
/// in another order.
#[test]
fn a_cut_before_a_neuron_changes_the_last_bits_at_most() -> Result<()> {
    let case = convolutional()?;
    for split in [2, 6] {
        let one = through(&case, &Spread::of(&[], split, Schedule::Auto))?;
        for firsts in [&[2][..], &[2, 3, 6, 7]] {
            let spread = Spread::of(firsts, split, Schedule::Auto);
            assert_close(
                &through(&case, &spread)?,
                &one,
                1e-5,
                &format!("{spread:?}"),
            );
        }
    }
    Ok(())
}

#[test]
fn a_device_that_comes_again_changes_nothing() -> Result<()> {
    let case = convolutional()?;
    let mut spread = Spread::of(&[2, 3, 6, 7], 2, Schedule::Auto);
    let apart = through(&case, &spread)?;
    spread.homes = [0, 1, 2, 0, 3].map(|d| vec![d]).to_vec();
    assert_eq!(through(&case, &spread)?, apart);
    spread.homes = [0, 1, 0, 1, 0].map(|d| vec![d]).to_vec();
    assert_eq!(through(&case, &spread)?, apart);
    Ok(())
}

#[test]
fn devices_of_one_stage_take_turns_and_keep_the_same_parameters() -> Result<()> {
    if gpus() == Some(1) {
        eprintln!("not run: one GPU cannot take turns");
        return Ok(());
    }
    for case in [linear(), convolutional()?] {
        let cut = cuts(&case)[0];
        // Of two micro-batches each device sums one: the same additions as on one device.
        let half = case.settings.batch_size / 2;
        let one = through(&case, &Spread::of(&[], half, Schedule::Auto))?;
        let close = through(&case, &Spread::of(&[], 2, Schedule::Auto))?;
        for homes in [
            vec![vec![0, 1], vec![2]],
            vec![vec![0], vec![1, 2]],
            vec![vec![0, 1], vec![1, 0]],
        ] {
            for schedule in [Schedule::FillDrain, Schedule::OneForwardOneBackward] {
                let mut spread = Spread::of(cut, half, schedule);
                spread.homes = homes.clone();
                let made = through(&case, &spread)?;
                for (a, b) in made.losses.iter().zip(&one.losses) {
                    // The devices' shares are added on the host.
                    assert!((a - b).abs() < 1e-7, "{spread:?}: {a} and {b}");
                }
                for ((name, a), (_, b)) in made.tensors.iter().zip(&one.tensors) {
                    // Running statistics are means over the devices.
                    assert!(a == b || name.contains("running"), "{spread:?}: {name}");
                }
                spread.split = 2;
                let made = through(&case, &spread)?;
                for (a, b) in made.losses.iter().zip(&close.losses) {
                    assert!((a - b).abs() < 1e-5, "{spread:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn micro_batches_add_up_to_the_batch_of_a_network_without_batch_norm() -> Result<()> {
    let case = linear();
    let whole = alone(&case)?;
    // One micro-batch is the batch: nothing is added in another order.
    let one = through(&case, &Spread::of(&[3], 8, Schedule::Auto))?;
    assert_close(&one, &whole, 0.0, "whole");
    for split in [1, 3, 4] {
        let parts = through(&case, &Spread::of(&[3], split, Schedule::Auto))?;
        assert_close(&parts, &whole, 1e-5, &format!("split {split}"));
    }
    Ok(())
}

#[test]
fn a_whole_batch_with_batch_norm_is_what_one_device_makes_of_it() -> Result<()> {
    let case = convolutional()?;
    let one = through(&case, &Spread::of(&[2, 7], 6, Schedule::Auto))?;
    assert_close(&one, &alone(&case)?, 1e-5, "whole");
    Ok(())
}

#[test]
fn chunks_of_time_hand_their_states_and_gradients_on() -> Result<()> {
    let case = linear();
    let whole = alone(&case)?;
    for chunk in [1, 2, 3] {
        for split in [3, 8] {
            for schedule in [Schedule::FillDrain, Schedule::OneForwardOneBackward] {
                let mut spread = Spread::of(&[2, 5], split, schedule);
                spread.chunk = Some(chunk);
                let made = through(&case, &spread)?;
                assert_close(&made, &whole, 1e-5, &format!("{spread:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn gradients_are_clipped_by_the_norm_of_all_stages() -> Result<()> {
    let mut case = linear();
    case.settings.clip = Some(Clip::Norm(0.05));
    let made = through(&case, &Spread::of(&[2, 4], 8, Schedule::Auto))?;
    assert_close(&made, &alone(&case)?, 1e-6, "clipped");
    Ok(())
}

#[test]
fn draws_of_all_stages_differ_and_repeat() -> Result<()> {
    let mut case = linear();
    case.settings.encoder = "poisson".to_string();
    case.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, 12))
            .add(Dropout::new(0.5))
            .add(Lif::new(2.0).v_threshold(0.2))
            .add(Linear::new(12, CLASSES))
            .add(Dropout::new(0.5))
            .add(Lif::new(2.0).v_threshold(0.2)),
    );
    let whole = through(&case, &Spread::of(&[], 8, Schedule::Auto))?;
    assert_close(
        &whole,
        &alone(&case)?,
        0.0,
        "one stage draws what one device draws",
    );
    for firsts in [&[4][..], &[1, 4], &[1, 2, 4, 5]] {
        let spread = Spread::of(firsts, 8, Schedule::Auto);
        assert_close(
            &through(&case, &spread)?,
            &whole,
            1e-5,
            &format!("{spread:?}"),
        );
    }
    let mut chunked = Spread::of(&[3, 4], 8, Schedule::Auto);
    chunked.chunk = Some(2);
    assert_close(&through(&case, &chunked)?, &whole, 1e-5, "chunks draw on");
    Ok(())
}

#[test]
fn evaluation_through_stages_is_that_of_one_device() -> Result<()> {
    for case in [linear(), convolutional()?] {
        let shape = Shape {
            batch: 7,
            image: case.image,
        };
        let mut store = Store::new(devices(1)?.remove(0));
        let mut one = EvalStep::new(&*case.module, &case.settings, shape, false, &mut store)?;
        let given = batch(7, case.image, 5);
        let expected = one.run(&given, 0)?;
        for (firsts, split, chunk) in [
            (&[3][..], 7, None),
            (&[1, 4], 2, None),
            (&[2, 5], 3, Some(2)),
        ] {
            let mut spread = Spread::of(firsts, split, Schedule::Auto);
            spread.chunk = chunk;
            let layout = spread.layout(&case)?;
            let mut store = Store::new(layout.devices()[0].clone());
            let mut eval = PipelineEval::new(&layout, &case.settings, 7, case.image, &mut store)?;
            let found = eval.run(&given, 0)?;
            assert_eq!(found.correct, expected.correct, "{spread:?}");
            assert!((found.loss - expected.loss).abs() < 1e-6, "{spread:?}");
        }
    }
    Ok(())
}

fn seeds_pipeline(devices: &[Arc<dyn Backend>]) -> ModelPipeline {
    let last = devices.len() - 1;
    ModelPipeline::new()
        .append(Linear::new(6, 9), &devices[0])
        .append(Lif::new(2.0).v_threshold(0.2), &devices[1.min(last)])
        .append(
            Sequential::new()
                .add(Linear::new(9, 4))
                .add(Lif::new(2.0).v_threshold(0.2)),
            &devices[2.min(last)],
        )
}

/// What the appended modules make as one network on one device.
fn expected(x: &Tensor) -> Result<Tensor> {
    let net = Sequential::new()
        .add(Linear::new(6, 9))
        .add(Lif::new(2.0).v_threshold(0.2))
        .add(
            Sequential::new()
                .add(Linear::new(9, 4))
                .add(Lif::new(2.0).v_threshold(0.2)),
        );
    let cx = Context::new(Mode::EVAL, DType::F32);
    let input = cx.tracer().input("x", DType::F32, x.shape.clone());
    cx.tracer().output("y", &cx.trace(&net, input)?);
    let mut store = Store::new(devices(1)?.remove(0));
    store.initialise(&cx.traced(), DType::F32, 0)?;
    let mut program = Compiled::new(cx.tracer().finish()?, &mut store)?;
    program.set("x", HostTensor::F32(x.as_f32().expect("f32")))?;
    program.run()?;
    program.get("y")
}

fn sequence(time_steps: usize, count: usize) -> Tensor {
    let values = batch(time_steps * count, [1, 1, 6], 3).images;
    Tensor::f32(
        [time_steps, count, 6],
        values.iter().map(|v| 3.0 * v - 2.0).collect::<Vec<_>>(),
    )
}

#[test]
fn forward_gives_the_spikes_of_one_device_for_every_split() -> Result<()> {
    let x = sequence(10, 7);
    let whole = expected(&x)?;
    let fired: f64 = whole.to_f64().iter().sum();
    assert!(fired > 0.0 && fired < 280.0, "{fired}");
    for count in [1, 2, 3] {
        let devices = devices(count)?;
        let mut net = seeds_pipeline(&devices);
        for split in [1, 2, 3, 4, 7, 100] {
            assert_eq!(
                net.forward(&x, split)?,
                whole,
                "{count} devices, split {split}"
            );
            // Nothing is left of the run before.
            assert_eq!(net.forward(&x, split)?, whole, "again");
        }
    }
    Ok(())
}

#[test]
fn a_step_trains_what_forward_runs_and_is_drawn_task_by_task() -> Result<()> {
    let devices = devices(3)?;
    let mut net = ModelPipeline::new()
        .append(Flatten, &devices[0])
        .append(Linear::new(6, 4), &devices[1])
        .append(Lif::new(2.0).v_threshold(0.2), &devices[2]);
    let x = sequence(10, 7);
    let before = net.forward(&x, 3)?;
    let settings = Settings {
        time_steps: 4,
        batch_size: 8,
        learning_rate: 0.1,
        encoder: "direct".to_string(),
        ..Settings::default()
    };
    let layout = net.layout(3, Some(2))?;
    let mut step = PipelineStep::new(&layout, &settings, [1, 1, 6], net.store_mut()?)?;
    step.watch();
    for k in 1..=5 {
        step.run(&batch(8, [1, 1, 6], k), k, 0.0)?;
    }
    assert_ne!(net.forward(&x, 3)?, before);
    // 3 stages, 3 micro-batches of 2 chunks, forward and backward; a loss for each micro-batch.
    let trace = step.trace().expect("it is watched");
    assert_eq!(trace.len(), 3 * 3 * 2 * 2 + 3);
    assert_eq!(trace.to_svg().matches("<g><title>").count(), trace.len());
    Ok(())
}

#[test]
fn a_constant_input_runs_for_exactly_as_many_steps_as_were_asked_for() -> Result<()> {
    let devices = devices(3)?;
    let mut net = seeds_pipeline(&devices);
    let x = Tensor::f32([5, 6], sequence(1, 5).as_f32().expect("f32").to_vec());
    for time_steps in [1, 2, 7, 12, 50] {
        let repeated = x.as_f32().expect("f32").repeat(time_steps);
        let all = expected(&Tensor::f32([time_steps, 5, 6], repeated))?;
        assert_eq!(net.constant_forward(&x, time_steps, Reduce::Stack)?, all);
        let sums = net.constant_forward(&x, time_steps, Reduce::Sum)?.to_f64();
        for (k, sum) in sums.iter().enumerate() {
            let each = all.to_f64().into_iter().skip(k).step_by(20);
            assert_eq!(each.sum::<f64>(), *sum, "{time_steps} steps");
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() -> Result<()> {
    let devices = devices(2)?;
    let mut net = seeds_pipeline(&devices);
    let x = Tensor::f32([5, 6], vec![0.0; 30]);
    let refused = |made: Result<Tensor>, word: &str| {
        let message = made.expect_err(word).to_string();
        assert!(message.contains(word), "{message}");
    };
    refused(net.constant_forward(&x, 0, Reduce::Sum), "time steps");
    refused(net.forward(&sequence(3, 4), 0), "split size");
    refused(net.forward(&sequence(0, 4), 2), "time steps");
    refused(net.forward(&Tensor::f32([], vec![0.0]), 2), "[T, N, …]");
    refused(
        net.forward(&Tensor::f32([2, 3, 5], vec![0.0; 30]), 2),
        "linear `0`",
    );
    refused(ModelPipeline::new().forward(&sequence(3, 4), 2), "append");
    let case = linear();
    let mut spread = Spread::of(&[3], 4, Schedule::Auto);
    spread.chunk = Some(4);
    let message = through(&case, &spread).expect_err("6 steps").to_string();
    assert!(message.contains("divisor"), "{message}");
    let spread = Spread::of(&[5, 5], 4, Schedule::Auto);
    let message = through(&case, &spread)
        .expect_err("empty stage")
        .to_string();
    assert!(message.contains("rising"), "{message}");
    Ok(())
}

#[test]
fn a_network_that_needs_all_steps_at_once_is_not_cut_in_time() -> Result<()> {
    let mut case = linear();
    case.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, CLASSES))
            .add(Psn::default()),
    );
    let mut spread = Spread::of(&[2], 4, Schedule::Auto);
    assert!(through(&case, &spread).is_ok());
    spread.chunk = Some(3);
    let message = through(&case, &spread).expect_err("psn").to_string();
    assert!(
        message.contains("needs all time steps at once"),
        "{message}"
    );
    Ok(())
}

#[test]
fn what_counts_all_steps_is_not_cut_in_time() -> Result<()> {
    let mut early = linear();
    early.settings.encoder = "latency".to_string();
    let mut each_step = linear();
    each_step.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, CLASSES))
            .add(GatedLif::default()),
    );
    for case in [early, each_step] {
        let mut spread = Spread::of(&[2], 4, Schedule::Auto);
        assert!(through(&case, &spread).is_ok());
        spread.chunk = Some(3);
        let message = through(&case, &spread).expect_err("chunk").to_string();
        assert!(message.contains("number of time steps"), "{message}");
    }
    Ok(())
}

#[test]
fn a_network_is_cut_where_the_stages_have_about_as_much_to_do() -> Result<()> {
    let case = convolutional()?;
    let backends: Vec<_> = (0..3)
        .map(|k| spikelet::device::find(&format!("cpu:{k}"), 1))
        .collect::<Result<_>>()?;
    let layout = Layout::auto(
        &case.module,
        &case.settings,
        case.image,
        &backends,
        2,
        None,
        Schedule::Auto,
    )?;
    let report = layout.report();
    assert_eq!(report.len(), 3);
    let modules: usize = report.iter().map(|stage| stage.modules.len()).sum();
    assert_eq!(modules, case.module.chain().len());
    assert!(
        report[0].modules.len() < report[2].modules.len(),
        "{report:?}"
    );
    Ok(())
}
