//! The settings of a step: its own, and those of a run.

use super::Step;
use super::groups::Names;
use crate::Settings;
use crate::optim::Clip;
use spikelet_core::{MemoryBudget, Result};
use spikelet_graph::Precision;
use spikelet_nn::module::Propagation;
use spikelet_schema::Member;

impl Step<'_> {
    /// Takes from the settings of a run what the step does not set itself: batch size, optimizer,
    /// groups of parameters, clipping, noise, layer decay, accumulation, averages, precision, propagation, memory budget,
    /// penalties and seed. A trainer does it with its settings; those of a second call have no effect.
    ///
    /// ```
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{Outputs, Step};
    /// let net = Linear::new(4, 3);
    /// let step = Step::new(|cx, inputs| {
    ///     let scores = net.forward(cx, &inputs["x"])?;
    ///     Ok(Outputs::loss(loss::cross_entropy(&scores, &inputs["labels"])))
    /// })
    /// .input("x", DType::F32, [4])
    /// .input("labels", DType::I64, [])
    /// .settings(&Settings { optimizer: Adam::new(0.1).into(), clip_norm: Some(1.0), ..Settings::default() })?;
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// assert_eq!(step.compile(&mut store)?.batch_size(), 128);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn settings(mut self, settings: &Settings) -> Result<Self> {
        settings.check()?;
        if std::mem::replace(&mut self.settled, true) {
            return Ok(self);
        }
        self.penalties.clone_from(&settings.penalties);
        self.samples.get_or_insert(settings.batch_size);
        self.accumulate.get_or_insert(settings.accumulate);
        self.precision.get_or_insert(settings.precision);
        self.propagation.get_or_insert(settings.propagation);
        self.seed.get_or_insert(settings.seed);
        self.clip = self.clip.or(settings.clip());
        self.ema = self.ema.or(settings.ema);
        self.memory_budget = self.memory_budget.or(settings.memory_budget);
        self.sync_batch_norm |= settings.sync_batch_norm;
        let groups = &mut self.groups;
        groups.layer_decay = groups.layer_decay.or(settings.layer_decay);
        groups.gradient_noise = groups.gradient_noise.or(settings.gradient_noise);
        groups.matrices_decay_only |= !settings.bias_decay;
        if groups.of_others().is_none() {
            self = self.in_group(None, settings.optimizer.0.clone());
        }
        settings.groups.iter().try_fold(self, |step, group| {
            if group.frozen {
                return Ok(step.freeze(&group.parameters));
            }
            let optimizer = group.config(&*settings.optimizer)?;
            Ok(step.in_group(Some(Names::new(&group.parameters)), optimizer))
        })
    }

    /// The settings of a run of this step: its own where it has them.
    pub(crate) fn in_settings(&self, settings: &Settings) -> Settings {
        let own = self.groups.of_others();
        let optimizer = own.map(|group| Member(group.optimizer.clone()));
        let [clip_norm, clip_value] = match self.clip {
            Some(Clip::Norm(most)) => [Some(most), None],
            Some(Clip::Value(most)) => [None, Some(most)],
            None => [None; 2],
        };
        Settings {
            batch_size: self.samples(),
            accumulate: self.accumulated(),
            precision: self.precision_of(),
            propagation: self.propagation_of(),
            seed: self.seed_of(),
            ema: self.ema,
            memory_budget: self.memory_budget,
            layer_decay: self.groups.layer_decay,
            gradient_noise: self.groups.gradient_noise,
            bias_decay: !self.groups.matrices_decay_only,
            optimizer: optimizer.unwrap_or_else(|| settings.optimizer.clone()),
            clip_norm,
            clip_value,
            ..settings.clone()
        }
    }

    /// The number of samples of a batch.
    pub(crate) fn samples(&self) -> usize {
        self.samples.unwrap_or(1)
    }

    /// The number of batches of an update.
    pub(crate) fn accumulated(&self) -> usize {
        self.accumulate.unwrap_or(1)
    }

    /// The element types.
    pub(crate) fn precision_of(&self) -> Precision {
        self.precision.unwrap_or_default()
    }

    /// The order of layers and time steps.
    pub(crate) fn propagation_of(&self) -> Propagation {
        self.propagation.unwrap_or_default()
    }

    /// The memory budget.
    pub(crate) fn budget(&self) -> Option<MemoryBudget> {
        self.memory_budget
    }

    /// The name.
    #[cfg(feature = "plots")]
    pub(crate) fn name_of(&self) -> &str {
        &self.name
    }

    /// The seed.
    pub(crate) fn seed_of(&self) -> u64 {
        self.seed.unwrap_or(0)
    }
}
