//! The start of a run: data, folder, checkpoint, programs.

use super::folder::checkpoint_to_resume;
use super::probes::Probes;
use super::sampled_rates::SampledRates;
use super::sums::EpochSums;
use super::{Evaluated, Run};
use crate::checkpoint::Progress;
use crate::engine::Programs;
use crate::evaluation::Evaluator;
use crate::fit_data::{FitData, RunData};
use crate::folder::RunFolder;
use crate::health::Evidence;
use crate::log::{Console, Output};
use crate::memory::Task;
use crate::monitored_metric::MonitoredMetric;
use crate::ranks::{Ranks, SyncSchedule};
use crate::subject::Subject;
use crate::trainer::{EXAMPLES, Trainer};
use crate::{BatchShape, BuildEngine, RankInfo, SampleShape};
use spikelet_core::{Error, Result};
use spikelet_nn::runtime::VarStore;
use std::time::Instant;

impl<'a> Run<'a> {
    pub(crate) fn start(trainer: &'a Trainer<'a>, data: &FitData) -> Result<Self> {
        let subject = &trainer.subject;
        let together = Ranks::new(trainer.group.clone());
        let console = Console::new(match together.leads() {
            true => trainer.output,
            false => Output::Quiet,
        });
        let data = RunData::new(data, subject, trainer.loader_threads)?;
        let evaluated = Evaluated {
            test: data.test.is_some(),
            validation: data.validation.is_some(),
        };
        trainer.check_patience(evaluated.validation)?;
        let update = subject.batch_size() * subject.accumulate();
        together.check_batch(update, data.train.samples())?;
        let folder = match &trainer.place {
            Some(place) if together.leads() => Some(RunFolder::open(place, &trainer.former)?),
            _ => None,
        };
        let written = trainer.place.is_some();
        let identity = match written {
            true => Some((data.definition(subject)?, data.identity()?)),
            false => None,
        };
        let resumed = checkpoint_to_resume(trainer, folder.as_ref(), identity.as_ref(), &together)?;
        let engine = trainer.engine.as_ref();
        let first = engine.and_then(|engine| engine.first_device());
        let backend = match first.or(trainer.backend.as_ref()) {
            Some(backend) => backend.clone(),
            None => spikelet_nn::device::cpu()?,
        };
        let mut store = VarStore::new(backend);
        let place = RankInfo {
            rank: together.rank(),
            ranks: together.ranks(),
        };
        let facts = data.facts(
            together.ranks(),
            trainer.weights.is_some() || trainer.init_from.is_some(),
            subject.settings().map(|settings| &*settings.loss),
        );
        let loaders = data.evaluated();
        let tested: Vec<usize> = loaders.iter().map(|data| data.dataset().len()).collect();
        let sample = match subject.settings() {
            Some(_) => Some(data.sample_shape()?),
            None => None,
        };
        let examples = match (sample, tested.first()) {
            (Some(_), Some(tested)) if written && evaluated.test => EXAMPLES.min(*tested),
            _ => 0,
        };
        let programs = match engine {
            Some(_) if !trainer.layer_monitors.is_empty() => {
                return Err(Error::invalid(
                    "monitors of layers",
                    "a pipeline has none",
                    "leave them out, or train on one device",
                ));
            }
            Some(engine) => build_engine(&**engine, subject, sample, place, &tested, &mut store)?,
            None => {
                let mut steps = subject.steps(sample, place, tested, examples)?;
                steps.monitor(&trainer.layer_monitors);
                Programs::on_one_device(&steps, &together, &mut store)?
            }
        };
        let metrics = programs.engine.metrics();
        let monitor = MonitoredMetric::new(trainer.monitor.as_ref(), &metrics, subject.schedule())?;
        let evaluation = Evaluator::new(programs.evaluation, &loaders)?;
        let curve_steps =
            together.broadcast_from_rank0(trainer.curve_steps.to_le_bytes().to_vec())?;
        let curve_steps = <[u8; 8]>::try_from(&curve_steps[..]).unwrap_or_default();
        let mut run = Self {
            loader: data.train,
            trainer,
            identity,
            together,
            talks: SyncSchedule::new(),
            console,
            store,
            averaged: programs.averaged,
            sample,
            engine: programs.engine,
            monitor,
            memory: programs.memory,
            rates: SampledRates::new(programs.sampled),
            probes: Probes::new(programs.probe.map(|probe| probe.0)),
            evidence: Evidence {
                run: facts,
                ..Evidence::default()
            },
            evaluation,
            evaluated,
            progress: Progress {
                ranks: place.ranks,
                peak_bytes: programs.memory.peak,
                ..Progress::default()
            },
            own: EpochSums::new(&metrics),
            resumed: EpochSums::new(&metrics),
            metrics,
            logs: None,
            curve_steps: u64::from_le_bytes(curve_steps).max(1),
            epochs_before: 0,
            earlier: 0.0,
            started: Instant::now(),
            saved: Instant::now(),
            stopped_early: false,
            initial_weights: None,
        };
        run.start_from_weights(resumed.is_some())?;
        run.initialize(resumed.is_some())?;
        run.open_folder(folder, resumed)?;
        Ok(run)
    }
}

/// Builds the programs of another engine, which exists for classifiers.
fn build_engine(
    engine: &dyn BuildEngine,
    subject: &Subject<'_>,
    sample: Option<SampleShape>,
    place: RankInfo,
    tested: &[usize],
    store: &mut VarStore,
) -> Result<Programs> {
    let (
        Subject::Classifier {
            module, settings, ..
        },
        Some(SampleShape::Image(image)),
    ) = (subject, sample)
    else {
        return Err(Error::invalid(
            "engine",
            "it runs classifiers of images; a step or sequences were given",
            "train on one device, or on several with `Trainer::group`",
        ));
    };
    let task = Task {
        module: &**module,
        settings,
        shape: BatchShape {
            batch: settings.batch_size,
            image,
        },
        place,
        tested,
    };
    engine.build(module, &task, store)
}
