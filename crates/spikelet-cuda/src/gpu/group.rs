//! Process groups of GPUs, by NCCL.
//!
//! Sums run on a separate stream, between two events: the first marks the operands as ready, the
//! second the sums. Captured with the rest of a plan, the events become edges of the CUDA graph.
//!
//! The communicator is nonblocking: calls that wait for another rank are polled until the timeout.
//! Meanwhile the group can be aborted from any thread, for example when a rank is disconnected. The
//! kernels that wait for that rank then end with undefined results; every later call for this GPU
//! returns an error.

mod api;

use super::Gpu;
use crate::error::{Context as _, failure};
use crate::library::driver::{Context, Event, Stream, UNTIMED};
use api::{Api, Config, ID_BYTES, IN_PROGRESS, Id, Raw, SUCCESS};
use spikelet_graph::{ProcessGroup, Result};
use std::ffi::c_int;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

/// The time that a rank waits for the others.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The polling interval.
const PAUSE: Duration = Duration::from_micros(20);

struct Comm(Raw);

// SAFETY: a communicator is bound to no thread; calls that must not be concurrent are serialized by
// the lock around it.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

/// A rank of a group, with its GPU.
pub(crate) struct Group {
    api: &'static Api,
    device: String,
    rank: usize,
    size: usize,
    timeout: Duration,
    context: Arc<Context>,
    /// Sums run here, in order.
    stream: Arc<Stream>,
    /// `None` after the group was aborted. Locked for reading during calls of NCCL.
    comm: RwLock<Option<Comm>>,
}

/// Sums that are started together.
pub(crate) struct AllReduceBatch {
    /// Names of operand and result, and the number of elements.
    tensors: Vec<(u64, u64, usize)>,
    /// The operands are ready.
    ready: Event,
    /// The sums are ready.
    done: Arc<Event>,
}

impl AllReduceBatch {
    /// A batch of tensors: names of operand and result, and the number of elements.
    pub(crate) fn new(gpu: &Gpu, tensors: Vec<(u64, u64, usize)>) -> Result<Self> {
        let event = || {
            let event = gpu.context.new_event(UNTIMED);
            event.context(&gpu.name, "creating an event")
        };
        Ok(Self {
            tensors,
            ready: event()?,
            done: Arc::new(event()?),
        })
    }

    /// The event to wait for.
    pub(crate) fn done(&self) -> Arc<Event> {
        self.done.clone()
    }
}

impl Group {
    /// Joins the group of all ranks.
    pub(crate) fn join(gpu: &Gpu, exchange: &dyn ProcessGroup, timeout: Duration) -> Result<Self> {
        let (rank, size) = (exchange.rank(), exchange.size());
        let api = Api::get();
        // No rank waits for one that cannot join.
        let mut ranks_without = [if api.is_ok() { 0.0_f32 } else { 1.0 }];
        exchange.all_reduce(&mut ranks_without)?;
        let api = api.map_err(|missing| failure(&gpu.name, missing.to_string()))?;
        if ranks_without[0] > 0.0 {
            return Err(failure(
                &gpu.name,
                format!(
                    "{:.0} of {size} ranks have no usable NCCL; `spikelet doctor` shows there what is \
                     missing",
                    ranks_without[0]
                ),
            ));
        }
        let id = Self::id(gpu, api, exchange)?;
        let ranks = c_int::try_from(size).and_then(|n| Ok((n, c_int::try_from(rank)?)));
        let (all, own) = ranks.map_err(|_| {
            failure(
                &gpu.name,
                format!("rank {rank} of {size}: NCCL supports fewer than 2³¹ ranks"),
            )
        })?;
        gpu.bind()?;
        let stream = gpu
            .context
            .new_stream()
            .context(&gpu.name, "creating a stream")?;
        let mut comm = ptr::null_mut();
        let mut config = Config::not_blocking();
        // SAFETY: the GPU's context is current; pointer and configuration are alive during the call,
        // which copies them.
        let status = unsafe { (api.join)(&mut comm, all, id, own, &mut config) };
        let group = Self {
            api,
            device: gpu.name.clone(),
            rank,
            size,
            timeout,
            context: gpu.context.clone(),
            stream,
            comm: RwLock::new((!comm.is_null()).then_some(Comm(comm))),
        };
        group.settle(status, "joining the group")?;
        Ok(group)
    }

    /// Rank 0 creates the group's identifier and broadcasts it.
    fn id(gpu: &Gpu, api: &Api, exchange: &dyn ProcessGroup) -> Result<Id> {
        let mut bytes = vec![];
        let mut problem = "rank 0 cannot create a group; its error has the reason".to_string();
        if exchange.rank() == 0 {
            match api.unique_id() {
                Ok(id) => bytes = id,
                Err(message) => problem = format!("creating a group: NCCL: {message}"),
            }
        }
        // After a failure an empty identifier is broadcast, so that the others fail as well.
        exchange.broadcast(&mut bytes, 0)?;
        let id: Option<[u8; ID_BYTES]> = bytes.try_into().ok();
        Ok(Id(id.ok_or_else(|| failure(&gpu.name, problem))?))
    }

