//! Captures of streams exclude calls that wait for a whole GPU.
//!
//! The creation and the destruction of library handles wait for all streams of a context. Such a call makes every capture
//! in that context invalid, of any thread and in any mode. A process has one context of a GPU, which all backends of that
//! GPU share.
//!
//! Source: CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture", prohibited operations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The lock of one GPU: any number of captures, or one call that waits for all of it.
#[derive(Clone)]
pub(crate) struct Captures(Arc<RwLock<()>>);

impl Captures {
    /// Those of the GPU with this index.
    pub(super) fn of(ordinal: usize) -> Self {
        static OF_GPUS: Mutex<BTreeMap<usize, Captures>> = Mutex::new(BTreeMap::new());
        let mut of_gpus = OF_GPUS.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Self(Arc::default());
        of_gpus.entry(ordinal).or_insert_with(new).clone()
    }

    /// Held during a capture.
    pub(crate) fn capturing(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held during a call that waits for the whole GPU.
    pub(crate) fn none(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_one_gpu_exclude_calls_that_wait_for_it() {
        let (one, same, other) = (Captures::of(1000), Captures::of(1000), Captures::of(1001));
        let capturing = one.capturing();
        let second = same.capturing();
        assert!(same.0.try_write().is_err());
        assert!(other.0.try_write().is_ok());
        drop((capturing, second));
        let _none = one.none();
        assert!(same.0.try_read().is_err());
    }
}
