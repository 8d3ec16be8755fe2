//! The driver: its functions, and objects that are destroyed when dropped.
//!
//! Every object keeps its context. Its functions make the context current in the calling thread, except those that only
//! enqueue work on a stream, for which the caller has done so.

mod context;
mod graph;
mod module;
mod stream;

pub(crate) use context::{Context, CurrentContext, Device};
pub(crate) use graph::{Graph, LoopNode, RelaxedCapture};
pub(crate) use module::Function;
pub(crate) use stream::{Event, Stream, TIMED, UNTIMED};

use super::functions::{self, functions, text};
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::fmt;
use std::ptr;

/// Declares pointers to types of the driver.
macro_rules! handles {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("A `", stringify!($name), "` of `cuda.h`.")]
            pub(crate) type $name = *mut opaque::$name;
        )*
        mod opaque {
            $(pub(crate) enum $name {})*
        }
    };
}

handles! { CUcontext CUmodule CUfunction CUstream CUevent CUgraph CUgraphExec CUgraphNode }

functions! {
    /// Functions of `cuda.h`. Its macros give some of them a suffix, which is part of the symbol.
    pub(crate) struct Driver of Driver "11.4" {
        init: "cuInit"(c_uint) -> c_int;
        error_name: "cuGetErrorName"(c_int, *mut *const c_char) -> c_int;
        error_string: "cuGetErrorString"(c_int, *mut *const c_char) -> c_int;
        device_count: "cuDeviceGetCount"(*mut c_int) -> c_int;
        device: "cuDeviceGet"(*mut c_int, c_int) -> c_int;
        device_name: "cuDeviceGetName"(*mut c_char, c_int, c_int) -> c_int;
        device_uuid: "cuDeviceGetUuid_v2"(*mut [u8; 16], c_int) -> c_int;
        device_memory: "cuDeviceTotalMem_v2"(*mut usize, c_int) -> c_int;
        device_attribute: "cuDeviceGetAttribute"(*mut c_int, c_int, c_int) -> c_int;
        retain_context: "cuDevicePrimaryCtxRetain"(*mut CUcontext, c_int) -> c_int;
        release_context: "cuDevicePrimaryCtxRelease_v2"(c_int) -> c_int;
        current_context: "cuCtxGetCurrent"(*mut CUcontext) -> c_int;
        set_current: "cuCtxSetCurrent"(CUcontext) -> c_int;
        current_device: "cuCtxGetDevice"(*mut c_int) -> c_int;
        enable_peer_access: "cuCtxEnablePeerAccess"(CUcontext, c_uint) -> c_int;
        free_memory: "cuMemGetInfo_v2"(*mut usize, *mut usize) -> c_int;
        allocate: "cuMemAlloc_v2"(*mut u64, usize) -> c_int;
        free: "cuMemFree_v2"(u64) -> c_int;
        allocate_host: "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint) -> c_int;
        free_host: "cuMemFreeHost"(*mut c_void) -> c_int;
        fill: "cuMemsetD8Async"(u64, c_uchar, usize, CUstream) -> c_int;
        upload: "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, CUstream) -> c_int;
        download: "cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, CUstream) -> c_int;
        copy: "cuMemcpyDtoDAsync_v2"(u64, u64, usize, CUstream) -> c_int;
        copy_peer: "cuMemcpyPeerAsync"(u64, CUcontext, u64, CUcontext, usize, CUstream) -> c_int;
        create_stream: "cuStreamCreate"(*mut CUstream, c_uint) -> c_int;
        destroy_stream: "cuStreamDestroy_v2"(CUstream) -> c_int;
        synchronize: "cuStreamSynchronize"(CUstream) -> c_int;
        wait_for: "cuStreamWaitEvent"(CUstream, CUevent, c_uint) -> c_int;
        create_event: "cuEventCreate"(*mut CUevent, c_uint) -> c_int;
        destroy_event: "cuEventDestroy_v2"(CUevent) -> c_int;
        record_event: "cuEventRecord"(CUevent, CUstream) -> c_int;
        synchronize_event: "cuEventSynchronize"(CUevent) -> c_int;
        // Its second version has the same result, and drivers before CUDA 12.8 lack it.
        elapsed: "cuEventElapsedTime"(*mut f32, CUevent, CUevent) -> c_int;
        load_module: "cuModuleLoadData"(*mut CUmodule, *const c_void) -> c_int;
        unload_module: "cuModuleUnload"(CUmodule) -> c_int;
        function: "cuModuleGetFunction"(*mut CUfunction, CUmodule, *const c_char) -> c_int;
        function_attribute: "cuFuncGetAttribute"(*mut c_int, c_int, CUfunction) -> c_int;
        set_function_attribute: "cuFuncSetAttribute"(CUfunction, c_int, c_int) -> c_int;
        launch: "cuLaunchKernel"(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void,
            *mut *mut c_void,
        ) -> c_int;
        begin_capture: "cuStreamBeginCapture_v2"(CUstream, c_int) -> c_int;
        end_capture: "cuStreamEndCapture"(CUstream, *mut CUgraph) -> c_int;
        capture_info: "cuStreamGetCaptureInfo_v2"(
            CUstream, *mut c_int, *mut c_ulonglong, *mut CUgraph, *mut *const CUgraphNode, *mut usize,
        ) -> c_int;
        set_dependencies: "cuStreamUpdateCaptureDependencies"(
            CUstream, *mut CUgraphNode, usize, c_uint,
        ) -> c_int;
        exchange_capture_mode: "cuThreadExchangeStreamCaptureMode"(*mut c_int) -> c_int;
        instantiate: "cuGraphInstantiateWithFlags"(*mut CUgraphExec, CUgraph, c_ulonglong) -> c_int;
        launch_graph: "cuGraphLaunch"(CUgraphExec, CUstream) -> c_int;
        graph_nodes: "cuGraphGetNodes"(CUgraph, *mut CUgraphNode, *mut usize) -> c_int;
        destroy_instance: "cuGraphExecDestroy"(CUgraphExec) -> c_int;
        destroy_graph: "cuGraphDestroy"(CUgraph) -> c_int;
    }
}

