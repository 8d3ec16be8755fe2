//! Pipeline parallelism: a network is partitioned into stages on several devices, which process different
//! micro-batches concurrently.
//!
//! [`ModelPipeline`] has the interface of SpikingFlow's class of this name: modules are appended with
//! their devices, several stages may be on one device, and a batch is split into micro-batches. Sequences
//! can also be split into chunks of time: neurons are causal, so a stage can process a chunk of time steps
//! while the next stage processes the previous chunk. The states of a micro-batch are carried from each of
//! its chunks to the next one.
//!
//! Each stage has a forward and a backward plan. The tensors that the forward plan saves for the backward
//! plan are in buffers that exist once for each micro-batch in flight. Gradients are accumulated over the
//! micro-batches in order, then the optimizer makes one step. A pipeline therefore computes the same as
//! one device that accumulates gradients over the same micro-batches, whatever the number of stages.
//!
//! Sources: the tutorial "clock driven: classify CIFAR-10" of SpikingFlow (the class); Huang et al.,
//! GPipe, NeurIPS 2019; Narayanan et al., PipeDream, SOSP 2019 (the schedules).

mod auto_partition;
mod batch_split;
mod config;
mod cost;
mod cut;
mod device_memory;
mod dry_run;
mod error;
mod flow;
mod forward;
mod head;
mod mailbox;
mod options;
mod partition;
mod pipeline_plan;
mod plans;
mod program;
mod replicas;
mod run_plans;
mod schedule;
mod stage;
mod stage_replicas;
mod task;
mod timeline;
#[cfg(feature = "plots")]
mod timeline_svg;
mod timetable;
mod training;
mod updates;
mod worker;

pub use config::PipelineConfig;
pub use error::PipelineError;
pub use forward::{PipelineEval, Reduce};
pub use options::{PipelineEngine, PipelineOptions, Stages};
pub use partition::{Partition, StageReport};
pub use schedule::PipelineSchedule;
pub use stage_replicas::StageReplicas;
pub use task::{MicroBatch, Phase, Task};
pub use timeline::Timeline;
pub use training::PipelineStep;

use forward::{ForwardFlow, ForwardPlan, ForwardShape};
use spikelet_core::{Error, Result};
use spikelet_graph::Tensor;
use spikelet_nn::module::{Module, Precision, Propagation};
use spikelet_nn::runtime::VarStore;
use spikelet_train::engine::Draws;
use stage::Feed;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A network in stages on several devices.
///
/// ```
/// use spikelet_cpu::Cpu;
/// use spikelet_pipeline::{ModelPipeline, Reduce};
/// use spikelet_train::prelude::*;
/// use std::sync::Arc;
/// let first: Arc<dyn Backend> = Arc::new(Cpu::numbered(0, 1)?);
/// let second: Arc<dyn Backend> = Arc::new(Cpu::numbered(1, 1)?);
/// let mut net = ModelPipeline::new()
///     .append(Sequential::new().add(Linear::new(20, 16)).add(Lif::new(2.0)), &first)
///     .append(Sequential::new().add(Linear::new(16, 4)).add(Lif::new(2.0)), &second);
/// let x = Tensor::f32([8, 20], vec![1.0; 160]);
/// let rates = net.constant_forward(&x, 10, Reduce::Sum)?;
/// assert_eq!(rates.shape, [8, 4]);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
pub struct ModelPipeline {
    stages: Vec<(Arc<dyn Module>, StageReplicas)>,
    seed: u64,
    precision: Precision,
    propagation: Propagation,
    schedule: PipelineSchedule,
    store: Option<VarStore>,
    flows: BTreeMap<ForwardShape, ForwardFlow>,
}

impl Default for ModelPipeline {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelPipeline {
    /// A pipeline without stages.
    pub fn new() -> Self {
        Self {
            stages: vec![],
            seed: 0,
            precision: Precision::F32,
            propagation: Propagation::default(),
            schedule: PipelineSchedule::Auto,
            store: None,
            flows: BTreeMap::new(),
        }
    }

    /// Appends a stage on a device, or on several devices that process micro-batches in turn
    /// ([`StageReplicas`]). Several stages may be on one device. The parameters of stage k are named
    /// `k.…`.
    #[must_use]
    pub fn append(
        mut self,
        module: impl Module + 'static,
        devices: impl Into<StageReplicas>,
    ) -> Self {
        let name = self.stages.len().to_string();
        let links = spikelet_nn::module::links(&name, &(Arc::new(module) as Arc<dyn Module>));
        self.stages
            .push((Arc::new(partition::ChainSlice(links)), devices.into()));
        self
    }

