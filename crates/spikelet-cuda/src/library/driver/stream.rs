//! Streams and events.

use super::{CUevent, CUstream, Context, DriverResult, check, written};
use std::ffi::c_uint;
use std::ptr;
use std::sync::Arc;

/// `CU_STREAM_NON_BLOCKING`: the stream does not wait for the default stream.
const NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DEFAULT`: an event with a time.
pub(crate) const TIMED: c_uint = 0;
/// `CU_EVENT_DISABLE_TIMING`: an event for waiting only.
pub(crate) const UNTIMED: c_uint = 2;

/// A stream of a context.
pub(crate) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) raw: CUstream,
    /// Whether another program destroys it.
    is_borrowed: bool,
}

// SAFETY: a stream is not bound to a thread, and the driver lets any number of threads use it.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Context {
    /// A stream that does not wait for the default stream.
    pub(crate) fn new_stream(self: &Arc<Self>) -> DriverResult<Arc<Stream>> {
        self.bind()?;
        // SAFETY: one pointer is written.
        let raw = written(ptr::null_mut(), |to| unsafe {
            (self.driver.create_stream)(to, NON_BLOCKING)
        })?;
        Ok(Arc::new(Stream {
            context: self.clone(),
            raw,
            is_borrowed: false,
        }))
    }

    /// A stream of another program, which destroys it.
    ///
    /// # Safety
    /// It is a stream of this context, or null for the default stream, and alive as long as the result.
    pub(crate) unsafe fn borrowed_stream(self: &Arc<Self>, raw: CUstream) -> Arc<Stream> {
        Arc::new(Stream {
            context: self.clone(),
            raw,
            is_borrowed: true,
        })
    }

    /// An event that is not recorded yet, [`TIMED`] or [`UNTIMED`].
    pub(crate) fn new_event(self: &Arc<Self>, flags: c_uint) -> DriverResult<Event> {
        self.bind()?;
        // SAFETY: one pointer is written.
        let raw = written(ptr::null_mut(), |to| unsafe {
            (self.driver.create_event)(to, flags)
        })?;
        Ok(Event {
            context: self.clone(),
            raw,
        })
    }
}

impl Stream {
    /// The driver's handle, which is alive as long as this.
    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }

    /// Waits for all work on the stream.
    pub(crate) fn synchronize(&self) -> DriverResult {
        self.context.bind()?;
        // SAFETY: the stream is alive.
        check(unsafe { (self.context.driver.synchronize)(self.raw) })
    }

    /// A new event after the work so far, [`TIMED`] or [`UNTIMED`].
    pub(crate) fn record_event(&self, flags: c_uint) -> DriverResult<Event> {
        let event = self.context.new_event(flags)?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes later work wait for an event.
    pub(crate) fn wait(&self, event: &Event) -> DriverResult {
        self.context.bind()?;
        // SAFETY: stream and event are alive; flags must be 0.
        check(unsafe { (self.context.driver.wait_for)(self.raw, event.raw, 0) })
    }

    /// Starts to set bytes of device memory.
    ///
    /// # Safety
    /// `to` points to so many bytes of device memory until it is done.
    pub(crate) unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> DriverResult {
        // SAFETY: the caller's promise.
        check(unsafe { (self.context.driver.fill)(to, byte, bytes, self.raw) })
    }

    /// Starts a copy of host bytes to the device.
    ///
    /// # Safety
    /// `to` points to `from.len()` bytes of device memory, and `from` outlives the copy and is not written before it is
    /// done.
    pub(crate) unsafe fn upload(&self, to: u64, from: &[u8]) -> DriverResult {
        let driver = self.context.driver;
        // SAFETY: the caller's promise.
        check(unsafe { (driver.upload)(to, from.as_ptr().cast(), from.len(), self.raw) })
    }

    /// Starts a copy of device bytes to the host.
    ///
    /// # Safety
    /// `from` points to `to.len()` bytes of device memory, and `to` outlives the copy and is not accessed before it is
    /// done.
    pub(crate) unsafe fn download(&self, to: &mut [u8], from: u64) -> DriverResult {
        let driver = self.context.driver;
        // SAFETY: the caller's promise.
        check(unsafe { (driver.download)(to.as_mut_ptr().cast(), from, to.len(), self.raw) })
    }

    /// Starts a copy on the device.
    ///
    /// # Safety
    /// Both addresses point to so many bytes of this GPU's memory until it is done.
    pub(crate) unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> DriverResult {
        // SAFETY: the caller's promise.
        check(unsafe { (self.context.driver.copy)(to, from, bytes, self.raw) })
    }

    /// Starts a copy from another GPU.
    ///
    /// # Safety
    /// As for [`Stream::copy`], with `from` in the memory of the other context.
    pub(crate) unsafe fn copy_peer(
        &self,
        to: u64,
        (other, from): (&Context, u64),
        bytes: usize,
    ) -> DriverResult {
        let context = &self.context;
        // SAFETY: the caller's promise; both contexts are alive.
        check(unsafe {
            let copy = context.driver.copy_peer;
            copy(to, context.raw(), from, other.raw(), bytes, self.raw)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.is_borrowed {
            let _ = self.context.bind();
            // SAFETY: created by `new_stream`, destroyed once. A failure is ignored: there is no remedy.
            let _ = unsafe { (self.context.driver.destroy_stream)(self.raw) };
        }
    }
}

/// A point in the work of a stream.
pub(crate) struct Event {
    context: Arc<Context>,
    raw: CUevent,
}

// SAFETY: an event is not bound to a thread, and the driver lets any number of threads use it.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Marks the work so far on a stream of the same context.
    pub(crate) fn record(&self, stream: &Stream) -> DriverResult {
        self.context.bind()?;
        // SAFETY: both are alive; the driver refuses a stream of another context.
        check(unsafe { (self.context.driver.record_event)(self.raw, stream.raw) })
    }

    /// Waits until it is reached.
    pub(crate) fn synchronize(&self) -> DriverResult {
        self.context.bind()?;
        // SAFETY: the event is alive.
        check(unsafe { (self.context.driver.synchronize_event)(self.raw) })
    }

    /// The milliseconds from this event to a later one; waits for both.
    pub(crate) fn elapsed_ms(&self, end: &Self) -> DriverResult<f32> {
        self.synchronize()?;
        end.synchronize()?;
        // SAFETY: both are alive; one number is written; the driver refuses an event of another context.
        written(0.0, |to| unsafe {
            (self.context.driver.elapsed)(to, self.raw, end.raw)
        })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: created by `new_event`, destroyed once. A failure is ignored: there is no remedy.
        let _ = unsafe { (self.context.driver.destroy_event)(self.raw) };
    }
}
