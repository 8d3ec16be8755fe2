//! Heartbeats, and the abort of a run on all ranks.
//!
//! Each rank has a connection to rank 0, over which both send heartbeats. Rank 0 aborts the run when a
//! connection closes without a goodbye, a rank sends no heartbeat for too long, or a rank reports an
//! error. It sends the reason to the other ranks. Each of them disconnects its ring, calls its abort
//! handlers, and gives its main thread some seconds to return the error; then the overdue handler is
//! called. If rank 0 itself is lost, each rank detects it.

use super::error::RankError;
use super::rendezvous::Control;
use super::ring::Ring;
use super::wire::{self, printable_lines};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a failed rank waits until the others have received its error.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a send may block on a rank that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximal size of a message in bytes.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The failed rank and its error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AbortReason {
    pub(super) rank: usize,
    pub(super) reason: String,
}

#[derive(Serialize, Deserialize)]
enum Message {
    /// The sender is alive.
    Heartbeat,
    /// The sender has failed.
    Failed { reason: String },
    /// The run is aborted.
    Abort(AbortReason),
    /// The checkpoint from which the run can be resumed.
    Checkpoint(String),
    /// The sender has finished: from now on it may disconnect.
    Goodbye,
}

/// Called when another rank has aborted the run, to unblock a device.
pub type AbortHandler = Box<dyn Fn() + Send + Sync>;

/// Called when the main thread has not returned in time after an abort.
pub type OverdueHandler = Box<dyn Fn(&RankError) + Send + Sync>;

/// A connection to another rank.
struct Connection {
    rank: usize,
    stream: TcpStream,
    /// Held while a message is sent.
    send_lock: Mutex<()>,
}

/// The known state of the rank at the other end of a connection.
struct PeerState {
    last_received: Instant,
    finished: bool,
    closed: bool,
}

struct State {
    abort_reason: Option<AbortReason>,
    /// When the run was aborted, until the main thread returns the error.
    unhandled_since: Option<Instant>,
    checkpoint: Option<String>,
    /// One for each connection.
    peers: Vec<PeerState>,
    closing: bool,
}

struct Shared {
    rank: usize,
    ring: Arc<Ring>,
    connections: Vec<Connection>,
    abort_handlers: Mutex<Vec<AbortHandler>>,
    overdue_handler: Mutex<Option<OverdueHandler>>,
    state: Mutex<State>,
    changed: Condvar,
    /// How long a rank may send no heartbeat.
    heartbeat_timeout: Duration,
    /// How long the main thread may run after an abort.
    shutdown_timeout: Duration,
}

/// Monitors the other ranks.
pub(super) struct Watchdog {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Watchdog {
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
        let mut connections = vec![];
        for (rank, stream) in streams {
            // A rank that does not read must not keep this one from sending to the others.
            stream.set_write_timeout(Some(SEND_TIMEOUT))?;
            stream.set_read_timeout(None)?;
            connections.push(Connection {
                rank,
                stream,
                send_lock: Mutex::new(()),
            });
        }
        let peer = |_: &Connection| PeerState {
            last_received: Instant::now(),
            finished: false,
            closed: false,
        };
        let shared = Arc::new(Shared {
            rank,
            ring,
            state: Mutex::new(State {
                abort_reason: None,
                unhandled_since: None,
                checkpoint: None,
                peers: connections.iter().map(peer).collect(),
                closing: false,
            }),
            connections,
            abort_handlers: Mutex::default(),
            overdue_handler: Mutex::default(),
            changed: Condvar::new(),
            heartbeat_timeout,
            shutdown_timeout,
        });
        let mut watchdog = Self {
            shared: shared.clone(),
            threads: vec![],
        };
        for k in 0..shared.connections.len() {
            let own = shared.clone();
            watchdog.spawn(move || own.receive_messages(k))?;
        }
        watchdog.spawn(move || shared.send_heartbeats())?;
        Ok(watchdog)
    }

