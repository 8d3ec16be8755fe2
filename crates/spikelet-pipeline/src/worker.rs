//! The thread of a device.
//!
//! It runs the tasks of the device in the order of the timetable. Before each task it receives the tensors
//! that other devices have sent, as far as their buffers are free, and waits until the inputs of the task
//! have arrived. On a GPU this only enqueues work; events order the work of different GPUs.

use super::error::PipelineError;
use super::flow::{Flow, Slot, StageRun};
use super::mailbox::{Mailbox, Message};
use super::stage::{GRAD_X, GRAD_Y, X, Y};
use super::task::{MicroBatch, Phase, Task};
use super::timeline::Span;
use super::timetable::FORWARD_BUFFERS;
use spikelet_core::{Error, Result};
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Event, HostFuture, Tensor};
use spikelet_nn::module::GENERATOR;
use spikelet_train::engine::Draws;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

/// The inputs of a run.
pub(super) struct RunInputs<'a> {
    /// The input of a micro-batch.
    pub(super) x: &'a (dyn Fn(MicroBatch) -> Cow<'a, [f32]> + Sync),
    pub(super) labels: &'a [i64],
    /// The factor of the loss; 1 if it is not scaled.
    pub(super) loss_scale: f32,
    /// The state of the random numbers of the batch.
    pub(super) draws: Draws,
    /// Whether to record when each task runs.
    pub(super) record: bool,
}

/// The outputs of a run.
#[derive(Default)]
pub(super) struct RunOutputs {
    /// The outputs of the last stage, without training.
    pub(super) outputs: BTreeMap<MicroBatch, Tensor>,
    pub(super) spans: Vec<Span>,
}

/// A task, and the events before and after it.
type Between = (Task, Arc<dyn Event>, Arc<dyn Event>);

/// Stops the other threads when this one ends early, even by a panic.
struct FailureGuard<'a>(&'a Mailbox);

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        self.0.fail();
    }
}

struct Worker<'a, 'g> {
    flow: &'a Flow,
    mailbox: &'a Mailbox,
    inputs: &'a RunInputs<'g>,
    backend: &'a Arc<dyn Backend>,
    device: usize,
    /// The started tasks of this device.
    started: BTreeSet<Task>,
    /// The tasks of any device whose results have been received.
    received: BTreeSet<Task>,
    outputs: Vec<(MicroBatch, Box<dyn HostFuture>)>,
    between: Vec<Between>,
}

