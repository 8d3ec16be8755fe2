//! Which device does what, in which order.
//!
//! The order is found by playing the run through with the predicted seconds of each task: whenever
//! a device is free, it takes the first task by the schedule's preference that is ready. So any
//! number of stages, on any devices, with any costs, gets an order in which nobody waits forever,
//! and the share of time that devices will be idle is known beforehand.

use serde::Serialize;
use spikelet_core::{Error, Result};
use std::collections::HashMap;

/// In which order forward and backward passes take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PipelineSchedule {
    /// The second, which needs less memory, unless the first is predicted to be a tenth faster.
    #[default]
    Auto,
    /// All forward passes, then all backward passes (GPipe; Huang et al., NeurIPS 2019). Every part
    /// of the batch is kept until the end.
    FillDrain,
    /// One forward, one backward (1F1B; Narayanan et al., SOSP 2019). A stage keeps as many parts
    /// of the batch as there are stages from it to the end.
    OneForwardOneBackward,
}

impl PipelineSchedule {
    /// Names as the program takes them, with the schedules.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("auto", Self::Auto),
        ("fill-drain", Self::FillDrain),
        ("1f1b", Self::OneForwardOneBackward),
    ];
}

/// What a stage does with a part of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The stage's forward pass.
    Forward,
    /// The loss and its gradient, behind the last stage.
    Loss,
    /// The stage's backward pass.
    Backward,
}

/// A micro-batch and a chunk of its time steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct MicroBatch {
    /// The micro-batch.
    pub micro: usize,
    /// The chunk of time.
    pub chunk: usize,
}

/// What a device does at one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Task {
    /// What is done.
    pub work: Phase,
    /// By which stage.
    pub stage: usize,
    /// With which part of the batch. The loss is that of a whole micro-batch, whose last chunk this
    /// names.
    pub unit: MicroBatch,
}

/// A stage as the timetable sees it.
#[derive(Clone, Debug)]
pub(super) struct StageCost {
    /// Its devices' numbers, which take micro-batches by turns.
    pub(super) devices: Vec<usize>,
    /// Seconds of a whole micro-batch's chunk.
    pub(super) forward: f64,
    pub(super) backward: f64,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) stages: Vec<StageCost>,
    pub(super) micros: usize,
    pub(super) chunks: usize,
    pub(super) training: bool,
}

/// What keeping all micro-batches must bring: predictions are no better than that.
const WORTH_IT: f64 = 0.9;

/// Forward passes without backward ones use two sets of buffers in turn.
pub(super) const IN_TURN: usize = 2;

/// Who does what when.
#[derive(Clone, Debug)]
pub(super) struct Timetable {
    /// Each device's tasks in order.
    pub(super) devices: Vec<Vec<Task>>,
    /// How many micro-batches each stage keeps at a time.
    pub(super) in_flight: Vec<usize>,
    /// When each task is predicted to run.
    pub(super) times: HashMap<Task, (f64, f64)>,
    /// Predicted seconds of the whole.
    pub(super) seconds: f64,
    /// The share of the devices' time in which they are predicted to be idle.
    pub(super) idle: f64,
}

impl StageCost {
    pub(super) fn device(&self, micro: usize) -> usize {
        self.devices[micro % self.devices.len()]
    }
}

impl Job {
    fn last(&self) -> usize {
        self.stages.len() - 1
    }

    fn seconds(&self, task: Task) -> f64 {
        let stage = &self.stages[task.stage];
        match task.work {
            Phase::Forward => stage.forward,
            Phase::Backward => stage.backward,
            Phase::Loss => 0.0,
        }
    }

    /// How many micro-batches each device of a stage keeps.
    fn in_flight(&self, schedule: PipelineSchedule, stage: usize) -> usize {
        let share = self.micros.div_ceil(self.stages[stage].devices.len());
        match schedule {
            _ if !self.training => IN_TURN,
            PipelineSchedule::OneForwardOneBackward => share.min(self.stages.len() - stage),
            _ => share,
        }
    }

    fn tasks(&self) -> Vec<Task> {
        let units = (0..self.micros)
            .flat_map(|micro| (0..self.chunks).map(move |chunk| MicroBatch { micro, chunk }));
        let mut tasks = vec![];
        for unit in units {
            for stage in 0..self.stages.len() {
                let task = |work| Task { work, stage, unit };
                tasks.push(task(Phase::Forward));
                if self.training && stage == self.last() && unit.chunk + 1 == self.chunks {
                    tasks.push(task(Phase::Loss));
                }
                if self.training {
                    tasks.push(task(Phase::Backward));
                }
            }
        }
        tasks
    }

