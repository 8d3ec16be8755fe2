//! GPUs that add up together, by NCCL.
//!
//! Sums go over a stream of their own, between two events: the first says that the operands are
//! there, the second that the sums are. Recorded with the rest of a plan, the events become edges
//! of the CUDA graph.
//!
//! The communicator never blocks: what would wait for another rank is asked for its state until
//! the time is up, and whoever notices that a rank is gone can give the group up meanwhile, from
//! any thread. Then the kernels that wait for that rank end, with whatever they have; every later
//! call for this GPU says that the group is gone.

mod api;

use crate::error::{Doing, failure};
use crate::gpu::Gpu;
use api::{Api, Config, ID_BYTES, IN_PROGRESS, Id, Raw, SUCCESS};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use spikelet_graph::{ProcessGroup, Result};
use std::ffi::c_int;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

/// How long a rank waits for others that are to answer.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// Between two questions whether something is done.
const PAUSE: Duration = Duration::from_micros(20);

struct Comm(Raw);

// SAFETY: a communicator is bound to no thread; calls that must not meet are kept apart by the
// lock around it.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

/// A rank of a group, with its GPU.
pub(crate) struct Group {
    api: &'static Api,
    device: String,
    rank: usize,
    size: usize,
    patience: Duration,
    context: Arc<CudaContext>,
    /// Sums run here, in order.
    stream: Arc<CudaStream>,
    /// `None` once the group was given up. Held for reading by who calls NCCL.
    comm: RwLock<Option<Comm>>,
}

/// Sums that are started together.
pub(crate) struct Sums {
    /// Addresses of operand and result, and the number of elements.
    tensors: Vec<(u64, u64, usize)>,
    /// The operands are there.
    ready: CudaEvent,
    /// The sums are.
    done: Arc<CudaEvent>,
}

impl Sums {
    /// Sums of tensors: addresses of operand and result, and the number of elements.
    pub(crate) fn new(gpu: &Gpu, tensors: Vec<(u64, u64, usize)>) -> Result<Self> {
        let event = || {
            let made = gpu.context.new_event(None);
            made.doing(&gpu.name, "making an event")
        };
        Ok(Self {
            tensors,
            ready: event()?,
            done: Arc::new(event()?),
        })
    }

    /// What to wait for.
    pub(crate) fn done(&self) -> Arc<CudaEvent> {
        self.done.clone()
    }
}

impl Group {
    /// Meets the other ranks.
    pub(crate) fn join(gpu: &Gpu, exchange: &dyn ProcessGroup, patience: Duration) -> Result<Self> {
        let (rank, size) = (exchange.rank(), exchange.size());
        let api = Api::get();
        // Nobody waits for a rank that cannot come.
        let mut lacking = [if api.is_ok() { 0.0_f32 } else { 1.0 }];
        exchange.all_reduce(&mut lacking)?;
        let api = api.map_err(|problem| failure(&gpu.name, problem))?;
        if lacking[0] > 0.0 {
            return Err(failure(
                &gpu.name,
                format!(
                    "{:.0} of {size} ranks have no NCCL that can be used; `spikelet doctor` says \
                     there what is missing",
                    lacking[0]
                ),
            ));
        }
        let id = Self::id(gpu, api, exchange)?;
        let ranks = c_int::try_from(size).and_then(|n| Ok((n, c_int::try_from(rank)?)));
        let (all, own) = ranks.map_err(|_| {
            failure(
                &gpu.name,
                format!("rank {rank} of {size}: NCCL counts ranks in 31 bits"),
            )
        })?;
        gpu.bind()?;
        let stream = gpu
            .context
            .new_stream()
            .doing(&gpu.name, "making a stream")?;
        let mut comm = ptr::null_mut();
        let mut config = Config::not_blocking();
        // SAFETY: the GPU's context is current; pointer and configuration live through the call,
        // which copies what it needs of them.
        let status = unsafe { (api.join)(&mut comm, all, id, own, &mut config) };
        let group = Self {
            api,
            device: gpu.name.clone(),
            rank,
            size,
            patience,
            context: gpu.context.clone(),
            stream,
            comm: RwLock::new((!comm.is_null()).then_some(Comm(comm))),
        };
        group.settle(status, "joining the group")?;
        Ok(group)
    }

    /// Rank 0 makes what the ranks find each other by, and tells the others.
    fn id(gpu: &Gpu, api: &Api, exchange: &dyn ProcessGroup) -> Result<Id> {
        let mut bytes = vec![];
        let mut problem = "rank 0 cannot start a group, and says there why".to_string();
        if exchange.rank() == 0 {
            match api.unique_id() {
                Ok(id) => bytes = id,
                Err(told) => problem = format!("starting a group: NCCL: {told}"),
            }
        }
        // The others are told of a failure too: nothing is not an identifier.
        exchange.broadcast(&mut bytes, 0)?;
        let id: Option<[u8; ID_BYTES]> = bytes.try_into().ok();
        Ok(Id(id.ok_or_else(|| failure(&gpu.name, problem))?))
    }

