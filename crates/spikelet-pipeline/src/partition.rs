//! Stages, their devices, and how batches are cut.

use super::config::{Cutting, PipelineConfig};
use super::cost;
use super::cut::{self, Bound, LinkCost};
use super::memory::memories;
use super::plans::{self, Aim};
use super::stage::Feed;
use super::stage_replicas::StageReplicas;
use serde::Serialize;
use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, Var};
use spikelet_nn::encoder;
use spikelet_nn::module::{Context, Module, check_names, links};
use spikelet_train::Settings;
use std::sync::Arc;

/// Bytes a second from one device to another, for the choice of a cut.
const BETWEEN: f64 = 100e9;

/// Modules of a chain under their paths in the whole network.
pub(super) struct Linked(pub(super) Vec<(String, Arc<dyn Module>)>);

impl Module for Linked {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        self.0.iter().try_fold(x, |x, (path, module)| {
            let names: Vec<&str> = path.split('.').collect();
            within(cx, &names, &mut |cx| module.forward(cx, x.clone()))
        })
    }

    fn chain(&self) -> Vec<(String, Arc<dyn Module>)> {
        self.0.clone()
    }
}

/// Traces inside of the scopes of a path.
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

/// Stages on their devices.
#[derive(Clone)]
pub struct Partition {
    pub(super) modules: Vec<Arc<dyn Module>>,
    /// Each device once.
    pub(super) devices: Vec<Arc<dyn Backend>>,
    /// The numbers of each stage's devices.
    pub(super) stage_devices: Vec<Vec<usize>>,
    pub(super) parts: PipelineConfig,
}

/// A stage as people read of it.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// Its devices.
    pub devices: Vec<String>,
    /// The paths of its modules.
    pub modules: Vec<String>,
}

impl Partition {
    /// Stages from modules with a device each, or several.
    ///
    /// # Errors
    /// When there is no stage, or one without devices.
    pub fn new<T: Clone + Into<StageReplicas>>(
        modules: Vec<Arc<dyn Module>>,
        teams: &[T],
        parts: PipelineConfig,
    ) -> Result<Self> {
        if modules.is_empty() || modules.len() != teams.len() {
            return Err(Error::invalid(
                "pipeline",
                format!("{} modules, {} devices", modules.len(), teams.len()),
                "append at least one module, each with its device",
            ));
        }
        let mut devices: Vec<Arc<dyn Backend>> = vec![];
        let mut stage_devices = vec![];
        for team in teams {
            let team: StageReplicas = team.clone().into();
            let mut home = vec![];
            for device in team.devices() {
                let known = devices.iter().position(|d| Arc::ptr_eq(d, device));
                let number = known.unwrap_or(devices.len());
                if known.is_none() {
                    devices.push(device.clone());
                }
                if home.contains(&number) {
                    return Err(Error::invalid(
                        "pipeline",
                        format!("a stage has {} twice", device.name()),
                        "let a device take its turn once",
                    ));
                }
                home.push(number);
            }
            if home.is_empty() {
                return Err(Error::invalid(
                    "pipeline",
                    "a stage has no device".to_string(),
                    "give each stage at least one",
                ));
            }
            stage_devices.push(home);
        }
        Ok(Self {
            modules,
            devices,
            stage_devices,
            parts,
        })
    }

    /// Cuts a module that is a chain, such as a network of this crate. `firsts` are the numbers of
    /// the modules with which the stages after the first begin.
    ///
    /// # Errors
    /// When the module is no chain, or cannot be cut there.
    pub fn at<T: Clone + Into<StageReplicas>>(
        module: &Arc<dyn Module>,
        firsts: &[usize],
        teams: &[T],
        parts: PipelineConfig,
    ) -> Result<Self> {
        let chain = links("", module);
        check_names("pipeline", &chain)?;
        let bounds: Vec<usize> = std::iter::once(0)
            .chain(firsts.iter().copied())
            .chain([chain.len()])
            .collect();
        if firsts.len() + 1 != teams.len() || !bounds.windows(2).all(|w| w[0] < w[1]) {
            return Err(Error::invalid(
                "stages",
                format!(
                    "{firsts:?} was given for {} devices and {} modules",
                    teams.len(),
                    chain.len()
                ),
                format!(
                    "give {} rising numbers from 1 to {}, or auto",
                    teams.len().saturating_sub(1),
                    chain.len().saturating_sub(1)
                ),
            ));
        }
        let stages = bounds
            .windows(2)
            .map(|w| Arc::new(Linked(chain[w[0]..w[1]].to_vec())) as Arc<dyn Module>);
        Self::new(stages.collect(), teams, parts)
    }

