//! cuDNN's handle, which is used by one thread at a time.

use super::api::{Api, ApiResult, RawHandle};
use crate::gpu::Gpu;
use crate::library::driver::Stream;
use crate::library::{self, Library};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle whose stream is the GPU's, except during [`Running::on`].
pub(super) struct Session {
    api: &'static Api,
    handle: Mutex<Handle>,
    gpu: Arc<Gpu>,
}

struct Handle(RawHandle);

// SAFETY: a handle is not bound to a thread; the lock prevents concurrent use.
unsafe impl Send for Handle {}

impl Session {
    /// The GPU's context must be current.
    pub(super) fn new(api: &'static Api, gpu: Arc<Gpu>) -> ApiResult<Self> {
        // Some engines call cuBLASLt, which cuDNN opens by name and finds if it is already loaded, as
        // NVRTC is. Engines without it are not offered.
        let _ = library::find(Library::CublasLt);
        let mut handle = ptr::null_mut();
        let status = {
            let _waits = gpu.captures.none();
            // SAFETY: it writes one pointer.
            unsafe { (api.create)(&mut handle) }
        };
        api.check(status, format_args!("cudnnCreate"))?;
        let session = Self {
            api,
            handle: Mutex::new(Handle(handle)),
            gpu,
        };
        session.lock().set_stream(&session.gpu.stream)?;
        Ok(session)
    }

    pub(super) fn api(&self) -> &'static Api {
        self.api
    }

    /// Locks the handle for this thread.
    pub(super) fn lock(&self) -> Running<'_> {
        Running {
            session: self,
            handle: self.handle.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let handle = self
            .handle
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if self.gpu.bind().is_ok() {
            let _waits = self.gpu.captures.none();
            // SAFETY: created by `new`, destroyed once. A failure is ignored: there is no remedy.
            let _ = unsafe { (self.api.destroy)(handle.0) };
        }
    }
}

/// A handle in use by this thread.
pub(super) struct Running<'a> {
    session: &'a Session,
    handle: MutexGuard<'a, Handle>,
}

impl Running<'_> {
    pub(super) fn api(&self) -> &'static Api {
        self.session.api
    }

    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        &self.session.gpu
    }

    pub(super) fn raw(&self) -> RawHandle {
        self.handle.0
    }

    fn set_stream(&self, stream: &Stream) -> ApiResult<()> {
        // SAFETY: the handle is alive; the GPU's stream outlives it, any other is replaced by `on`
        // before it is destroyed.
        let status = unsafe { (self.api().set_stream)(self.raw(), stream.raw()) };
        self.api().check(status, format_args!("cudnnSetStream"))
    }

    /// Runs a closure with another stream than the GPU's.
    pub(super) fn on<T>(
        &self,
        stream: &Stream,
        run: impl FnOnce() -> ApiResult<T>,
    ) -> ApiResult<T> {
        let result = self.set_stream(stream).and_then(|()| run());
        self.set_stream(&self.gpu().stream)?;
        result
    }
}
