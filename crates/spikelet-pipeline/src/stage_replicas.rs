//! The devices of a stage.

use spikelet_graph::Backend;
use std::sync::Arc;

/// The devices of one stage: one, or several that take micro-batches by turns and each have the
/// stage's parameters. So a stage that has more to do than the others need not hold them up.
#[derive(Clone)]
pub struct StageReplicas(Vec<Arc<dyn Backend>>);

impl StageReplicas {
    /// The devices, in the order of their turns.
    pub fn devices(&self) -> &[Arc<dyn Backend>] {
        &self.0
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
