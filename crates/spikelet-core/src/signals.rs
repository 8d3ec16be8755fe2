//! Requests to end: Ctrl-C, SIGTERM and SIGHUP. A signal that the program was told to ignore (`nohup`,
//! or `&` in a script) stays ignored, and one that a program handles itself stays its own.

/// What is called for a signal, with its number. It may do only what handlers of signals may.
pub type Handler = extern "C" fn(i32);

#[cfg(unix)]
mod system {
    use super::Handler;
    use libc::{SIG_DFL, SIGHUP, SIGINT, SIGTERM, c_int, sigaction, sighandler_t};

    const SIGNALS: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];

    /// Gives each signal that is handled by `from` the handler `to`.
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

    // Called in handlers, too: it makes system calls only.
    pub(super) fn release(handler: Handler) {
        replace(handler as sighandler_t, SIG_DFL);
    }
}

#[cfg(not(unix))]
mod system {
    use super::Handler;

    /// What consoles of such systems have: Ctrl-C alone.
    const INTERRUPT: i32 = 2;

    pub(super) fn catch(handler: Handler) {
        // Where a program has its own handler, that one stays.
        let _ = ctrlc::set_handler(move || handler(INTERRUPT));
    }

    pub(super) fn release(_: Handler) {
        // Such systems know no way back.
    }
}

/// Calls `handler` for each of the signals that would end this process, until [`release`].
pub fn catch(handler: Handler) {
    system::catch(handler);
}

/// Undoes [`catch`]: the signals do again what they do by default. It may be called in a handler.
pub fn release(handler: Handler) {
    system::release(handler);
}
