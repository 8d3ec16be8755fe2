//! A training step of a pipeline.

use super::error::PipelineError;
use super::flow::Flow;
use super::head::{self, CORRECT, Head, LOSS};
use super::partition::Partition;
use super::pipeline_plan::PipelinePlan;
use super::plans::TraceOptions;
use super::replicas::{Replicas, copy_name};
use super::stage::{Feed, is_sum};
use super::task::MicroBatch;
use super::timeline::Timeline;
use super::updates::Updates;
use super::worker::RunInputs;
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, DType, Plan, TensorType};
use spikelet_nn::module::Traced;
use spikelet_nn::runtime::VarStore;
use spikelet_train::engine::Draws;
use spikelet_train::{Settings, StepMetrics};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A training step of a pipeline: forward pass, backward pass and update of all stages. If the loss is not
/// finite, the update is skipped.
pub struct PipelineStep {
    flow: Flow,
    settings: Settings,
    stages: Vec<Traced>,
    updates: Updates,
    /// The sums of [`LOSS`] and [`CORRECT`] on each device of the last stage.
    sums: Vec<(Arc<dyn Backend>, [Buffer; 2])>,
    copies: Vec<Replicas>,
    /// Whether the copies may be older than the parameters.
    stale: bool,
    timeline: Option<Timeline>,
    /// The file to which timelines are written, and the number of remaining steps.
    timeline_file: Option<(PathBuf, u64)>,
    /// See [`PipelineStep::peak_bytes`].
    peak: Vec<usize>,
}

/// A planned training step. No device memory is allocated for it.
pub(super) struct StepPlan {
    settings: Settings,
    pub(super) pipeline_plan: PipelinePlan,
    /// The plan of the loss for each size of micro-batches.
    heads: Vec<(usize, Plan)>,
}

impl StepPlan {
    pub(super) fn new(
        partition: &Partition,
        settings: &Settings,
        image: [usize; 3],
    ) -> Result<Self> {
        let trace_options = TraceOptions {
            training: true,
            precision: settings.precision,
            propagation: settings.propagation,
            feed: Feed::Encoded(settings.encoder.0.clone()),
            shape: image.to_vec(),
        };
        let batch = settings.batch_size;
        let batch_split = partition.batch_split(batch, settings.time_steps)?;
        let pipeline_plan = PipelinePlan::new(partition, &trace_options, batch_split)?;
        let backends = partition.backends();
        let last = backends.last().expect("there is a stage");
        let mut heads = vec![];
        for (size, output) in batch_split.sizes().into_iter().zip(&pipeline_plan.outputs) {
            let chunks = batch_split.chunks;
            heads.push((
                size,
                head::plan(settings, output, chunks, [size, batch], &**last)?,
            ));
        }
        Ok(Self {
            settings: settings.clone(),
            pipeline_plan,
            heads,
        })
    }

    /// Loads the step on the devices of `partition`, for which it was planned.
    pub(super) fn load(&self, partition: &Partition, store: &mut VarStore) -> Result<PipelineStep> {
        let Self {
            settings,
            pipeline_plan,
            heads,
        } = self;
        pipeline_plan.initialize(partition, settings.seed, store)?;
        let shared = std::cell::RefCell::new(&mut *store);
        let flow = Flow::new(
            partition,
            pipeline_plan,
            &mut |device, copy, name, ty| {
                let backend = &partition.devices[device];
                let lasts = !copy && !is_sum(name);
                let own = if copy {
                    copy_name(name, &**backend)
                } else {
                    name.to_string()
                };
                shared.borrow_mut().buffer(backend, &own, ty, lasts)
            },
            &mut |device, size, chunks| {
                let backend = &partition.devices[device];
                let plan = heads.iter().find(|(s, _)| *s == size);
                let (_, plan) = plan.expect("planned for every size");
                Head::load(plan, backend, chunks, &mut |name, ty| {
                    let own = copy_name(name, &**backend);
                    shared.borrow_mut().buffer(backend, &own, ty, false)
                })
            },
        )?;
        let mut sums = vec![];
        for device in partition.stage_devices.last().into_iter().flatten() {
            let backend = partition.devices[*device].clone();
            let mut sum = |name: &str| {
                let ty = TensorType::new(DType::F32, []);
                store.buffer(&backend, &copy_name(name, &*backend), &ty, false)
            };
            let both = [sum(LOSS)?, sum(CORRECT)?];
            sums.push((backend, both));
        }
        let copies = Replicas::of_stages(partition, &pipeline_plan.traced, store)?;
        let updates = Updates::new(partition, settings, &pipeline_plan.traced, store)?;
        Ok(PipelineStep {
            flow,
            settings: settings.clone(),
            stages: pipeline_plan.traced.clone(),
            updates,
            sums,
            copies,
            stale: true,
            timeline: None,
            timeline_file: None,
            peak: vec![],
        })
    }
}

