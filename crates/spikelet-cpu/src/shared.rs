//! The state of a CPU device: its thread pool, and the lock that every access to its buffers holds.

use crate::machine;
use crate::memory::{Memory, Slot};
use crate::parallel::Pool;
use spikelet_graph::{Buffer, DeviceId, Error, Result};
use std::sync::{Mutex, MutexGuard};

/// The state that a CPU shares with the plans loaded on it.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) id: DeviceId,
    pub(crate) pool: Pool,
    /// Held during every access to this device's buffers.
    pub(crate) lock: Mutex<()>,
}

impl Shared {
    /// Locks the device's buffers for this thread.
    ///
    /// # Errors
    /// If the thread belongs to a run, which holds the lock: a custom operation that accesses buffers
    /// would deadlock.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, ()>> {
        // The pool's threads execute runs only.
        if self.pool.is_current() {
            return Err(Error::Busy {
                backend: self.name.clone(),
            });
        }
        let guard = self.lock.lock();
        Ok(guard.unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// The memory of a buffer of this device.
    pub(crate) fn memory_of<'a>(&self, buffer: &'a Buffer) -> Result<&'a Memory> {
        buffer.storage(self.id, &self.name)
    }

    /// Allocates memory; the error names its purpose.
    pub(crate) fn memory(&self, bytes: usize, what: &str) -> Result<Memory> {
        Memory::new(self.id, bytes).ok_or_else(|| {
            let free = machine::memory().map_or(String::new(), |memory| {
                let [available, total] = [memory.available, memory.total].map(size);
                format!(", {available} of {total} are free")
            });
            failure(format!(
                "out of memory: {what} needs {}{free}; use a smaller batch or fewer time steps",
                size(bytes),
            ))
        })
    }

    pub(crate) fn slot_of(&self, buffer: &Buffer) -> Result<Slot> {
        Ok(Slot {
            pointer: self.memory_of(buffer)?.at(0),
            ty: buffer.ty.clone(),
        })
    }
}

/// `1.5 GiB` and the like.
fn size(bytes: usize) -> String {
    let units = [(1_usize << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = units.iter().find(|(unit, _)| bytes >= *unit);
    fits.map_or(format!("{bytes} B"), |(unit, name)| {
        format!("{:.1} {name}", bytes as f64 / *unit as f64)
    })
}

pub(crate) fn failure(problem: impl Into<String>) -> Error {
    Error::Backend {
        backend: "cpu".to_string(),
        problem: problem.into(),
    }
}
