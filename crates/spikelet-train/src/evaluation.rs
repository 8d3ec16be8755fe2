//! Loss and metrics on a data set.

#[cfg(feature = "plots")]
use super::engine::EvalEngine;
use super::engine::EvalEngines;
use super::forward::{Forward, batches};
use super::free_memory::{LESS_FOR_EVALUATION, check_memory};
use super::in_flight::InFlight;
use super::ranks::{Ranks, Signal, SyncSchedule};
use super::step::{
    EpochMetrics, EvalPlan, LABELS, MetricSet, SampleBatch, SampleShape, Step, StepMetrics,
};
use super::{EvalStep, Settings, TrainError};
use spikelet_core::Result;
use spikelet_data::{DataLoader, Dataset};
use spikelet_graph::Plan;
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use std::sync::Arc;

/// The result of an evaluation of a classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// The fraction of samples that are classified correctly, from 0 to 1; of time steps, if each has a label.
    pub accuracy: f64,
    /// The same of labeled time steps alone, if `accuracy` counts unlabeled ones:
    /// [`Unlabeled::counted_as`](spikelet_data::Unlabeled::counted_as).
    pub labeled_accuracy: Option<f64>,
    /// The mean loss over the samples.
    pub loss: f64,
}

/// Accuracy and mean loss of a classifier on a data set. The batch size is [`Settings::evaluation_batch`], or by
/// default as many images as fit into the memory of a training step and of the device. The accuracy and the random
/// numbers of encoders do not depend on it; the loss only by the rounding of its sum.
///
/// # Errors
/// When shapes do not match, or the device has not enough memory or fails.
pub fn evaluate(
    module: &dyn Module,
    settings: &Settings,
    data: &Arc<dyn Dataset>,
    store: &mut VarStore,
) -> Result<Evaluation> {
    let (step, loader) = classifier_loader(module, settings, data)?;
    let found = evaluate_step(&step, settings.evaluation_batch, &loader, store)?;
    Ok(Evaluation::of(&found))
}

impl Evaluation {
    /// The result of a classifier's step.
    pub(crate) fn of(found: &EpochMetrics) -> Self {
        Self {
            accuracy: found.values().accuracy(),
            labeled_accuracy: found.values().labeled_accuracy(),
            loss: found.loss(),
        }
    }
}

/// The step of a classifier for evaluations, and the loader of its data.
pub(crate) fn classifier_loader<'a>(
    module: &'a dyn Module,
    settings: &Settings,
    data: &Arc<dyn Dataset>,
) -> Result<(Step<'a>, DataLoader)> {
    let shape = SampleBatch {
        batch: settings.batch_size,
        sample: SampleShape::of_dataset(&**data)?,
    };
    let step = Step::classifier_eval(module, settings, shape)?;
    let loader = DataLoader::new(data.clone(), settings.test_batches(1))?;
    Ok((step, loader))
}

impl Step<'_> {
    /// Loss and metrics over a data set, in its order. Of the loader's configuration, batch size, order and weighted
    /// sampling are not used: a batch has as many samples as fit into the memory of a training step and of the device,
    /// at most 500. Sums over the batches are exact for metrics that count.
    ///
    /// ```
    /// use spikelet_data::{DType, DataLoader, Field, InMemory, LoaderConfig};
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{Outputs, Step};
    /// use std::sync::Arc;
    /// let net = Linear::new(2, 1);
    /// let step = Step::new(|cx, inputs| {
    ///     let y = net.forward(cx, &inputs["x"])?;
    ///     Ok(Outputs::loss(loss::mse(&y, &inputs["y"])))
    /// })
    /// .input("x", DType::F32, [2])
    /// .input("y", DType::F32, [1])
    /// .optimizer(Sgd::new(0.1));
    /// let data = InMemory::new("sums")
    ///     .with(Field::new("x", DType::F32, [2]), vec![0.5; 2000])?
    ///     .with(Field::new("y", DType::F32, [1]), vec![1.0; 1000])?;
    /// let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let found = step.evaluate(&loader, &mut store)?;
    /// assert_eq!(found.samples(), 1000);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When shapes do not match, or the device has not enough memory or fails.
    pub fn evaluate(&self, data: &DataLoader, store: &mut VarStore) -> Result<EpochMetrics> {
        evaluate_step(self, None, data, store)
    }
}

/// Loads evaluations that run one after another in one arena, if the device has enough memory for them. `program` names
/// them in the error.
pub(crate) fn load_together(
    program: &str,
    plans: Vec<EvalPlan>,
    store: &mut VarStore,
) -> Result<Vec<EvalStep>> {
    let device = store.backend().clone();
    let each: Vec<&Plan> = plans.iter().map(EvalPlan::plan).collect();
    check_memory(program, &each, &*device, Some(store), LESS_FOR_EVALUATION)?;
    if let Some(largest) = each.into_iter().max_by_key(|plan| plan.arena_bytes) {
        store.arena(largest)?;
    }
    plans.into_iter().map(|plan| plan.load(store)).collect()
}

/// Evaluates a step with batches of the given size, or of one that fits into the memory.
pub(crate) fn evaluate_step(
    step: &Step<'_>,
    batch: Option<usize>,
    data: &DataLoader,
    store: &mut VarStore,
) -> Result<EpochMetrics> {
    let tested = [data.dataset().len()];
    let device = store.backend().clone();
    let eval = step.clone().outputs(false);
    let forward = Forward {
        step: &eval,
        batch,
        device: &*device,
    };
    let free = device
        .memory()
        .map_or(usize::MAX, |memory| memory.available);
    let batch = forward.batch_alone(step, &tested, free)?;
    let sizes = batches(batch, &tested).into_iter();
    let plans = sizes.map(|size| forward.plan(size, None));
    let plans = plans.collect::<Result<Vec<EvalPlan>>>()?;
    let mut engines = EvalEngines::new(batch);
    for eval in load_together("the evaluation", plans, store)? {
        engines.add(eval);
    }
    let mut evaluation = Evaluator::new(engines, std::slice::from_ref(data))?;
    let found = evaluation.run(0, &Ranks::new(None), || false)?;
    Ok(found.expect("nothing asks it to stop"))
}

