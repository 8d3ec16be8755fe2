//! A cache of a library's plans by the kind of operation.

use crate::recent::Recent;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most plans that are kept without an executor that holds them.
const MAX_UNUSED: usize = 1024;

/// The cached plans. All are kept until [`LibraryPlans::forget_unused`], since a graph is planned first
/// and loaded with the same plans later; those that an executor holds are kept beyond.
pub(crate) struct LibraryPlans<K, P> {
    plans: Mutex<Recent<K, P>>,
}

impl<K, P> Default for LibraryPlans<K, P>
where
    K: Eq + Hash + Clone,
{
    fn default() -> Self {
        Self {
            plans: Mutex::new(Recent::new(MAX_UNUSED)),
        }
    }
}

impl<K: Eq + Hash + Clone, P> LibraryPlans<K, P> {
    fn lock(&self) -> MutexGuard<'_, Recent<K, P>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan of a kind, created by `make` if it is not cached, one at a time. Errors are not cached.
    pub(crate) fn get<E>(
        &self,
        kind: &K,
        make: impl FnOnce() -> Result<P, E>,
    ) -> Result<Arc<P>, E> {
        let mut plans = self.lock();
        match plans.get(kind) {
            Some(plan) => Ok(plan),
            None => Ok(plans.insert(kind.clone(), make()?)),
        }
    }

    /// Whether [`LibraryPlans::forget_unused`] has work.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full()
    }

    /// Drops the least recently used plans that no executor holds, if there are many. None of them may
    /// be running.
    pub(crate) fn forget_unused(&self) {
        let mut plans = self.lock();
        if plans.is_full() {
            drop(plans.take_unused());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(plans: &LibraryPlans<usize, usize>, kind: usize) -> Arc<usize> {
        plans.get(&kind, || Ok::<_, ()>(kind)).unwrap()
    }

    #[test]
    fn a_stream_of_new_shapes_leaves_few_plans_and_those_of_executors() {
        let plans = LibraryPlans::default();
        let executor: Vec<Arc<usize>> = (0..3).map(|kind| plan_of(&plans, kind)).collect();
        let observed = Arc::downgrade(&plan_of(&plans, 3));
        for kind in 4..20 * MAX_UNUSED {
            drop(plan_of(&plans, kind));
            if plans.is_full() {
                plans.forget_unused();
                assert!(!plans.is_full());
            }
        }
        assert!(observed.upgrade().is_none());
        for plan in &executor {
            assert!(Arc::ptr_eq(plan, &plan_of(&plans, **plan)));
        }
    }

    #[test]
    fn plans_between_planning_and_loading_stay() {
        let plans = LibraryPlans::default();
        let planned: Vec<_> = (0..MAX_UNUSED)
            .map(|kind| Arc::downgrade(&plan_of(&plans, kind)))
            .collect();
        plans.forget_unused();
        assert!(planned.iter().all(|plan| plan.upgrade().is_some()));
    }

    #[test]
    fn an_error_is_not_cached() {
        let plans = LibraryPlans::default();
        assert_eq!(plans.get(&1, || Err("no memory")), Err("no memory"));
        assert_eq!(*plan_of(&plans, 1), 1);
    }
}
