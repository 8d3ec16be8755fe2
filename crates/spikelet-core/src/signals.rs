//! Requests to end: Ctrl-C, SIGTERM and SIGHUP. A signal that the process ignores (`nohup`, or `&`
//! in a script) is still ignored, and the handlers of the program itself are not replaced.

use std::sync::atomic::{AtomicU64, Ordering};

/// A handler, called with the number of the signal. It must be async-signal-safe.
pub type Handler = extern "C" fn(i32);

#[cfg(unix)]
mod system {
    use super::Handler;
    use libc::{SIG_DFL, SIGHUP, SIGINT, SIGTERM, c_int, sigaction, sighandler_t};

    const SIGNALS: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];

    /// Replaces the handler `from` of each signal by `to`.
    fn replace(from: sighandler_t, to: sighandler_t) {
        for signal in SIGNALS {
            // SAFETY: a `sigaction` of zeros is a valid one: no flags, no blocked signals.
            let mut action: sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: `action` may be written; no new action is given.
            let known = unsafe { sigaction(signal, std::ptr::null(), &mut action) } == 0;
            if known && action.sa_sigaction == from {
                action.sa_sigaction = to;
                action.sa_flags = libc::SA_RESTART;
                // SAFETY: `action` is valid; handlers are those of `catch`, or the system's own.
                unsafe { sigaction(signal, &action, std::ptr::null_mut()) };
            }
        }
    }

    pub(super) fn catch(handler: Handler) {
        replace(SIG_DFL, handler as sighandler_t);
    }

    pub(super) fn release(handler: Handler) {
        replace(handler as sighandler_t, SIG_DFL);
    }

    // Called in handlers: it makes system calls only.
    pub(super) fn end(signal: i32, handler: Handler) {
        release(handler);
        // SAFETY: `raise` may be called in a handler; the signal is delivered when the handler returns.
        unsafe { libc::raise(signal) };
    }

    // Called in handlers.
    pub(super) fn milliseconds() -> u64 {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `now` may be written; the function may be called in a handler.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
    }
}

#[cfg(not(unix))]
mod system {
    use super::Handler;

    /// The only signal of these systems: Ctrl-C.
    const INTERRUPT: i32 = 2;

    pub(super) fn catch(handler: Handler) {
        // A handler of the program itself is kept.
        let _ = ctrlc::set_handler(move || handler(INTERRUPT));
    }

    pub(super) fn release(_: Handler) {
        // These systems cannot restore a handler.
    }

    pub(super) fn end(signal: i32, _: Handler) {
        std::process::exit(128 + signal);
    }

    pub(super) fn milliseconds() -> u64 {
        let now = std::time::UNIX_EPOCH.elapsed();
        now.map_or(0, |now| now.as_millis() as u64)
    }
}

/// Calls `handler` for each of the signals that would end this process, until [`release`].
pub fn catch(handler: Handler) {
    system::catch(handler);
}

/// Undoes [`catch`]: the signals have their default effect again.
pub fn release(handler: Handler) {
    system::release(handler);
}

/// The time after which a signal of the same kind is a second request. Launchers and terminals send one request as several
/// signals within milliseconds, such as SIGINT to the group and then SIGTERM.
const PAUSE: u64 = 500;

/// Requests to end, for a handler. The first signal is a request; another one of its kind after half a second ends the
/// process at once; all others are part of the first request.
///
/// ```
/// use spikelet_core::signals::{self, Requests};
///
/// static REQUESTS: Requests = Requests::new();
/// extern "C" fn note(signal: i32) {
///     REQUESTS.note(signal, note);
/// }
/// signals::catch(note);
/// assert!(!REQUESTS.any());
/// signals::release(note);
/// ```
#[derive(Debug)]
pub struct Requests {
    /// The number of the first signal, and its time in milliseconds plus one; 0 before it.
    first: [AtomicU64; 2],
}

impl Requests {
    /// No request.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            first: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    /// Notes a signal, in its `handler`.
    pub fn note(&self, signal: i32, handler: Handler) {
        let [kind, time] = &self.first;
        let now = system::milliseconds() + 1;
        let (Ok(own), order) = (u64::try_from(signal), Ordering::SeqCst) else {
            return;
        };
        match time.compare_exchange(0, now, order, order) {
            Ok(_) => kind.store(own, order),
            Err(first) => {
                if kind.load(order) == own && now.saturating_sub(first) >= PAUSE {
                    system::end(signal, handler);
                }
            }
        }
    }

    /// Whether there was a request.
    pub fn any(&self) -> bool {
        self.first[1].load(Ordering::SeqCst) > 0
    }
}

impl Default for Requests {
    fn default() -> Self {
        Self::new()
    }
}