    fn spawn(&mut self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().spawn(work)?);
        Ok(())
    }

    pub(super) fn on_abort(&self, handler: AbortHandler) {
        let mut handlers = lock(&self.shared.abort_handlers);
        // A handler that is set after the abort is called immediately.
        if self.shared.state().abort_reason.is_some() {
            handler();
        }
        handlers.push(handler);
    }

    pub(super) fn on_overdue(&self, handler: OverdueHandler) {
        *lock(&self.shared.overdue_handler) = Some(handler);
    }

    /// Tells all ranks from which checkpoint the run can be resumed.
    pub(super) fn set_checkpoint(&self, checkpoint: String) {
        self.shared.state().checkpoint = Some(checkpoint.clone());
        self.shared.send_to_all(&Message::Checkpoint(checkpoint));
    }

    /// Aborts the run on all ranks with this rank's error, unless another rank aborts it within
    /// `timeout`. The shutdown timeout of the main thread begins.
    pub(super) fn report(&self, reason: &str, timeout: Duration) {
        let shared = &self.shared;
        let aborted = |state: &State| state.abort_reason.is_some();
        if shared.wait(timeout, aborted) {
            return;
        }
        if shared.rank > 0 {
            let reason = reason.to_string();
            shared.send_to_all(&Message::Failed { reason });
            // Rank 0 answers with the abort, which all ranks receive.
            shared.wait(REPORT_TIMEOUT, aborted);
        }
        shared.abort(AbortReason {
            rank: shared.rank,
            reason: reason.to_string(),
        });
    }

    /// [`Watchdog::report`], and the error that the main thread returns.
    pub(super) fn fail(&self, reason: &str, timeout: Duration) -> RankError {
        self.report(reason, timeout);
        let shared = &self.shared;
        shared.state().unhandled_since = None;
        if shared.rank == 0 {
            shared.wait(REPORT_TIMEOUT, |state| {
                state.peers.iter().all(|peer| peer.closed)
            });
        }
        shared.error(&shared.state())
    }

    /// Sends a goodbye and waits for those of the other ranks. Afterwards a closed connection is no
    /// error. Returns whether all of them arrived in time.
    pub(super) fn close(&self) -> bool {
        self.shared.send_to_all(&Message::Goodbye);
        let timeout = self.shared.heartbeat_timeout;
        let finished = |state: &State| state.peers.iter().all(|peer| peer.finished);
        self.shared.wait(timeout, |state| {
            state.abort_reason.is_some() || finished(state)
        });
        let state = self.shared.state();
        state.abort_reason.is_none() && finished(&state)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.state().closing = true;
        self.shared.changed.notify_all();
        for connection in &self.shared.connections {
            // It may be closed already.
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            // A panicking thread has printed its message.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits until a condition holds; returns whether it does.
    fn wait(&self, limit: Duration, holds: impl Fn(&State) -> bool) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.state(), limit, |state| !holds(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        holds(&state)
    }

    fn send_to_all(&self, message: &Message) {
        for connection in &self.connections {
            let _lock = lock(&connection.send_lock);
            // The thread that receives from a lost rank detects it.
            let _ = wire::send(&connection.stream, message);
        }
    }

    /// The thread that receives the messages of one rank.
    fn receive_messages(self: &Arc<Self>, k: usize) {
        let connection = &self.connections[k];
        loop {
            let message = wire::receive(&connection.stream, MAX_MESSAGE_BYTES);
            let mut state = self.state();
            state.peers[k].last_received = Instant::now();
            match message {
                Ok(Message::Heartbeat) => {}
                Ok(Message::Checkpoint(checkpoint)) => {
                    state.checkpoint = Some(printable_lines(&checkpoint));
                }
                Ok(Message::Goodbye) => state.peers[k].finished = true,
                Ok(Message::Abort(AbortReason { rank, reason })) => {
                    drop(state);
                    let reason = printable_lines(&reason);
                    self.abort(AbortReason { rank, reason });
                }
                Ok(Message::Failed { reason }) => {
                    drop(state);
                    self.abort(AbortReason {
                        rank: connection.rank,
                        reason: printable_lines(&reason),
                    });
                }
                Err(_) => {
                    state.peers[k].closed = true;
                    let expected = state.peers[k].finished || state.closing;
                    drop(state);
                    self.changed.notify_all();
                    if !expected {
                        let reason = "its connection closed: the process was killed or has crashed";
                        self.abort(AbortReason {
                            rank: connection.rank,
                            reason: reason.to_string(),
                        });
                    }
                    return;
                }
            }
            self.changed.notify_all();
        }
    }

    /// The thread that sends heartbeats and checks those of the others and the main thread.
    fn send_heartbeats(self: &Arc<Self>) {
        let interval =
            (self.heartbeat_timeout / 4).clamp(Duration::from_millis(10), Duration::from_secs(1));
        let mut last = Instant::now();
        while !self.wait(interval, |state| state.closing) {
            if last.elapsed() > interval * 3 {
                // This process was suspended, not the others: their time limits begin again.
                let now = Instant::now();
                let mut state = self.state();
                state
                    .peers
                    .iter_mut()
                    .for_each(|peer| peer.last_received = now);
            }
            last = Instant::now();
            self.send_to_all(&Message::Heartbeat);
            if let Some(reason) = self.missing_heartbeat() {
                self.abort(reason);
            }
            self.check_overdue();
        }
    }

    fn missing_heartbeat(&self) -> Option<AbortReason> {
        let state = self.state();
        let mut peers = state.peers.iter().zip(&self.connections);
        let (_, connection) = peers.find(|(peer, _)| {
            !peer.finished && !peer.closed && peer.last_received.elapsed() > self.heartbeat_timeout
        })?;
        Some(AbortReason {
            rank: connection.rank,
            reason: format!(
                "no heartbeat for {} s: the process is suspended, or its host cannot be reached",
                self.heartbeat_timeout.as_secs_f64()
            ),
        })
    }

    /// Aborts the run on this rank and, from rank 0, on all others. Only the first reason counts.
    fn abort(self: &Arc<Self>, reason: AbortReason) {
        {
            let mut state = self.state();
            if state.abort_reason.is_some() {
                return;
            }
            state.abort_reason = Some(reason.clone());
            state.unhandled_since = Some(Instant::now());
        }
        self.changed.notify_all();
        if self.rank == 0 {
            self.send_to_all(&Message::Abort(reason));
        }
        self.ring.disconnect();
        let shared = self.clone();
        // The abort of a device may block. If no thread can be started, the main thread becomes overdue.
        let abort = move || {
            lock(&shared.abort_handlers)
                .iter()
                .for_each(|abort| abort())
        };
        drop(thread::Builder::new().spawn(abort));
    }

    /// Calls the overdue handler, once, when the main thread has not returned in time.
    fn check_overdue(&self) {
        let state = self.state();
        let overdue = |since: Instant| since.elapsed() > self.shutdown_timeout;
        if !state.unhandled_since.is_some_and(overdue) || state.closing {
            return;
        }
        let error = self.error(&state);
        drop(state);
        if let Some(handler) = lock(&self.overdue_handler).take() {
            handler(&error);
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
