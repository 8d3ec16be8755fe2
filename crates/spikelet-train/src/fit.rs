//! [`Trainer::fit`]: starts the training loop and runs it to its end.

use super::interrupt;
use super::run::Run;
use super::trainer::{FitReport, Start, Trainer};
use spikelet_core::Result;
use spikelet_data::Split;

impl Trainer {
    /// Trains to the end of the last epoch.
    ///
    /// # Errors
    /// When a setting is invalid, shapes do not match, a file cannot be read or written, the device fails, or the loss
    /// is not finite.
    pub fn fit(&self, data: &Split) -> Result<FitReport> {
        self.fit_with(data, |_| {})
    }

    /// Trains like [`Trainer::fit`]. The run is passed to a function before its first step, for example to print its
    /// plan.
    ///
    /// # Errors
    /// As [`Trainer::fit`].
    pub fn fit_with(&self, data: &Split, announce: impl FnOnce(&Start<'_>)) -> Result<FitReport> {
        self.settings.check()?;
        self.check_patience()?;
        let _listening = (self.end_request.as_ref()).map(|_| interrupt::Listening::start());
        let run = Run::start(self, data)?;
        announce(&run.about_to_begin());
        run.finish_training()
    }
}
