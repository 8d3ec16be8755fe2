//! Forward passes through a pipeline.

use super::config::Cutting;
use super::design::Design;
use super::flow::Flow;
use super::partition::Partition;
use super::plans::Aim;
use super::timetable::MicroBatch;
use super::worker::Given;
use spikelet_core::{Error, Result};
use spikelet_data::Batch;
use spikelet_graph::{Backend, DType, ShapeText, Tensor, TensorType, Tracer};
use spikelet_nn::loss;
use spikelet_nn::runtime::{Program, VarStore, host};
use spikelet_train::{Draws, Settings, StepMetrics};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What becomes of the outputs of all time steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Their sum.
    Sum,
    /// All of them, `[T, N, …]`.
    Stack,
}

/// What a compiled forward pass is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sized {
    pub(super) time_steps: usize,
    pub(super) batch: usize,
    pub(super) split: usize,
    pub(super) chunk: usize,
    /// Whether the input is the same at each step.
    pub(super) constant: bool,
    /// The input's shape behind N.
    pub(super) shape: Vec<usize>,
}

/// A compiled forward pass.
pub(super) struct ForwardFlow {
    flow: Flow,
    sized: Sized,
    /// The shape of what comes out, `[T, N, …]`.
    output: Vec<usize>,
}

/// A forward pass that is planned; nothing is allocated for it yet.
pub(super) struct ForwardPlan {
    pub(super) design: Design,
    sized: Sized,
    output: Vec<usize>,
}

impl ForwardPlan {
    pub(super) fn new(layout: &Partition, aim: &Aim, sized: &Sized) -> Result<Self> {
        let cutting = Cutting::of(sized.batch, sized.split, sized.time_steps, sized.chunk)?;
        let design = Design::of(&layout.without_copies(), aim, cutting)?;
        let mut output = design.outputs[0].shape.clone();
        let [steps, batch, ..] = &mut output[..] else {
            return Err(Error::invalid(
                "pipeline",
                format!("the last stage makes {}", ShapeText(&output)),
                "let it make a sequence [T, N, …]",
            ));
        };
        *steps *= cutting.chunks;
        *batch = sized.batch;
        Ok(Self {
            design,
            sized: sized.clone(),
            output,
        })
    }

    /// Makes the pass ready to run on the devices of `layout`, for which it was planned.
    pub(super) fn load(
        &self,
        layout: &Partition,
        seed: u64,
        store: &mut VarStore,
    ) -> Result<ForwardFlow> {
        // Copies of parameters are those of training.
        let layout = &layout.without_copies();
        self.design.initialize(layout, seed, store)?;
        let flow = Flow::new(
            layout,
            &self.design,
            &mut |device, _, name, ty| store.buffer(&layout.devices[device], name, ty, true),
            &mut |_, _, _| unreachable!("only training has a loss"),
        )?;
        Ok(ForwardFlow {
            flow,
            sized: self.sized.clone(),
            output: self.output.clone(),
        })
    }
}

impl ForwardFlow {
    /// Runs the whole input, `[N, …]` or `[T, N, …]`, and puts the parts together.
    pub(super) fn run(&self, x: &Tensor, draws: Draws) -> Result<Tensor> {
        let x = x.cast(DType::F32);
        let values = x.as_f32().expect("it was cast");
        let each: usize = self.sized.shape.iter().product();
        let batch = self.sized.batch;
        let part = |unit: MicroBatch| -> Cow<'_, [f32]> {
            let images = self.flow.cutting.images(unit.micro);
            let row =
                |first: usize| &values[(first + images.start) * each..(first + images.end) * each];
            if self.sized.constant {
                return Cow::Borrowed(row(0));
            }
            let steps =
                unit.chunk * self.flow.cutting.steps..(unit.chunk + 1) * self.flow.cutting.steps;
            let rows = steps.flat_map(|t| row(t * batch)).copied();
            Cow::Owned(rows.collect())
        };
        let given = Given {
            x: &part,
            labels: &[],
            loss_scale: 1.0,
            draws,
            watch: false,
        };
        let ran = self.flow.run(&given)?;
        Ok(self.join(&ran.outputs))
    }

    fn join(&self, outputs: &BTreeMap<MicroBatch, Tensor>) -> Tensor {
        let each: usize = self.output[2..].iter().product();
        let (batch, steps) = (self.sized.batch, self.output[0] / self.flow.cutting.chunks);
        let mut all = vec![0.0_f32; self.output.iter().product()];
        for (unit, tensor) in outputs {
            let tensor = tensor.cast(DType::F32);
            let values = tensor.as_f32().expect("it was cast");
            let images = self.flow.cutting.images(unit.micro);
            let width = images.len() * each;
            for t in 0..steps {
                let to = ((unit.chunk * steps + t) * batch + images.start) * each;
                all[to..to + width].copy_from_slice(&values[t * width..(t + 1) * width]);
            }
        }
        Tensor::f32(self.output.clone(), all)
    }

    pub(super) fn bytes(&self) -> Vec<usize> {
        self.flow.bytes()
    }

    /// Bytes of each device's work that may be on the host at once, on its way to another device
    /// or, twice, at the end.
    pub(super) fn sent_bytes(&self) -> Vec<usize> {
        let mut bytes = self.flow.sent_bytes();
        let last = self.flow.stage_devices.last().and_then(|home| home.first());
        if let Some(last) = last {
            bytes[*last] += 2 * TensorType::new(DType::F32, self.output.clone()).bytes();
        }
        bytes
    }
}

