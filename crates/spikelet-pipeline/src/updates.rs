//! The optimizer step of a pipeline. Each stage updates its parameters. Whether to skip the step, the norm
//! of all gradients, and in f16 the loss scale are common to all stages.

use super::partition::Partition;
use super::stage::sum_name;
use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, DType, TensorType, Tracer, Var};
use spikelet_nn::module::{Traced, TracedTensor};
use spikelet_nn::runtime::{Program, VarStore, download};
use spikelet_train::Settings;
use spikelet_train::optim::{Limited, feed_scalars, scalar_inputs, squares, update};
use spikelet_train::scaling::{LOSS_SCALE, LossScale, UpdateGuard, count_not_finite};
use spikelet_train::step::is_scaled;
use std::sync::Arc;

/// The input that is 1 if the update is skipped, otherwise 0.
const SKIP: &str = "skip update";
/// The input by which gradients are multiplied.
const FACTOR: &str = "gradient factor";

/// The outputs of the gradient statistics.
const SQUARES: &str = "sum of squares";
const NOT_FINITE: &str = "non-finite gradients";

/// The updates of all stages.
pub(super) struct Updates {
    settings: Settings,
    /// The gradient statistics of each stage, if clipping or loss scaling needs them.
    statistics: Vec<Program>,
    updates: Vec<Program>,
    scaling: Option<Scaling>,
}

/// The loss scale, in the same tensors and with the same rule as on one device.
struct Scaling {
    backend: Arc<dyn Backend>,
    scale: Buffer,
    /// Computes the scale of the next step.
    next: Program,
}

impl Scaling {
    /// Compiles the loss scale on the device of new tensors of the store.
    fn new(store: &mut VarStore) -> Result<Self> {
        let backend = store.backend().clone();
        LossScale::initialize(store)?;
        let tracer = Tracer::new(DType::F32);
        LossScale::new(&tracer).advance(&tracer.input(SKIP, DType::F32, []));
        let scalar = TensorType::new(DType::F32, []);
        Ok(Self {
            next: Program::new(tracer.finish()?, store)?,
            scale: store.buffer(&backend, LOSS_SCALE, &scalar, true)?,
            backend,
        })
    }
}

impl Updates {
    /// Compiles the updates of the stages, whose tensors are `stages`.
    pub(super) fn new(
        partition: &Partition,
        settings: &Settings,
        stages: &[Traced],
        store: &mut VarStore,
    ) -> Result<Self> {
        let (scaled, by_norm) = (is_scaled(settings), settings.clip_norm.is_some());
        let (mut statistics, mut updates) = (vec![], vec![]);
        for (stage, backend) in stages.iter().zip(&partition.backends()) {
            if stage.parameters.is_empty() {
                continue;
            }
            store.place(backend);
            if scaled || by_norm {
                statistics.push(gradient_statistics(stage, settings, store)?);
            }
            updates.push(update_program(stage, settings, store)?);
        }
        store.place(&partition.devices[0]);
        let scaling = scaled.then(|| Scaling::new(store)).transpose()?;
        Ok(Self {
            settings: settings.clone(),
            statistics,
            updates,
            scaling,
        })
    }

    /// The factor of the loss in the next step.
    pub(super) fn loss_scale(&self) -> Result<f32> {
        let Some(scaling) = &self.scaling else {
            return Ok(1.0);
        };
        let scale = download(&*scaling.backend, &scaling.scale)?.to_f64();
        Ok(scale.first().map_or(1.0, |scale| *scale as f32))
    }

    /// Updates all stages with the gradients of the loss times `loss_scale`. Skips the update if the loss is
    /// not finite or, with loss scaling, a gradient is not.
    pub(super) fn run(
        &mut self,
        loss: f64,
        loss_scale: f32,
        step: u64,
        lr_factor: f64,
    ) -> Result<()> {
        let unscale = f64::from(loss_scale).recip();
        let factor = |x: f64| [x as f32];
        for program in &mut self.statistics {
            program.set(FACTOR, HostTensor::F32(&factor(unscale)))?;
            program.run()?;
        }
        let statistics = &self.statistics;
        let total = |name: &str| {
            let mut found = statistics.iter().map(|program| program.scalar(name));
            found.try_fold(0.0, |sum, number| {
                Ok::<f64, spikelet_core::Error>(sum + number?)
            })
        };
        let clip = match self.settings.clip_norm {
            Some(most) => (most / (total(SQUARES)?.sqrt() + 1e-6)).min(1.0),
            None => 1.0,
        };
        let overflow = self.scaling.is_some() && total(NOT_FINITE)? > 0.0;
        let skip = if !loss.is_finite() || overflow {
            [1.0]
        } else {
            [0.0]
        };
        for program in &mut self.updates {
            feed_scalars(program, &self.settings, step, lr_factor)?;
            program.set(SKIP, HostTensor::F32(&skip))?;
            if program.has_input(FACTOR) {
                program.set(FACTOR, HostTensor::F32(&factor(clip * unscale)))?;
            }
            program.run()?;
        }
        if let Some(scaling) = &mut self.scaling {
            scaling.next.set(SKIP, HostTensor::F32(&skip))?;
            scaling.next.run()?;
        }
        Ok(())
    }
}

/// The accumulated gradients of a stage.
fn sums(tracer: &Tracer, stage: &Traced) -> Vec<Var> {
    let sum = |p: &TracedTensor| tracer.state(&sum_name(&p.name), p.shape.clone());
    stage.parameters.iter().map(sum).collect()
}

/// Compiles the gradient statistics of a stage.
fn gradient_statistics(
    stage: &Traced,
    settings: &Settings,
    store: &mut VarStore,
) -> Result<Program> {
    let tracer = Tracer::new(DType::F32);
    let factor = tracer.input(FACTOR, DType::F32, []);
    let grads = sums(&tracer, stage).into_iter().map(|sum| sum * &factor);
    let grads: Vec<Var> = grads.collect();
    let output = |name: &str, total: Option<Var>| {
        if let Some(total) = total {
            tracer.output(name, &total);
        }
    };
    if settings.clip_norm.is_some() {
        output(SQUARES, squares(&grads));
    }
    if is_scaled(settings) {
        output(NOT_FINITE, count_not_finite(&grads));
    }
    Program::new(tracer.finish()?, store)
}

fn update_program(stage: &Traced, settings: &Settings, store: &mut VarStore) -> Result<Program> {
    let tracer = Tracer::new(DType::F32);
    let guard = UpdateGuard::FiniteGradients(tracer.input(SKIP, DType::F32, []));
    let numbers = scalar_inputs(&tracer, settings);
    let sums = sums(&tracer, stage);
    let by_norm = settings.clip_norm.is_some();
    let mut grads = sums.clone();
    if by_norm || is_scaled(settings) {
        let factor = tracer.input(FACTOR, DType::F32, []);
        grads = sums.iter().map(|sum| sum * &factor).collect();
    }
    if let Some(clip) = settings.clip().filter(|_| !by_norm) {
        grads = clip.apply(&grads);
    }
    for ((parameter, sum), grad) in stage.parameters.iter().zip(&sums).zip(&grads) {
        let TracedTensor {
            name,
            shape,
            limits,
            ..
        } = parameter;
        let weight = tracer.parameter(name, shape.clone());
        let optimizer = settings.optimizer_of(shape);
        let optimizer = Limited::new(&*optimizer, *limits);
        update(&optimizer, name, &weight, grad, &numbers, &guard);
        tracer.update(sum, &tracer.fill(DType::F32, shape.clone(), 0.0));
    }
    Program::new(tracer.finish()?, store)
}
