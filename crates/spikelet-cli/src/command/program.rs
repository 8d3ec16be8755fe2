//! A compiled training step, for commands that show or measure it.

use super::median;
use crate::failure::Failure;
use serde_json::{Value, json};
use spikelet::data::{Batch, BatchTensor};
use spikelet::graph::op::Operation;
use spikelet::graph::{Backend, InputKind, Plan};
use spikelet::human::bytes;
use spikelet::network::Network;
use spikelet::runtime::VarStore;
use spikelet::train::engine::InFlight;
use spikelet::train::memory::RunMemory;
use spikelet::train::step::{RankInfo, SampleBatch};
use spikelet::train::{SampleShape, Settings, Step, TrainStep};
use std::sync::Arc;

/// A training step with a batch of random samples.
pub struct StepProgram {
    step: TrainStep,
    batch: Batch,
    in_flight: InFlight<()>,
}

impl StepProgram {
    /// Compiles the step.
    ///
    /// # Errors
    /// When shapes do not fit or the device refuses.
    pub fn compile(
        network: &Network,
        sample: SampleShape,
        settings: &Settings,
        backend: Arc<dyn Backend>,
    ) -> Result<Self, Failure> {
        Self::compile_at(network, sample, settings, RankInfo::default(), backend)
    }

    /// Compiles the step of a rank.
    ///
    /// # Errors
    /// As [`StepProgram::compile`].
    pub fn compile_at(
        network: &Network,
        sample: SampleShape,
        settings: &Settings,
        place: RankInfo,
        backend: Arc<dyn Backend>,
    ) -> Result<Self, Failure> {
        let mut store = VarStore::new(backend);
        let shape = SampleBatch {
            batch: settings.batch_size,
            sample,
        };
        Ok(Self {
            step: Step::classifier(&*network.module()?, settings, shape)?
                .rank(place, settings.sync_batch_norm)
                .compile(&mut store)?,
            batch: random_batch(settings.batch_size, sample),
            in_flight: InFlight::new(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.step.program().plan()
    }

    /// Bytes of parameters and the optimizer's tensors.
    pub fn parameter_bytes(&self) -> usize {
        let graph = &self.plan().graph;
        let lasting = graph.inputs.iter().filter(|i| i.kind != InputKind::Data);
        lasting.map(|i| graph.ty(i.value).bytes()).sum()
    }

    /// Submits a training step with its batch, and reads the loss of the step before the last, as
    /// training does.
    ///
    /// # Errors
    /// When the device fails.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.in_flight.wait_if_full()?;
        let started = self.step.start_batch(&self.batch)?;
        self.in_flight.push(started, ());
        Ok(())
    }

    /// Waits for all submitted steps.
    ///
    /// # Errors
    /// When the device fails.
    pub fn finish(&mut self) -> Result<(), Failure> {
        while self.in_flight.wait_for_oldest()?.is_some() {}
        Ok(())
    }

    /// The median seconds of each kernel over `runs` steps, after one untimed step.
    ///
    /// # Errors
    /// When the device fails.
    pub fn profile(&mut self, runs: usize) -> Result<Vec<f64>, Failure> {
        self.run()?;
        self.finish()?;
        let mut all = vec![vec![]; self.plan().kernels.len()];
        for _ in 0..runs {
            self.step.prepare_batch(&self.batch)?;
            let times = self.step.program_mut().profile()?;
            all.iter_mut()
                .zip(times)
                .for_each(|(kernel, time)| kernel.push(time));
        }
        Ok(all.iter_mut().map(|times| median(times)).collect())
    }
}

/// `plan: 9 kernels a step, 4 of them backward · 3.90 GFLOP · 118 MiB peak, with 500 images evaluated at
/// once`
pub fn summary(plan: &Plan, run: &RunMemory) -> String {
    let backward = plan
        .kernels
        .iter()
        .filter(|k| plan.graph.nodes[k.node].backward)
        .count();
    let budget = plan.reports.iter().find(|r| r.pass == "memory budget");
    let budget = budget.map_or(String::new(), |r| format!("\n{}: {}", r.pass, r.summary));
    format!(
        "plan: {} kernels a step, {backward} of them backward · {:.2} GFLOP · {} peak, with {} images evaluated at once{budget}",
        plan.kernels.len(),
        plan.flops() as f64 / 1e9,
        bytes(run.peak as u64),
        run.evaluation_batch,
    )
}

/// The same as JSON.
pub fn plan_json(plan: &Plan) -> Value {
    let names = plan
        .kernels
        .iter()
        .map(|k| plan.graph.nodes[k.node].op.name());
    json!({
        "kernels": names.collect::<Vec<_>>(),
        "flops": plan.flops(),
        "arena_bytes": plan.arena_bytes,
        "buffer_bytes": plan.buffer_bytes(),
        "peak_bytes": plan.peak_bytes(),
    })
}

/// Samples of which a fifth of the values is not 0, as the pixels of drawings of digits.
pub fn random_batch(samples: usize, sample: SampleShape) -> Batch {
    let mut state = 0_u64;
    let mut uniform = move || {
        // A mixed Weyl sequence: the statistics do not matter.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 40) as f32 / (1_u64 << 24) as f32
    };
    let mut values = |count: usize| -> Vec<f32> {
        let values = (0..count).map(|_| (uniform() - 0.8).max(0.0) * 3.2);
        values.collect()
    };
    let labels = |count: usize, classes: i64| (0..count as i64).map(|k| k % classes).collect();
    let (steps, shape, each, varies) = match sample {
        SampleShape::Sequence {
            steps,
            shape,
            step_labels,
            varies,
            ..
        } => (steps, shape, step_labels, varies),
        sample => {
            let image = sample.image().unwrap_or_default();
            let values = values(samples * image.iter().product::<usize>());
            return Batch::of_images(image, values, labels(samples, 10));
        }
    };
    let labels = match each {
        Some(_) => {
            let labels = labels(steps * samples, 5);
            BatchTensor::i64(&[steps, samples], labels).sequence()
        }
        None => BatchTensor::i64(&[samples], labels(samples, 10)),
    };
    let shape = [&[steps, samples], shape.sizes()].concat();
    let x = BatchTensor::f32(&shape, values(shape.iter().product()));
    let batch = Batch::new((0..samples as u32).collect())
        .with("x", x.sequence())
        .with("labels", labels);
    match varies {
        true => batch.with(
            "x_length",
            BatchTensor::i64(&[samples], vec![steps as i64; samples]),
        ),
        false => batch,
    }
}