    /// What must be done before a task.
    fn before(&self, task: Task, schedule: PipelineSchedule) -> Vec<Task> {
        let Task { stage, unit, .. } = task;
        let MicroBatch { micro, chunk } = unit;
        let (first, final_chunk) = (chunk == 0, chunk + 1 == self.chunks);
        let other = |work, stage, micro, chunk| Task {
            work,
            stage,
            unit: MicroBatch { micro, chunk },
        };
        let turns = self.stages[stage].devices.len();
        let mut before = vec![];
        match task.work {
            Phase::Forward => {
                if stage > 0 {
                    before.push(other(Phase::Forward, stage - 1, micro, chunk));
                }
                if !first {
                    before.push(other(Phase::Forward, stage, micro, chunk - 1));
                } else if micro >= turns {
                    before.push(other(Phase::Forward, stage, micro - turns, self.chunks - 1));
                }
                let kept = turns * self.in_flight(schedule, stage);
                if self.training && first && micro >= kept {
                    before.push(other(Phase::Backward, stage, micro - kept, 0));
                }
                let number = micro * self.chunks + chunk;
                if !self.training && stage < self.last() && number >= IN_TURN {
                    let old = number - IN_TURN;
                    let (micro, chunk) = (old / self.chunks, old % self.chunks);
                    before.push(other(Phase::Forward, stage + 1, micro, chunk));
                }
            }
            Phase::Loss => before.push(other(Phase::Forward, stage, micro, chunk)),
            Phase::Backward => {
                match stage == self.last() {
                    true => before.push(other(Phase::Loss, stage, micro, self.chunks - 1)),
                    false => before.push(other(Phase::Backward, stage + 1, micro, chunk)),
                }
                if !final_chunk {
                    before.push(other(Phase::Backward, stage, micro, chunk + 1));
                } else if micro >= turns {
                    before.push(other(Phase::Backward, stage, micro - turns, 0));
                }
            }
        }
        before
    }
}

impl Timetable {
    /// The order of a schedule; of [`PipelineSchedule::Auto`], the better one.
    pub(super) fn of(job: &Job, schedule: PipelineSchedule) -> Result<Self> {
        if schedule != PipelineSchedule::Auto {
            return Self::played(job, schedule);
        }
        let fill_drain = Self::played(job, PipelineSchedule::FillDrain)?;
        let one_one = Self::played(job, PipelineSchedule::OneForwardOneBackward)?;
        Ok(match fill_drain.seconds < WORTH_IT * one_one.seconds {
            true => fill_drain,
            false => one_one,
        })
    }

