//! [`Trainer::fit`]: starts the training loop and runs it to its end.

use super::fit_data::FitData;
use super::interrupt;
use super::run::Run;
use super::trainer::{FitReport, Start, Trainer};
use spikelet_core::Result;

impl Trainer<'_> {
    /// Trains to the end of the last epoch, on a [`Split`](spikelet_data::Split) of images or any [`FitData`].
    ///
    /// # Errors
    /// When a setting is invalid, shapes do not match, a file cannot be read or written, the device fails, or the loss
    /// is not finite.
    pub fn fit(&self, data: impl Into<FitData>) -> Result<FitReport> {
        self.fit_with(data, |_| {})
    }

    /// Trains like [`Trainer::fit`]. The run is passed to a function before its first step, for example to print its
    /// plan.
    ///
    /// # Errors
    /// As [`Trainer::fit`].
    pub fn fit_with(
        &self,
        data: impl Into<FitData>,
        announce: impl FnOnce(&Start<'_>),
    ) -> Result<FitReport> {
        self.subject.check()?;
        let _listening = (self.end_request.as_ref()).map(|_| interrupt::Listening::start());
        let run = Run::start(self, &data.into())?;
        announce(&run.about_to_begin());
        run.finish_training()
    }
}