    /// The number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn comm(&self) -> RwLockReadGuard<'_, Option<Comm>> {
        self.comm.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn comm_mut(&self) -> RwLockWriteGuard<'_, Option<Comm>> {
        self.comm.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self, problem: impl std::fmt::Display) -> spikelet_graph::Error {
        let Self { rank, size, .. } = self;
        failure(&self.device, format!("rank {rank} of {size}: {problem}"))
    }

    fn aborted(&self) -> spikelet_graph::Error {
        self.failure(
            "the group was aborted, since a rank is disconnected or did not answer; the results of \
             this step are invalid: restart all ranks from a checkpoint",
        )
    }

    /// The state of the communicator.
    fn state(&self) -> Result<c_int> {
        let comm = self.comm();
        let Some(comm) = &*comm else {
            return Err(self.aborted());
        };
        let mut state = SUCCESS;
        // SAFETY: the communicator is alive while the lock is held.
        let status = unsafe { (self.api.state)(comm.0, &mut state) };
        Ok(if status == SUCCESS { state } else { status })
    }

    /// Waits for the end of a call that has returned `status`.
    fn settle(&self, mut status: c_int, action: &str) -> Result<()> {
        let end = Instant::now() + self.timeout;
        while status == IN_PROGRESS {
            if Instant::now() > end {
                self.abort();
                return Err(self.failure(format!(
                    "{action}: not all ranks answered within {:.0} s; are all of them running, and \
                     can their hosts reach each other (NCCL_SOCKET_IFNAME names the network)?",
                    self.timeout.as_secs_f64()
                )));
            }
            thread::sleep(PAUSE);
            status = self.state()?;
        }
        self.api.check(status).map_err(|message| {
            self.abort();
            self.failure(format!("{action}: NCCL: {message}"))
        })
    }

    /// Checks that the group has not failed.
    pub(crate) fn check(&self) -> Result<()> {
        match self.state()? {
            SUCCESS | IN_PROGRESS => Ok(()),
            status => self.settle(status, "summing over ranks"),
        }
    }

    /// Aborts the group: kernels that wait for other ranks end, and no more sums are started.
    pub(crate) fn abort(&self) {
        let Some(comm) = self.comm_mut().take() else {
            return;
        };
        let api = self.api;
        // It ends the kernels at once, but returns only when no captured graph holds the communicator
        // any more. This thread may hold one.
        let aborting = thread::Builder::new().name("spikelet-abort".to_string());
        let started = aborting.spawn(move || {
            let comm = comm;
            // SAFETY: no other thread has the communicator any more.
            unsafe { (api.abort)(comm.0) };
        });
        if let Err(error) = started {
            tracing::warn!("cannot start a thread that aborts the group: {error}");
        }
    }

    /// Starts sums after all work on the GPU's stream.
    ///
    /// # Safety
    /// The addresses must be those of so many elements, which nothing else accesses before
    /// [`Group::arrive`].
    pub(crate) unsafe fn start(
        &self,
        gpu: &Gpu,
        sums: &AllReduceBatch,
        address: impl Fn(u64) -> u64,
    ) -> Result<()> {
        let tensors = sums.tensors.iter();
        let tensors = tensors.map(|(from, to, count)| (address(*from), address(*to), *count));
        let tensors: Vec<(u64, u64, usize)> = tensors.collect();
        let order = "ordering sums over ranks";
        sums.ready
            .record(&gpu.stream)
            .context(&self.device, "recording an event")?;
        self.stream.wait(&sums.ready).context(&self.device, order)?;
        let status = match &*self.comm() {
            // SAFETY: the communicator is alive while the lock is held; the rest is the caller's
            // promise.
            Some(comm) => unsafe {
                let stream = self.stream.raw();
                self.api.sums(comm.0, stream, &tensors)
            },
            None => return Err(self.aborted()),
        };
        self.settle(status, "summing over ranks")?;
        sums.done
            .record(&self.stream)
            .context(&self.device, "recording an event")
    }

    /// Makes the GPU's stream wait for sums.
    pub(crate) fn arrive(gpu: &Gpu, done: &Event) -> Result<()> {
        gpu.stream
            .wait(done)
            .context(&gpu.name, "waiting for sums over ranks")
    }

    /// Leaves a group after all its ranks have finished the same work.
    fn leave(&self) -> Result<()> {
        let status = match &*self.comm() {
            // SAFETY: the communicator is alive while the lock is held.
            Some(comm) => unsafe { (self.api.finalize)(comm.0) },
            None => return Ok(()),
        };
        self.settle(status, "leaving the group")?;
        if let Some(comm) = self.comm_mut().take() {
            // SAFETY: all work is done, and no other thread has the communicator.
            let status = unsafe { (self.api.destroy)(comm.0) };
            return self
                .api
                .check(status)
                .map_err(|message| self.failure(message));
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.context.bind().is_err() {
            return;
        }
        if let Err(error) = self.leave() {
            tracing::warn!("{error}");
        }
    }
}
