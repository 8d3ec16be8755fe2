//! CUDA graphs that streams are captured into.
//!
//! A captured operation depends on those before it on the stream. A kernel that may run earlier gets the nodes that it
//! waits for instead.
//!
//! Source: CUDA Driver API, Stream Management and Graph Management.

use super::{CUcontext, CUgraph, CUgraphExec, CUgraphNode, DriverError, DriverResult, Stream};
use super::{Driver, NewDriver, check, written};
use std::ffi::{c_int, c_uint, c_ulonglong};
use std::ptr;
use std::sync::Arc;

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`: calls of other threads are not restricted.
const THREAD_LOCAL: c_int = 1;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`
const RELAXED: c_int = 2;
/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`: the next node depends on the given ones only.
const SET_DEPENDENCIES: c_uint = 1;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`
const AUTO_FREE: c_ulonglong = 1;
/// `CU_GRAPH_COND_ASSIGN_DEFAULT`: a launch of the graph sets the condition to the default.
const ASSIGN_DEFAULT: c_uint = 1;
/// `CU_GRAPH_NODE_TYPE_CONDITIONAL`
const CONDITIONAL: c_int = 13;
/// `CU_GRAPH_COND_TYPE_WHILE`
const WHILE: c_int = 1;

/// `CUgraphNodeParams` of a conditional node.
#[repr(C)]
pub(crate) struct LoopNode {
    kind: c_int,
    reserved: [c_int; 3],
    condition: u64,
    condition_kind: c_int,
    /// The number of bodies.
    size: c_uint,
    /// Set to an array of the driver's.
    bodies: *mut CUgraph,
    context: CUcontext,
    unused: [i64; 26],
}

const _: () = assert!(size_of::<LoopNode>() == 256);

/// A graph that was captured, ready to be launched.
pub(crate) struct Graph {
    stream: Arc<Stream>,
    raw: CUgraph,
    executable: CUgraphExec,
}

// SAFETY: the driver lets any thread use a graph, one at a time; it is only used through `&self` by its owner.
unsafe impl Send for Graph {}

