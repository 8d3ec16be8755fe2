//! The order of the tasks of each device.
//!
//! It is found by a simulation with the predicted run time of each task: a free device runs the ready task
//! that the schedule prefers. So stages on any devices with any costs get an order without deadlocks, and
//! the idle time of the devices is known in advance.

use super::error::PipelineError;
use super::schedule::PipelineSchedule;
use super::task::{MicroBatch, Phase, Task};
use spikelet_core::Result;
use std::collections::HashMap;

/// The predicted cost of a stage.
#[derive(Clone, Debug)]
pub(super) struct StageCost {
    /// The indices of its devices, which process micro-batches in turn.
    pub(super) devices: Vec<usize>,
    /// The run time of the forward pass of a chunk of a micro-batch in seconds.
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

/// Without training, the number of sets of buffers that micro-batches use in turn.
pub(super) const FORWARD_BUFFERS: usize = 2;

/// The tasks of all devices.
#[derive(Clone, Debug)]
pub(super) struct Timetable {
    /// The tasks of each device in order.
    pub(super) devices: Vec<Vec<Task>>,
    /// The number of micro-batches in flight on each device of each stage.
    pub(super) in_flight: Vec<usize>,
    /// The predicted start and end of each task in seconds.
    pub(super) times: HashMap<Task, (f64, f64)>,
    /// The predicted run time in seconds.
    pub(super) seconds: f64,
    /// The predicted fraction of time in which the devices are idle.
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
        match task.phase {
            Phase::Forward => stage.forward,
            Phase::Backward => stage.backward,
            Phase::Loss => 0.0,
        }
    }

    /// The number of micro-batches in flight on each device of a stage.
    fn in_flight(&self, schedule: PipelineSchedule, stage: usize) -> usize {
        let share = self.micros.div_ceil(self.stages[stage].devices.len());
        match schedule {
            _ if !self.training => FORWARD_BUFFERS,
            PipelineSchedule::OneForwardOneBackward => share.min(self.stages.len() - stage),
            _ => share,
        }
    }

    fn tasks(&self) -> Vec<Task> {
        let micro_batches = (0..self.micros).flat_map(|micro| {
            (0..self.chunks).map(move |chunk| MicroBatch {
                index: micro,
                chunk,
            })
        });
        let mut tasks = vec![];
        for micro_batch in micro_batches {
            for stage in 0..self.stages.len() {
                let task = |phase| Task {
                    phase,
                    stage,
                    micro_batch,
                };
                tasks.push(task(Phase::Forward));
                if self.training && stage == self.last() && micro_batch.chunk + 1 == self.chunks {
                    tasks.push(task(Phase::Loss));
                }
                if self.training {
                    tasks.push(task(Phase::Backward));
                }
            }
        }
        tasks
    }

