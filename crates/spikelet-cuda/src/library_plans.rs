//! A cache of a library's plans by the kind of operation.

use crate::recent::Recent;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The most plans that are kept without an executor that holds them.
const MAX_UNUSED: usize = 1024;

/// The cached plans. All are kept until [`LibraryPlans::forget_unused`], since a graph is planned first
/// and loaded with the same plans later; those that an executor holds are kept beyond.
pub(crate) struct LibraryPlans<K, P> {
    plans: Mutex<Recent<K, Slot<P>>>,
}

/// The plan of a kind, or the error of planning it.
type Slot<P> = OnceLock<Result<P, String>>;

/// A plan in use.
pub(crate) struct Planned<P>(Arc<Slot<P>>);

impl<P> Deref for Planned<P> {
    type Target = P;

    fn deref(&self) -> &P {
        let made = self.0.get().and_then(|made| made.as_ref().ok());
        made.expect("only slots with a plan are handed out")
    }
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
    fn lock(&self) -> MutexGuard<'_, Recent<K, Slot<P>>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan of a kind, created by `make` if it is not cached. Threads that ask for the same kind wait for one of
    /// them; those that ask for others do not. Errors are cached as well: the planner asks often.
    pub(crate) fn get(
        &self,
        kind: &K,
        make: impl FnOnce() -> Result<P, String>,
    ) -> Result<Planned<P>, String> {
        let slot = {
            let mut plans = self.lock();
            let known = plans.get(kind);
            known.unwrap_or_else(|| plans.insert(kind.clone(), OnceLock::new()))
        };
        match slot.get_or_init(make) {
            Ok(_) => Ok(Planned(slot)),
            Err(problem) => Err(problem.clone()),
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
    use std::sync::{Barrier, mpsc};
    use std::time::Duration;

    fn plan_of(plans: &LibraryPlans<usize, usize>, kind: usize) -> Planned<usize> {
        plans.get(&kind, || Ok(kind)).unwrap()
    }

    #[test]
    fn a_stream_of_new_shapes_leaves_few_plans_and_those_of_executors() {
        let plans = LibraryPlans::default();
        let executor: Vec<Planned<usize>> = (0..3).map(|kind| plan_of(&plans, kind)).collect();
        let observed = Arc::downgrade(&plan_of(&plans, 3).0);
        for kind in 4..20 * MAX_UNUSED {
            drop(plan_of(&plans, kind));
            if plans.is_full() {
                plans.forget_unused();
                assert!(!plans.is_full());
            }
        }
        assert!(observed.upgrade().is_none());
        for plan in &executor {
            assert!(Arc::ptr_eq(&plan.0, &plan_of(&plans, **plan).0));
        }
    }

    #[test]
    fn plans_between_planning_and_loading_stay() {
        let plans = LibraryPlans::default();
        let planned: Vec<_> = (0..MAX_UNUSED)
            .map(|kind| Arc::downgrade(&plan_of(&plans, kind).0))
            .collect();
        plans.forget_unused();
        assert!(planned.iter().all(|plan| plan.upgrade().is_some()));
    }

    #[test]
    fn an_error_is_found_once() {
        let plans = LibraryPlans::<usize, usize>::default();
        let get = |make: &dyn Fn() -> Result<usize, String>| plans.get(&1, make).map(|plan| *plan);
        let first = get(&|| Err("no engine".to_string()));
        assert_eq!(first, Err("no engine".to_string()));
        assert_eq!(get(&|| panic!("asked again")), first);
    }

    #[test]
    fn other_kinds_do_not_wait_for_a_plan_that_takes_long() {
        let plans = LibraryPlans::default();
        let (started, ends) = (Barrier::new(2), Barrier::new(2));
        let (done, made) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let slow = || {
                    started.wait();
                    ends.wait();
                    Ok(1)
                };
                assert!(plans.get(&1, slow).is_ok_and(|plan| *plan == 1));
            });
            started.wait();
            scope.spawn(|| done.send(*plan_of(&plans, 2)));
            let other = made.recv_timeout(Duration::from_secs(20));
            ends.wait();
            assert_eq!(other, Ok(2));
        });
    }
}
