//! Forward passes through a pipeline.

use super::batch_split::BatchSplit;
use super::device_memory::check;
use super::dry_run::DryRun;
use super::error::PipelineError;
use super::flow::Flow;
use super::partition::Partition;
use super::pipeline_plan::PipelinePlan;
use super::plans::TraceOptions;
use super::stage::Feed;
use super::task::MicroBatch;
use super::worker::RunInputs;
use spikelet_core::Result;
use spikelet_data::Batch;
use spikelet_graph::{Backend, DType, Tensor, TensorType, Tracer};
use spikelet_nn::loss;
use spikelet_nn::module::StepOutputs;
use spikelet_nn::runtime::{Program, VarStore, host};
use spikelet_train::engine::Draws;
use spikelet_train::{Settings, StepMetrics};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The reduction of the outputs over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// The sum over all time steps.
    Sum,
    /// The outputs of all time steps, `[T, N, …]`.
    Stack,
}

/// The sizes for which a forward pass is compiled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ForwardShape {
    pub(super) time_steps: usize,
    pub(super) batch: usize,
    pub(super) split: usize,
    pub(super) chunk: usize,
    /// Whether the input is the same at all time steps.
    pub(super) constant: bool,
    /// The shape of the input after the axis N.
    pub(super) shape: Vec<usize>,
}

/// A compiled forward pass.
pub(super) struct ForwardFlow {
    flow: Flow,
    forward_shape: ForwardShape,
    /// The shape of the output, `[T, N, …]`.
    output: Vec<usize>,
}

/// A planned forward pass. No device memory is allocated for it.
pub(super) struct ForwardPlan {
    pipeline_plan: PipelinePlan,
    forward_shape: ForwardShape,
    output: Vec<usize>,
}

impl ForwardPlan {
    pub(super) fn new(
        partition: &Partition,
        trace_options: &TraceOptions,
        forward_shape: &ForwardShape,
    ) -> Result<Self> {
        let batch_split = BatchSplit::new(
            forward_shape.batch,
            forward_shape.split,
            forward_shape.time_steps,
            forward_shape.chunk,
        )?;
        let pipeline_plan =
            PipelinePlan::new(&partition.without_replicas(), trace_options, batch_split)?;
        let mut output = pipeline_plan.outputs[0].shape.clone();
        let [steps, batch, ..] = &mut output[..] else {
            return Err(PipelineError::OutputShape { shape: output }.into());
        };
        *steps *= batch_split.chunks;
        *batch = forward_shape.batch;
        Ok(Self {
            pipeline_plan,
            forward_shape: forward_shape.clone(),
            output,
        })
    }

    /// Checks that the devices have enough free memory for the pass.
    pub(super) fn check_memory(
        &self,
        partition: &Partition,
        seed: u64,
        store: &VarStore,
    ) -> Result<()> {
        let mut dry = DryRun::new(partition, store)?;
        dry.allocate(&self.pipeline_plan.traced)?;
        let flow = self.load(&dry.partition, seed, &mut dry.store)?;
        let bytes = dry.peaks().with_sent(partition, &flow.sent_bytes());
        let help = "use smaller micro-batches (split_size), fewer time steps, a 16-bit precision, or more devices";
        check("the pipeline's forward pass", partition, &bytes, help)
    }

    /// Loads the pass on the devices of `partition`, for which it was planned.
    pub(super) fn load(
        &self,
        partition: &Partition,
        seed: u64,
        store: &mut VarStore,
    ) -> Result<ForwardFlow> {
        // Only training uses copies of the parameters.
        let partition = &partition.without_replicas();
        self.pipeline_plan.initialize(partition, seed, store)?;
        let flow = Flow::new(
            partition,
            &self.pipeline_plan,
            &mut |device, _, name, ty| store.buffer(&partition.devices[device], name, ty, true),
            &mut |_, _, _| unreachable!("only training has a loss"),
        )?;
        Ok(ForwardFlow {
            flow,
            forward_shape: self.forward_shape.clone(),
            output: self.output.clone(),
        })
    }
}

impl ForwardFlow {
    /// Runs the input `[N, …]` or `[T, N, …]` and concatenates the outputs.
    pub(super) fn run(&self, x: &Tensor, draws: Draws) -> Result<Tensor> {
        let x = x.cast(DType::F32);
        let values = x.as_f32().expect("it was cast");
        let each: usize = self.forward_shape.shape.iter().product();
        let batch = self.forward_shape.batch;
        let part = |micro_batch: MicroBatch| -> Cow<'_, [f32]> {
            let images = self.flow.batch_split.images(micro_batch.index);
            let row =
                |first: usize| &values[(first + images.start) * each..(first + images.end) * each];
            if self.forward_shape.constant {
                return Cow::Borrowed(row(0));
            }
            let steps = micro_batch.chunk * self.flow.batch_split.steps
                ..(micro_batch.chunk + 1) * self.flow.batch_split.steps;
            let rows = steps.flat_map(|t| row(t * batch)).copied();
            Cow::Owned(rows.collect())
        };
        let inputs = RunInputs {
            x: &part,
            labels: &[],
            loss_scale: 1.0,
            draws,
            record: false,
        };
        let ran = self.flow.run(&inputs)?;
        Ok(self.join(&ran.outputs))
    }

    fn join(&self, outputs: &BTreeMap<MicroBatch, Tensor>) -> Tensor {
        let each: usize = self.output[2..].iter().product();
        let (batch, steps) = (
            self.forward_shape.batch,
            self.output[0] / self.flow.batch_split.chunks,
        );
        let mut all = vec![0.0_f32; self.output.iter().product()];
        for (micro_batch, tensor) in outputs {
            let tensor = tensor.cast(DType::F32);
            let values = tensor.as_f32().expect("it was cast");
            let images = self.flow.batch_split.images(micro_batch.index);
            let width = images.len() * each;
            for t in 0..steps {
                let to = ((micro_batch.chunk * steps + t) * batch + images.start) * each;
                all[to..to + width].copy_from_slice(&values[t * width..(t + 1) * width]);
            }
        }
        Tensor::f32(self.output.clone(), all)
    }

    fn bytes(&self) -> Vec<usize> {
        self.flow.bytes()
    }

    /// The size of the tensors of each device that may be on the host during transfers, and twice that of
    /// the outputs, in bytes.
    fn sent_bytes(&self) -> Vec<usize> {
        let mut bytes = self.flow.sent_bytes();
        let last = self
            .flow
            .stage_devices
            .last()
            .and_then(|own_devices| own_devices.first());
        if let Some(last) = last {
            bytes[*last] += 2 * TensorType::new(DType::F32, self.output.clone()).bytes();
        }
        bytes
    }
}