/// Checks that a network has one score for each class.
fn check_scores(scores: usize, loader: &DataLoader) -> Result<()> {
    let data = loader.dataset();
    let classes = data.class_names(LABELS).len();
    if classes == 0 || scores == classes {
        return Ok(());
    }
    let dataset = data.name().to_string();
    let error = TrainError::Classes {
        scores,
        dataset,
        classes,
    };
    Err(error.into())
}

/// Data sets and the compiled forward passes over them.
pub(super) struct Evaluator {
    loaders: Vec<DataLoader>,
    engines: EvalEngines,
    metrics: MetricSet,
}

/// The sums over the batches of a data set, in their order.
struct Sums {
    samples: usize,
    loss: f64,
    metrics: Vec<f64>,
}

impl Sums {
    /// Adds a batch: its mean loss, then the sums of its metrics.
    fn add(&mut self, samples: usize, mut values: impl Iterator<Item = f32>) {
        self.samples += samples;
        self.loss += f64::from(values.next().unwrap_or(0.0)) * samples as f64;
        for (sum, value) in self.metrics.iter_mut().zip(values) {
            *sum += f64::from(value);
        }
    }
}

/// The loss and the sums of the metrics of a batch, which were f32 on the device.
fn values_of(found: &StepMetrics) -> impl Iterator<Item = f32> {
    let values = [found.loss].into_iter().chain(found.all_sums());
    values.map(|value| value as f32)
}

impl Evaluator {
    /// The engines must have a program for each batch size of the data sets, whose transforms and normalization are
    /// those of the loaders.
    pub(super) fn new(engines: EvalEngines, data: &[DataLoader]) -> Result<Self> {
        let first = engines.by_size.values().next();
        if let Some(scores) = first.and_then(|engine| engine.scores()) {
            data.iter()
                .try_for_each(|data| check_scores(scores, data))?;
        }
        let metrics = first.map(|engine| engine.metrics());
        let loaders = data.iter().map(|data| data.in_order(engines.batch));
        Ok(Self {
            loaders: loaders.collect::<Result<_, _>>()?,
            metrics: metrics.unwrap_or_else(MetricSet::of_classifier),
            engines,
        })
    }

    /// The test set, which is the first data set.
    #[cfg(feature = "plots")]
    pub(super) fn test(&self) -> Option<&DataLoader> {
        self.loaders.first()
    }

    /// The program of the largest batch of at most `most` images, if there is one.
    #[cfg(feature = "plots")]
    pub(super) fn engine_within(&mut self, most: usize) -> Option<&mut dyn EvalEngine> {
        let mut engines = self.engines.by_size.range_mut(..=most);
        Some(&mut **engines.next_back()?.1)
    }

    /// Loss and metrics on data set `which`. The batches are distributed over the ranks; all ranks return the
    /// result of a single rank: the random numbers of an image depend on its index, and batches are summed in their
    /// order. If `stop`, called before each batch, returns true on any rank, no rank has a result.
    pub(super) fn run(
        &mut self,
        which: usize,
        together: &Ranks,
        stop: impl Fn() -> bool,
    ) -> Result<Option<EpochMetrics>> {
        let loader = &self.loaders[which];
        let size = loader.config().batch_size;
        let samples_of = |index: usize| size.min(loader.dataset().len() - index * size);
        let width = 1 + self.metrics.width();
        let alone = together.ranks() == 1;
        let mut sums = Sums {
            samples: 0,
            loss: 0.0,
            metrics: vec![0.0; width - 1],
        };
        // The values of all batches: each rank fills in its own.
        let mut table = vec![0.0_f32; if alone { 0 } else { width * loader.len() }];
        let mut note = |(found, index): (StepMetrics, usize)| match alone {
            true => sums.add(samples_of(index), values_of(&found)),
            false => {
                let row = table[index * width..].iter_mut();
                row.zip(values_of(&found)).for_each(|(old, new)| *old = new);
            }
        };
        let mut in_flight = InFlight::new();
        let mut batches = loader.shard(0, together.share(0));
        // In the last round some ranks may have no batch; they synchronize anyway.
        let rounds = loader.len().div_ceil(together.ranks());
        let mut talks = SyncSchedule::new();
        let mut stopped = false;
        for _ in 0..rounds {
            let own = Signal {
                stop: stop(),
                save: false,
            };
            stopped = talks.step(together, own)?.stop;
            if stopped {
                break;
            }
            let Some(batch) = batches.next().transpose()? else {
                continue;
            };
            let Some(step) = self.engines.by_size.get_mut(&batch.len()) else {
                continue;
            };
            in_flight.wait_if_full()?.map(&mut note);
            let index = batch.index_in_epoch;
            in_flight.push(step.start(&batch)?, index);
            batches.recycle(batch);
        }
        while let Some(found) = in_flight.wait_for_oldest()? {
            note(found);
        }
        if stopped {
            return Ok(None);
        }
        together.join(&mut table)?;
        for (index, row) in table.chunks_exact(width).enumerate() {
            sums.add(samples_of(index), row.iter().copied());
        }
        let Sums {
            samples,
            loss,
            metrics,
        } = sums;
        Ok(Some(EpochMetrics::of_sums(
            &self.metrics,
            samples,
            loss,
            &metrics,
        )))
    }
}
