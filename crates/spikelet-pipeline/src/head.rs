//! The loss after the last stage.

use super::program::{Buffers, Program};
use super::stage::{GRAD_Y, Y};
use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, DType, InputKind, Plan, TensorType, Tracer, Var};
use spikelet_nn::loss;
use spikelet_nn::module::StepOutputs;
use spikelet_train::Settings;
use spikelet_train::scaling::LOSS_SCALE;
use spikelet_train::step::is_scaled;
use std::sync::Arc;

/// The sum of the losses of the micro-batches, weighted by their share of the batch.
pub(super) const LOSS: &str = "sum of the loss";
/// The number of images of the batch that are classified correctly.
pub(super) const CORRECT: &str = "sum of correct images";

/// The program of the loss of a micro-batch.
pub(super) struct Head(Program);

/// The plan of the loss and its gradient for a micro-batch of `size` images out of `batch`, whose chunks
/// have the type `output`. If the settings scale the loss, it is multiplied by the loss scale before it is
/// differentiated.
pub(super) fn plan(
    settings: &Settings,
    output: &TensorType,
    chunks: usize,
    [size, batch]: [usize; 2],
    backend: &dyn Backend,
) -> Result<Plan> {
    let tracer = Tracer::new(DType::F32);
    let parts: Vec<Var> = (0..chunks)
        .map(|c| tracer.input(&format!("{Y} {c}"), output.dtype, output.shape.clone()))
        .collect();
    let labels = tracer.input("labels", DType::I64, [size]);
    let sequence = StepOutputs::new(parts.clone());
    let scores = sequence.mean();
    let loss = settings.loss.apply(&sequence, &scores, &labels);
    let share = loss * (size as f64 / batch as f64);
    let start = if is_scaled(settings) {
        &share * &tracer.input(LOSS_SCALE, DType::F32, [])
    } else {
        share.clone()
    };
    let grads = tracer.gradients(&start, &parts.iter().collect::<Vec<_>>());
    for (c, grad) in grads.iter().enumerate() {
        tracer.output(&format!("{GRAD_Y} {c}"), grad);
    }
    let correct = loss::correct(&scores, &labels);
    for (name, value) in [(LOSS, &share), (CORRECT, &correct)] {
        let sum = tracer.state(name, []);
        tracer.update(&sum, &(&sum + value));
    }
    Ok(Plan::new(tracer.finish()?, backend))
}

impl Head {
    /// Loads a plan for the buffers of the chunks of a micro-batch. `find` returns the buffers of the sums.
    pub(super) fn load(
        plan: &Plan,
        backend: &Arc<dyn Backend>,
        chunks: &mut [Buffers],
        find: &mut dyn FnMut(&str, &TensorType) -> Result<Buffer>,
    ) -> Result<Self> {
        let words = plan.arena_bytes.div_ceil(8);
        let arena = backend.allocate(&TensorType::new(DType::I64, [words]))?;
        let mut given = Buffers::default();
        let bind = |name: &str, kind: InputKind, ty: &TensorType| -> Result<Buffer> {
            if kind != InputKind::Data {
                return find(name, ty);
            }
            for known in [Y, GRAD_Y] {
                let chunk = name.strip_prefix(known).and_then(|c| c.trim().parse().ok());
                let chunk: Option<usize> = chunk;
                if let Some(buffers) = chunk.and_then(|c| chunks.get_mut(c)) {
                    return buffers.get_or_allocate(known, ty, &**backend);
                }
            }
            given.get_or_allocate(name, ty, &**backend)
        };
        Ok(Self(Program::load(backend, plan, &arena, bind)?))
    }

    pub(super) fn run(&mut self, labels: &[i64], loss_scale: f32) -> Result<()> {
        self.0.set(LOSS_SCALE, HostTensor::F32(&[loss_scale]))?;
        self.0.set("labels", HostTensor::I64(labels))?;
        self.0.run()
    }
}
