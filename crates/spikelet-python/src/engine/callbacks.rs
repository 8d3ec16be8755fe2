//! Functions of Python that a run calls, and the end of a run by Ctrl-C.

use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two looks for signals: a look takes the interpreter's lock.
const EVERY: Duration = Duration::from_millis(50);

/// The first error of a function of Python during a run, which ends the run.
#[derive(Clone, Default)]
pub(super) struct Errors(Arc<Mutex<Option<PyErr>>>);

impl Errors {
    /// Keeps an error, unless there is one.
    pub fn keep(&self, error: PyErr) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }

    /// Takes the error out, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn exist(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// A function that tells whether a run should end: there is an error, or Python has a signal such as Ctrl-C.
    pub fn end_request(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let errors = self.clone();
        let looked = Mutex::new(Instant::now());
        move || {
            if errors.exist() {
                return true;
            }
            let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
            if looked.elapsed() >= EVERY {
                *looked = Instant::now();
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    errors.keep(error);
                    return true;
                }
            }
            false
        }
    }

    /// Calls a function of Python with a text; true if it returns a true value. An error ends the run.
    pub fn call(&self, function: &Py<PyAny>, text: String) -> bool {
        Python::attach(|py| {
            let called = function.call1(py, (text,));
            let answer = called.and_then(|answer| answer.is_truthy(py));
            answer.unwrap_or_else(|error| {
                self.keep(error);
                true
            })
        })
    }
}
