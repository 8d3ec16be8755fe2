//! GPUs, their contexts, and the context that is current in a thread.

use super::{CUcontext, Driver, DriverResult, check, written};
use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::Arc;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];

impl Driver {
    /// Starts the driver, which is done before any other call.
    pub(crate) fn start(&self) -> DriverResult {
        // SAFETY: it has no preconditions; flags must be 0.
        check(unsafe { (self.init)(0) })
    }

    /// The number of GPUs that this process may use.
    pub(crate) fn count(&self) -> DriverResult<usize> {
        // SAFETY: one number is written.
        let count = written(0, |to| unsafe { (self.device_count)(to) })?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The current context of this thread, or null.
    fn current(&self) -> DriverResult<CUcontext> {
        // SAFETY: one pointer is written.
        written(ptr::null_mut(), |to| unsafe { (self.current_context)(to) })
    }

    /// The index of the GPU that is current in this thread, if there is one.
    pub(crate) fn current_gpu(&self) -> DriverResult<Option<usize>> {
        if self.current()?.is_null() {
            return Ok(None);
        }
        // SAFETY: one number is written, and the thread has a current context.
        let device = written(0, |to| unsafe { (self.current_device)(to) })?;
        Ok(usize::try_from(device).ok())
    }

    /// Makes a context current in this thread; null makes none current.
    fn bind(&self, context: CUcontext) -> DriverResult {
        if self.current()? == context {
            return Ok(());
        }
        // SAFETY: the driver refuses a context that was destroyed.
        check(unsafe { (self.set_current)(context) })
    }
}

/// A GPU.
#[derive(Clone, Copy)]
pub(crate) struct Device {
    driver: &'static Driver,
    raw: c_int,
}

impl Device {
    /// The GPU with this index.
    pub(crate) fn new(driver: &'static Driver, index: usize) -> DriverResult<Self> {
        let index = c_int::try_from(index).unwrap_or(c_int::MAX);
        // SAFETY: one number is written.
        let raw = written(0, |to| unsafe { (driver.device)(to, index) })?;
        Ok(Self { driver, raw })
    }

    pub(crate) fn name(self) -> DriverResult<String> {
        let name = written([0_u8; 128], |to| {
            let length = to.len() as c_int;
            // SAFETY: a null-terminated name of at most this length is written.
            unsafe { (self.driver.device_name)(to.as_mut_ptr().cast(), length, self.raw) }
        })?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    pub(crate) fn uuid(self) -> DriverResult<[u8; 16]> {
        // SAFETY: 16 bytes are written.
        written([0; 16], |to| unsafe {
            (self.driver.device_uuid)(to, self.raw)
        })
    }

    /// Bytes of its memory.
    pub(crate) fn memory(self) -> DriverResult<usize> {
        // SAFETY: one number is written.
        written(0, |to| unsafe { (self.driver.device_memory)(to, self.raw) })
    }

    /// The value of a `CUdevice_attribute`.
    pub(crate) fn attribute(self, which: c_int) -> DriverResult<c_int> {
        // SAFETY: one number is written; the driver refuses an unknown attribute.
        written(0, |to| unsafe {
            (self.driver.device_attribute)(to, which, self.raw)
        })
    }

    pub(crate) fn capability(self) -> DriverResult<(i32, i32)> {
        let [major, minor] = CAPABILITY;
        Ok((self.attribute(major)?, self.attribute(minor)?))
    }
}

/// The primary context of a GPU, which the libraries of a process share; released when dropped.
pub(crate) struct Context {
    pub(crate) driver: &'static Driver,
    pub(crate) device: Device,
    /// The index of the GPU.
    pub(crate) ordinal: usize,
    raw: CUcontext,
}

// SAFETY: a context is not bound to a thread, and the driver lets any number of threads use it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// The context of the GPU with this index, after [`Driver::start`].
    pub(crate) fn new(driver: &'static Driver, ordinal: usize) -> DriverResult<Arc<Self>> {
        let device = Device::new(driver, ordinal)?;
        // SAFETY: one pointer is written.
        let raw = written(ptr::null_mut(), |to| unsafe {
            (driver.retain_context)(to, device.raw)
        })?;
        Ok(Arc::new(Self {
            driver,
            device,
            ordinal,
            raw,
        }))
    }

    /// The driver's handle, which is alive as long as this.
    pub(crate) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// Makes it current in this thread.
    pub(crate) fn bind(&self) -> DriverResult {
        self.driver.bind(self.raw)
    }

    /// Lets kernels and copies of this context access the memory of another GPU's.
    pub(crate) fn enable_peer_access(&self, peer: &Self) -> DriverResult {
        self.bind()?;
        // SAFETY: both contexts are alive; flags must be 0.
        check(unsafe { (self.driver.enable_peer_access)(peer.raw, 0) })
    }

    /// Free bytes of device memory, and all of them.
    pub(crate) fn memory(&self) -> DriverResult<(usize, usize)> {
        self.bind()?;
        // SAFETY: two numbers are written.
        written((0, 0), |(free, total)| unsafe {
            (self.driver.free_memory)(free, total)
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained by `new`, released once. A failure is ignored: there is no remedy.
        let _ = unsafe { (self.driver.release_context)(self.device.raw) };
    }
}

/// A context that is current in this thread until this is dropped, which makes the one before it current again.
pub(crate) struct CurrentContext {
    driver: &'static Driver,
    /// Null if there was none. A pointer, so that this stays in its thread.
    before: CUcontext,
}

impl CurrentContext {
    pub(crate) fn new(context: &Context) -> DriverResult<Self> {
        let driver = context.driver;
        let before = driver.current()?;
        context.bind()?;
        Ok(Self { driver, before })
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        if let Err(error) = self.driver.bind(self.before) {
            tracing::warn!("the GPU that was current before cannot be made current again: {error}");
        }
    }
}
