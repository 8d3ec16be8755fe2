//! Networks, how they are spread over devices, and what training comes to.

use spikelet::data::Batch;
use spikelet::graph::Backend;
use spikelet::network::Network;
use spikelet::pipeline::{
    ModelPipeline, Partition, PipelineConfig, PipelineEval, PipelineSchedule, PipelineStep,
    StageReplicas,
};
use spikelet::prelude::*;
use spikelet::runtime::VarStore;
use spikelet::train::{BatchShape, Step, StepMetrics};
use std::sync::Arc;

pub const STEPS: u64 = 20;
pub const CLASSES: usize = 3;

/// How many GPUs are to be used in place of CPU devices.
pub fn gpus() -> Option<usize> {
    let said = std::env::var("SPIKELET_TEST_GPUS").ok()?;
    said.parse().ok().filter(|n| *n > 0)
}

/// CPU devices; with `SPIKELET_TEST_GPUS=2`, two GPUs by turns. A stage of several devices needs
/// two of them.
pub fn devices(count: usize) -> Result<Vec<Arc<dyn Backend>>> {
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
pub fn batch(count: usize, image: [usize; 3], seed: u64) -> Batch {
    let each: usize = image.iter().product();
    let value = |k: usize| {
        let mixed = (k as u64 + 1 + seed * 1_000_003).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        2.0 * (mixed >> 40) as f32 / (1_u32 << 24) as f32
    };
    let label = |k: usize| ((k * 7 + seed as usize) % CLASSES) as i64;
    let images = (0..count * each).map(value).collect();
    Batch::of_images(image, images, (0..count).map(label).collect())
}

/// A network, its images and how it is trained.
#[derive(Clone)]
pub struct Case {
    pub module: Arc<dyn Module>,
    pub image: [usize; 3],
    pub settings: Settings,
}

pub fn linear() -> Case {
    let module = Sequential::new()
        .add(Flatten)
        .add(Linear::new(16, 12).bias(false))
        .add(Lif::new(2.0).v_threshold(0.2))
        .add(Linear::new(12, 10).bias(false))
        .add(Plif::new(2.0).v_threshold(0.2))
        .add(Linear::new(10, CLASSES).bias(false))
        .add(Lif::new(2.0).v_threshold(0.2));
    Case {
        module: Arc::new(module),
        image: [1, 4, 4],
        settings: Settings {
            time_steps: 6,
            batch_size: 8,
            optimizer: Adam::new(1e-2).into(),
            encoder: Direct.into(),
            ..Settings::default()
        },
    }
}

/// With draws of an encoder and of two layers.
pub fn drawing() -> Case {
    let mut case = linear();
    case.settings.encoder = Poisson.into();
    case.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, 10).bias(false))
            .add(Dropout::new(0.5))
            .add(Lif::new(2.0).v_threshold(0.2))
            .add(Linear::new(10, CLASSES).bias(false))
            .add(Dropout::new(0.5))
            .add(Lif::new(2.0).v_threshold(0.2)),
    );
    case
}

pub fn convolutional() -> Result<Case> {
    let neuron = serde_json::json!({
        "neuron": "lif", "params": {"tau": 2.0, "decay_input": false, "v_threshold": 0.3},
        "surrogate": {"name": "atan", "alpha": 2.0},
    });
    let options = [
        ("inputs", 2.into()),
        ("size", 8.into()),
        ("channels", 4.into()),
        ("classes", CLASSES.into()),
        // Batch norm takes a bias out again: its gradient would be rounding errors.
        ("bias", false.into()),
        ("neuron", neuron),
    ];
    let net = Network::model("cifar10-net", options)?;
    Ok(Case {
        module: net.module()?,
        image: [2, 8, 8],
        settings: Settings {
            time_steps: 4,
            batch_size: 6,
            ..Settings::of_network(&net)
        },
    })
}

/// The devices of a network and its partition.
#[derive(Clone, Debug)]
pub struct Spread {
    pub firsts: Vec<usize>,
    /// The devices of each stage.
    pub stage_devices: Vec<Vec<usize>>,
    pub split: usize,
    pub chunk: Option<usize>,
    pub schedule: PipelineSchedule,
}

impl Spread {
    pub fn of(firsts: &[usize], split: usize, schedule: PipelineSchedule) -> Self {
        Self {
            firsts: firsts.to_vec(),
            stage_devices: (0..=firsts.len()).map(|k| vec![k]).collect(),
            split,
            chunk: None,
            schedule,
        }
    }