functions! {
    /// Functions of `cuda.h` that older drivers lack.
    pub(crate) struct NewDriver of Driver "12.4" {
        load_function: "cuFuncLoad"(CUfunction) -> c_int;
        parameter: "cuFuncGetParamInfo"(CUfunction, usize, *mut usize, *mut usize) -> c_int;
        create_condition: "cuGraphConditionalHandleCreate"(
            *mut u64, CUgraph, CUcontext, c_uint, c_uint,
        ) -> c_int;
        add_node: "cuGraphAddNode"(
            *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *mut LoopNode,
        ) -> c_int;
        capture_to: "cuStreamBeginCaptureToGraph"(
            CUstream, CUgraph, *const CUgraphNode, *const c_void, usize, c_int,
        ) -> c_int;
    }
}

/// A status of the driver other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriverError(pub(crate) c_int);

pub(crate) type DriverResult<T = ()> = Result<T, DriverError>;

impl DriverError {
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const OUT_OF_MEMORY: Self = Self(2);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const PEER_ACCESS_UNSUPPORTED: Self = Self(217);
    pub(crate) const ILLEGAL_STATE: Self = Self(401);
    pub(crate) const NOT_FOUND: Self = Self(500);
    pub(crate) const ILLEGAL_ADDRESS: Self = Self(700);
    pub(crate) const LAUNCH_TIMEOUT: Self = Self(702);
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: Self = Self(704);
    pub(crate) const ASSERT: Self = Self(710);
    pub(crate) const TOO_MANY_PEERS: Self = Self(711);
    pub(crate) const HARDWARE_STACK_ERROR: Self = Self(714);
    pub(crate) const ILLEGAL_INSTRUCTION: Self = Self(715);
    pub(crate) const MISALIGNED_ADDRESS: Self = Self(716);
    pub(crate) const INVALID_ADDRESS_SPACE: Self = Self(717);
    pub(crate) const INVALID_PC: Self = Self(718);
    pub(crate) const LAUNCH_FAILED: Self = Self(719);

    /// The driver's name of it, null if it is unknown or there is no driver, and its message.
    fn describe(self) -> (*const c_char, Option<String>) {
        let (mut name, mut message) = (ptr::null(), ptr::null());
        if let Ok(driver) = Driver::get() {
            // SAFETY: each writes a pointer to a static string, or null for an unknown status.
            unsafe {
                (driver.error_name)(self.0, &mut name);
                (driver.error_string)(self.0, &mut message);
            }
        }
        // SAFETY: as above.
        (name, unsafe { text(message) })
    }

    /// The driver's name of it.
    pub(crate) fn name(self) -> String {
        // SAFETY: the name is null or a static string.
        unsafe { text(self.describe().0) }.unwrap_or_else(|| format!("error {}", self.0))
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the name is null or a static string.
        let text = unsafe { functions::check(self.0, || self.describe()) };
        f.write_str(&text.err().unwrap_or_default())
    }
}

/// An error of any status but success.
pub(crate) fn check(status: c_int) -> DriverResult {
    match status {
        functions::SUCCESS => Ok(()),
        status => Err(DriverError(status)),
    }
}

/// The value that a call writes over `empty`.
pub(crate) fn written<T>(mut empty: T, call: impl FnOnce(&mut T) -> c_int) -> DriverResult<T> {
    check(call(&mut empty))?;
    Ok(empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_the_driver_does_not_know_is_an_error_with_its_number() {
        assert_eq!(check(0), Ok(()));
        for status in [-1, 98_765] {
            let error = check(status).unwrap_err();
            assert_eq!(error.to_string(), format!("error {status}"));
            assert_eq!(error.name(), format!("error {status}"));
        }
        assert_eq!(
            written(0, |to| {
                *to = 3;
                0
            }),
            Ok(3)
        );
        assert_eq!(written(0, |_| 2), Err(DriverError::OUT_OF_MEMORY));
    }
}
