//! A cache whose values in use are never evicted.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Values by keys. Values in use are kept; of the others, the most recently used.
pub(crate) struct Recent<K, V> {
    all: HashMap<K, Entry<V>>,
    /// The number of accesses.
    clock: u64,
    /// The most values that are not in use.
    limit: usize,
}

struct Entry<V> {
    value: Arc<V>,
    used: u64,
}

impl<V> Entry<V> {
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.value) == 1
    }
}

impl<K: Eq + Hash + Clone, V> Recent<K, V> {
    /// A cache of at most `limit` values that are not in use.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            all: HashMap::new(),
            clock: 0,
            limit,
        }
    }

    /// The value of a key.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        self.clock += 1;
        let entry = self.all.get_mut(key)?;
        entry.used = self.clock;
        Some(entry.value.clone())
    }

    /// Inserts a value; returns the existing one if the key was inserted meanwhile.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Arc<V> {
        self.clock += 1;
        let used = self.clock;
        let entry = self.all.entry(key).or_insert_with(|| Entry {
            value: Arc::new(value),
            used,
        });
        entry.used = used;
        entry.value.clone()
    }

    /// Whether more values than the limit are not in use.
    pub(crate) fn is_full(&self) -> bool {
        self.all.len() > self.limit
            && self.all.values().filter(|e| e.is_unused()).count() > self.limit
    }

    /// Removes the least recently used of the values that are not in use, down to half of the limit.
    pub(crate) fn take_unused(&mut self) -> Vec<Arc<V>> {
        let unused = self.all.iter().filter(|(_, entry)| entry.is_unused());
        let mut unused: Vec<(u64, K)> = unused.map(|(k, e)| (e.used, k.clone())).collect();
        unused.sort_by_key(|(used, _)| *used);
        let surplus = unused.len().saturating_sub(self.limit / 2);
        let old = unused.into_iter().take(surplus);
        old.filter_map(|(_, key)| Some(self.all.remove(&key)?.value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_values_without_a_holder_are_removed() {
        let mut recent = Recent::new(4);
        let held: Vec<Arc<u32>> = (0..10).map(|k| recent.insert(k, k)).collect();
        assert!(!recent.is_full(), "all are held");
        assert!(recent.take_unused().is_empty());
        drop(held);
        assert!(recent.is_full());
        let old = recent.get(&0).unwrap();
        assert_eq!(recent.get(&1).as_deref(), Some(&1));
        let out: Vec<u32> = recent.take_unused().iter().map(|v| **v).collect();
        // 0 is in use; of the others 9 and 1 were used last.
        assert_eq!(out, [2, 3, 4, 5, 6, 7, 8]);
        assert!(!recent.is_full());
        assert!(Arc::ptr_eq(&old, &recent.get(&0).unwrap()));
        assert_eq!(recent.get(&5), None);
    }

    #[test]
    fn many_successive_keys_leave_few_values() {
        let mut recent = Recent::new(16);
        for k in 0..10_000 {
            drop(recent.insert(k, ()));
            if recent.is_full() {
                drop(recent.take_unused());
            }
            assert!(recent.all.len() <= 17);
        }
    }

    #[test]
    fn the_first_value_of_a_key_stays() {
        let mut recent = Recent::new(1);
        let first = recent.insert("a", 1);
        assert!(Arc::ptr_eq(&first, &recent.insert("a", 2)));
    }
}
