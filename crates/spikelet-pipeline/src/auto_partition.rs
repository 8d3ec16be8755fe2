//! The automatic partition of a network, by the predicted run time and memory of its modules.

use super::config::PipelineConfig;
use super::cost;
use super::cut::{self, Bound, LinkCost};
use super::device_memory::memories;
use super::partition::{ChainSlice, Partition};
use super::plans::{self, TraceOptions};
use super::stage::Feed;
use super::stage_replicas::StageReplicas;
use spikelet_core::Result;
use spikelet_graph::Backend;
use spikelet_nn::module::{Module, links};
use spikelet_train::Settings;
use std::sync::Arc;

/// The assumed bandwidth between two devices in bytes per second.
const LINK_BYTES_PER_SECOND: f64 = 100e9;

impl Partition {
    /// Partitions a chain of modules such that the predicted run time of the slowest device is minimal, within
    /// the memory of each device. The predictions are from the plans of the modules.
    ///
    /// # Errors
    /// [`TooFewModules`](crate::PipelineError::TooFewModules), and
    /// [`NoPartition`](crate::PipelineError::NoPartition) when no partition fits into the
    /// memory of the devices.
    pub fn auto<T: Clone + Into<StageReplicas>>(
        module: &Arc<dyn Module>,
        settings: &Settings,
        image: [usize; 3],
        replicas: &[T],
        config: PipelineConfig,
    ) -> Result<Self> {
        let chain = links("", module);
        let each: Vec<Arc<dyn Module>> = (chain.iter())
            .map(|link| Arc::new(ChainSlice(vec![link.clone()])) as Arc<dyn Module>)
            .collect();
        let placed = Self::new(vec![module.clone(); replicas.len()], replicas, config)?;
        let one = vec![placed.devices[0].clone(); each.len()];
        let trial = Self::new(each, &one, config)?;
        let batch_split = trial.batch_split(settings.batch_size, settings.time_steps)?;
        let trace_options = TraceOptions {
            training: true,
            precision: settings.precision,
            propagation: settings.propagation,
            feed: Feed::Encoded(settings.encoder.0.clone()),
            shape: image.to_vec(),
        };
        let planned = plans::plan(
            &trial.modules,
            &one,
            &trace_options,
            &batch_split,
            batch_split.size,
        )?;
        let costs: Vec<LinkCost> = (planned.stages.iter().zip(&planned.output_bytes))
            .map(|(plans, bytes)| {
                let cost = cost::of_stage(plans, &*one[0], &[0]);
                // A lower bound for every partition: the exact memory is checked after planning.
                let kept = plans.passes.values().map(|p| p.forward.buffer_bytes());
                LinkCost {
                    seconds: cost.forward + cost.backward,
                    bytes: kept.max().unwrap_or(0),
                    transfer_seconds: 2.0 * *bytes as f64 / LINK_BYTES_PER_SECOND,
                }
            })
            .collect();
        let found = cut::cut(
            &costs,
            &placed.stage_devices,
            &memory_bounds(&placed.devices),
        )?;
        let firsts: Vec<usize> = found[1..].iter().map(|links| links.start).collect();
        Self::at(module, &firsts, replicas, config)
    }
}

/// The free memory of the devices, by the memories that they share.
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