impl Flow {
    /// Runs the pipeline once.
    ///
    /// # Errors
    /// When a device fails.
    pub(super) fn run(&self, inputs: &RunInputs<'_>) -> Result<RunOutputs> {
        let mailbox = Mailbox::default();
        let results: Vec<Result<RunOutputs>> = std::thread::scope(|scope| {
            let mailbox = &mailbox;
            let threads: Vec<_> = (self.timetable.devices.iter().enumerate())
                .filter(|(_, tasks)| !tasks.is_empty())
                .map(|(device, tasks)| {
                    scope.spawn(move || {
                        let guard = FailureGuard(mailbox);
                        let ran = self.run_device(device, tasks, mailbox, inputs)?;
                        std::mem::forget(guard);
                        Ok(ran)
                    })
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<RunOutputs>>| {
                let stopped = |_| Err(PipelineError::Stopped.into());
                thread.join().unwrap_or_else(stopped)
            };
            threads.into_iter().map(join).collect()
        });
        let mut all = RunOutputs::default();
        let mut failed: Option<Error> = None;
        for ran in results {
            match ran {
                Ok(ran) => {
                    all.outputs.extend(ran.outputs);
                    all.spans.extend(ran.spans);
                }
                // The error of the failed device takes precedence over those of stopped ones.
                Err(error) => match &failed {
                    Some(known) if known.downcast_ref() != Some(&PipelineError::Stopped) => {}
                    _ => failed = Some(error),
                },
            }
        }
        failed.map_or(Ok(all), Err)
    }

    fn run_device(
        &self,
        device: usize,
        tasks: &[Task],
        mailbox: &Mailbox,
        inputs: &RunInputs<'_>,
    ) -> Result<RunOutputs> {
        let backend = &self.devices[device];
        let mut worker = Worker {
            flow: self,
            mailbox,
            inputs,
            backend,
            device,
            started: BTreeSet::new(),
            received: BTreeSet::new(),
            outputs: vec![],
            between: vec![],
        };
        let begun = if inputs.record {
            backend.synchronize()?;
            Some(backend.record_event()?)
        } else {
            None
        };
        for task in tasks {
            worker.take(*task)?;
        }
        let mut ran = RunOutputs::default();
        for (micro_batch, pending) in worker.outputs {
            ran.outputs
                .extend(pending.wait()?.pop().map(|tensor| (micro_batch, tensor)));
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

    /// The replica of a stage that processes a micro-batch.
    fn stage(&self, stage: usize, micro: usize) -> MutexGuard<'_, StageRun> {
        self.stages[stage][micro % self.stage_devices[stage].len()]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The device that processes a micro-batch of a stage.
    fn device_of(&self, stage: usize, micro: usize) -> usize {
        let devices = &self.stage_devices[stage];
        devices[micro % devices.len()]
    }

    /// The index of a chunk of a micro-batch among all.
    fn number(&self, micro_batch: MicroBatch) -> usize {
        micro_batch.index * self.batch_split.chunks + micro_batch.chunk
    }

    fn micro_batch(&self, number: usize) -> MicroBatch {
        MicroBatch {
            index: number / self.batch_split.chunks,
            chunk: number % self.batch_split.chunks,
        }
    }

    /// The size class of a micro-batch, and its slot.
    fn slot_of(&self, stage: usize, micro_batch: MicroBatch) -> (usize, usize) {
        let class =
            usize::from(self.batch_split.is_rest(micro_batch.index) && self.batch_split.micros > 1);
        let slot = match (self.training, class) {
            (false, _) => self.number(micro_batch) % FORWARD_BUFFERS,
            (true, 0) => {
                let kept = self.timetable.in_flight[stage];
                let turn = micro_batch.index / self.stage_devices[stage].len();
                (turn % kept) * self.batch_split.chunks + micro_batch.chunk
            }
            (true, _) => micro_batch.chunk,
        };
        (class, slot)
    }

    /// The task of this device that must finish before the slot of a micro-batch is free, if there is one.
    fn frees(&self, stage: usize, micro_batch: MicroBatch) -> Option<Task> {
        if !self.training {
            let old = self.number(micro_batch).checked_sub(FORWARD_BUFFERS)?;
            let micro_batch = self.micro_batch(old);
            return Some(Task {
                phase: Phase::Forward,
                stage,
                micro_batch,
            });
        }
        if self.batch_split.is_rest(micro_batch.index) {
            return None;
        }
        let turns = self.stage_devices[stage].len();
        let micro = (micro_batch.index).checked_sub(turns * self.timetable.in_flight[stage])?;
        let micro_batch = MicroBatch {
            index: micro,
            ..micro_batch
        };
        Some(Task {
            phase: Phase::Backward,
            stage,
            micro_batch,
        })
    }

    /// The earlier task that sent the buffer that a task writes, if its transfer may still be running.
    fn sent_before(&self, task: Task) -> Option<Task> {
        let Task {
            phase,
            stage,
            micro_batch,
        } = task;
        let micro_batch = match phase {
            // The micro-batch has passed the later stages before its slot was free.
            Phase::Forward if self.training => return None,
            Phase::Forward => {
                self.micro_batch(self.number(micro_batch).checked_sub(FORWARD_BUFFERS)?)
            }
            Phase::Backward if micro_batch.chunk + 1 < self.batch_split.chunks => MicroBatch {
                chunk: micro_batch.chunk + 1,
                ..micro_batch
            },
            Phase::Backward => MicroBatch {
                index: micro_batch
                    .index
                    .checked_sub(self.stage_devices[stage].len())?,
                chunk: 0,
            },
            Phase::Loss => return None,
        };
        Some(Task {
            phase,
            stage,
            micro_batch,
        })
    }

    /// The task of another stage whose result a task reads.
    fn source(&self, task: Task) -> Option<Task> {
        let stage = match task.phase {
            Phase::Forward => task.stage.checked_sub(1)?,
            Phase::Backward if task.stage + 1 < self.stages.len() => task.stage + 1,
            Phase::Backward | Phase::Loss => return None,
        };
        Some(Task { stage, ..task })
    }

    /// The stage that receives the result of a task.
    fn goes_to(&self, task: Task) -> Option<usize> {
        match task.phase {
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
            if let Some(event) = self.mailbox.arrival(earlier) {
                self.backend.wait_for(&*event)?;
            }
        }
        let from = self
            .inputs
            .record
            .then(|| self.backend.record_event())
            .transpose()?;
        self.run(task)?;
        if let Some(from) = from {
            self.between
                .push((task, from, self.backend.record_event()?));
        }
        self.started.insert(task);
        Ok(())
    }

    /// Receives the tensors that were sent to this device and whose buffers are free. Waits for the first one,
    /// unless the tensor of the task `unless` arrives at its stage first.
    fn receive(&mut self, unless: Option<Task>) -> Result<()> {
        let flow = self.flow;
        let mine = |task: &Task, message: &Message| {
            let free = match task.phase {
                Phase::Forward => flow.frees(message.to, task.micro_batch),
                _ => None,
            };
            flow.device_of(message.to, task.micro_batch.index) == self.device
                && free.is_none_or(|t| self.started.contains(&t))
        };
        let messages = self.mailbox.take(&mine, &|arrived| {
            unless.is_some_and(|task| arrived.contains_key(&task))
        })?;
        for (task, message) in messages {
            let (class, slot) = flow.slot_of(message.to, task.micro_batch);
            let stage = flow.stage(message.to, task.micro_batch.index);
            let slot: &Slot = &stage.classes[class].slots[slot];
            let name = if task.phase == Phase::Forward {
                X
            } else {
                GRAD_Y
            };
            let event = match slot.buffers.get(name) {
                Some(to) => {
                    let free = slot.used.as_deref();
                    self.backend.receive(to, &*message.transfer, free)?
                }
                // A first stage without parameters needs no gradient.
                None => self.backend.record_event()?,
            };
            self.mailbox.has_arrived(task, event);
            self.received.insert(task);
        }
        Ok(())
    }

    fn run(&mut self, task: Task) -> Result<()> {
        let Task {
            phase,
            stage,
            micro_batch,
        } = task;
        let flow = self.flow;
        let (class, at) = flow.slot_of(stage, micro_batch);
        let mut run = flow.stage(stage, micro_batch.index);
        let position = flow.batch_split.position(micro_batch.chunk);
        if phase == Phase::Loss {
            let images = flow.batch_split.images(micro_batch.index);
            let head = &mut run.classes[class].head[at / flow.batch_split.chunks];
            return head.run(&self.inputs.labels[images], self.inputs.loss_scale);
        }
        let slot = &mut run.classes[class].slots[at];
        let programs = match phase {
            Phase::Forward => &mut slot.forward,
            _ => &mut slot.backward,
        };
        let program = programs
            .get_mut(&position)
            .expect("loaded for every position");
        if phase == Phase::Forward {
            let state = self.draws(micro_batch).state();
            program.set(GENERATOR, HostTensor::I64(&state))?;
            if stage == 0 {
                program.set(X, HostTensor::F32(&(self.inputs.x)(micro_batch)))?;
            }
        }
        program.run()?;
        if phase == Phase::Backward || !flow.training {
            slot.used = Some(self.backend.record_event()?);
        }
        let name = if phase == Phase::Forward { Y } else { GRAD_X };
        match (flow.goes_to(task), slot.buffers.get(name)) {
            (Some(to), Some(buffer)) => {
                let transfer = self.backend.send(buffer)?;
                self.mailbox.send(task, Message { transfer, to });
            }
            (None, Some(buffer)) if !flow.training => {
                self.outputs
                    .push((micro_batch, self.backend.fetch(&[buffer])?));
            }
            _ => {}
        }
        Ok(())
    }

    /// The random numbers of a micro-batch are those of its images in the batch.
    fn draws(&self, micro_batch: MicroBatch) -> Draws {
        let batch_split = &self.flow.batch_split;
        let steps = micro_batch.chunk * batch_split.steps;
        let images = batch_split.images(micro_batch.index).start;
        self.inputs.draws.behind(steps, images)
    }
}