    pub fn partition(&self, case: &Case) -> Result<Partition> {
        let most = self
            .stage_devices
            .iter()
            .flatten()
            .max()
            .copied()
            .unwrap_or(0);
        let devices = devices(1 + most)?;
        let team = |home: &Vec<usize>| {
            let team: Vec<_> = home.iter().map(|d| devices[*d].clone()).collect();
            StageReplicas::from(team)
        };
        let backends: Vec<StageReplicas> = self.stage_devices.iter().map(team).collect();
        Partition::at(
            &case.module,
            &self.firsts,
            &backends,
            PipelineConfig {
                split_size: self.split,
                time_chunk: self.chunk,
                schedule: self.schedule,
            },
        )
    }
}

/// Losses of all steps, and all tensors after them.
#[derive(Debug, PartialEq)]
pub struct Trained {
    pub losses: Vec<f64>,
    pub correct: Vec<f64>,
    pub tensors: Vec<(String, Vec<f64>)>,
}

pub fn tensors(store: &VarStore) -> Result<Vec<(String, Vec<f64>)>> {
    let names: Vec<String> = store.names().map(String::from).collect();
    names
        .into_iter()
        .map(|name| Ok((name.clone(), store.get(&name)?.to_f64())))
        .collect()
}

pub fn through(case: &Case, spread: &Spread) -> Result<Trained> {
    let partition = spread.partition(case)?;
    let mut store = VarStore::new(partition.devices()[0].clone());
    let mut step = PipelineStep::new(&partition, &case.settings, case.image, &mut store)?;
    trained(case, &store, |batch, k| step.run(batch, k, 1.0))
}

/// The results of [`STEPS`] steps.
fn trained(
    case: &Case,
    store: &VarStore,
    mut step: impl FnMut(&Batch, u64) -> Result<StepMetrics>,
) -> Result<Trained> {
    let (mut losses, mut correct) = (vec![], vec![]);
    for k in 1..=STEPS {
        let found = step(&batch(case.settings.batch_size, case.image, k), k)?;
        losses.push(found.loss);
        correct.push(found.sums("accuracy").map_or(f64::NAN, |sums| sums[0]));
    }
    Ok(Trained {
        losses,
        correct,
        tensors: tensors(store)?,
    })
}

pub fn alone(case: &Case) -> Result<Trained> {
    let shape = BatchShape {
        batch: case.settings.batch_size,
        image: case.image,
    };
    let mut store = VarStore::new(devices(1)?.remove(0));
    let mut step = Step::classifier(&*case.module, &case.settings, shape)?.compile(&mut store)?;
    trained(case, &store, |batch, _| step.run_batch(batch))
}

pub fn assert_close(a: &Trained, b: &Trained, most: f64, what: &str) {
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

/// Evaluates a case in partitions (first layers of stages, split size, time chunk), and on one device.
pub fn assert_evaluates_as_one_device(
    case: &Case,
    partitions: &[(&[usize], usize, Option<usize>)],
    what: &str,
) -> Result<()> {
    let shape = BatchShape {
        batch: 7,
        image: case.image,
    };
    let mut store = VarStore::new(devices(1)?.remove(0));
    let mut one =
        Step::classifier(&*case.module, &case.settings, shape)?.compile_eval(&mut store)?;
    let given = batch(7, case.image, 5);
    let expected = one.run_batch(&given)?;
    for &(firsts, split, chunk) in partitions {
        let mut spread = Spread::of(firsts, split, PipelineSchedule::Auto);
        spread.chunk = chunk;
        let partition = spread.partition(case)?;
        let mut store = VarStore::new(partition.devices()[0].clone());
        let mut eval = PipelineEval::new(&partition, &case.settings, 7, case.image, &mut store)?;
        let found = eval.run(&given)?;
        let (sums, expected_sums) = (found.sums("accuracy"), expected.sums("accuracy"));
        assert_eq!(sums, expected_sums, "{what}: {spread:?}");
        let near = (found.loss - expected.loss).abs() < 1e-6;
        assert!(near, "{what}: {spread:?}: {} {}", found.loss, expected.loss);
    }
    Ok(())
}

pub fn seeds_pipeline(devices: &[Arc<dyn Backend>]) -> ModelPipeline {
    let last = devices.len() - 1;
    ModelPipeline::new()
        .append(Linear::new(6, 9).bias(false), &devices[0])
        .append(Lif::new(2.0).v_threshold(0.2), &devices[1.min(last)])
        .append(
            Sequential::new()
                .add(Linear::new(9, 4).bias(false))
                .add(Lif::new(2.0).v_threshold(0.2)),
            &devices[2.min(last)],
        )
}

pub fn sequence(time_steps: usize, count: usize) -> Tensor {
    let batch = batch(time_steps * count, [1, 1, 6], 3);
    let values = batch.f32("images").expect("a batch of images");
    Tensor::f32(
        [time_steps, count, 6],
        values.iter().map(|v| 3.0 * v - 2.0).collect::<Vec<_>>(),
    )
}
