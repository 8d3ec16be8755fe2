//! One rank's end is everybody's end.
//!
//! Each rank has a connection to rank 0, over which both say now and then that they live. Rank 0
//! gives the verdict: a rank whose connection closes without a goodbye, that is silent for too
//! long, or that reports an error has ended the run. It tells the others, each of which cuts its
//! ring, calls what aborts its device, and gives its main thread some seconds to end with the
//! message; after that the program is told, which may end the process. Where rank 0 is the one that is gone, everybody sees
//! that for himself.

use super::failure::RankError;
use super::rendezvous::Control;
use super::ring::Ring;
use super::wire::{self, printable_lines};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a rank that ends waits for others to hear of it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Bytes of a message.
const LONGEST: usize = 1 << 20;

/// Which rank ended the run, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AbortReason {
    pub(super) rank: usize,
    pub(super) reason: String,
}

#[derive(Serialize, Deserialize)]
enum Message {
    /// I live.
    Beat,
    /// Something went wrong here.
    Failed { reason: String },
    /// The run is over.
    Ended(AbortReason),
    /// From here the run can be resumed, in words.
    Checkpoint(String),
    /// All is done; my silence from now on means nothing.
    Farewell,
}

/// What is done to a device that waits for other ranks in vain.
pub type Abort = Box<dyn Fn() + Send + Sync>;

/// What is done when the main thread has not ended in time.
pub type Overdue = Box<dyn Fn(&RankError) + Send + Sync>;

/// The other end of a connection.
struct Other {
    rank: usize,
    stream: TcpStream,
    /// One message at a time.
    turn: Mutex<()>,
}

/// What is known of the other end.
struct Life {
    heard: Instant,
    goodbye: bool,
    closed: bool,
}

struct State {
    abort_reason: Option<AbortReason>,
    /// When it was given, until the main thread has taken note of it.
    unnoticed: Option<Instant>,
    checkpoint: Option<String>,
    lives: Vec<Life>,
    closing: bool,
}

struct Shared {
    rank: usize,
    ring: Arc<Ring>,
    others: Vec<Other>,
    aborts: Mutex<Vec<Abort>>,
    overdue: Mutex<Option<Overdue>>,
    state: Mutex<State>,
    changed: Condvar,
    /// How long a rank may be silent.
    heartbeat_timeout: Duration,
    /// How long the main thread may go on after a verdict.
    shutdown_timeout: Duration,
}

/// Watches over the other ranks' lives.
pub(super) struct Watch {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(
        rank: usize,
        control: Control,
        ring: Arc<Ring>,
        heartbeat_timeout: Duration,
        shutdown_timeout: Duration,
    ) -> io::Result<Self> {
        let streams = match control {
            Control::Root(streams) => (1..).zip(streams).collect(),
            Control::Member(stream) => vec![(0, stream)],
        };
        let mut others = vec![];
        for (rank, stream) in streams {
            // Somebody who does not read must not keep this rank from telling the others.
            stream.set_write_timeout(Some(Duration::from_secs(2)))?;
            stream.set_read_timeout(None)?;
            others.push(Other {
                rank,
                stream,
                turn: Mutex::new(()),
            });
        }
        let life = |_: &Other| Life {
            heard: Instant::now(),
            goodbye: false,
            closed: false,
        };
        let shared = Arc::new(Shared {
            rank,
            ring,
            state: Mutex::new(State {
                abort_reason: None,
                unnoticed: None,
                checkpoint: None,
                lives: others.iter().map(life).collect(),
                closing: false,
            }),
            others,
            aborts: Mutex::default(),
            overdue: Mutex::default(),
            changed: Condvar::new(),
            heartbeat_timeout,
            shutdown_timeout,
        });
        let mut watch = Self {
            shared: shared.clone(),
            threads: vec![],
        };
        for k in 0..shared.others.len() {
            let own = shared.clone();
            watch.spawn(move || own.listen(k))?;
        }
        watch.spawn(move || shared.beat())?;
        Ok(watch)
    }

