//! The start of a run: data, folder, checkpoint, programs.

use super::folder::checkpoint_to_resume;
use super::probes::Probes;
use super::sampled_rates::SampledRates;
use super::sums::EpochSums;
use super::{Evaluated, Run};
use crate::checkpoint::{Progress, RunDefinition, StepDefinition};
use crate::engine::{BuildEngine, Programs};
use crate::evaluation::Evaluator;
use crate::folder::RunFolder;
use crate::health::Evidence;
use crate::loaders::Loaders;
use crate::memory::{RunSteps, Task};
use crate::monitored_metric::MonitoredMetric;
use crate::ranks::{Ranks, SyncSchedule};
use crate::step::RankInfo;
use crate::trained::{Steps, Trained};
use crate::trainer::{EXAMPLES, Trainer};
use crate::{BatchShape, SampleShape, Settings, device};
use spikelet_core::{Error, Result};
use spikelet_data::DataLoader;
use spikelet_nn::runtime::VarStore;
use spikelet_report::log::{Console, Output};
use std::time::Instant;

impl<'a> Run<'a> {
    pub(crate) fn start(
        trainer: &'a Trainer<'a>,
        settings: Settings,
        data: Loaders,
    ) -> Result<Self> {
        let together = Ranks::new(trainer.group.clone());
        let console = Console::new(match together.leads() {
            true => trainer.output,
            false => Output::Quiet,
        });
        let data = data.for_run(settings.batch_size, trainer.loader_threads)?;
        let evaluated = Evaluated {
            test: data.test.is_some(),
            validation: data.validation.is_some(),
        };
        trainer.check_patience(evaluated.validation)?;
        let update = settings.batch_size * settings.accumulate;
        together.check_batch(update, data.train.samples())?;
        let folder = match &trainer.place {
            Some(place) if together.leads() => Some(RunFolder::open(place, &trainer.former)?),
            _ => None,
        };
        let written = trainer.place.is_some();
        let loaders = data.evaluated();
        let fields = data.train.fields();
        let evaluated_fields = loaders.first().map_or(fields, DataLoader::fields);
        let steps = (trainer.trained).steps(&settings, fields, evaluated_fields)?;
        let identity = match written {
            true => Some((
                definition(trainer, &settings, &steps, &data)?,
                data.identity(trainer.data_folder.as_deref())?,
            )),
            false => None,
        };
        let resumed = checkpoint_to_resume(trainer, folder.as_ref(), identity.as_ref(), &together)?;
        let engine = trainer.engine.as_ref();
        let first = engine.and_then(|engine| engine.first_device());
        let backend = match first.or(trainer.backend.as_ref()) {
            Some(backend) => backend.clone(),
            None => device::find("auto", 0)?,
        };
        let mut store = VarStore::new(backend);
        let place = RankInfo {
            rank: together.rank(),
            ranks: together.ranks(),
        };
        let facts = data.facts(
            together.ranks(),
            trainer.init_from.is_some(),
            trainer.trained.module().map(|_| &*settings.loss),
        );
        let tested: Vec<usize> = loaders.iter().map(|data| data.dataset().len()).collect();
        let sample = SampleShape::of_fields(data.train.fields());
        let shown = match tested.first() {
            Some(tested) if written && evaluated.test => *tested,
            _ => 0,
        };
        let train = steps.train.clone().on_rank(RankInfo::default());
        let mut report = vec![];
        let programs = match engine {
            Some(_) if !trainer.layer_monitors.is_empty() => {
                return Err(Error::invalid(
                    "monitors of layers",
                    "a pipeline has none",
                    "leave them out, or train on one device",
                ));
            }
            Some(engine) => {
                let task = (&settings, sample, place, &tested[..]);
                build_engine(&**engine, trainer, task, &mut store)?
            }
            None => {
                report = steps.report(EXAMPLES.min(shown), shown)?;
                let mut steps = RunSteps {
                    train: steps.train.on_rank(place),
                    eval: steps.eval.outputs(false),
                    report: report.clone(),
                    sampled: None,
                    evaluation_batch: settings.evaluation_batch,
                    tested,
                };
                steps.monitor(&trainer.layer_monitors);
                Programs::on_one_device(&steps, &together, &mut store)?
            }
        };
        let metrics = programs.engine.metrics();
        let monitor = MonitoredMetric::new(trainer.monitor.as_ref(), &metrics, &settings.schedule)?;
        let evaluation = Evaluator::new(programs.evaluation, &loaders)?;
        let curve_steps =
            together.broadcast_from_rank0(trainer.curve_steps.to_le_bytes().to_vec())?;
        let curve_steps = <[u8; 8]>::try_from(&curve_steps[..]).unwrap_or_default();
        let mut run = Self {
            loader: data.train,
            trainer,
            settings,
            train,
            report,
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
        run.initialize(resumed.is_some())?;
        run.open_folder(folder, resumed)?;
        Ok(run)
    }
}

/// The definition of the run.
fn definition(
    trainer: &Trainer<'_>,
    settings: &Settings,
    steps: &Steps<'_>,
    data: &Loaders,
) -> Result<RunDefinition> {
    let step = match &trainer.trained {
        Trained::Module(_) => None,
        Trained::Step { eval, .. } => Some(StepDefinition {
            samples: data.train.samples(),
            step: steps.train.description()?,
            eval_step: (eval.as_ref().map(|_| steps.eval.description())).transpose()?,
            loaders: data.description(),
        }),
    };
    let mut settings = Box::new(settings.clone());
    if !settings.optimizer.is_registered() {
        // A checkpoint is read by name. It keeps the states of another optimizer, and of a step its name and constants.
        let known = Settings::default().optimizer;
        settings.optimizer = known.with_lr(settings.optimizer.lr()).into();
    }
    Ok(RunDefinition {
        network: trainer.network.clone(),
        settings,
        step,
    })
}

/// Builds the programs of another engine, which exists for classifiers of images.
fn build_engine(
    engine: &dyn BuildEngine,
    trainer: &Trainer<'_>,
    (settings, sample, place, tested): (&Settings, Option<SampleShape>, RankInfo, &[usize]),
    store: &mut VarStore,
) -> Result<Programs> {
    let (Some(module), Some(SampleShape::Image(image))) = (trainer.trained.module(), sample) else {
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
