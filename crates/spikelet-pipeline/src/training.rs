//! One step of training through a pipeline.

use super::Partition;
use super::copies::{Copies, copy_name};
use super::design::Design;
use super::flow::Flow;
use super::head::{self, CORRECT, Head, LOSS};
use super::memory::PipelinePlans;
use super::plans::Aim;
use super::stage::is_sum;
use super::timeline::Timeline;
use super::updates::Updates;
use super::worker::Given;
use spikelet_core::{Error, Result};
use spikelet_data::Batch;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, DType, Plan, TensorType};
use spikelet_nn::module::Traced;
use spikelet_nn::runtime::VarStore;
use spikelet_train::{Draws, Settings, StepMetrics, is_scaled};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Forward, backward and update through the stages of a pipeline. A step whose loss is not finite
/// updates nothing.
pub struct PipelineStep {
    flow: Flow,
    settings: Settings,
    stages: Vec<Traced>,
    updates: Updates,
    /// Of the loss and of what is correct, on each device of the last stage.
    sums: Vec<(Arc<dyn Backend>, [Buffer; 2])>,
    copies: Vec<Copies>,
    /// Whether the copies may be older than the parameters.
    stale: bool,
    trace: Option<Timeline>,
    /// Where traces go, and of how many steps yet.
    traced: Option<(PathBuf, u64)>,
    /// See [`PipelineStep::peak_bytes`].
    peak: Vec<usize>,
}

/// A step of training that is planned; nothing is allocated for it yet.
pub(super) struct StepPlan {
    settings: Settings,
    pub(super) design: Design,
    /// The loss's plan for each size of micro-batches.
    heads: Vec<(usize, Plan)>,
}

impl StepPlan {
    pub(super) fn new(layout: &Partition, settings: &Settings, image: [usize; 3]) -> Result<Self> {
        let aim = Aim {
            training: true,
            precision: settings.precision,
            propagation: settings.propagation,
            feed: layout.feed(&settings.encoder)?,
            shape: image.to_vec(),
        };
        let batch = settings.batch_size;
        let cutting = layout.cutting(batch, settings.time_steps)?;
        let design = Design::of(layout, &aim, cutting)?;
        let backends = layout.backends();
        let last = backends.last().expect("there is a stage");
        let scaled = is_scaled(settings);
        let mut heads = vec![];
        for (size, output) in cutting.sizes().into_iter().zip(&design.outputs) {
            let (loss, sizes) = (settings.loss, [size, batch]);
            heads.push((
                size,
                head::plan(loss, output, cutting.chunks, sizes, scaled, &**last)?,
            ));
        }
        Ok(Self {
            settings: settings.clone(),
            design,
            heads,
        })
    }

    /// Makes the step ready to run on the devices of `layout`, for which it was planned.
    pub(super) fn load(&self, layout: &Partition, store: &mut VarStore) -> Result<PipelineStep> {
        let Self {
            settings,
            design,
            heads,
        } = self;
        design.initialize(layout, settings.seed, store)?;
        let shared = std::cell::RefCell::new(&mut *store);
        let flow = Flow::new(
            layout,
            design,
            &mut |device, copy, name, ty| {
                let backend = &layout.devices[device];
                let lasts = !copy && !is_sum(name);
                let own = match copy {
                    true => copy_name(name, &**backend),
                    false => name.to_string(),
                };
                shared.borrow_mut().buffer(backend, &own, ty, lasts)
            },
            &mut |device, size, chunks| {
                let backend = &layout.devices[device];
                let plan = heads.iter().find(|(s, _)| *s == size);
                let (_, plan) = plan.expect("planned for every size");
                Head::load(plan, backend, chunks, &mut |name, ty| {
                    let own = copy_name(name, &**backend);
                    shared.borrow_mut().buffer(backend, &own, ty, false)
                })
            },
        )?;
        let mut sums = vec![];
        for device in layout.stage_devices.last().into_iter().flatten() {
            let backend = layout.devices[*device].clone();
            let mut sum = |name: &str| {
                let ty = TensorType::new(DType::F32, []);
                store.buffer(&backend, &copy_name(name, &*backend), &ty, false)
            };
            let both = [sum(LOSS)?, sum(CORRECT)?];
            sums.push((backend, both));
        }
        let copies = Copies::of(layout, &design.traced, store)?;
        let updates = Updates::new(layout, settings, &design.traced, store)?;
        Ok(PipelineStep {
            flow,
            settings: settings.clone(),
            stages: design.traced.clone(),
            updates,
            sums,
            copies,
            stale: true,
            trace: None,
            traced: None,
            peak: vec![],
        })
    }
}

impl PipelineStep {
    /// Compiles a step for images of this shape. Parameters that the store does not have are made,
    /// each on its stage's device.
    ///
    /// # Errors
    /// When shapes do not fit, a device refuses or has too little memory
    /// ([`Error::Memory`], before anything is allocated), or a setting cannot be used with a
    /// pipeline.
    pub fn new(
        layout: &Partition,
        settings: &Settings,
        image: [usize; 3],
        store: &mut VarStore,
    ) -> Result<Self> {
        let plans = PipelinePlans::new(layout, settings, image, &BTreeSet::new())?;
        Ok(plans.load(store)?.0)
    }

