//! What a device's thread does.
//!
//! It takes the device's tasks in the timetable's order. Before each it copies in whatever other
//! devices have sent for which there is room, and waits until what the task needs is there. On a
//! GPU all of this only starts work; order among GPUs is kept by events.

use super::board::{Board, Letter, stopped};
use super::flow::{Flow, Slot, StageRun};
use super::stage::{GRAD_X, GRAD_Y, X, Y};
use super::timetable::{IN_TURN, Task, Unit, Work};
use spikelet_core::{Error, Result};
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Moment, Pending, Tensor};
use spikelet_nn::module::GENERATOR;
use spikelet_train::Draws;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

/// What a run is given.
pub(super) struct Given<'a> {
    /// A unit's part of the input.
    pub(super) x: &'a (dyn Fn(Unit) -> Cow<'a, [f32]> + Sync),
    pub(super) labels: &'a [i64],
    /// What the loss is multiplied by, where it is scaled.
    pub(super) loss_scale: f32,
    /// Those of the whole batch.
    pub(super) draws: Draws,
    /// Whether to note when each task runs.
    pub(super) watch: bool,
}

/// When a task ran, in seconds from the start of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) task: Task,
    pub(super) device: usize,
    pub(super) start: f64,
    pub(super) end: f64,
}

/// What a run made.
#[derive(Default)]
pub(super) struct Ran {
    /// What came out of the last stage, where that is not the loss's.
    pub(super) outputs: BTreeMap<Unit, Tensor>,
    pub(super) spans: Vec<Span>,
}

/// Two moments between which a task ran.
type Between = (Task, Arc<dyn Moment>, Arc<dyn Moment>);

/// Tells the other threads when this one ends before its work is done, also by a panic.
struct Alarm<'a>(&'a Board);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.fail();
    }
}

struct Worker<'a, 'g> {
    flow: &'a Flow,
    board: &'a Board,
    given: &'a Given<'g>,
    backend: &'a Arc<dyn Backend>,
    device: usize,
    /// Tasks of this device that were started.
    started: BTreeSet<Task>,
    /// Tasks of any device whose results have been copied in.
    received: BTreeSet<Task>,
    outputs: Vec<(Unit, Box<dyn Pending>)>,
    between: Vec<Between>,
}

