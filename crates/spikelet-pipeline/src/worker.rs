//! What a device's thread does.
//!
//! It takes the device's tasks in the timetable's order. Before each it copies in whatever other
//! devices have sent for which there is room, and waits until what the task needs is there. On a
//! GPU all of this only starts work; order among GPUs is kept by events.

use super::flow::{Flow, Slot, StageRun};
use super::mailbox::{Mailbox, Message, stopped};
use super::stage::{GRAD_X, GRAD_Y, X, Y};
use super::timetable::{IN_TURN, MicroBatch, Phase, Task};
use spikelet_core::{Error, Result};
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Event, HostFuture, Tensor};
use spikelet_nn::module::GENERATOR;
use spikelet_train::Draws;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

/// What a run is given.
pub(super) struct Given<'a> {
    /// A unit's part of the input.
    pub(super) x: &'a (dyn Fn(MicroBatch) -> Cow<'a, [f32]> + Sync),
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
    pub(super) outputs: BTreeMap<MicroBatch, Tensor>,
    pub(super) spans: Vec<Span>,
}

/// Two moments between which a task ran.
type Between = (Task, Arc<dyn Event>, Arc<dyn Event>);

/// Tells the other threads when this one ends before its work is done, also by a panic.
struct Alarm<'a>(&'a Mailbox);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.fail();
    }
}

struct Worker<'a, 'g> {
    flow: &'a Flow,
    mailbox: &'a Mailbox,
    given: &'a Given<'g>,
    backend: &'a Arc<dyn Backend>,
    device: usize,
    /// Tasks of this device that were started.
    started: BTreeSet<Task>,
    /// Tasks of any device whose results have been copied in.
    received: BTreeSet<Task>,
    outputs: Vec<(MicroBatch, Box<dyn HostFuture>)>,
    between: Vec<Between>,
}

