//! The optimizer's step of a pipeline: each stage updates its own parameters, and all agree on
//! whether to, on the norm of all gradients, and in f16 on the scale of the loss.

use super::partition::Partition;
use super::stage::sum_name;
use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, DType, TensorType, Tracer, Var};
use spikelet_nn::module::{Traced, TracedTensor};
use spikelet_nn::runtime::{Program, VarStore, download};
use spikelet_train::optim::{Clip, squares};
use spikelet_train::{
    LOSS_SCALE, LossScale, Settings, UpdateGuard, count_not_finite, feed_scalars, is_scaled,
    scalar_inputs, update,
};
use std::sync::Arc;

/// Inputs of the programs here.
const BAD: &str = "whether the step is bad";
const FACTOR: &str = "what gradients are multiplied by";

/// What gradients are looked at for.
const SQUARES: &str = "squares";
const NOT_FINITE: &str = "how many are not finite";

/// The updates of all stages.
pub(super) struct Updates {
    settings: Settings,
    /// What each stage says of its gradients, where all of them decide something together.
    looks: Vec<Program>,
    updates: Vec<Program>,
    scaling: Option<Scaling>,
}

/// The scale of the loss, as a step on one device has it: in the same tensors, by the same rule.
struct Scaling {
    backend: Arc<dyn Backend>,
    scale: Buffer,
    /// Makes the next step's scale of whether this one was bad.
    next: Program,
}

impl Scaling {
    /// On the device on which new tensors of the store lie.
    fn new(store: &mut VarStore) -> Result<Self> {
        let backend = store.backend().clone();
        LossScale::initialize(store)?;
        let tracer = Tracer::new(DType::F32);
        LossScale::new(&tracer).advance(&tracer.input(BAD, DType::F32, []));
        let scalar = TensorType::new(DType::F32, []);
        Ok(Self {
            next: Program::new(tracer.finish()?, store)?,
            scale: store.buffer(&backend, LOSS_SCALE, &scalar, true)?,
            backend,
        })
    }
}

impl Updates {
    /// Compiles the updates of the stages, whose modules' tensors are `stages`.
    pub(super) fn new(
        layout: &Partition,
        settings: &Settings,
        stages: &[Traced],
        store: &mut VarStore,
    ) -> Result<Self> {
        let (scaled, by_norm) = (is_scaled(settings), is_clipped_by_norm(settings));
        let (mut looks, mut updates) = (vec![], vec![]);
        for (stage, backend) in stages.iter().zip(&layout.backends()) {
            if stage.parameters.is_empty() {
                continue;
            }
            store.place(backend);
            if scaled || by_norm {
                looks.push(look(stage, settings, store)?);
            }
            updates.push(update_of(stage, settings, store)?);
        }
        store.place(&layout.devices[0]);
        let scaling = scaled.then(|| Scaling::new(store)).transpose()?;
        Ok(Self {
            settings: settings.clone(),
            looks,
            updates,
            scaling,
        })
    }

    /// What the loss of the next step is multiplied by.
    pub(super) fn loss_scale(&self) -> Result<f32> {
        let Some(scaling) = &self.scaling else {
            return Ok(1.0);
        };
        let scale = download(&*scaling.backend, &scaling.scale)?.to_f64();
        Ok(scale.first().map_or(1.0, |scale| *scale as f32))
    }

    /// Updates all stages with the gradients of the loss times `loss_scale`, if the loss and, where
    /// it is scaled, all gradients are finite.
    pub(super) fn run(&mut self, loss: f64, loss_scale: f32, step: u64, epoch: f64) -> Result<()> {
        let unscale = f64::from(loss_scale).recip();
        let factor = |x: f64| [x as f32];
        for program in &mut self.looks {
            program.set(FACTOR, HostTensor::F32(&factor(unscale)))?;
            program.run()?;
        }
        let looks = &self.looks;
        let total = |name: &str| {
            let mut found = looks.iter().map(|program| program.scalar(name));
            found.try_fold(0.0, |sum, number| {
                Ok::<f64, spikelet_core::Error>(sum + number?)
            })
        };
        let clip = match self.settings.clip {
            Some(Clip::Norm(most)) => (most / (total(SQUARES)?.sqrt() + 1e-6)).min(1.0),
            _ => 1.0,
        };
        let spoiled = self.scaling.is_some() && total(NOT_FINITE)? > 0.0;
        let bad = match !loss.is_finite() || spoiled {
            true => [1.0],
            false => [0.0],
        };
        for program in &mut self.updates {
            feed_scalars(program, &self.settings, step, epoch)?;
            program.set(BAD, HostTensor::F32(&bad))?;
            if program.has_input(FACTOR) {
                program.set(FACTOR, HostTensor::F32(&factor(clip * unscale)))?;
            }
            program.run()?;
        }
        if let Some(scaling) = &mut self.scaling {
            scaling.next.set(BAD, HostTensor::F32(&bad))?;
            scaling.next.run()?;
        }
        Ok(())
    }
}

fn is_clipped_by_norm(settings: &Settings) -> bool {
    matches!(settings.clip, Some(Clip::Norm(_)))
}

/// The summed gradients of a stage.
fn sums(tracer: &Tracer, stage: &Traced) -> Vec<Var> {
    let sum = |p: &TracedTensor| tracer.state(&sum_name(&p.name), p.shape.clone());
    stage.parameters.iter().map(sum).collect()
}

/// Looks at a stage's gradients, of which there are some.
fn look(stage: &Traced, settings: &Settings, store: &mut VarStore) -> Result<Program> {
    let tracer = Tracer::new(DType::F32);
    let factor = tracer.input(FACTOR, DType::F32, []);
    let grads = sums(&tracer, stage).into_iter().map(|sum| sum * &factor);
    let grads: Vec<Var> = grads.collect();
    let output = |name: &str, total: Option<Var>| {
        if let Some(total) = total {
            tracer.output(name, &total);
        }
    };
    if is_clipped_by_norm(settings) {
        output(SQUARES, squares(&grads));
    }
    if is_scaled(settings) {
        output(NOT_FINITE, count_not_finite(&grads));
    }
    Program::new(tracer.finish()?, store)
}

fn update_of(stage: &Traced, settings: &Settings, store: &mut VarStore) -> Result<Program> {
    let tracer = Tracer::new(DType::F32);
    let verdict = UpdateGuard::FiniteGradients(tracer.input(BAD, DType::F32, []));
    let optimizer = settings.optimizer.get();
    let numbers = scalar_inputs(&tracer, settings);
    let sums = sums(&tracer, stage);
    let by_norm = is_clipped_by_norm(settings);
    let mut grads = sums.clone();
    if by_norm || is_scaled(settings) {
        let factor = tracer.input(FACTOR, DType::F32, []);
        grads = sums.iter().map(|sum| sum * &factor).collect();
    }
    if let Some(clip) = settings.clip.filter(|_| !by_norm) {
        grads = clip.apply(&grads);
    }
    for ((TracedTensor { name, shape, .. }, sum), grad) in
        stage.parameters.iter().zip(&sums).zip(&grads)
    {
        let weight = tracer.parameter(name, shape.clone());
        update(optimizer, name, &weight, grad, &numbers, &verdict);
        tracer.update(sum, &tracer.fill(DType::F32, shape.clone(), 0.0));
    }
    Program::new(tracer.finish()?, store)
}
