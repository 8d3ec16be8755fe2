//! A group whose ranks are threads of one process.

use spikelet_graph::{Error, ProcessGroup, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a rank waits for the other ranks.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A rank of a group of threads.
pub struct ThreadProcessGroup {
    rank: usize,
    shared: Arc<Shared>,
}

struct Shared {
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

/// A call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Sum(usize),
    Broadcast(usize),
    Barrier,
}

struct State {
    /// The number of completed calls.
    completed: u64,
    arrived: usize,
    /// The first rank that left or failed: no further call can complete without it.
    failed: Option<usize>,
    calls: Vec<Call>,
    values: Vec<Vec<f32>>,
    bytes: Vec<u8>,
}

fn failure(problem: String) -> Error {
    Error::Backend {
        backend: "group of threads".to_string(),
        problem,
    }
}

impl ThreadProcessGroup {
    /// The ranks of a group, one for each thread. A call waits at most a minute for the other ranks.
    pub fn group(size: usize) -> Vec<Self> {
        Self::group_within(size, TIMEOUT)
    }

    /// As [`ThreadProcessGroup::group`], with another time to wait.
    pub fn group_within(size: usize, timeout: Duration) -> Vec<Self> {
        let state = State {
            completed: 0,
            arrived: 0,
            failed: None,
            calls: vec![Call::Barrier; size],
            values: vec![vec![]; size],
            bytes: vec![],
        };
        let shared = Arc::new(Shared {
            timeout,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let rank = |rank| Self {
            rank,
            shared: shared.clone(),
        };
        (0..size).map(rank).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all ranks have made this call.
    fn wait_for_all<'a>(&self, mut state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>> {
        let call = state.completed;
        if let Some(rank) = state.failed {
            return Err(failure(format!("rank {rank} is lost")));
        }
        state.arrived += 1;
        if state.arrived == state.calls.len() {
            state.arrived = 0;
            state.completed += 1;
            self.shared.changed.notify_all();
            return Ok(state);
        }
        let end = Instant::now() + self.shared.timeout;
        while state.completed == call {
            if let Some(rank) = state.failed {
                return Err(failure(format!("rank {rank} is lost")));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // A late rank must not count this one as present.
                state.failed.get_or_insert(self.rank);
                return Err(failure(format!(
                    "{} of {} ranks had made the call after {:.0} s",
                    state.arrived,
                    state.calls.len(),
                    self.shared.timeout.as_secs_f64()
                )));
            }
            let woken = self.shared.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state)
    }

    /// Waits for the other ranks, which must make the same call.
    fn begin<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        call: Call,
    ) -> Result<MutexGuard<'a, State>> {
        state.calls[self.rank] = call;
        let mut state = self.wait_for_all(state)?;
        let Some(rank) = state.calls.iter().position(|other| *other != call) else {
            return Ok(state);
        };
        state.failed.get_or_insert(self.rank);
        Err(failure(format!(
            "rank {} called {call:?} while rank {rank} called {:?}; all ranks must run the same program",
            self.rank, state.calls[rank]
        )))
    }
}

impl ProcessGroup for ThreadProcessGroup {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.lock().calls.len()
    }

    fn all_reduce(&self, values: &mut [f32]) -> Result<()> {
        let mut state = self.lock();
        let own = &mut state.values[self.rank];
        own.clear();
        own.extend_from_slice(values);
        let state = self.begin(state, Call::Sum(values.len()))?;
        let (first, others) = state.values.split_at(1);
        values.copy_from_slice(&first[0]);
        for other in others {
            for (sum, value) in values.iter_mut().zip(other) {
                *sum += value;
            }
        }
        // No rank may write a new value before all have read this one.
        self.wait_for_all(state).map(drop)
    }

    fn broadcast(&self, bytes: &mut Vec<u8>, root: usize) -> Result<()> {
        let mut state = self.lock();
        if root >= state.calls.len() {
            return Err(failure(format!(
                "rank {root} does not exist in a group of {}",
                state.calls.len()
            )));
        }
        if root == self.rank {
            state.bytes.clone_from(bytes);
        }
        let state = self.begin(state, Call::Broadcast(root))?;
        bytes.clone_from(&state.bytes);
        self.wait_for_all(state).map(drop)
    }

    fn barrier(&self) -> Result<()> {
        let state = self.begin(self.lock(), Call::Barrier)?;
        self.wait_for_all(state).map(drop)
    }
}

impl Drop for ThreadProcessGroup {
    fn drop(&mut self) {
        self.lock().failed.get_or_insert(self.rank);
        self.shared.changed.notify_all();
    }
}