    /// Cuts a module that is a chain so that the busiest device has the least to do and each has
    /// room, by the plans of its modules.
    ///
    /// # Errors
    /// When there are fewer modules than devices, or no cut fits the devices.
    pub fn auto<T: Clone + Into<StageReplicas>>(
        module: &Arc<dyn Module>,
        settings: &Settings,
        image: [usize; 3],
        teams: &[T],
        parts: PipelineConfig,
    ) -> Result<Self> {
        let chain = links("", module);
        let each: Vec<Arc<dyn Module>> = (chain.iter())
            .map(|link| Arc::new(Linked(vec![link.clone()])) as Arc<dyn Module>)
            .collect();
        let placed = Self::new(vec![module.clone(); teams.len()], teams, parts)?;
        let one = vec![placed.devices[0].clone(); each.len()];
        let trial = Self::new(each, &one, parts)?;
        let cutting = trial.cutting(settings.batch_size, settings.time_steps)?;
        let aim = Aim {
            training: true,
            precision: settings.precision,
            propagation: settings.propagation,
            feed: trial.feed(&settings.encoder)?,
            shape: image.to_vec(),
        };
        let planned = plans::plan(&trial.modules, &one, &aim, &cutting, cutting.size)?;
        let costs: Vec<LinkCost> = (planned.stages.iter().zip(&planned.handed_on))
            .map(|(plans, bytes)| {
                let cost = cost::of_stage(plans, &*one[0], &[0]);
                // Of every cut the least that it takes: what one does take is checked when it is
                // planned.
                let kept = plans.passes.values().map(|p| p.forward.buffer_bytes());
                LinkCost {
                    seconds: cost.forward + cost.backward,
                    bytes: kept.max().unwrap_or(0),
                    hand_on: 2.0 * *bytes as f64 / BETWEEN,
                }
            })
            .collect();
        let found = cut::cut(
            &costs,
            &placed.stage_devices,
            &memory_bounds(&placed.devices),
        )?;
        let firsts: Vec<usize> = found[1..].iter().map(|links| links.start).collect();
        Self::at(module, &firsts, teams, parts)
    }

    /// Which modules are where.
    pub fn report(&self) -> Vec<StageReport> {
        let stages = self.modules.iter().zip(&self.stage_devices);
        stages
            .map(|(module, home)| StageReport {
                devices: home.iter().map(|d| self.devices[*d].name()).collect(),
                modules: module.chain().into_iter().map(|(path, _)| path).collect(),
            })
            .collect()
    }

    /// The devices, each once.
    pub fn devices(&self) -> &[Arc<dyn Backend>] {
        &self.devices
    }

    /// The first device of each stage, which has the parameters that others have copies of.
    pub(super) fn backends(&self) -> Vec<Arc<dyn Backend>> {
        let firsts = self
            .stage_devices
            .iter()
            .map(|home| self.devices[home[0]].clone());
        firsts.collect()
    }

    /// The stages on their first devices alone.
    pub(super) fn without_copies(&self) -> Self {
        Self {
            stage_devices: self
                .stage_devices
                .iter()
                .map(|home| vec![home[0]])
                .collect(),
            ..self.clone()
        }
    }

    pub(super) fn cutting(&self, batch: usize, time_steps: usize) -> Result<Cutting> {
        let steps = self.parts.time_chunk.unwrap_or(time_steps);
        Cutting::of(batch, self.parts.split_size, time_steps, steps)
    }

    pub(super) fn feed(&self, encoder: &str) -> Result<Feed> {
        Ok(Feed::Encoded(encoder::parse(encoder)?))
    }
}

/// What the devices have for a pipeline, by the memories that they share.
fn memory_bounds(devices: &[Arc<dyn Backend>]) -> Vec<Bound> {
    let bound = |shared: Vec<usize>| {
        let free = shared.iter().filter_map(|k| devices[*k].memory());
        Bound {
            bytes: free
                .map(|memory| memory.available)
                .min()
                .unwrap_or(usize::MAX),
            devices: shared,
        }
    };
    memories(devices).into_iter().map(bound).collect()
}
