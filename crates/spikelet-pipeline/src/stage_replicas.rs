//! The devices of a stage.

use spikelet_graph::Backend;
use std::fmt;
use std::sync::Arc;

/// The devices of one stage. Several devices process micro-batches in turn, each with a copy of the
/// parameters, so that a slow stage does not limit the throughput of the pipeline.
#[derive(Clone)]
pub struct StageReplicas(Vec<Arc<dyn Backend>>);

impl StageReplicas {
    /// The devices, in the order in which they process micro-batches.
    pub fn devices(&self) -> &[Arc<dyn Backend>] {
        &self.0
    }
}

impl fmt::Debug for StageReplicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|device| device.name()))
            .finish()
    }
}

impl From<Arc<dyn Backend>> for StageReplicas {
    fn from(device: Arc<dyn Backend>) -> Self {
        Self(vec![device])
    }
}

impl From<&Arc<dyn Backend>> for StageReplicas {
    fn from(device: &Arc<dyn Backend>) -> Self {
        Self(vec![device.clone()])
    }
}

impl From<Vec<Arc<dyn Backend>>> for StageReplicas {
    fn from(devices: Vec<Arc<dyn Backend>>) -> Self {
        Self(devices)
    }
}
