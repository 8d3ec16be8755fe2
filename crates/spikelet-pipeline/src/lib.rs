//! A network over several devices: each runs a stage, and parts of the batch flow through them.
//!
//! [`ModelPipeline`] is SpikingFlow's class of this name: modules are appended with their devices,
//! a device may come again, and a batch is cut into micro-batches that go from stage to stage at the
//! same time. Time can be cut too: neurons are causal, so a stage works on a chunk of time steps
//! while the stage behind it works on the chunk before. The states of a micro-batch go from its
//! chunk to its next chunk, and to nobody else.
//!
//! Each stage is two plans, forward and backward, and what the one keeps for the other lies in
//! buffers that exist once for each micro-batch under way. Gradients are summed over micro-batches in
//! their order, then the optimizer makes one step. So a pipeline computes what one device computes
//! that takes the same micro-batches one after the other, however many stages there are.
//!
//! Sources: the tutorial "clock driven: classify CIFAR-10" of SpikingFlow (the class); Huang et al.,
//! GPipe, NeurIPS 2019; Narayanan et al., PipeDream, SOSP 2019 (the schedules).

mod config;
mod copies;
mod cost;
mod cut;
mod design;
mod dry_run;
mod flow;
mod forward;
mod head;
mod mailbox;
mod memory;
mod options;
mod partition;
#[cfg(feature = "plots")]
mod picture;
mod plans;
mod program;
mod stage;
mod stage_replicas;
mod timeline;
mod timetable;
mod training;
mod updates;
mod worker;

pub use config::PipelineConfig;
pub use forward::{PipelineEval, Reduce};
pub use options::{PipelineEngine, PipelineOptions, Stages};
pub use partition::{Partition, StageReport};
pub use stage_replicas::StageReplicas;
pub use timeline::Timeline;
pub use timetable::{MicroBatch, Phase, PipelineSchedule, Task};
pub use training::PipelineStep;

use forward::{ForwardFlow, ForwardPlan, Sized};
use spikelet_core::{Error, Result};
use spikelet_graph::Tensor;
use spikelet_nn::module::{Module, Precision, Propagation};
use spikelet_nn::runtime::VarStore;
use spikelet_train::Draws;
use stage::Feed;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Modules on their devices, through which batches flow in parts.
///
/// ```
/// use spikelet::pipeline::{ModelPipeline, Reduce};
/// use spikelet::prelude::*;
/// let (first, second) = (spikelet::device::find("cpu:0", 1)?, spikelet::device::find("cpu:1", 1)?);
/// let mut net = ModelPipeline::new()
///     .append(Sequential::new().add(Linear::new(20, 16)).add(Lif::new(2.0)), &first)
///     .append(Sequential::new().add(Linear::new(16, 4)).add(Lif::new(2.0)), &second);
/// let x = Tensor::f32([8, 20], vec![1.0; 160]);
/// let rates = net.constant_forward(&x, 10, Reduce::Sum)?;
/// assert_eq!(rates.shape, [8, 4]);
/// # Ok::<(), spikelet::Error>(())
/// ```
pub struct ModelPipeline {
    stages: Vec<(Arc<dyn Module>, StageReplicas)>,
    seed: u64,
    precision: Precision,
    propagation: Propagation,
    schedule: PipelineSchedule,
    store: Option<VarStore>,
    flows: BTreeMap<Sized, ForwardFlow>,
}

impl Default for ModelPipeline {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelPipeline {
    /// No stages yet.
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

    /// Adds a stage behind the others, on a device or on several that take micro-batches by turns
    /// ([`StageReplicas`]); parameters of stage k are named `k.…`. A device may come again.
    pub fn append(
        mut self,
        module: impl Module + 'static,
        devices: impl Into<StageReplicas>,
    ) -> Self {
        let name = self.stages.len().to_string();
        let links = spikelet_nn::module::links(&name, &(Arc::new(module) as Arc<dyn Module>));
        self.stages
            .push((Arc::new(partition::Linked(links)), devices.into()));
        self
    }