    /// How many ranks there are.
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

    fn given_up(&self) -> spikelet_graph::Error {
        self.failure(
            "the group was given up, since a rank is gone or did not answer; what this step \
             computed is void: start all ranks anew, from a checkpoint",
        )
    }

    /// How NCCL is.
    fn state(&self) -> Result<c_int> {
        let comm = self.comm();
        let Some(comm) = &*comm else {
            return Err(self.given_up());
        };
        let mut state = SUCCESS;
        // SAFETY: the communicator is alive while the lock is held.
        let asked = unsafe { (self.api.state)(comm.0, &mut state) };
        Ok(if asked == SUCCESS { state } else { asked })
    }

    /// Waits until a call is through that has returned `status`.
    fn settle(&self, mut status: c_int, doing: &str) -> Result<()> {
        let end = Instant::now() + self.patience;
        while status == IN_PROGRESS {
            if Instant::now() > end {
                self.give_up();
                return Err(self.failure(format!(
                    "{doing}: not all ranks answered within {:.0} s; are all of them running, and \
                     can their hosts reach each other (NCCL_SOCKET_IFNAME names the network)?",
                    self.patience.as_secs_f64()
                )));
            }
            thread::sleep(PAUSE);
            status = self.state()?;
        }
        self.api.check(status).map_err(|told| {
            self.give_up();
            self.failure(format!("{doing}: NCCL: {told}"))
        })
    }

    /// Whether the group is still whole, as far as is known.
    pub(crate) fn check(&self) -> Result<()> {
        match self.state()? {
            SUCCESS | IN_PROGRESS => Ok(()),
            status => self.settle(status, "adding up"),
        }
    }

    /// Gives the group up: kernels that wait for other ranks end, and nothing more is added up.
    pub(crate) fn give_up(&self) {
        let Some(comm) = self.comm_mut().take() else {
            return;
        };
        let api = self.api;
        // It tells the kernels at once, and returns when no recorded graph holds the communicator
        // any more. Whoever holds one may be this thread.
        let aborting = thread::Builder::new().name("spikelet-abort".to_string());
        let started = aborting.spawn(move || {
            let comm = comm;
            // SAFETY: nobody else has the communicator any more.
            unsafe { (api.abort)(comm.0) };
        });
        if let Err(error) = started {
            tracing::warn!("no thread to give the group up: {error}");
        }
    }

    /// Starts sums behind what the GPU's stream was given so far.
    ///
    /// # Safety
    /// The addresses must lead to as many elements, which nobody else touches before
    /// [`Group::arrive`].
    pub(crate) unsafe fn start(&self, gpu: &Gpu, sums: &Sums) -> Result<()> {
        let order = "ordering sums over ranks";
        sums.ready
            .record(&gpu.stream)
            .doing(&self.device, "recording an event")?;
        self.stream.wait(&sums.ready).doing(&self.device, order)?;
        let status = match &*self.comm() {
            // SAFETY: the communicator is alive while the lock is held; the rest is the caller's
            // promise.
            Some(comm) => unsafe {
                let stream = self.stream.cu_stream();
                self.api.sums(comm.0, stream, &sums.tensors)
            },
            None => return Err(self.given_up()),
        };
        self.settle(status, "adding up")?;
        sums.done
            .record(&self.stream)
            .doing(&self.device, "recording an event")
    }

    /// Lets the GPU's stream wait for sums.
    pub(crate) fn arrive(gpu: &Gpu, done: &CudaEvent) -> Result<()> {
        gpu.stream
            .wait(done)
            .doing(&gpu.name, "waiting for sums over ranks")
    }

    /// Leaves a group whose ranks have all done the same.
    fn leave(&self) -> Result<()> {
        let status = match &*self.comm() {
            // SAFETY: the communicator is alive while the lock is held.
            Some(comm) => unsafe { (self.api.finalize)(comm.0) },
            None => return Ok(()),
        };
        self.settle(status, "leaving the group")?;
        if let Some(comm) = self.comm_mut().take() {
            // SAFETY: everything that was started is done, and nobody else has the communicator.
            let status = unsafe { (self.api.destroy)(comm.0) };
            return self.api.check(status).map_err(|told| self.failure(told));
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        if let Err(error) = self.leave() {
            tracing::warn!("{error}");
        }
    }
}