impl PipelineStep {
    /// Sets the peak memory of the run on each device.
    pub(super) fn with_peak(mut self, peak: Vec<usize>) -> Self {
        self.peak = peak;
        self
    }

    /// The peak memory of the run on each device in bytes: parameters, optimizer tensors, arenas, the
    /// tensors of micro-batches in flight and of transfers, and those of the evaluation if it was compiled
    /// with the step.
    pub fn peak_bytes(&self) -> &[usize] {
        &self.peak
    }

    /// Writes the timelines of the next `steps` steps to a file; each replaces the previous one.
    pub(crate) fn write_timelines(mut self, path: PathBuf, steps: u64) -> Self {
        self.timeline = Some(Timeline::default());
        self.timeline_file = Some((path, steps));
        self
    }

    /// The state of the random numbers of a step.
    pub(crate) fn draws(&self, step: u64) -> Draws {
        Draws::for_step(self.settings.seed, step)
    }

    /// Records a [`Timeline`] of each of the following steps.
    pub fn record_timeline(&mut self) {
        self.timeline = Some(Timeline::default());
    }

    /// The timeline of the last step, if it was recorded.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    /// The size of the tensors of each device that may be on the host during transfers, in bytes.
    pub(super) fn sent_bytes(&self) -> Vec<usize> {
        self.flow.sent_bytes()
    }

    /// The names of the parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let all = self.stages.iter().flat_map(|t| &t.parameters);
        all.map(|tensor| tensor.name.as_str())
    }

    /// The names of the buffers, such as running statistics.
    pub fn buffers(&self) -> impl Iterator<Item = &str> {
        let all = self.stages.iter().flat_map(|t| &t.buffers);
        all.map(|tensor| tensor.name.as_str())
    }

    /// The memory of the step on each device without parameters and optimizer tensors, in bytes: the arena
    /// and the tensors of micro-batches in flight.
    pub fn bytes(&self) -> Vec<usize> {
        self.flow.bytes()
    }

    /// The predicted fraction of time in which the devices are idle.
    pub fn predicted_idle(&self) -> f64 {
        self.flow.timetable.idle
    }

    /// The number of micro-batches in flight on each stage.
    pub fn in_flight(&self) -> &[usize] {
        &self.flow.timetable.in_flight
    }

    /// Trains on a batch: `step` counts from 1, `lr_factor` multiplies the learning rate of the settings.
    ///
    /// # Errors
    /// [`PipelineError::BatchSize`], or when a device fails. After a failed device the accumulated gradients
    /// are undefined: create a new step.
    pub fn run(&mut self, batch: &Batch, step: u64, lr_factor: f64) -> Result<StepMetrics> {
        let expected = self.settings.batch_size;
        if batch.len() != expected {
            let given = batch.len();
            return Err(PipelineError::BatchSize { given, expected }.into());
        }
        if std::mem::take(&mut self.stale) {
            self.copies.iter().try_for_each(Replicas::spread)?;
        }
        for (backend, sums) in &self.sums {
            for sum in sums {
                backend.upload(sum, HostTensor::F32(&[0.0]))?;
            }
        }
        let images = batch.f32("images")?;
        let each = images.len() / expected;
        let x = |micro_batch: MicroBatch| {
            let range = self.flow.batch_split.images(micro_batch.index);
            Cow::Borrowed(&images[range.start * each..range.end * each])
        };
        let loss_scale = self.updates.loss_scale()?;
        let inputs = RunInputs {
            x: &x,
            loss_scale,
            labels: batch.i64("labels")?,
            draws: self.draws(step),
            record: self.timeline.is_some(),
        };
        let ran = self.flow.run(&inputs)?;
        if self.timeline.is_some() {
            let names = self.flow.devices.iter().map(|d| d.name()).collect();
            let timeline = Timeline::new(names, ran.spans);
            if let Some((path, left)) = &mut self.timeline_file {
                timeline.save_json(path)?;
                *left = left.saturating_sub(1);
            }
            let records = self.timeline_file.as_ref();
            let records = records.is_none_or(|(_, left)| *left > 0);
            self.timeline = records.then_some(timeline);
        }
        for copies in &mut self.copies {
            copies.gather()?;
        }
        let (mut loss_sum, mut correct_sum) = (0.0, 0.0);
        for (backend, [loss, correct]) in &self.sums {
            let found = backend.fetch(&[loss, correct])?.wait()?;
            let number = |k: usize| found[k].to_f64().first().copied().unwrap_or(f64::NAN);
            loss_sum += number(0);
            correct_sum += number(1);
        }
        self.updates.run(loss_sum, loss_scale, step, lr_factor)?;
        self.copies.iter().try_for_each(Replicas::spread)?;
        Ok(StepMetrics::of_classifier(loss_sum, correct_sum, expected))
    }
}

impl fmt::Debug for PipelineStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineStep")
            .field("in_flight", &self.in_flight())
            .field("bytes", &self.bytes())
            .field("predicted_idle", &self.predicted_idle())
            .finish_non_exhaustive()
    }
}