    /// The tasks that must finish before a task.
    fn before(&self, task: Task, schedule: PipelineSchedule) -> Vec<Task> {
        let Task {
            stage, micro_batch, ..
        } = task;
        let MicroBatch {
            index: micro,
            chunk,
        } = micro_batch;
        let (first, final_chunk) = (chunk == 0, chunk + 1 == self.chunks);
        let other = |phase, stage, micro, chunk| Task {
            phase,
            stage,
            micro_batch: MicroBatch {
                index: micro,
                chunk,
            },
        };
        let turns = self.stages[stage].devices.len();
        let mut before = vec![];
        match task.phase {
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
                if !self.training && stage < self.last() && number >= FORWARD_BUFFERS {
                    let old = number - FORWARD_BUFFERS;
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
    /// The timetable of a schedule; for [`PipelineSchedule::Auto`], the better one.
    pub(super) fn new(job: &Job, schedule: PipelineSchedule) -> Result<Self> {
        if schedule != PipelineSchedule::Auto {
            return Self::simulate(job, schedule);
        }
        let fill_drain = Self::simulate(job, PipelineSchedule::FillDrain)?;
        let one_one = Self::simulate(job, PipelineSchedule::OneForwardOneBackward)?;
        Ok(match fill_drain.seconds < WORTH_IT * one_one.seconds {
            true => fill_drain,
            false => one_one,
        })
    }

    fn simulate(job: &Job, schedule: PipelineSchedule) -> Result<Self> {
        let all = job.stages.iter().flat_map(|s| &s.devices);
        let devices = 1 + all.max().copied().unwrap_or(0);
        let mut open: Vec<(Task, Vec<Task>)> = (job.tasks().into_iter())
            .map(|task| (task, job.before(task, schedule)))
            .collect();
        let preference = |task: &Task| {
            let backward_first = schedule == PipelineSchedule::OneForwardOneBackward;
            let rank = match task.phase {
                Phase::Loss => 0,
                Phase::Backward if backward_first => 1,
                Phase::Forward => 2,
                Phase::Backward => 3,
            };
            let chunk = match task.phase {
                Phase::Backward => job.chunks - task.micro_batch.chunk,
                _ => task.micro_batch.chunk,
            };
            (rank, task.micro_batch.index, chunk, task.stage)
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
                let device = job.stages[task.stage].device(task.micro_batch.index);
                let start = ready.into_iter().fold(free[device], f64::max);
                let better = best.is_none_or(|(least, other)| {
                    start < least || start == least && preference(task) < preference(&open[other].0)
                });
                if better {
                    best = Some((start, k));
                }
            }
            let Some((start, k)) = best else {
                return Err(PipelineError::ScheduleDeadlock.into());
            };
            let (task, _) = open.swap_remove(k);
            let device = job.stages[task.stage].device(task.micro_batch.index);
            let end = start + job.seconds(task);
            free[device] = end;
            found.devices[device].push(task);
            found.times.insert(task, (start, end));
        }
        found.seconds = free.iter().copied().fold(0.0, f64::max);
        let used = found.devices.iter().filter(|tasks| !tasks.is_empty());
        let total = found.seconds * used.count() as f64;
        let busy: f64 = found.times.values().map(|(start, end)| end - start).sum();
        if total > 0.0 {
            found.idle = 1.0 - busy / total;
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
    fn every_task_runs_once_and_after_its_dependencies() -> Result<()> {
        for schedule in [
            PipelineSchedule::FillDrain,
            PipelineSchedule::OneForwardOneBackward,
        ] {
            for (stages, micros, chunks) in [(1, 1, 1), (3, 5, 1), (4, 4, 3), (5, 2, 2)] {
                for training in [false, true] {
                    let mut job = job(stages, micros, chunks, training);
                    job.stages[stages - 1].devices = vec![0];
                    job.stages[0].devices = (0..stages).collect();
                    let table = Timetable::new(&job, schedule)?;
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
                let table = Timetable::new(&job(stages, micros, 1, true), schedule)?;
                let expected = (stages - 1) as f64 / (micros + stages - 1) as f64;
                assert!((table.idle - expected).abs() < 1e-9, "{}", table.idle);
            }
        }
        Ok(())
    }

    #[test]
    fn one_forward_one_backward_has_as_many_micro_batches_in_flight_as_later_stages() -> Result<()>
    {
        let table = Timetable::new(
            &job(4, 16, 1, true),
            PipelineSchedule::OneForwardOneBackward,
        )?;
        assert_eq!(table.in_flight, [4, 3, 2, 1]);
        let table = Timetable::new(&job(4, 16, 1, true), PipelineSchedule::FillDrain)?;
        assert_eq!(table.in_flight, [16; 4]);
        Ok(())
    }

    #[test]
    fn a_stage_on_two_devices_takes_half_the_time() -> Result<()> {
        let mut job = job(2, 8, 1, true);
        job.stages[0].forward = 2.0;
        job.stages[0].backward = 4.0;
        let one = Timetable::new(&job, PipelineSchedule::Auto)?.seconds;
        job.stages[0].devices = vec![0, 2];
        let two = Timetable::new(&job, PipelineSchedule::Auto)?;
        assert!(two.seconds < 0.7 * one, "{} of {one}", two.seconds);
        assert_eq!(two.devices[0].len(), two.devices[2].len());
        Ok(())
    }

    /// Layer l processes chunk k while layer l + 1 processes chunk k − 1.
    #[test]
    fn chunks_of_time_overlap_in_one_micro_batch() -> Result<()> {
        let table = Timetable::new(&job(3, 1, 6, false), PipelineSchedule::Auto)?;
        assert_eq!(table.seconds, 8.0);
        Ok(())
    }
}
