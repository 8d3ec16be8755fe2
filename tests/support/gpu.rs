//! The GPU of tests that are ignored by default because they need one.

use spikelet::device;
use spikelet::graph::Backend;
use std::sync::Arc;

/// The first GPU; a test that needs one fails where there is none.
pub fn gpu() -> Arc<dyn Backend> {
    device::cuda(0).expect("an NVIDIA GPU")
}
