//! One step of training through a pipeline.

use super::Layout;
use super::chart::Trace;
use super::copies::{Copies, copy_name};
use super::design::Design;
use super::flow::Flow;
use super::head::{self, CORRECT, Head, LOSS};
use super::plans::Aim;
use super::stage::{is_sum, sum_name};
use super::worker::Given;
use crate::error::{Error, Result};
use crate::model::{Compiled, Store};
use crate::module::Traced;
use crate::optim::Clip;
use crate::train::{Settings, StepOutcome, Verdict, feed_numbers, numbers_of, update};
use spikelet_data::Batch;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, DType, TensorType, Tracer, Var};
use std::path::PathBuf;
use std::sync::Arc;

/// Inputs of an update program.
const BAD: &str = "whether the step is bad";
const SCALE: &str = "what gradients are scaled by";

/// Forward, backward and update through the stages of a pipeline. A step whose loss is not finite
/// updates nothing.
pub struct PipelineStep {
    flow: Flow,
    settings: Settings,
    stages: Vec<Traced>,
    /// Sums of squares of each stage's gradients, where their norm is held.
    norms: Vec<Compiled>,
    updates: Vec<Compiled>,
    /// Of the loss and of what is correct, on each device of the last stage.
    sums: Vec<(Arc<dyn Backend>, [Buffer; 2])>,
    copies: Vec<Copies>,
    /// Whether the copies may be older than the parameters.
    stale: bool,
    trace: Option<Trace>,
    /// Where traces go, and of how many steps yet.
    traced: Option<(PathBuf, u64)>,
}

impl PipelineStep {
    /// Compiles a step for images of this shape. Parameters that the store does not have are made,
    /// each on its stage's device.
    ///
    /// # Errors
    /// When shapes do not fit, a device refuses, or a setting cannot be used with a pipeline.
    pub fn new(
        layout: &Layout,
        settings: &Settings,
        image: [usize; 3],
        store: &mut Store,
    ) -> Result<Self> {
        if settings.precision == crate::module::Precision::F16 {
            return Err(Error::invalid(
                "precision",
                "f16 needs a loss scale, which a pipeline has not".to_string(),
                "use bf16 or f32",
            ));
        }
        let aim = Aim {
            training: true,
            precision: settings.precision,
            propagation: settings.propagation,
            feed: layout.feed(&settings.encoder)?,
            shape: image.to_vec(),
        };
        let batch = settings.batch_size;
        let cutting = layout.cutting(batch, settings.time_steps)?;
        let (design, traced, outputs) = Design::of(layout, &aim, cutting, settings.seed, store)?;
        let backends = layout.backends();
        let last = backends.last().expect("there is a stage");
        let mut heads = vec![];
        for (size, output) in cutting.sizes().into_iter().zip(&outputs) {
            let (loss, sizes) = (settings.loss, [size, batch]);
            heads.push((
                size,
                head::plan(loss, output, cutting.chunks, sizes, &**last)?,
            ));
        }
        let shared = std::cell::RefCell::new(&mut *store);
        let flow = Flow::new(
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
        for device in layout.homes.last().into_iter().flatten() {
            let backend = layout.devices[*device].clone();
            let mut sum = |name: &str| {
                let ty = TensorType::new(DType::F32, []);
                store.buffer(&backend, &copy_name(name, &*backend), &ty, false)
            };
            let both = [sum(LOSS)?, sum(CORRECT)?];
            sums.push((backend, both));
        }
        let copies = Copies::of(layout, &traced, store)?;
        let (mut norms, mut updates) = (vec![], vec![]);
        for (stage, backend) in traced.iter().zip(&backends) {
            store.place(backend);
            if matches!(settings.clip, Some(Clip::Norm(_))) && !stage.parameters.is_empty() {
                norms.push(norm_program(stage, store)?);
            }
            if !stage.parameters.is_empty() {
                updates.push(update_program(stage, settings, store)?);
            }
        }
        store.place(&layout.devices[0]);
        Ok(Self {
            flow,
            settings: settings.clone(),
            stages: traced,
            norms,
            updates,
            sums,
            copies,
            stale: true,
            trace: None,
            traced: None,
        })
    }

    /// Writes the traces of the next `steps` steps to a file, each over the one before.
    pub(crate) fn traced(mut self, path: PathBuf, steps: u64) -> Self {
        self.trace = Some(Trace::default());
        self.traced = Some((path, steps));
        self
    }

    /// The seed of its draws.
    pub(crate) fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// Notes from now on when each task runs.
    pub fn watch(&mut self) {
        self.trace = Some(Trace::default());
    }

    /// When the tasks of the last step ran, if it was watched.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Names of the learnable tensors.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let all = self.stages.iter().flat_map(|t| &t.parameters);
        all.map(|(name, ..)| name.as_str())
    }