/// `[T, N, …]` summed over T, step by step.
pub(super) fn sum_over_time(x: &Tensor) -> Tensor {
    let values = x.as_f32().expect("outputs are concatenated in f32");
    let step: usize = x.shape[1..].iter().product();
    let mut sum = vec![0.0_f32; step];
    for row in values.chunks_exact(step.max(1)) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += value;
        }
    }
    Tensor::f32(x.shape[1..].to_vec(), sum)
}

/// A planned evaluation. No device memory is allocated for it.
pub(super) struct EvalPlan {
    flow: ForwardPlan,
    settings: Settings,
    shape: Vec<usize>,
}

impl EvalPlan {
    pub(super) fn new(
        partition: &Partition,
        settings: &Settings,
        batch: usize,
        image: [usize; 3],
    ) -> Result<Self> {
        let forward_shape = ForwardShape {
            time_steps: settings.time_steps,
            batch,
            split: partition.config.split_size,
            chunk: partition.config.time_chunk.unwrap_or(settings.time_steps),
            constant: true,
            shape: image.to_vec(),
        };
        let trace_options = TraceOptions {
            training: false,
            precision: settings.precision,
            propagation: settings.propagation,
            feed: Feed::Encoded(settings.encoder.0.clone()),
            shape: image.to_vec(),
        };
        Ok(Self {
            flow: ForwardPlan::new(partition, &trace_options, &forward_shape)?,
            settings: settings.clone(),
            shape: [vec![batch], image.to_vec()].concat(),
        })
    }

    /// Loads the evaluation on the devices of `partition`, for which it was planned. The loss is computed on
    /// `host`.
    pub(super) fn load(
        &self,
        partition: &Partition,
        host: &Arc<dyn Backend>,
        store: &mut VarStore,
    ) -> Result<PipelineEval> {
        let Self {
            flow,
            settings,
            shape,
        } = self;
        let flow = flow.load(partition, settings.seed, store)?;
        let tracer = Tracer::new(DType::F32);
        let sequence = tracer.input("output_seq", DType::F32, flow.output.clone());
        let labels = tracer.input("labels", DType::I64, [shape[0]]);
        let scores = sequence.mean(&[0]);
        let output = StepOutputs::new(vec![sequence]);
        tracer.output("loss", &settings.loss.apply(&output, &scores, &labels));
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

/// The evaluation of a pipeline: the stages on their devices, the loss on the CPU.
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
    /// When shapes do not match or a device fails.
    pub fn new(
        partition: &Partition,
        settings: &Settings,
        batch: usize,
        image: [usize; 3],
        store: &mut VarStore,
    ) -> Result<Self> {
        EvalPlan::new(partition, settings, batch, image)?.load(
            partition,
            &spikelet_nn::device::cpu()?,
            store,
        )
    }

    /// The number of scores of an image.
    pub(crate) fn scores(&self) -> usize {
        self.flow.output.last().copied().unwrap_or(0)
    }

    /// The number of images of a batch.
    pub(crate) fn batch_size(&self) -> usize {
        self.shape[0]
    }

    /// The network's output at each time step, `[T, N, classes]`.
    pub(crate) fn outputs(&self, batch: &Batch) -> Result<Tensor> {
        let x = Tensor::f32(self.shape.clone(), batch.f32("images")?.to_vec());
        let draws = Draws::for_evaluation(self.seed, batch.first_index());
        self.flow.run(&x, draws)
    }

    /// Evaluates a batch.
    ///
    /// # Errors
    /// When the size of the batch differs, or a device fails.
    pub fn run(&mut self, batch: &Batch) -> Result<StepMetrics> {
        let outputs = self.outputs(batch)?;
        self.scores.set("output_seq", host(&outputs))?;
        self.scores.set(
            "labels",
            spikelet_graph::op::HostTensor::I64(batch.i64("labels")?),
        )?;
        self.scores.run()?;
        let (loss, correct) = (self.scores.scalar("loss")?, self.scores.scalar("correct")?);
        Ok(StepMetrics::of_classifier(loss, correct, batch.len()))
    }

    /// The size of the tensors of each device that may be on the host during transfers, in bytes.
    pub(super) fn sent_bytes(&self) -> Vec<usize> {
        self.flow.sent_bytes()
    }

    /// The memory on each device in bytes.
    pub fn bytes(&self) -> Vec<usize> {
        self.flow.bytes()
    }
}

impl fmt::Debug for PipelineEval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineEval")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}