impl Stream {
    /// Captures what `work` enqueues, on this thread; `None` if that is nothing. The stream is not captured afterwards,
    /// whatever `work` returns.
    pub(crate) fn capture<E>(
        self: &Arc<Self>,
        error: impl Fn(DriverError) -> E,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Graph>, E> {
        let driver = self.context.driver;
        self.context.bind().map_err(&error)?;
        // SAFETY: the stream is alive.
        check(unsafe { (driver.begin_capture)(self.raw, THREAD_LOCAL) }).map_err(&error)?;
        let worked = work();
        let ended = self.end_capture();
        let graph = ended.map(|raw| Graph {
            stream: self.clone(),
            raw,
            executable: ptr::null_mut(),
        });
        worked?;
        let mut graph = graph.map_err(&error)?;
        if graph.raw.is_null() {
            return Ok(None);
        }
        // SAFETY: the graph is alive and in use by this thread only; one pointer is written.
        check(unsafe { (driver.instantiate)(&mut graph.executable, graph.raw, AUTO_FREE) })
            .map_err(&error)?;
        Ok(Some(graph))
    }

    fn end_capture(&self) -> DriverResult<CUgraph> {
        self.context.bind()?;
        // SAFETY: the stream is alive, one pointer is written; the driver refuses a stream that is not captured.
        written(ptr::null_mut(), |to| unsafe {
            (self.context.driver.end_capture)(self.raw, to)
        })
    }

    /// The graph that the stream is captured into, and the nodes that the next one depends on.
    pub(crate) fn captured(&self) -> DriverResult<(CUgraph, Vec<CUgraphNode>)> {
        let (mut state, mut id, mut count) = (0, 0, 0);
        let (mut graph, mut nodes) = (ptr::null_mut(), ptr::null());
        // SAFETY: each is written.
        check(unsafe {
            (self.context.driver.capture_info)(
                self.raw, &mut state, &mut id, &mut graph, &mut nodes, &mut count,
            )
        })?;
        if graph.is_null() {
            return Err(DriverError::ILLEGAL_STATE);
        }
        if count == 0 {
            return Ok((graph, vec![]));
        }
        // SAFETY: an array of so many nodes, alive until the next call for this stream.
        let nodes = unsafe { std::slice::from_raw_parts(nodes, count) };
        Ok((graph, nodes.to_vec()))
    }

    /// Makes the next captured operation depend on these nodes only.
    ///
    /// # Safety
    /// The nodes must be of the graph that the stream is captured into.
    pub(crate) unsafe fn depend_on(&self, nodes: &mut [CUgraphNode]) -> DriverResult {
        let set = self.context.driver.set_dependencies;
        // SAFETY: an array of so many nodes of this graph.
        check(unsafe { set(self.raw, nodes.as_mut_ptr(), nodes.len(), SET_DEPENDENCIES) })
    }

    /// Creates the condition of a loop in the graph that the stream is captured into.
    pub(crate) fn new_condition(&self, driver: &NewDriver) -> DriverResult<u64> {
        let (graph, _) = self.captured()?;
        let context = self.context.raw();
        // SAFETY: graph and context are alive; one number is written.
        written(0, |to| unsafe {
            (driver.create_condition)(to, graph, context, 0, ASSIGN_DEFAULT)
        })
    }

    /// Adds a WHILE node behind what was captured, and returns the graph of its body, which belongs to the node.
    pub(crate) fn add_loop(&self, driver: &NewDriver, condition: u64) -> DriverResult<CUgraph> {
        let (graph, dependencies) = self.captured()?;
        let mut node = LoopNode {
            kind: CONDITIONAL,
            reserved: [0; 3],
            condition,
            condition_kind: WHILE,
            size: 1,
            bodies: ptr::null_mut(),
            context: self.context.raw(),
            unused: [0; 26],
        };
        // SAFETY: graph and dependencies are those of the capture, in which the condition was created; one pointer and
        // the node are written.
        let added = written(ptr::null_mut(), |to| unsafe {
            let dependencies = (dependencies.as_ptr(), dependencies.len());
            (driver.add_node)(to, graph, dependencies.0, dependencies.1, &mut node)
        })?;
        // SAFETY: one node, which was added to the graph of this capture.
        unsafe { self.depend_on(&mut [added]) }?;
        // SAFETY: null, or the driver has set it to an array of one graph, which lives as long as the node.
        let body = unsafe { node.bodies.as_ref() };
        body.copied().ok_or(DriverError::ILLEGAL_STATE)
    }

    /// Captures what `work` enqueues into a graph without nodes, on this thread. The stream is not captured afterwards,
    /// whatever `work` returns.
    ///
    /// # Safety
    /// The graph must be alive and in use by this thread only.
    pub(crate) unsafe fn capture_to<E>(
        &self,
        driver: &NewDriver,
        graph: CUgraph,
        error: impl Fn(DriverError) -> E,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: stream and graph are alive; without dependencies there is nothing to read.
        let begun = check(unsafe {
            (driver.capture_to)(self.raw, graph, ptr::null(), ptr::null(), 0, THREAD_LOCAL)
        });
        begun.map_err(&error)?;
        let worked = work();
        let ended = self.end_capture();
        worked?;
        ended.map(|_| ()).map_err(error)
    }
}

impl Graph {
    /// Starts all work of the graph on the stream that was captured.
    pub(crate) fn launch(&self) -> DriverResult {
        let context = &self.stream.context;
        context.bind()?;
        // SAFETY: graph and stream are alive.
        check(unsafe { (context.driver.launch_graph)(self.executable, self.stream.raw) })
    }

    /// The number of its nodes, and of those of `bodies`, each without the bodies of its loops.
    ///
    /// # Safety
    /// The bodies must belong to loops of this graph, which must be in use by this thread only.
    pub(crate) unsafe fn count_nodes(&self, bodies: &[CUgraph]) -> DriverResult<usize> {
        let mut total = 0;
        for graph in bodies.iter().chain([&self.raw]) {
            // SAFETY: the caller's promise; without an array of nodes only their number is written.
            total += written(0, |to| unsafe {
                (self.stream.context.driver.graph_nodes)(*graph, ptr::null_mut(), to)
            })?;
        }
        Ok(total)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let driver = self.stream.context.driver;
        // SAFETY: made by `capture`, destroyed once. A failure is ignored: there is no remedy.
        unsafe {
            if !self.executable.is_null() {
                let _ = (driver.destroy_instance)(self.executable);
            }
            if !self.raw.is_null() {
                let _ = (driver.destroy_graph)(self.raw);
            }
        }
    }
}

/// Lets this thread allocate while another stream is captured, until it is dropped.
pub(crate) struct RelaxedCapture {
    driver: &'static Driver,
    /// The mode of the thread before.
    mode: c_int,
}

impl RelaxedCapture {
    pub(crate) fn new(driver: &'static Driver) -> Self {
        let mut mode = RELAXED;
        // SAFETY: exchanges a mode of this thread.
        let _ = unsafe { (driver.exchange_capture_mode)(&mut mode) };
        Self { driver, mode }
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe { (self.driver.exchange_capture_mode)(&mut self.mode) };
    }
}
