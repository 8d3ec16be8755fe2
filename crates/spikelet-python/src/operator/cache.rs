//! Compiled passes by layer, device and shape.

use super::{Compiled, Definition, Place, Request};
use spikelet_core::Result;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The most compiled passes that are kept: enough for the layers of a network with several shapes each.
const CAPACITY: usize = 1024;

#[derive(PartialEq, Eq)]
struct Key {
    definition: u32,
    place: Place,
    request: Request,
}

struct Kept {
    key: Key,
    compiled: Arc<Compiled>,
    /// The time of the last use.
    used: AtomicU64,
}

#[derive(Default)]
struct Cache {
    /// By the hash of the key, so that a request is looked up without a copy.
    kept: RwLock<HashMap<u64, Vec<Kept>>>,
    clock: AtomicU64,
}

fn cache() -> &'static (Cache, RandomState) {
    static CACHE: OnceLock<(Cache, RandomState)> = OnceLock::new();
    CACHE.get_or_init(Default::default)
}

/// The compiled pass of a request; it is compiled at the first call.
///
/// # Errors
/// When the layer does not take such inputs, or a kernel cannot be compiled.
pub(crate) fn compiled(
    definition: &Definition,
    place: Place,
    request: &Request,
) -> Result<Arc<Compiled>> {
    let (cache, state) = cache();
    let hash = state.hash_one((definition.id, place, request));
    let now = cache.clock.fetch_add(1, Ordering::Relaxed);
    let is_it = |kept: &&Kept| {
        kept.key.definition == definition.id
            && kept.key.place == place
            && kept.key.request == *request
    };
    {
        let kept = cache.kept.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.get(&hash).and_then(|list| list.iter().find(is_it)) {
            found.used.store(now, Ordering::Relaxed);
            return Ok(found.compiled.clone());
        }
    }
    // Compiled without the lock: other layers run meanwhile. Of two threads that compile the same, one is kept.
    let compiled = Arc::new(Compiled::new(definition, request, place)?);
    let mut kept = cache.kept.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = kept.get(&hash).and_then(|list| list.iter().find(is_it)) {
        return Ok(found.compiled.clone());
    }
    if kept.values().map(Vec::len).sum::<usize>() >= CAPACITY {
        let mut times: Vec<u64> = (kept.values().flatten())
            .map(|k| k.used.load(Ordering::Relaxed))
            .collect();
        times.sort_unstable();
        let oldest = times[times.len() / 4];
        kept.retain(|_, list| {
            list.retain(|k| k.used.load(Ordering::Relaxed) > oldest);
            !list.is_empty()
        });
    }
    kept.entry(hash).or_default().push(Kept {
        key: Key {
            definition: definition.id,
            place,
            request: request.clone(),
        },
        compiled: compiled.clone(),
        used: AtomicU64::new(now),
    });
    Ok(compiled)
}
