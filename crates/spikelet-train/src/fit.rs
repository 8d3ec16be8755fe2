//! [`Trainer::fit`]: starts the training loop and runs it to its end.

use super::interrupt;
use super::loaders::TrainingData;
use super::run::Run;
use super::trainer::{FitReport, Start, Trainer};
use spikelet_core::Result;

impl Trainer<'_> {
    /// Trains to the end of the last epoch, on a [`Split`](spikelet_data::Split), a data set, or [`Loaders`](crate::Loaders).
    ///
    /// # Errors
    /// When a setting is invalid, shapes do not match, a file cannot be read or written, the device fails, or the loss
    /// is not finite.
    pub fn fit(&self, data: &(impl TrainingData + ?Sized)) -> Result<FitReport> {
        self.fit_with(data, |_| {})
    }

    /// Trains like [`Trainer::fit`]. The run is passed to a function before its first step, for example to print its
    /// plan.
    ///
    /// # Errors
    /// As [`Trainer::fit`].
    pub fn fit_with(
        &self,
        data: &(impl TrainingData + ?Sized),
        announce: impl FnOnce(&Start<'_>),
    ) -> Result<FitReport> {
        let settings = self.trained.settings(&self.settings)?;
        let _listening = (self.end_request.as_ref()).map(|_| interrupt::Listening::start());
        let loaders = data.loaders(&settings)?;
        let run = Run::start(self, settings, loaders)?;
        announce(&run.about_to_begin());
        run.finish_training()
    }
}