    /// Names of the tensors that are kept with them.
    pub fn buffers(&self) -> impl Iterator<Item = &str> {
        let all = self.stages.iter().flat_map(|t| &t.buffers);
        all.map(|(name, ..)| name.as_str())
    }

    /// Bytes on each device of what the step needs beside parameters and the optimiser's tensors:
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
    pub fn run(&mut self, batch: &Batch, step: u64, epoch: f64) -> Result<StepOutcome> {
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
        let x = |unit: super::timetable::Unit| {
            let images = self.flow.cutting.images(unit.micro);
            batch.images[images.start * each..images.end * each].to_vec()
        };
        let given = Given {
            x: &x,
            labels: &batch.labels,
            seed: self.settings.seed,
            step,
            watch: self.trace.is_some(),
        };
        let ran = self.flow.run(&given)?;
        if self.trace.is_some() {
            let names = self.flow.devices.iter().map(|d| d.name()).collect();
            let trace = Trace::new(names, ran.spans);
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
        let mut outcome = StepOutcome {
            loss: 0.0,
            correct: 0.0,
        };
        for (backend, [loss, correct]) in &self.sums {
            let found = backend.fetch(&[loss, correct])?.wait()?;
            let number = |k: usize| found[k].to_f64().first().copied().unwrap_or(f64::NAN);
            outcome.loss += number(0);
            outcome.correct += number(1);
        }
        self.update(outcome.loss.is_finite(), step, epoch)?;
        self.copies.iter().try_for_each(Copies::spread)?;
        Ok(outcome)
    }

    fn update(&mut self, good: bool, step: u64, epoch: f64) -> Result<()> {
        let settings = &self.settings;
        let scale = match settings.clip {
            Some(Clip::Norm(most)) => {
                let mut total = 0.0;
                for program in &mut self.norms {
                    program.run()?;
                }
                for program in &self.norms {
                    total += program.number("squares")?;
                }
                (most / (total.sqrt() + 1e-6)).min(1.0)
            }
            _ => 1.0,
        };
        for program in &mut self.updates {
            feed_numbers(program, settings, step, epoch)?;
            program.set(BAD, HostTensor::F32(&[if good { 0.0 } else { 1.0 }]))?;
            if program.has_input(SCALE) {
                program.set(SCALE, HostTensor::F32(&[scale as f32]))?;
            }
            program.run()?;
        }
        Ok(())
    }
}

/// The summed gradients of a stage.
fn sums(tracer: &Tracer, stage: &Traced) -> Vec<Var> {
    let sum =
        |(name, shape, _): &(String, Vec<usize>, _)| tracer.state(&sum_name(name), shape.clone());
    stage.parameters.iter().map(sum).collect()
}

fn norm_program(stage: &Traced, store: &mut Store) -> Result<Compiled> {
    let tracer = Tracer::new(DType::F32);
    let squares = sums(&tracer, stage)
        .into_iter()
        .map(|g| g.square().sum_all());
    if let Some(total) = squares.reduce(|a, b| a + b) {
        tracer.output("squares", &total);
    }
    Compiled::new(tracer.finish()?, store)
}

fn update_program(stage: &Traced, settings: &Settings, store: &mut Store) -> Result<Compiled> {
    let tracer = Tracer::new(DType::F32);
    let verdict = Verdict::OfGradients(tracer.input(BAD, DType::F32, []));
    let optimizer = settings.optimizer.get();
    let numbers = numbers_of(&tracer, settings);
    let sums = sums(&tracer, stage);
    let grads = match settings.clip {
        Some(Clip::Norm(_)) => {
            let scale = tracer.input(SCALE, DType::F32, []);
            sums.iter().map(|g| g * &scale).collect()
        }
        Some(clip) => clip.apply(&sums),
        None => sums.clone(),
    };
    for (((name, shape, _), sum), grad) in stage.parameters.iter().zip(&sums).zip(&grads) {
        let weight = tracer.parameter(name, shape.clone());
        update(optimizer, name, &weight, grad, &numbers, &verdict);
        tracer.update(sum, &tracer.fill(DType::F32, shape.clone(), 0.0));
    }
    Compiled::new(tracer.finish()?, store)
}