    /// Sets the seed of the initial parameters and of the random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the data types of matrix products and sequences.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets the order of forward and backward passes in training.
    #[must_use]
    pub fn schedule(mut self, schedule: PipelineSchedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The partition of the network, to train it with [`PipelineStep`].
    ///
    /// # Errors
    /// When there is no stage.
    pub fn partition(&self, split_size: usize, time_chunk: Option<usize>) -> Result<Partition> {
        let (modules, replicas): (Vec<_>, Vec<_>) = self.stages.iter().cloned().unzip();
        let config = PipelineConfig {
            split_size,
            time_chunk,
            schedule: self.schedule,
        };
        Partition::new(modules, &replicas, config)
    }

    /// The parameters, each on the device of its stage. `None` before the first run.
    pub fn store(&self) -> Option<&VarStore> {
        self.store.as_ref()
    }

    /// The parameters, to be set or trained: a [`PipelineStep`] that is created with this store trains the
    /// parameters of [`ModelPipeline::forward`].
    ///
    /// ```
    /// use spikelet_pipeline::{ModelPipeline, PipelineStep};
    /// use spikelet_train::prelude::*;
    /// let cpu = spikelet_nn::device::cpu()?;
    /// let mut net = ModelPipeline::new()
    ///     .append(Sequential::new().add(Flatten).add(Linear::new(64, 10)).add(Lif::new(2.0)), &cpu);
    /// let partition = net.partition(16, None)?;
    /// let settings = Settings { time_steps: 4, ..Settings::default() };
    /// let step = PipelineStep::new(&partition, &settings, [1, 8, 8], net.store_mut()?)?;
    /// assert!(step.parameters().any(|name| name == "0.1.weight"));
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no stage.
    pub fn store_mut(&mut self) -> Result<&mut VarStore> {
        let partition = self.partition(1, None)?;
        let new_store = || VarStore::new(partition.devices[0].clone());
        Ok(self.store.get_or_insert_with(new_store))
    }

    /// Runs a sequence `x [T, N, …]` through the stages in micro-batches of `split_size`, and returns the
    /// output `[T, N, …]`.
    ///
    /// # Errors
    /// When T, N or the split size is 0, shapes do not fit, or a device fails.
    pub fn forward(&mut self, x: &Tensor, split_size: usize) -> Result<Tensor> {
        let shape = &x.shape;
        let [time_steps, batch] = match &shape[..] {
            [time, batch, ..] => [*time, *batch],
            _ => return Err(too_few_axes(x, "[T, N, …]")),
        };
        let forward_shape = ForwardShape {
            time_steps,
            batch,
            split: split_size,
            chunk: time_steps,
            constant: false,
            shape: shape[2..].to_vec(),
        };
        self.run(forward_shape, Feed::Sequence, x)
    }

    /// Runs `x [N, …]` as the input of each of `time_steps` time steps, split into chunks of time that the
    /// stages process concurrently. Returns the sum of the outputs over time, `[N, …]`, or all outputs,
    /// `[T, N, …]`.
    ///
    /// # Errors
    /// As [`ModelPipeline::forward`].
    pub fn constant_forward(
        &mut self,
        x: &Tensor,
        time_steps: usize,
        reduce: Reduce,
    ) -> Result<Tensor> {
        let Some(&batch) = x.shape.first() else {
            return Err(too_few_axes(x, "[N, …]"));
        };
        // Enough chunks to keep all stages busy, as long as possible.
        let chunks = (2 * self.stages.len()).clamp(1, time_steps.max(1));
        let chunk = (1..=time_steps)
            .filter(|steps| time_steps.is_multiple_of(*steps))
            .find(|steps| steps * chunks >= time_steps);
        let forward_shape = ForwardShape {
            time_steps,
            batch,
            split: batch,
            chunk: chunk.unwrap_or(time_steps),
            constant: true,
            shape: x.shape[1..].to_vec(),
        };
        let direct = spikelet_nn::encoder::parse("direct")?;
        let output = self.run(forward_shape, Feed::Encoded(direct), x)?;
        Ok(match reduce {
            Reduce::Stack => output,
            Reduce::Sum => forward::sum_over_time(&output),
        })
    }

    fn run(&mut self, forward_shape: ForwardShape, feed: Feed, x: &Tensor) -> Result<Tensor> {
        let chunk = Some(forward_shape.chunk).filter(|c| *c != forward_shape.time_steps);
        if !self.flows.contains_key(&forward_shape) {
            let partition = self.partition(forward_shape.split, chunk)?;
            let new_store = || VarStore::new(partition.devices[0].clone());
            let store = self.store.get_or_insert_with(new_store);
            let trace_options = plans::TraceOptions {
                training: false,
                precision: self.precision,
                propagation: self.propagation,
                feed,
                shape: forward_shape.shape.clone(),
            };
            let plan = ForwardPlan::new(&partition, &trace_options, &forward_shape)?;
            plan.check_memory(&partition, self.seed, store)?;
            let flow = plan.load(&partition, self.seed, store)?;
            self.flows.insert(forward_shape.clone(), flow);
        }
        self.flows[&forward_shape].run(x, Draws::for_step(self.seed, 0))
    }
}

impl fmt::Debug for ModelPipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<&StageReplicas> = self.stages.iter().map(|(_, devices)| devices).collect();
        f.debug_struct("ModelPipeline")
            .field("stages", &devices)
            .field("seed", &self.seed)
            .field("precision", &self.precision)
            .field("schedule", &self.schedule)
            .finish_non_exhaustive()
    }
}

fn too_few_axes(x: &Tensor, expected: &'static str) -> Error {
    let given = x.ty();
    PipelineError::InputAxes { given, expected }.into()
}