    /// The seed of the parameters' initial values and of draws.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the numbers that products multiply and that sequences are stored in.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets in which order forward and backward passes take turns in training.
    pub fn schedule(mut self, schedule: PipelineSchedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The stages, their devices and how batches are cut, to train with: [`PipelineStep`].
    ///
    /// # Errors
    /// When there is no stage.
    pub fn layout(&self, split_size: usize, time_chunk: Option<usize>) -> Result<Partition> {
        let (modules, teams): (Vec<_>, Vec<_>) = self.stages.iter().cloned().unzip();
        let parts = PipelineConfig {
            split_size,
            time_chunk,
            schedule: self.schedule,
        };
        Partition::new(modules, &teams, parts)
    }

    /// The parameters, each on its stage's device; there once something has run.
    pub fn store(&self) -> Option<&VarStore> {
        self.store.as_ref()
    }

    /// The parameters, to be set, or to be trained: a [`PipelineStep`] that is made with this store
    /// trains what [`ModelPipeline::forward`] runs.
    ///
    /// ```
    /// use spikelet::pipeline::{ModelPipeline, PipelineStep};
    /// use spikelet::prelude::*;
    /// let cpu = spikelet::device::find("cpu:0", 1)?;
    /// let mut net = ModelPipeline::new()
    ///     .append(Sequential::new().add(Flatten).add(Linear::new(64, 10)).add(Lif::new(2.0)), &cpu);
    /// let layout = net.layout(16, None)?;
    /// let settings = Settings { time_steps: 4, ..Settings::default() };
    /// let step = PipelineStep::new(&layout, &settings, [1, 8, 8], net.store_mut()?)?;
    /// assert!(step.parameters().any(|name| name == "0.1.weight"));
    /// # Ok::<(), spikelet::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no stage.
    pub fn store_mut(&mut self) -> Result<&mut VarStore> {
        let layout = self.layout(1, None)?;
        let made = || VarStore::new(layout.devices[0].clone());
        Ok(self.store.get_or_insert_with(made))
    }

    /// Runs a sequence `x [T, N, …]` through the stages, `split_size` of N at a time, and returns
    /// what comes out, `[T, N, …]`.
    ///
    /// # Errors
    /// When T, N or the split size is 0, shapes do not fit, or a device fails.
    pub fn forward(&mut self, x: &Tensor, split_size: usize) -> Result<Tensor> {
        let shape = &x.shape;
        let [time_steps, batch] = match &shape[..] {
            [time, batch, ..] => [*time, *batch],
            _ => return Err(too_few_axes(x, "[T, N, …]")),
        };
        let sized = Sized {
            time_steps,
            batch,
            split: split_size,
            chunk: time_steps,
            constant: false,
            shape: shape[2..].to_vec(),
        };
        self.run(sized, Feed::Sequence, x)
    }

    /// Runs `x [N, …]` as the input of each of `time_steps` steps: the pipeline is started once, and
    /// stages work on chunks of time one behind the other. Returns the sum of the outputs over time,
    /// `[N, …]`, or all of them, `[T, N, …]`.
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
        // Enough chunks to keep all stages busy, and long enough to be worth a start.
        let chunks = (2 * self.stages.len()).clamp(1, time_steps.max(1));
        let chunk = (1..=time_steps)
            .filter(|steps| time_steps.is_multiple_of(*steps))
            .find(|steps| steps * chunks >= time_steps);
        let sized = Sized {
            time_steps,
            batch,
            split: batch,
            chunk: chunk.unwrap_or(time_steps),
            constant: true,
            shape: x.shape[1..].to_vec(),
        };
        let direct = spikelet_nn::encoder::parse("direct")?;
        let made = self.run(sized, Feed::Encoded(direct), x)?;
        Ok(match reduce {
            Reduce::Stack => made,
            Reduce::Sum => forward::sum_over_time(&made),
        })
    }

    fn run(&mut self, sized: Sized, feed: Feed, x: &Tensor) -> Result<Tensor> {
        let chunk = Some(sized.chunk).filter(|c| *c != sized.time_steps);
        if !self.flows.contains_key(&sized) {
            let layout = self.layout(sized.split, chunk)?;
            let made = || VarStore::new(layout.devices[0].clone());
            let store = self.store.get_or_insert_with(made);
            let aim = plans::Aim {
                training: false,
                precision: self.precision,
                propagation: self.propagation,
                feed,
                shape: sized.shape.clone(),
            };
            let plan = ForwardPlan::new(&layout, &aim, &sized)?;
            memory::check_forward(&plan, &layout, self.seed, store)?;
            let flow = plan.load(&layout, self.seed, store)?;
            self.flows.insert(sized.clone(), flow);
        }
        self.flows[&sized].run(x, Draws::for_step(self.seed, 0))
    }
}

fn too_few_axes(x: &Tensor, expected: &str) -> Error {
    Error::invalid(
        "pipeline input",
        format!("{} was given, {expected} is expected", x.ty()),
        "add the missing axes",
    )
}
