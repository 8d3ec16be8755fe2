//! The nodes of the CUDA graph that a stream is captured into.
//!
//! A captured operation depends on those before it on the stream. A kernel that may run earlier gets the nodes that it
//! waits for instead.
//!
//! Source: CUDA Driver API, Stream Management.

use crate::error::failure;
use crate::gpu::Gpu;
use crate::library::functions::{functions, text};
use crate::library::{self, Library};
use cudarc::driver::CudaStream;
use cudarc::driver::sys::{CUgraph, CUgraphNode, CUstream};
use spikelet_graph::Result;
use std::ffi::{c_char, c_uint, c_ulonglong};
use std::ptr;

/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`: the next node depends on the given ones only.
const SET_DEPENDENCIES: c_uint = 1;

/// The status of a successful call.
const SUCCESS: c_uint = 0;

functions! {
    /// Functions of `cuda.h`, which exist since CUDA 11.3.
    struct Api {
        capture_info: "cuStreamGetCaptureInfo_v2"(
            CUstream,
            *mut c_uint,
            *mut c_ulonglong,
            *mut CUgraph,
            *mut *const CUgraphNode,
            *mut usize,
        ) -> c_uint;
        set_dependencies: "cuStreamUpdateCaptureDependencies"(
            CUstream,
            *mut CUgraphNode,
            usize,
            c_uint,
        ) -> c_uint;
        error_name: "cuGetErrorName"(c_uint, *mut *const c_char) -> c_uint;
    }
}

/// Reads and sets what the next captured operation depends on.
pub(crate) struct CaptureNodes(Api);

impl CaptureNodes {
    /// Looks the driver's functions up.
    ///
    /// # Errors
    /// Names the missing function of an old driver.
    pub(crate) fn open() -> std::result::Result<Self, String> {
        let loaded = library::open(Library::Driver).map_err(|missing| missing.to_string())?;
        Api::of(loaded).map(Self)
    }

    /// The graph that a stream is captured into, and the nodes that the next one depends on.
    pub(crate) fn captured(
        &self,
        gpu: &Gpu,
        stream: &CudaStream,
    ) -> Result<(CUgraph, Vec<CUgraphNode>)> {
        let (mut state, mut id, mut count) = (0, 0, 0);
        let (mut graph, mut nodes) = (ptr::null_mut(), ptr::null());
        // SAFETY: each is written.
        let status = unsafe {
            (self.0.capture_info)(
                stream.cu_stream(),
                &mut state,
                &mut id,
                &mut graph,
                &mut nodes,
                &mut count,
            )
        };
        self.succeed(gpu, status)?;
        if graph.is_null() {
            return Err(failure(
                &gpu.name,
                "recording a graph: the stream is not captured",
            ));
        }
        if count == 0 {
            return Ok((graph, vec![]));
        }
        // SAFETY: an array of so many nodes, alive until the next call for this stream.
        let nodes = unsafe { std::slice::from_raw_parts(nodes, count) };
        Ok((graph, nodes.to_vec()))
    }

    /// Makes the next operation of a captured stream depend on these nodes only.
    ///
    /// # Safety
    /// The nodes must be of the graph that the stream is captured into.
    pub(crate) unsafe fn depend_on(
        &self,
        gpu: &Gpu,
        stream: &CudaStream,
        nodes: &mut [CUgraphNode],
    ) -> Result<()> {
        // SAFETY: an array of so many nodes of this graph.
        let status = unsafe {
            (self.0.set_dependencies)(
                stream.cu_stream(),
                nodes.as_mut_ptr(),
                nodes.len(),
                SET_DEPENDENCIES,
            )
        };
        self.succeed(gpu, status)
    }

    fn succeed(&self, gpu: &Gpu, status: c_uint) -> Result<()> {
        let checked = self.check(status);
        checked.map_err(|problem| failure(&gpu.name, format!("recording a graph: {problem}")))
    }

    /// An error with the driver's name of any status but success.
    pub(crate) fn check(&self, status: c_uint) -> std::result::Result<(), String> {
        if status == SUCCESS {
            return Ok(());
        }
        let mut name = ptr::null();
        // SAFETY: it writes a pointer to a static string, or null for an unknown status.
        let name = unsafe {
            (self.0.error_name)(status, &mut name);
            text(name)
        };
        Err(name.unwrap_or_else(|| format!("error {status}")))
    }
}