    fn spawn(&mut self, life: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().spawn(life)?);
        Ok(())
    }

    pub(super) fn on_abort(&self, abort: Abort) {
        let mut aborts = self.shared.aborts();
        // Whoever comes after the verdict is aborted at once.
        if self.shared.state().abort_reason.is_some() {
            abort();
        }
        aborts.push(abort);
    }

    pub(super) fn on_overdue(&self, overdue: Overdue) {
        *self.shared.overdue() = Some(overdue);
    }

    /// Tells all ranks where the run can be resumed.
    pub(super) fn checkpoint(&self, words: String) {
        self.shared.state().checkpoint = Some(words.clone());
        self.shared.tell_all(&Message::Checkpoint(words));
    }

    /// Ends the run on all ranks for this one's reason, unless it has ended for another one within
    /// `patience`. From now on the main thread has the time that others leave it.
    pub(super) fn report(&self, reason: &str, patience: Duration) {
        let shared = &self.shared;
        let judged = |state: &State| state.abort_reason.is_some();
        if shared.wait(patience, judged) {
            return;
        }
        if shared.rank > 0 {
            let reason = reason.to_string();
            shared.tell_all(&Message::Failed { reason });
            // Rank 0 answers with the verdict: then all know.
            shared.wait(LAST_WORDS, judged);
        }
        shared.abort(AbortReason {
            rank: shared.rank,
            reason: reason.to_string(),
        });
    }

    /// [`Watch::report`], and the error that the main thread ends with.
    pub(super) fn fail(&self, reason: &str, patience: Duration) -> RankError {
        self.report(reason, patience);
        let shared = &self.shared;
        shared.state().unnoticed = None;
        if shared.rank == 0 {
            shared.wait(LAST_WORDS, |state| {
                state.lives.iter().all(|life| life.closed)
            });
        }
        shared.error(&shared.state())
    }

    /// Says goodbye and waits for the others': after this nobody's end is an error. False if they
    /// did not come in time.
    pub(super) fn goodbye(&self) -> bool {
        self.shared.tell_all(&Message::Farewell);
        let heartbeat_timeout = self.shared.heartbeat_timeout;
        self.shared.wait(heartbeat_timeout, |state| {
            state.abort_reason.is_some() || state.lives.iter().all(|life| life.goodbye)
        });
        let state = self.shared.state();
        state.abort_reason.is_none() && state.lives.iter().all(|life| life.goodbye)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.state().closing = true;
        self.shared.changed.notify_all();
        for other in &self.shared.others {
            // One that is closed already is what is wanted.
            let _ = other.stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            // A panic of a thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn aborts(&self) -> MutexGuard<'_, Vec<Abort>> {
        self.aborts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn overdue(&self) -> MutexGuard<'_, Option<Overdue>> {
        self.overdue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something holds; false if it did not in time.
    fn wait(&self, limit: Duration, holds: impl Fn(&State) -> bool) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.state(), limit, |state| !holds(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        holds(&state)
    }

    fn tell(&self, other: &Other, message: &Message) {
        let _turn = other.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever cannot be told is missed by the thread that listens to him.
        let _ = wire::send(&other.stream, message);
    }

    fn tell_all(&self, message: &Message) {
        self.others
            .iter()
            .for_each(|other| self.tell(other, message));
    }

    /// The thread that hears one other rank.
    fn listen(self: &Arc<Self>, k: usize) {
        let other = &self.others[k];
        loop {
            let message = wire::receive(&other.stream, LONGEST);
            let mut state = self.state();
            state.lives[k].heard = Instant::now();
            match message {
                Ok(Message::Beat) => {}
                Ok(Message::Checkpoint(words)) => {
                    state.checkpoint = Some(printable_lines(&words));
                }
                Ok(Message::Farewell) => state.lives[k].goodbye = true,
                Ok(Message::Ended(AbortReason { rank, reason })) => {
                    drop(state);
                    let reason = printable_lines(&reason);
                    self.abort(AbortReason { rank, reason });
                }
                Ok(Message::Failed { reason }) => {
                    drop(state);
                    self.abort(AbortReason {
                        rank: other.rank,
                        reason: printable_lines(&reason),
                    });
                }
                Err(_) => {
                    state.lives[k].closed = true;
                    let expected = state.lives[k].goodbye || state.closing;
                    drop(state);
                    self.changed.notify_all();
                    if !expected {
                        let reason = "its connection closed: the process was killed or has crashed";
                        self.abort(AbortReason {
                            rank: other.rank,
                            reason: reason.to_string(),
                        });
                    }
                    return;
                }
            }
            self.changed.notify_all();
        }
    }

    /// The thread that says that this rank lives, and looks whether the others and the main thread do.
    fn beat(self: &Arc<Self>) {
        let interval =
            (self.heartbeat_timeout / 4).clamp(Duration::from_millis(10), Duration::from_secs(1));
        let mut last = Instant::now();
        while !self.wait(interval, |state| state.closing) {
            if last.elapsed() > interval * 3 {
                // This process was stopped, not the others: they get their time anew.
                let mut state = self.state();
                state
                    .lives
                    .iter_mut()
                    .for_each(|life| life.heard = Instant::now());
            }
            last = Instant::now();
            self.tell_all(&Message::Beat);
            if let Some(abort_reason) = self.silent() {
                self.abort(abort_reason);
            }
            self.tell_if_overdue();
        }
    }

    fn silent(&self) -> Option<AbortReason> {
        let state = self.state();
        let lives = state.lives.iter().zip(&self.others);
        let mut silent = lives.filter(|(life, _)| {
            !life.goodbye && !life.closed && life.heard.elapsed() > self.heartbeat_timeout
        });
        silent.next().map(|(_, other)| AbortReason {
            rank: other.rank,
            reason: format!(
                "no sign of life for {} s: the process is stopped, or its host cannot be reached",
                self.heartbeat_timeout.as_secs_f64()
            ),
        })
    }

    /// The first verdict counts.
    fn abort(self: &Arc<Self>, abort_reason: AbortReason) {
        {
            let mut state = self.state();
            if state.abort_reason.is_some() {
                return;
            }
            state.abort_reason = Some(abort_reason.clone());
            state.unnoticed = Some(Instant::now());
        }
        self.changed.notify_all();
        if self.rank == 0 {
            self.tell_all(&Message::Ended(abort_reason));
        }
        self.ring.cut();
        let shared = self.clone();
        // Aborting a device may take its time itself. Without a thread for it nothing is aborted, and
        // the main thread is overdue at last.
        let abort = move || shared.aborts().iter().for_each(|abort| abort());
        drop(thread::Builder::new().spawn(abort));
    }

    /// Tells the program, once, that its main thread has not noticed the verdict in time.
    fn tell_if_overdue(&self) {
        let state = self.state();
        let overdue = |given: Instant| given.elapsed() > self.shutdown_timeout;
        if !state.unnoticed.is_some_and(overdue) || state.closing {
            return;
        }
        let error = self.error(&state);
        drop(state);
        if let Some(tell) = self.overdue().take() {
            tell(&error);
        }
    }

    fn error(&self, state: &State) -> RankError {
        let hosts = self.ring.hosts();
        let (rank, reason) = match &state.abort_reason {
            Some(AbortReason { rank, reason }) => (*rank, reason.clone()),
            None => (self.rank, "ended without a reason".to_string()),
        };
        RankError {
            rank,
            size: hosts.len(),
            host: hosts.get(rank).cloned().unwrap_or_default(),
            reason,
            checkpoint: state.checkpoint.clone(),
            own: rank == self.rank,
            source: None,
        }
    }
}
