//! Requests to end: Ctrl-C, SIGTERM and SIGHUP. A signal that the process ignores (`nohup`, or `&`
//! in a script) is still ignored, and the handlers of the program itself are not replaced.

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

    // Called in handlers too: it makes system calls only.
    pub(super) fn release(handler: Handler) {
        replace(handler as sighandler_t, SIG_DFL);
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
}

/// Calls `handler` for each of the signals that would end this process, until [`release`].
pub fn catch(handler: Handler) {
    system::catch(handler);
}

/// Undoes [`catch`]: the signals have their default effect again. It may be called in a handler.
pub fn release(handler: Handler) {
    system::release(handler);
}