    /// Notes what the run that it belongs to takes of each device.
    pub(super) fn with_peak(mut self, peak: Vec<usize>) -> Self {
        self.peak = peak;
        self
    }

    /// Bytes that the run takes of each device: parameters, optimizer tensors, arenas, what is kept
    /// of the micro-batches under way and what is on its way to another device; the evaluation's
    /// too, where it was compiled with the step.
    pub fn peak_bytes(&self) -> &[usize] {
        &self.peak
    }

    /// Writes the traces of the next `steps` steps to a file, each over the one before.
    pub(crate) fn traced(mut self, path: PathBuf, steps: u64) -> Self {
        self.trace = Some(Timeline::default());
        self.traced = Some((path, steps));
        self
    }

    /// The numbers of the draws of step number `step`.
    pub(crate) fn draws(&self, step: u64) -> Draws {
        Draws::for_step(self.settings.seed, step)
    }

    /// Notes from now on when each task runs.
    pub fn watch(&mut self) {
        self.trace = Some(Timeline::default());
    }

    /// When the tasks of the last step ran, if it was watched.
    pub fn trace(&self) -> Option<&Timeline> {
        self.trace.as_ref()
    }

    /// Bytes of each device's work that may be on the host at once, on its way to another device.
    pub(super) fn sent_bytes(&self) -> Vec<usize> {
        self.flow.sent_bytes()
    }

    /// Names of the learnable tensors.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let all = self.stages.iter().flat_map(|t| &t.parameters);
        all.map(|tensor| tensor.name.as_str())
    }

    /// Names of the tensors that are kept with them.
    pub fn buffers(&self) -> impl Iterator<Item = &str> {
        let all = self.stages.iter().flat_map(|t| &t.buffers);
        all.map(|tensor| tensor.name.as_str())
    }

    /// Bytes on each device of what the step needs beside parameters and the optimizer's tensors:
    /// an arena, and what is kept of the micro-batches that are under way.
    pub fn bytes(&self) -> Vec<usize> {
        self.flow.bytes()
    }

    /// The share of time in which devices are predicted to be idle.
    pub fn predicted_idle(&self) -> f64 {
        self.flow.timetable.idle
    }

    /// How many micro-batches each stage keeps.
    pub fn in_flight(&self) -> &[usize] {
        &self.flow.timetable.in_flight
    }

    /// Trains on a batch: `step` counts from 1, `epoch` is the progress in epochs.
    ///
    /// # Errors
    /// When the batch has another size than the step, or a device fails; then sums of gradients may
    /// be left half made, and the step is to be made anew.
    pub fn run(&mut self, batch: &Batch, step: u64, epoch: f64) -> Result<StepMetrics> {
        let expected = self.settings.batch_size;
        if batch.len() != expected {
            return Err(Error::invalid(
                "batch",
                format!(
                    "{} images were given, the step is compiled for {expected}",
                    batch.len()
                ),
                "compile a step for this size",
            ));
        }
        if std::mem::take(&mut self.stale) {
            self.copies.iter().try_for_each(Copies::spread)?;
        }
        for (backend, sums) in &self.sums {
            for sum in sums {
                backend.upload(sum, HostTensor::F32(&[0.0]))?;
            }
        }
        let each = batch.images.len() / expected;
        let x = |unit: super::timetable::MicroBatch| {
            let images = self.flow.cutting.images(unit.micro);
            Cow::Borrowed(&batch.images[images.start * each..images.end * each])
        };
        let loss_scale = self.updates.loss_scale()?;
        let given = Given {
            x: &x,
            loss_scale,
            labels: &batch.labels,
            draws: self.draws(step),
            watch: self.trace.is_some(),
        };
        let ran = self.flow.run(&given)?;
        if self.trace.is_some() {
            let names = self.flow.devices.iter().map(|d| d.name()).collect();
            let trace = Timeline::new(names, ran.spans);
            if let Some((path, left)) = &mut self.traced {
                trace.save(path)?;
                *left = left.saturating_sub(1);
            }
            let goes_on = self.traced.as_ref().is_none_or(|(_, left)| *left > 0);
            self.trace = goes_on.then_some(trace);
        }
        for copies in &mut self.copies {
            copies.gather()?;
        }
        let mut outcome = StepMetrics {
            loss: 0.0,
            correct: 0.0,
        };
        for (backend, [loss, correct]) in &self.sums {
            let found = backend.fetch(&[loss, correct])?.wait()?;
            let number = |k: usize| found[k].to_f64().first().copied().unwrap_or(f64::NAN);
            outcome.loss += number(0);
            outcome.correct += number(1);
        }
        self.updates.run(outcome.loss, loss_scale, step, epoch)?;
        self.copies.iter().try_for_each(Copies::spread)?;
        Ok(outcome)
    }
}
