//! The driver's functions for loops in CUDA graphs, see [`functions`](crate::library::functions).

use crate::library::functions::functions;
use crate::library::{self, Library};
use cudarc::driver::sys::{
    CUcontext, CUgraph, CUgraphConditionalHandle, CUgraphEdgeData, CUgraphNode, CUgraphNodeParams,
    CUstream,
};
use std::ffi::c_uint;

/// The oldest CUDA version of the driver.
const OLDEST: (u32, u32) = (12, 4);

functions! {
    /// The functions of `cuda.h` that older drivers lack, and those used with them.
    pub(super) struct Api {
        pub(super) create_handle: "cuGraphConditionalHandleCreate"(
            *mut CUgraphConditionalHandle,
            CUgraph,
            CUcontext,
            c_uint,
            c_uint,
        ) -> c_uint;
        pub(super) add_node: "cuGraphAddNode"(
            *mut CUgraphNode,
            CUgraph,
            *const CUgraphNode,
            usize,
            *mut CUgraphNodeParams,
        ) -> c_uint;
        pub(super) capture_to: "cuStreamBeginCaptureToGraph"(
            CUstream,
            CUgraph,
            *const CUgraphNode,
            *const CUgraphEdgeData,
            usize,
            c_uint,
        ) -> c_uint;
    }
}

impl Api {
    /// Looks the functions up; an error if the driver is too old.
    pub(super) fn open() -> Result<Self, String> {
        let loaded = library::open(Library::Driver).map_err(|missing| missing.to_string())?;
        let version = loaded.found.version.as_deref().unwrap_or_default();
        if !is_new_enough(version) {
            return Err(format!(
                "the driver supports CUDA {version}, loops in CUDA graphs need {}.{}",
                OLDEST.0, OLDEST.1
            ));
        }
        Self::of(loaded)
    }
}

/// Whether a version such as `12.4` has the nodes.
fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= OLDEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_from_cuda_12_4_on_have_loops_in_graphs() {
        for version in ["12.4", "12.10", "13.0"] {
            assert!(is_new_enough(version), "{version}");
        }
        for version in ["", "11.8", "12", "12.3"] {
            assert!(!is_new_enough(version), "{version}");
        }
    }
}
