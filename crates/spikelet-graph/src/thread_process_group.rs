//! A group whose ranks are threads of one process.

use crate::error::{Error, Result};
use crate::process_group::ProcessGroup;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a rank waits for the others.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A rank of a group of threads: for tests, and for several devices in one process.
///
/// ```
/// use spikelet_graph::{ProcessGroup, ThreadProcessGroup};
/// let mut sums = vec![];
/// std::thread::scope(|scope| {
///     let ranks = ThreadProcessGroup::group(3).into_iter();
///     let threads = ranks.map(|rank| scope.spawn(move || {
///         let mut mine = [rank.rank() as f32, 1.0];
///         rank.all_reduce(&mut mine).map(|()| mine)
///     }));
///     let threads: Vec<_> = threads.collect();
///     sums.extend(threads.into_iter().filter_map(|t| t.join().ok()?.ok()));
/// });
/// assert_eq!(sums, [[3.0, 3.0]; 3]);
/// ```
pub struct ThreadProcessGroup {
    rank: usize,
    meeting: Arc<Meeting>,
}

struct Meeting {
    patience: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

/// What a rank has come for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Sum(usize),
    Broadcast(usize),
    Barrier,
}

struct State {
    /// How often all have met.
    meetings: u64,
    arrived: usize,
    /// The first rank that left or failed: without it nobody meets again.
    gone: Option<usize>,
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
    /// The ranks of a group, to be given to as many threads. Each waits at most a minute for the
    /// others.
    pub fn group(size: usize) -> Vec<Self> {
        Self::group_within(size, TIMEOUT)
    }

    /// As [`ThreadProcessGroup::group`], with another time to wait.
    pub fn group_within(size: usize, patience: Duration) -> Vec<Self> {
        let state = State {
            meetings: 0,
            arrived: 0,
            gone: None,
            calls: vec![Call::Barrier; size],
            values: vec![vec![]; size],
            bytes: vec![],
        };
        let meeting = Arc::new(Meeting {
            patience,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let rank = |rank| Self {
            rank,
            meeting: meeting.clone(),
        };
        (0..size).map(rank).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.meeting.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all are here.
    fn meet<'a>(&self, mut state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>> {
        let meeting = state.meetings;
        if let Some(rank) = state.gone {
            return Err(failure(format!("rank {rank} is gone")));
        }
        state.arrived += 1;
        if state.arrived == state.calls.len() {
            state.arrived = 0;
            state.meetings += 1;
            self.meeting.changed.notify_all();
            return Ok(state);
        }
        let end = Instant::now() + self.meeting.patience;
        while state.meetings == meeting {
            if let Some(rank) = state.gone {
                return Err(failure(format!("rank {rank} is gone")));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Who comes now would count this rank in.
                state.gone.get_or_insert(self.rank);
                return Err(failure(format!(
                    "{} of {} ranks were there after {:.0} s",
                    state.arrived,
                    state.calls.len(),
                    self.meeting.patience.as_secs_f64()
                )));
            }
            let woken = self.meeting.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state)
    }

    /// Meets the others, who must have come for the same.
    fn agree<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        call: Call,
    ) -> Result<MutexGuard<'a, State>> {
        state.calls[self.rank] = call;
        let mut state = self.meet(state)?;
        let Some(rank) = state.calls.iter().position(|other| *other != call) else {
            return Ok(state);
        };
        state.gone.get_or_insert(self.rank);
        Err(failure(format!(
            "rank {} has come for {call:?}, rank {rank} for {:?}; all ranks must run the same program",
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
        let mine = &mut state.values[self.rank];
        mine.clear();
        mine.extend_from_slice(values);
        let state = self.agree(state, Call::Sum(values.len()))?;
        let (first, others) = state.values.split_at(1);
        values.copy_from_slice(&first[0]);
        for other in others {
            for (sum, value) in values.iter_mut().zip(other) {
                *sum += value;
            }
        }
        // Nobody may bring something new before all have read.
        self.meet(state).map(drop)
    }

    fn broadcast(&self, bytes: &mut Vec<u8>, root: usize) -> Result<()> {
        let mut state = self.lock();
        if root >= state.calls.len() {
            return Err(failure(format!(
                "there is no rank {root} among {}",
                state.calls.len()
            )));
        }
        if root == self.rank {
            state.bytes.clone_from(bytes);
        }
        let state = self.agree(state, Call::Broadcast(root))?;
        bytes.clone_from(&state.bytes);
        self.meet(state).map(drop)
    }

    fn barrier(&self) -> Result<()> {
        let state = self.agree(self.lock(), Call::Barrier)?;
        self.meet(state).map(drop)
    }
}

impl Drop for ThreadProcessGroup {
    fn drop(&mut self) {
        self.lock().gone.get_or_insert(self.rank);
        self.meeting.changed.notify_all();
    }
}

impl fmt::Debug for ThreadProcessGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadProcessGroup")
            .field("rank", &self.rank)
            .finish_non_exhaustive()
    }
}
