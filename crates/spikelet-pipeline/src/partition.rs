//! The partition of a network into stages on devices.

use super::batch_split::BatchSplit;
use super::config::PipelineConfig;
use super::error::PipelineError;
use super::stage_replicas::StageReplicas;
use serde::Serialize;
use spikelet_core::Result;
use spikelet_graph::{Backend, Var};
use spikelet_nn::module::{Context, Module, check_names, links};
use std::fmt;
use std::sync::Arc;

/// Consecutive modules of a chain, with their paths in the network.
pub(super) struct ChainSlice(pub(super) Vec<(String, Arc<dyn Module>)>);

impl Module for ChainSlice {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        self.0.iter().try_fold(x.clone(), |x, (path, module)| {
            let names: Vec<&str> = path.split('.').collect();
            within(cx, &names, &mut |cx| module.forward(cx, &x))
        })
    }

    fn chain(&self) -> Vec<(String, Arc<dyn Module>)> {
        self.0.clone()
    }
}

/// Traces within the scopes of a path.
fn within(
    cx: &Context,
    names: &[&str],
    inside: &mut dyn FnMut(&Context) -> Result<Var>,
) -> Result<Var> {
    match names {
        [] => inside(cx),
        [name, rest @ ..] => cx.child(name, |cx| within(cx, rest, inside)),
    }
}

/// A network partitioned into stages on devices.
#[derive(Clone)]
pub struct Partition {
    pub(super) modules: Vec<Arc<dyn Module>>,
    /// The distinct devices.
    pub(super) devices: Vec<Arc<dyn Backend>>,
    /// The indices of the devices of each stage.
    pub(super) stage_devices: Vec<Vec<usize>>,
    pub(super) config: PipelineConfig,
}

/// The description of a stage.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// The names of its devices.
    pub devices: Vec<String>,
    /// The paths of its modules.
    pub modules: Vec<String>,
}

impl Partition {
    /// One stage for each module, on one or several devices.
    ///
    /// # Errors
    /// [`PipelineError`] when there is no stage, or a stage has no device or a device twice.
    pub fn new<T: Clone + Into<StageReplicas>>(
        modules: Vec<Arc<dyn Module>>,
        replicas: &[T],
        config: PipelineConfig,
    ) -> Result<Self> {
        if modules.is_empty() || modules.len() != replicas.len() {
            return Err(PipelineError::StageCount {
                modules: modules.len(),
                devices: replicas.len(),
            }
            .into());
        }
        let mut devices: Vec<Arc<dyn Backend>> = vec![];
        let mut stage_devices = vec![];
        for (stage, stage_replicas) in replicas.iter().enumerate() {
            let stage_replicas: StageReplicas = stage_replicas.clone().into();
            let mut own_devices = vec![];
            for device in stage_replicas.devices() {
                let known = devices.iter().position(|d| Arc::ptr_eq(d, device));
                let number = known.unwrap_or(devices.len());
                if known.is_none() {
                    devices.push(device.clone());
                }
                if own_devices.contains(&number) {
                    let device = device.name();
                    return Err(PipelineError::DuplicateDevice { stage, device }.into());
                }
                own_devices.push(number);
            }
            if own_devices.is_empty() {
                return Err(PipelineError::NoDevice { stage }.into());
            }
            stage_devices.push(own_devices);
        }
        Ok(Self {
            modules,
            devices,
            stage_devices,
            config,
        })
    }

    /// Partitions a chain of modules. `firsts` are the indices of the modules with which the stages after the
    /// first one begin.
    ///
    /// # Errors
    /// [`PipelineError::StageBounds`] when the indices are out of range or not ascending; when the module is
    /// not a chain.
    pub fn at<T: Clone + Into<StageReplicas>>(
        module: &Arc<dyn Module>,
        firsts: &[usize],
        replicas: &[T],
        config: PipelineConfig,
    ) -> Result<Self> {
        let chain = links("", module);
        check_names("pipeline", &chain)?;
        let bounds: Vec<usize> = std::iter::once(0)
            .chain(firsts.iter().copied())
            .chain([chain.len()])
            .collect();
        if firsts.len() + 1 != replicas.len() || !bounds.windows(2).all(|w| w[0] < w[1]) {
            return Err(PipelineError::StageBounds {
                firsts: firsts.to_vec(),
                devices: replicas.len(),
                modules: chain.len(),
            }
            .into());
        }
        let stages = bounds
            .windows(2)
            .map(|w| Arc::new(ChainSlice(chain[w[0]..w[1]].to_vec())) as Arc<dyn Module>);
        Self::new(stages.collect(), replicas, config)
    }

    /// The devices and modules of each stage.
    pub fn report(&self) -> Vec<StageReport> {
        let stages = self.modules.iter().zip(&self.stage_devices);
        stages
            .map(|(module, own_devices)| StageReport {
                devices: own_devices
                    .iter()
                    .map(|d| self.devices[*d].name())
                    .collect(),
                modules: module.chain().into_iter().map(|(path, _)| path).collect(),
            })
            .collect()
    }

    /// The distinct devices.
    pub fn devices(&self) -> &[Arc<dyn Backend>] {
        &self.devices
    }

    /// The first device of each stage, which owns the parameters.
    pub(super) fn backends(&self) -> Vec<Arc<dyn Backend>> {
        let firsts = self
            .stage_devices
            .iter()
            .map(|own_devices| self.devices[own_devices[0]].clone());
        firsts.collect()
    }

    /// The stages on their first devices only.
    pub(super) fn without_replicas(&self) -> Self {
        Self {
            stage_devices: self
                .stage_devices
                .iter()
                .map(|own_devices| vec![own_devices[0]])
                .collect(),
            ..self.clone()
        }
    }

    pub(super) fn batch_split(&self, batch: usize, time_steps: usize) -> Result<BatchSplit> {
        let steps = self.config.time_chunk.unwrap_or(time_steps);
        BatchSplit::new(batch, self.config.split_size, time_steps, steps)
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition")
            .field("stages", &self.report())
            .field("config", &self.config)
            .finish()
    }
}