    fn played(job: &Job, schedule: PipelineSchedule) -> Result<Self> {
        let all = job.stages.iter().flat_map(|s| &s.devices);
        let devices = 1 + all.max().copied().unwrap_or(0);
        let mut open: Vec<(Task, Vec<Task>)> = (job.tasks().into_iter())
            .map(|task| (task, job.before(task, schedule)))
            .collect();
        let preference = |task: &Task| {
            let backward_first = schedule == PipelineSchedule::OneForwardOneBackward;
            let rank = match task.work {
                Phase::Loss => 0,
                Phase::Backward if backward_first => 1,
                Phase::Forward => 2,
                Phase::Backward => 3,
            };
            let chunk = match task.work {
                Phase::Backward => job.chunks - task.unit.chunk,
                _ => task.unit.chunk,
            };
            (rank, task.unit.micro, chunk, task.stage)
        };
        let mut found = Self {
            devices: vec![vec![]; devices],
            in_flight: (0..job.stages.len())
                .map(|stage| job.in_flight(schedule, stage))
                .collect(),
            times: HashMap::new(),
            seconds: 0.0,
            idle: 0.0,
        };
        let mut free = vec![0.0_f64; devices];
        while !open.is_empty() {
            let mut best: Option<(f64, usize)> = None;
            for (k, (task, before)) in open.iter().enumerate() {
                let ready = before
                    .iter()
                    .map(|b| found.times.get(b).map(|(_, end)| *end))
                    .collect::<Option<Vec<f64>>>();
                let Some(ready) = ready else { continue };
                let device = job.stages[task.stage].device(task.unit.micro);
                let start = ready.into_iter().fold(free[device], f64::max);
                let better = best.is_none_or(|(least, other)| {
                    start < least || start == least && preference(task) < preference(&open[other].0)
                });
                if better {
                    best = Some((start, k));
                }
            }
            let Some((start, k)) = best else {
                return Err(Error::invalid(
                    "pipeline",
                    "no device can go on".to_string(),
                    "this is a fault of the timetable; choose another schedule",
                ));
            };
            let (task, _) = open.swap_remove(k);
            let device = job.stages[task.stage].device(task.unit.micro);
            let end = start + job.seconds(task);
            free[device] = end;
            found.devices[device].push(task);
            found.times.insert(task, (start, end));
        }
        found.seconds = free.iter().copied().fold(0.0, f64::max);
        let used = found.devices.iter().filter(|tasks| !tasks.is_empty());
        let room = found.seconds * used.count() as f64;
        let busy: f64 = found.times.values().map(|(start, end)| end - start).sum();
        if room > 0.0 {
            found.idle = 1.0 - busy / room;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(stages: usize, micros: usize, chunks: usize, training: bool) -> Job {
        let stage = |device| StageCost {
            devices: vec![device],
            forward: 1.0,
            backward: 2.0,
        };
        Job {
            stages: (0..stages).map(stage).collect(),
            micros,
            chunks,
            training,
        }
    }

    #[test]
    fn every_task_runs_once_and_after_what_it_needs() -> Result<()> {
        for schedule in [
            PipelineSchedule::FillDrain,
            PipelineSchedule::OneForwardOneBackward,
        ] {
            for (stages, micros, chunks) in [(1, 1, 1), (3, 5, 1), (4, 4, 3), (5, 2, 2)] {
                for training in [false, true] {
                    let mut job = job(stages, micros, chunks, training);
                    job.stages[stages - 1].devices = vec![0];
                    job.stages[0].devices = (0..stages).collect();
                    let table = Timetable::of(&job, schedule)?;
                    let done: usize = table.devices.iter().map(Vec::len).sum();
                    assert_eq!(done, job.tasks().len());
                    for task in job.tasks() {
                        for before in job.before(task, schedule) {
                            assert!(table.times[&before].1 <= table.times[&task].0);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// (S − 1) / (M + S − 1) of the time, for S equal stages and M micro-batches: GPipe, section 2.
    #[test]
    fn equal_stages_are_idle_for_as_long_as_the_papers_say() -> Result<()> {
        for schedule in [
            PipelineSchedule::FillDrain,
            PipelineSchedule::OneForwardOneBackward,
        ] {
            for (stages, micros) in [(2, 4), (4, 4), (4, 16)] {
                let table = Timetable::of(&job(stages, micros, 1, true), schedule)?;
                let expected = (stages - 1) as f64 / (micros + stages - 1) as f64;
                assert!((table.idle - expected).abs() < 1e-9, "{}", table.idle);
            }
        }
        Ok(())
    }

    #[test]
    fn one_forward_one_backward_keeps_no_more_than_the_stages_behind() -> Result<()> {
        let table = Timetable::of(
            &job(4, 16, 1, true),
            PipelineSchedule::OneForwardOneBackward,
        )?;
        assert_eq!(table.in_flight, [4, 3, 2, 1]);
        let table = Timetable::of(&job(4, 16, 1, true), PipelineSchedule::FillDrain)?;
        assert_eq!(table.in_flight, [16; 4]);
        Ok(())
    }

    #[test]
    fn a_stage_on_two_devices_takes_half_the_time() -> Result<()> {
        let mut job = job(2, 8, 1, true);
        job.stages[0].forward = 2.0;
        job.stages[0].backward = 4.0;
        let one = Timetable::of(&job, PipelineSchedule::Auto)?.seconds;
        job.stages[0].devices = vec![0, 2];
        let two = Timetable::of(&job, PipelineSchedule::Auto)?;
        assert!(two.seconds < 0.7 * one, "{} of {one}", two.seconds);
        assert_eq!(two.devices[0].len(), two.devices[2].len());
        Ok(())
    }

    /// Layer l works on chunk k while layer l + 1 works on chunk k − 1.
    #[test]
    fn chunks_of_time_overlap_in_one_micro_batch() -> Result<()> {
        let table = Timetable::of(&job(3, 1, 6, false), PipelineSchedule::Auto)?;
        assert_eq!(table.seconds, 8.0);
        Ok(())
    }
}
