//! Memory on a device, and the device that it belongs to.

use crate::error::{Error, Result};
use crate::types::TensorType;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One device that a program has opened: an instance of a backend, shared by its clones.
///
/// Two backends of the same kind, such as two CPUs, have different ids. Each orders
/// only its own work, so a buffer is used only by the device that allocated it.
///
/// ```
/// use spikelet_graph::DeviceId;
/// assert_ne!(DeviceId::unique(), DeviceId::unique());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId(u64);

impl DeviceId {
    /// An id that no other device of the process has.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A piece of a device's memory, with any content.
pub trait Storage: Any + Send + Sync {
    /// The device that allocated it.
    fn device(&self) -> DeviceId;

    /// Its size in bytes.
    fn bytes(&self) -> usize;
}

/// Memory on a device that outlives a run: a parameter, a state, an input, an output.
#[derive(Clone)]
pub struct Buffer {
    /// Element type and shape.
    pub ty: TensorType,
    /// The device's own handle.
    pub handle: Arc<dyn Storage>,
}

impl Buffer {
    /// The memory of the buffer, for the device that allocated it. Backends access memory only through this
    /// method, so none accesses another one's.
    ///
    /// # Errors
    /// [`Error::ForeignBuffer`] when another device allocated it, [`Error::Storage`] when the
    /// memory is smaller than the buffer's type needs.
    pub fn storage<S: Storage>(&self, device: DeviceId, name: &str) -> Result<&S> {
        let handle: &dyn Any = &*self.handle;
        let own = handle.downcast_ref::<S>().filter(|s| s.device() == device);
        let Some(storage) = own else {
            return Err(Error::ForeignBuffer {
                backend: name.to_string(),
                buffer: "the buffer".to_string(),
            });
        };
        // The type of a buffer is public and may have been changed, the memory is not.
        if self.ty.bytes() > storage.bytes() {
            return Err(Error::Storage {
                backend: name.to_string(),
                bytes: storage.bytes(),
                ty: self.ty.clone(),
            });
        }
        Ok(storage)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("ty", &self.ty)
            .finish_non_exhaustive()
    }
}