/// `[T, N, …]` summed over T, step by step.
pub(super) fn sum_over_time(x: &Tensor) -> Tensor {
    let values = x.as_f32().expect("outputs are put together in f32");
    let step: usize = x.shape[1..].iter().product();
    let mut sum = vec![0.0_f32; step];
    for row in values.chunks_exact(step.max(1)) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += value;
        }
    }
    Tensor::f32(x.shape[1..].to_vec(), sum)
}

/// An evaluation through a pipeline that is planned; nothing is allocated for it yet.
pub(super) struct EvalPlan {
    flow: ForwardPlan,
    settings: Settings,
    shape: Vec<usize>,
}

impl EvalPlan {
    pub(super) fn new(
        layout: &Partition,
        settings: &Settings,
        batch: usize,
        image: [usize; 3],
    ) -> Result<Self> {
        let sized = Sized {
            time_steps: settings.time_steps,
            batch,
            split: layout.parts.split_size,
            chunk: layout.parts.time_chunk.unwrap_or(settings.time_steps),
            constant: true,
            shape: image.to_vec(),
        };
        let aim = Aim {
            training: false,
            precision: settings.precision,
            propagation: settings.propagation,
            feed: layout.feed(&settings.encoder)?,
            shape: image.to_vec(),
        };
        Ok(Self {
            flow: ForwardPlan::new(layout, &aim, &sized)?,
            settings: settings.clone(),
            shape: [vec![batch], image.to_vec()].concat(),
        })
    }

    /// Makes the evaluation ready to run on the devices of `layout`, for which it was planned; the
    /// loss is computed on `host`.
    pub(super) fn load(
        &self,
        layout: &Partition,
        host: &Arc<dyn Backend>,
        store: &mut VarStore,
    ) -> Result<PipelineEval> {
        let Self {
            flow,
            settings,
            shape,
        } = self;
        let flow = flow.load(layout, settings.seed, store)?;
        let tracer = Tracer::new(DType::F32);
        let sequence = tracer.input("output_seq", DType::F32, flow.output.clone());
        let labels = tracer.input("labels", DType::I64, [shape[0]]);
        let scores = sequence.mean(&[0]);
        tracer.output("loss", &settings.loss.apply(&scores, &labels));
        tracer.output("correct", &loss::correct(&scores, &labels));
        let mut own = VarStore::new(host.clone());
        Ok(PipelineEval {
            scores: Program::new(tracer.finish()?, &mut own)?,
            flow,
            seed: settings.seed,
            shape: shape.clone(),
        })
    }
}

/// Evaluation through a pipeline: the stages on their devices, the loss on the CPU.
pub struct PipelineEval {
    flow: ForwardFlow,
    scores: Program,
    seed: u64,
    shape: Vec<usize>,
}

impl PipelineEval {
    /// Compiles a forward pass for batches of `batch` images.
    ///
    /// # Errors
    /// When shapes do not fit or a device refuses.
    pub fn new(
        layout: &Partition,
        settings: &Settings,
        batch: usize,
        image: [usize; 3],
        store: &mut VarStore,
    ) -> Result<Self> {
        EvalPlan::new(layout, settings, batch, image)?.load(
            layout,
            &spikelet_nn::device::cpu()?,
            store,
        )
    }

    /// How many scores the network gives each image.
    pub(crate) fn scores(&self) -> usize {
        self.flow.output.last().copied().unwrap_or(0)
    }

    /// Images of a batch.
    pub(crate) fn batch_size(&self) -> usize {
        self.shape[0]
    }

    /// The network's output at every step, `[T, N, classes]`.
    pub(crate) fn outputs(&self, batch: &Batch, first: usize) -> Result<Tensor> {
        let x = Tensor::f32(self.shape.clone(), batch.images.clone());
        self.flow.run(&x, Draws::for_evaluation(self.seed, first))
    }

    /// Evaluates a batch whose first image is number `first` of the data set.
    ///
    /// # Errors
    /// When the batch has another size, or a device fails.
    pub fn run(&mut self, batch: &Batch, first: usize) -> Result<StepMetrics> {
        let made = self.outputs(batch, first)?;
        self.scores.set("output_seq", host(&made))?;
        self.scores
            .set("labels", spikelet_graph::op::HostTensor::I64(&batch.labels))?;
        self.scores.run()?;
        Ok(StepMetrics {
            loss: self.scores.scalar("loss")?,
            correct: self.scores.scalar("correct")?,
        })
    }

    /// Bytes of each device's work that may be on the host at once.
    pub(super) fn sent_bytes(&self) -> Vec<usize> {
        self.flow.sent_bytes()
    }

    /// Bytes on each device.
    pub fn bytes(&self) -> Vec<usize> {
        self.flow.bytes()
    }
}
