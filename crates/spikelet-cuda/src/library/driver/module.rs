//! Kernels.

use super::{CUfunction, CUmodule, Context, DriverError, DriverResult, NewDriver, Stream};
use super::{check, written};
use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;

/// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`
const MAX_THREADS: c_int = 0;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
const MAX_SHARED: c_int = 8;

/// Code that is loaded in a context; unloaded when dropped.
pub(crate) struct Module {
    context: Arc<Context>,
    raw: CUmodule,
}

/// A kernel, which keeps its module loaded.
pub(crate) struct Function {
    module: Module,
    raw: CUfunction,
}

// SAFETY: modules and functions are not bound to a thread, and the driver lets any number of threads use them.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Context {
    /// Loads code.
    ///
    /// # Safety
    /// It is a complete cubin, or PTX that ends with a zero byte.
    pub(crate) unsafe fn load_module(self: &Arc<Self>, code: &[u8]) -> DriverResult<Module> {
        self.bind()?;
        // SAFETY: the caller's promise; one pointer is written.
        let raw = written(ptr::null_mut(), |to| unsafe {
            (self.driver.load_module)(to, code.as_ptr().cast())
        })?;
        Ok(Module {
            context: self.clone(),
            raw,
        })
    }
}

impl Module {
    /// A kernel of the module.
    pub(crate) fn function(self, name: &str) -> DriverResult<Function> {
        let name = CString::new(name).map_err(|_| DriverError::NOT_FOUND)?;
        // SAFETY: the module is loaded, the name a string; one pointer is written.
        let raw = written(ptr::null_mut(), |to| unsafe {
            (self.context.driver.function)(to, self.raw, name.as_ptr())
        })?;
        Ok(Function { module: self, raw })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: loaded by `load_module`, unloaded once. A failure is ignored: there is no remedy.
        let _ = unsafe { (self.context.driver.unload_module)(self.raw) };
    }
}

impl Function {
    /// The most threads of a block.
    pub(crate) fn max_threads(&self) -> DriverResult<c_int> {
        self.attribute(MAX_THREADS)
    }

    /// The largest dynamic shared memory of a launch in bytes.
    pub(crate) fn max_shared(&self) -> DriverResult<c_int> {
        self.attribute(MAX_SHARED)
    }

    fn attribute(&self, which: c_int) -> DriverResult<c_int> {
        let context = &self.module.context;
        context.bind()?;
        // SAFETY: the function is loaded; one number is written.
        written(0, |to| unsafe {
            (context.driver.function_attribute)(to, which, self.raw)
        })
    }

    /// Sets the largest dynamic shared memory of a launch.
    pub(crate) fn set_max_shared(&self, bytes: c_int) -> DriverResult {
        let context = &self.module.context;
        context.bind()?;
        // SAFETY: the function is loaded.
        check(unsafe { (context.driver.set_function_attribute)(self.raw, MAX_SHARED, bytes) })
    }

    /// Starts the kernel on a stream of its context.
    ///
    /// # Safety
    /// The arguments must match the kernel's parameters, and point to memory that is large enough and
    /// alive until the kernel has finished; the context is current.
    pub(crate) unsafe fn start(
        &self,
        [grid_x, grid_y, grid_z]: [c_uint; 3],
        [x, y, z]: [c_uint; 3],
        shared: c_uint,
        stream: &Stream,
        arguments: &mut [*mut c_void],
    ) -> DriverResult {
        let (launch, stream) = (self.module.context.driver.launch, stream.raw());
        let (arguments, extra) = (arguments.as_mut_ptr(), ptr::null_mut());
        // SAFETY: the caller's promise; the driver copies the arguments before it returns.
        check(unsafe {
            launch(
                self.raw, grid_x, grid_y, grid_z, x, y, z, shared, stream, arguments, extra,
            )
        })
    }

    /// Loads the kernel, which drivers before CUDA 12.4 do only when it is first started. A failure is that of the first
    /// start.
    pub(crate) fn load(&self) {
        if let Ok(driver) = NewDriver::get() {
            // SAFETY: the function belongs to a loaded module.
            let _ = unsafe { (driver.load_function)(self.raw) };
        }
    }

    /// The bytes of the parameter with this index; `None` if there are not so many.
    pub(crate) fn parameter(&self, driver: &NewDriver, k: usize) -> DriverResult<Option<usize>> {
        // SAFETY: the function is loaded; two numbers are written.
        let sizes = written((0, 0), |(offset, bytes)| unsafe {
            (driver.parameter)(self.raw, k, offset, bytes)
        });
        match sizes {
            Ok((_, bytes)) => Ok(Some(bytes)),
            Err(DriverError::INVALID_VALUE) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