impl Flow {
    /// Runs the pipeline once.
    ///
    /// # Errors
    /// When a device fails.
    pub(super) fn run(&self, given: &Given<'_>) -> Result<Ran> {
        let mailbox = Mailbox::default();
        let made: Vec<Result<Ran>> = std::thread::scope(|scope| {
            let mailbox = &mailbox;
            let threads: Vec<_> = (self.timetable.devices.iter().enumerate())
                .filter(|(_, tasks)| !tasks.is_empty())
                .map(|(device, tasks)| {
                    scope.spawn(move || {
                        let alarm = Alarm(mailbox);
                        let ran = self.work(device, tasks, mailbox, given)?;
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

    fn work(
        &self,
        device: usize,
        tasks: &[Task],
        mailbox: &Mailbox,
        given: &Given<'_>,
    ) -> Result<Ran> {
        let backend = &self.devices[device];
        let mut worker = Worker {
            flow: self,
            mailbox,
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
        self.stages[stage][micro % self.stage_devices[stage].len()]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The device that takes a micro-batch of a stage.
    fn home(&self, stage: usize, micro: usize) -> usize {
        let home = &self.stage_devices[stage];
        home[micro % home.len()]
    }

    /// A unit's number among all.
    fn number(&self, unit: MicroBatch) -> usize {
        unit.micro * self.cutting.chunks + unit.chunk
    }

    fn unit(&self, number: usize) -> MicroBatch {
        MicroBatch {
            micro: number / self.cutting.chunks,
            chunk: number % self.cutting.chunks,
        }
    }

    /// Where a unit's buffers are: the class, and the slot in it.
    fn slot_of(&self, stage: usize, unit: MicroBatch) -> (usize, usize) {
        let class = usize::from(self.cutting.is_rest(unit.micro) && self.cutting.micros > 1);
        let slot = match (self.training, class) {
            (false, _) => self.number(unit) % IN_TURN,
            (true, 0) => {
                let kept = self.timetable.in_flight[stage];
                let turn = unit.micro / self.stage_devices[stage].len();
                (turn % kept) * self.cutting.chunks + unit.chunk
            }
            (true, _) => unit.chunk,
        };
        (class, slot)
    }

    /// The task of this device after which a unit's slot is free for it, if there is one.
    fn frees(&self, stage: usize, unit: MicroBatch) -> Option<Task> {
        if !self.training {
            let old = self.number(unit).checked_sub(IN_TURN)?;
            let unit = self.unit(old);
            return Some(Task {
                work: Phase::Forward,
                stage,
                unit,
            });
        }
        if self.cutting.is_rest(unit.micro) {
            return None;
        }
        let turns = self.stage_devices[stage].len();
        let micro = (unit.micro).checked_sub(turns * self.timetable.in_flight[stage])?;
        let unit = MicroBatch { micro, ..unit };
        Some(Task {
            work: Phase::Backward,
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
            Phase::Forward if self.training => return None,
            Phase::Forward => self.unit(self.number(unit).checked_sub(IN_TURN)?),
            Phase::Backward if unit.chunk + 1 < self.cutting.chunks => MicroBatch {
                chunk: unit.chunk + 1,
                ..unit
            },
            Phase::Backward => MicroBatch {
                micro: unit.micro.checked_sub(self.stage_devices[stage].len())?,
                chunk: 0,
            },
            Phase::Loss => return None,
        };
        Some(Task { work, stage, unit })
    }

    /// The task of another stage whose result a task reads.
    fn source(&self, task: Task) -> Option<Task> {
        let stage = match task.work {
            Phase::Forward => task.stage.checked_sub(1)?,
            Phase::Backward if task.stage + 1 < self.stages.len() => task.stage + 1,
            Phase::Backward | Phase::Loss => return None,
        };
        Some(Task { stage, ..task })
    }

    /// The stage to which a task's result goes.
    fn goes_to(&self, task: Task) -> Option<usize> {
        match task.work {
            Phase::Forward => Some(task.stage + 1).filter(|s| *s < self.stages.len()),
            Phase::Backward => task.stage.checked_sub(1),
            Phase::Loss => None,
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
            while self.mailbox.arrival(earlier).is_none() {
                self.receive(Some(earlier))?;
            }
            if let Some(moment) = self.mailbox.arrival(earlier) {
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
        let mine = |task: &Task, letter: &Message| {
            let free = match task.work {
                Phase::Forward => flow.frees(letter.to, task.unit),
                _ => None,
            };
            flow.home(letter.to, task.unit.micro) == self.device
                && free.is_none_or(|t| self.started.contains(&t))
        };
        let letters = self.mailbox.take(&mine, &|arrived| {
            unless.is_some_and(|task| arrived.contains_key(&task))
        })?;
        for (task, letter) in letters {
            let (class, slot) = flow.slot_of(letter.to, task.unit);
            let stage = flow.stage(letter.to, task.unit.micro);
            let slot: &Slot = &stage.classes[class].slots[slot];
            let name = if task.work == Phase::Forward {
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
            self.mailbox.has_arrived(task, moment);
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
        if work == Phase::Loss {
            let images = flow.cutting.images(unit.micro);
            let head = &mut run.classes[class].head[at / flow.cutting.chunks];
            return head.run(&self.given.labels[images], self.given.loss_scale);
        }
        let slot = &mut run.classes[class].slots[at];
        let programs = match work {
            Phase::Forward => &mut slot.forward,
            _ => &mut slot.backward,
        };
        let program = programs
            .get_mut(&position)
            .expect("loaded for every position");
        if work == Phase::Forward {
            let state = self.draws(unit).state();
            program.set(GENERATOR, HostTensor::I64(&state))?;
            if stage == 0 {
                program.set(X, HostTensor::F32(&(self.given.x)(unit)))?;
            }
        }
        program.run()?;
        if work == Phase::Backward || !flow.training {
            slot.used = Some(self.backend.moment()?);
        }
        let made = if work == Phase::Forward { Y } else { GRAD_X };
        match (flow.goes_to(task), slot.buffers.get(made)) {
            (Some(to), Some(buffer)) => {
                let parcel = self.backend.send(buffer)?;
                self.mailbox.send(task, Message { parcel, to });
            }
            (None, Some(buffer)) if !flow.training => {
                self.outputs.push((unit, self.backend.fetch(&[buffer])?));
            }
            _ => {}
        }
        Ok(())
    }

    /// A part of a batch draws what the whole batch would.
    fn draws(&self, unit: MicroBatch) -> Draws {
        let cutting = &self.flow.cutting;
        let steps = unit.chunk * cutting.steps;
        let images = cutting.images(unit.micro).start;
        self.given.draws.behind(steps, images)
    }
}
