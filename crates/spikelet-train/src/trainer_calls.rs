//! The trainer's methods that set functions to be called, and the end of a run before its last epoch.

use super::checkpoint::{EpochRecord, Progress, best_of};
use super::step::StepMetrics;
use super::trainer::Trainer;
use spikelet_core::{Error, Result};
use spikelet_nn::runtime::VarStore;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

impl Trainer<'_> {
    /// Calls a function before each epoch with the number of the epoch, counted from 0, and the tensors of the run, to set
    /// those that are not trained. It is called on each rank, and again if a run is resumed in an epoch.
    ///
    /// ```
    /// use spikelet_nn::layer::{Dcls1d, DelayWidth};
    /// use spikelet_train::prelude::*;
    /// let net = Sequential::new().add(Flatten).add(Dcls1d::new(784, 10, 5)).add(Lif::new(2.0));
    /// let digits = spikelet_data::synthetic::digits_of(0, 512, 128);
    /// let settings = Settings { time_steps: 6, epochs: 1, ..Settings::default() };
    /// let width = DelayWidth::snn_delays(5, settings.epochs);
    /// Trainer::new(net, settings)
    ///     .before_epoch(move |epoch, store| width.set(store, epoch).map(drop))
    ///     .fit(&digits)?;
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    #[must_use]
    pub fn before_epoch(
        mut self,
        call: impl Fn(usize, &mut VarStore) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.before_epoch = Some(Box::new(call));
        self
    }

    /// Calls a function after each training step with the number of the step, counted from 1, and the loss and metrics
    /// of this rank's batch. The device may be one or two steps ahead.
    #[must_use]
    pub fn on_step(mut self, call: impl Fn(u64, &StepMetrics) + Send + Sync + 'static) -> Self {
        self.callbacks.step = Some(Box::new(call));
        self
    }

    /// Calls a function after each epoch with its results. `ControlFlow::Break(())` ends the run; with several ranks
    /// that of rank 0 counts. A run that was ended so can be resumed, and continues then.
    ///
    /// ```
    /// use spikelet_train::prelude::*;
    /// use std::ops::ControlFlow;
    /// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
    /// let digits = spikelet_data::synthetic::digits_of(0, 512, 128);
    /// let settings = Settings { time_steps: 4, epochs: 9, ..Settings::default() };
    /// let outcome = Trainer::new(net, settings)
    ///     .on_epoch(|epoch| match epoch.epoch {
    ///         2 => ControlFlow::Break(()),
    ///         _ => ControlFlow::Continue(()),
    ///     })
    ///     .fit(&digits)?;
    /// assert_eq!(outcome.history.len(), 2);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    #[must_use]
    pub fn on_epoch(
        mut self,
        call: impl Fn(&EpochRecord) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.epoch = Some(Box::new(call));
        self
    }

    /// Calls a function when a checkpoint has been written, with its path and progress. It is called on the thread that
    /// writes checkpoints.
    #[must_use]
    pub fn on_checkpoint(
        mut self,
        call: impl Fn(&Path, &Progress) + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.checkpoint = Some(Arc::new(call));
        self
    }

    /// Calls a function after each epoch that improves the monitored metric on the validation set, with the weights that
    /// were evaluated: a copy of them is the best network so far, also without a folder.
    #[must_use]
    pub fn on_improvement(
        mut self,
        call: impl Fn(&VarStore) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.improvement = Some(Box::new(call));
        self
    }

    /// Calls a function at the end of the run, also of an interrupted one, with the weights that an evaluation would use:
    /// the averages, if there are any.
    ///
    /// ```
    /// use spikelet_train::prelude::*;
    /// use std::sync::{Arc, Mutex};
    /// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
    /// let digits = spikelet_data::synthetic::digits_of(0, 512, 128);
    /// let settings = Settings { time_steps: 4, epochs: 1, ..Settings::default() };
    /// let trained = Arc::new(Mutex::new(None));
    /// let copy = trained.clone();
    /// Trainer::new(net, settings)
    ///     .on_end(move |store| {
    ///         *copy.lock().expect("no thread has panicked") = Some(store.get("1.weight")?);
    ///         Ok(())
    ///     })
    ///     .fit(&digits)?;
    /// let weight = trained.lock().expect("no thread has panicked").take();
    /// assert_eq!(weight.map(|weight| weight.shape), Some(vec![10, 784]));
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    #[must_use]
    pub fn on_end(
        mut self,
        call: impl Fn(&VarStore) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.end = Some(Box::new(call));
        self
    }

    /// Asks a function between batches whether the run should end, as Ctrl-C does with
    /// [`Trainer::interruptible`]: the run is saved, and its report is marked as interrupted.
    #[must_use]
    pub fn end_when(mut self, asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.end_when = Some(Arc::new(asked));
        self
    }

    /// Ends the run when the monitored metric ([`Trainer::monitor`]) has not improved on the validation set for
    /// `patience` epochs. The best epoch is that of
    /// [`FitReport::best`](super::FitReport::best), whose weights are in `best.safetensors`.
    #[must_use]
    pub fn early_stopping(mut self, patience: usize) -> Self {
        self.patience = Some(patience.max(1));
        self
    }

    /// Checks that there is a validation set to wait for.
    pub(super) fn check_patience(&self, validates: bool) -> Result<()> {
        if self.patience.is_none() || validates {
            return Ok(());
        }
        Err(Error::invalid(
            "early stopping",
            "there is no validation set, which it watches",
            "set `Settings::validation` to a fraction of the training samples, such as 0.1, or give one in `Loaders`",
        ))
    }

    /// Whether the run ends before the next epoch because it does not improve on the validation set.
    pub(super) fn is_out_of_patience(&self, history: &[EpochRecord]) -> bool {
        let best = best_of(history).map_or(0, |record| record.epoch);
        self.patience
            .is_some_and(|patience| history.len() - best.min(history.len()) >= patience)
    }
}