impl Flow {
    /// Runs the pipeline once.
    ///
    /// # Errors
    /// When a device fails.
    pub(super) fn run(&self, given: &Given<'_>) -> Result<Ran> {
        let board = Board::default();
        let made: Vec<Result<Ran>> = std::thread::scope(|scope| {
            let board = &board;
            let threads: Vec<_> = (self.timetable.devices.iter().enumerate())
                .filter(|(_, tasks)| !tasks.is_empty())
                .map(|(device, tasks)| {
                    scope.spawn(move || {
                        let alarm = Alarm(board);
                        let ran = self.work(device, tasks, board, given)?;
                        std::mem::forget(alarm);
                        Ok(ran)
                    })
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Ran>>| {
                thread.join().unwrap_or_else(|_| Err(stopped()))
            };
            threads.into_iter().map(join).collect()
        });
        let mut all = Ran::default();
        let mut failed: Option<Error> = None;
        for ran in made {
            match ran {
                Ok(ran) => {
                    all.outputs.extend(ran.outputs);
                    all.spans.extend(ran.spans);
                }
                // The device that failed says more than those that stopped because of it.
                Err(error) => match &failed {
                    Some(known) if known.to_string() != stopped().to_string() => {}
                    _ => failed = Some(error),
                },
            }
        }
        failed.map_or(Ok(all), Err)
    }

    fn work(&self, device: usize, tasks: &[Task], board: &Board, given: &Given<'_>) -> Result<Ran> {
        let backend = &self.devices[device];
        let mut worker = Worker {
            flow: self,
            board,
            given,
            backend,
            device,
            started: BTreeSet::new(),
            received: BTreeSet::new(),
            outputs: vec![],
            between: vec![],
        };
        let begun = match given.watch {
            true => {
                backend.synchronize()?;
                Some(backend.moment()?)
            }
            false => None,
        };
        for task in tasks {
            worker.take(*task)?;
        }
        let mut ran = Ran::default();
        for (unit, pending) in worker.outputs {
            ran.outputs
                .extend(pending.wait()?.pop().map(|tensor| (unit, tensor)));
        }
        if let Some(begun) = begun {
            for (task, from, to) in worker.between {
                ran.spans.push(Span {
                    task,
                    device,
                    start: from.seconds_since(&*begun)?,
                    end: to.seconds_since(&*begun)?,
                });
            }
        }
        Ok(ran)
    }

    /// The stage where it takes a micro-batch.
    fn stage(&self, stage: usize, micro: usize) -> MutexGuard<'_, StageRun> {
        self.stages[stage][micro % self.homes[stage].len()]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The device that takes a micro-batch of a stage.
    fn home(&self, stage: usize, micro: usize) -> usize {
        let home = &self.homes[stage];
        home[micro % home.len()]
    }

    /// A unit's number among all.
    fn number(&self, unit: Unit) -> usize {
        unit.micro * self.cutting.chunks + unit.chunk
    }

    fn unit(&self, number: usize) -> Unit {
        Unit {
            micro: number / self.cutting.chunks,
            chunk: number % self.cutting.chunks,
        }
    }

    /// Where a unit's buffers are: the class, and the slot in it.
    fn slot_of(&self, stage: usize, unit: Unit) -> (usize, usize) {
        let class = usize::from(self.cutting.is_rest(unit.micro) && self.cutting.micros > 1);
        let slot = match (self.training, class) {
            (false, _) => self.number(unit) % IN_TURN,
            (true, 0) => {
                let kept = self.timetable.in_flight[stage];
                let turn = unit.micro / self.homes[stage].len();
                (turn % kept) * self.cutting.chunks + unit.chunk
            }
            (true, _) => unit.chunk,
        };
        (class, slot)
    }

    /// The task of this device after which a unit's slot is free for it, if there is one.
    fn frees(&self, stage: usize, unit: Unit) -> Option<Task> {
        if !self.training {
            let old = self.number(unit).checked_sub(IN_TURN)?;
            let unit = self.unit(old);
            return Some(Task {
                work: Work::Forward,
                stage,
                unit,
            });
        }
        if self.cutting.is_rest(unit.micro) {
            return None;
        }
        let turns = self.homes[stage].len();
        let micro = (unit.micro).checked_sub(turns * self.timetable.in_flight[stage])?;
        let unit = Unit { micro, ..unit };
        Some(Task {
            work: Work::Backward,
            stage,
            unit,
        })
    }

    /// The earlier task that sent from the buffer which a task writes, if it may still be on its
    /// way.
    fn sent_before(&self, task: Task) -> Option<Task> {
        let Task { work, stage, unit } = task;
        let unit = match work {
            // Its unit came back through the later stages before its slot was free.
            Work::Forward if self.training => return None,
            Work::Forward => self.unit(self.number(unit).checked_sub(IN_TURN)?),
            Work::Backward if unit.chunk + 1 < self.cutting.chunks => Unit {
                chunk: unit.chunk + 1,
                ..unit
            },
            Work::Backward => Unit {
                micro: unit.micro.checked_sub(self.homes[stage].len())?,
                chunk: 0,
            },
            Work::Loss => return None,
        };
        Some(Task { work, stage, unit })
    }

    /// The task of another stage whose result a task reads.
    fn source(&self, task: Task) -> Option<Task> {
        let stage = match task.work {
            Work::Forward => task.stage.checked_sub(1)?,
            Work::Backward if task.stage + 1 < self.stages.len() => task.stage + 1,
            Work::Backward | Work::Loss => return None,
        };
        Some(Task { stage, ..task })
    }

    /// The stage to which a task's result goes.
    fn goes_to(&self, task: Task) -> Option<usize> {
        match task.work {
            Work::Forward => Some(task.stage + 1).filter(|s| *s < self.stages.len()),
            Work::Backward => task.stage.checked_sub(1),
            Work::Loss => None,
        }
    }
}

impl Worker<'_, '_> {
    fn take(&mut self, task: Task) -> Result<()> {
        let flow = self.flow;
        if let Some(source) = flow.source(task) {
            while !self.received.contains(&source) {
                self.receive(None)?;
            }
        }
        if flow.goes_to(task).is_some()
            && let Some(earlier) = flow.sent_before(task)
        {
            while self.board.arrival(earlier).is_none() {
                self.receive(Some(earlier))?;
            }
            if let Some(moment) = self.board.arrival(earlier) {
                self.backend.wait_for(&*moment)?;
            }
        }
        let from = self
            .given
            .watch
            .then(|| self.backend.moment())
            .transpose()?;
        self.run(task)?;
        if let Some(from) = from {
            self.between.push((task, from, self.backend.moment()?));
        }
        self.started.insert(task);
        Ok(())
    }

    /// Copies in what has been sent to this device and has room; waits for it, unless what
    /// `unless` sent has arrived at its stage meanwhile.
    fn receive(&mut self, unless: Option<Task>) -> Result<()> {
        let flow = self.flow;
        let mine = |task: &Task, letter: &Letter| {
            let free = match task.work {
                Work::Forward => flow.frees(letter.to, task.unit),
                _ => None,
            };
            flow.home(letter.to, task.unit.micro) == self.device
                && free.is_none_or(|t| self.started.contains(&t))
        };
        let letters = self.board.take(&mine, &|arrived| {
            unless.is_some_and(|task| arrived.contains_key(&task))
        })?;
        for (task, letter) in letters {
            let (class, slot) = flow.slot_of(letter.to, task.unit);
            let stage = flow.stage(letter.to, task.unit.micro);
            let slot: &Slot = &stage.classes[class].slots[slot];
            let name = if task.work == Work::Forward {
                X
            } else {
                GRAD_Y
            };
            let moment = match slot.buffers.get(name) {
                Some(to) => {
                    let free = slot.used.as_deref();
                    self.backend.receive(to, &*letter.parcel, free)?
                }
                // A stage without parameters at the front needs no gradient.
                None => self.backend.moment()?,
            };
            self.board.has_arrived(task, moment);
            self.received.insert(task);
        }
        Ok(())
    }

    fn run(&mut self, task: Task) -> Result<()> {
        let Task { work, stage, unit } = task;
        let flow = self.flow;
        let (class, at) = flow.slot_of(stage, unit);
        let mut run = flow.stage(stage, unit.micro);
        let position = flow.cutting.position(unit.chunk);
        if work == Work::Loss {
            let images = flow.cutting.images(unit.micro);
            let head = &mut run.classes[class].head[at / flow.cutting.chunks];
            return head.run(&self.given.labels[images], self.given.loss_scale);
        }
        let slot = &mut run.classes[class].slots[at];
        let programs = match work {
            Work::Forward => &mut slot.forward,
            _ => &mut slot.backward,
        };
        let program = programs
            .get_mut(&position)
            .expect("loaded for every position");
        if work == Work::Forward {
            let state = self.draws(unit).state();
            program.set(GENERATOR, HostTensor::I64(&state))?;
            if stage == 0 {
                program.set(X, HostTensor::F32(&(self.given.x)(unit)))?;
            }
        }
        program.run()?;
        if work == Work::Backward || !flow.training {
            slot.used = Some(self.backend.moment()?);
        }
        let made = if work == Work::Forward { Y } else { GRAD_X };
        match (flow.goes_to(task), slot.buffers.get(made)) {
            (Some(to), Some(buffer)) => {
                let parcel = self.backend.send(buffer)?;
                self.board.send(task, Letter { parcel, to });
            }
            (None, Some(buffer)) if !flow.training => {
                self.outputs.push((unit, self.backend.fetch(&[buffer])?));
            }
            _ => {}
        }
        Ok(())
    }

    /// A part of a batch draws what the whole batch would.
    fn draws(&self, unit: Unit) -> Draws {
        let cutting = &self.flow.cutting;
        let steps = unit.chunk * cutting.steps;
        let images = cutting.images(unit.micro).start;
        self.given.draws.behind(steps, images)
    }
}
