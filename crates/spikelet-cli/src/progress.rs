//! A line of progress in a terminal.

use spikelet::log::{Console, Output};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The least time between two texts.
const PAUSE: Duration = Duration::from_millis(100);

/// A line that is written over, on standard error, if that is a terminal.
pub struct Line {
    is_shown: bool,
    last: Option<Instant>,
}

impl Line {
    pub fn new(console: &Console) -> Self {
        Self {
            is_shown: std::io::stderr().is_terminal() && console.output() == Output::Text,
            last: None,
        }
    }

    /// Shows a text, unless the last one was shown just now.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= PAUSE);
        if self.is_shown && is_due {
            self.last = Some(Instant::now());
            // A closed standard error cannot be reported anywhere.
            let _ = write!(anstream::stderr(), "\r\x1b[K{}", text());
        }
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if self.is_shown && self.last.is_some() {
            let _ = write!(anstream::stderr(), "\r\x1b[K");
        }
    }
}
