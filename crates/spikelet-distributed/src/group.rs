//! A connected group of ranks.

use super::error::RendezvousError;
use super::gather::all_gather;
use super::rendezvous::{Fingerprint, rendezvous};
use super::ring::Ring;
use super::watchdog::{AbortHandler, OverdueHandler, Watchdog};
use super::world::World;
use spikelet_core::{Error, Result};
use spikelet_graph::ProcessGroup;
use std::fmt::{self, Debug, Display};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// The time limits of a group.
///
/// | field | default | |
/// |---|---|---|
/// | `rendezvous` | 60 s | until all ranks are connected to rank 0 |
/// | `heartbeat` | 20 s | without a heartbeat of a rank, before the run is aborted |
/// | `collective` | 10 min | until the values of a neighbor arrive, while it sends heartbeats |
/// | `shutdown` | 5 s | until the work returns after another rank has aborted the run, before [`RankGroup::on_overdue`] |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeouts {
    /// Until all ranks are connected to rank 0.
    pub rendezvous: Duration,
    /// Without a heartbeat of a rank.
    pub heartbeat: Duration,
    /// Until the values of a neighbor arrive, while it sends heartbeats.
    pub collective: Duration,
    /// Until the work returns after another rank has aborted the run.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            rendezvous: Duration::from_secs(60),
            heartbeat: Duration::from_secs(20),
            collective: Duration::from_secs(600),
            shutdown: Duration::from_secs(5),
        }
    }
}

/// A lost rank may cause other errors than a lost neighbor, on devices that are only known by their
/// abort handler. The reason of the abort arrives within this time.
const ABORT_DELAY: Duration = Duration::from_millis(500);

/// The ranks of a run, as seen by one of them.
///
/// ```no_run
/// use spikelet_distributed::{Fingerprint, RankGroup, Timeouts, World};
/// let world = World::new(0, 2, 0, "127.0.0.1:29500".parse()?)?;
/// let run = Fingerprint::new().with("seed", 0);
/// let group = RankGroup::connect(world, &run, Timeouts::default())?;
/// group.run(|| {
///     let mut values = [1.0, 2.0];
///     group.process_group().all_reduce(&mut values)?;
///     Ok::<(), spikelet_core::Error>(())
/// })?;
/// # Ok::<(), spikelet_core::Error>(())
/// ```
pub struct RankGroup {
    world: World,
    timeouts: Timeouts,
    ring: Arc<Ring>,
    watchdog: Watchdog,
}

impl Debug for RankGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankGroup")
            .field("world", &self.world)
            .field("hosts", &self.hosts())
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

impl RankGroup {
    /// Connects to the other ranks.
    ///
    /// # Errors
    /// [`RendezvousError`] when a secret is required ([`World::check_secret`]) or differs, a rank does
    /// not connect in time, the ranks belong to different runs, or the port of rank 0 is in use.
    pub fn connect(world: World, run: &Fingerprint, timeouts: Timeouts) -> Result<Arc<Self>> {
        Self::open(None, world, run, timeouts)
    }

    /// As [`RankGroup::connect`], for a rank 0 that has opened its listening socket already, so that no
    /// other program can take the port in between.
    ///
    /// # Errors
    /// As [`RankGroup::connect`].
    pub fn connect_with_listener(
        listener: TcpListener,
        world: World,
        run: &Fingerprint,
        timeouts: Timeouts,
    ) -> Result<Arc<Self>> {
        Self::open(Some(listener), world, run, timeouts)
    }

    fn open(
        listener: Option<TcpListener>,
        world: World,
        run: &Fingerprint,
        timeouts: Timeouts,
    ) -> Result<Arc<Self>> {
        let members = rendezvous(&world, listener, run, timeouts.rendezvous)?;
        let ring = Ring::connect(
            world.rank,
            &members,
            timeouts.rendezvous,
            timeouts.collective,
        )?;
        let ring = Arc::new(ring);
        let watchdog = Watchdog::start(
            world.rank,
            members.control,
            ring.clone(),
            timeouts.heartbeat,
            timeouts.shutdown,
        );
        Ok(Arc::new(Self {
            world,
            timeouts,
            ring,
            watchdog: watchdog.map_err(|source| RendezvousError::System { source })?,
        }))
    }

    /// Runs a function on `size` ranks, each a thread of this process, which are connected over the
    /// loopback address: for tests of code that uses several ranks. Returns the results in the order of
    /// the ranks.
    ///
    /// ```
    /// use spikelet_distributed::{RankGroup, Timeouts};
    /// let sums = RankGroup::run_threads(3, Timeouts::default(), |group| {
    ///     let mut values = [group.world().rank as f32];
    ///     group.process_group().all_reduce(&mut values)?;
    ///     Ok::<f32, spikelet_core::Error>(values[0])
    /// })?;
    /// for sum in sums {
    ///     assert_eq!(sum?, 3.0);
    /// }
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no port can be opened. The result of a rank is an error when the ranks do not connect, or
    /// as in [`RankGroup::run`].
    ///
    /// # Panics
    /// When the function does.
    pub fn run_threads<T, E>(
        size: usize,
        timeouts: Timeouts,
        work: impl Fn(&Arc<Self>) -> Result<T, E> + Sync,
    ) -> Result<Vec<Result<T, E>>>
    where
        T: Send,
        E: std::error::Error + Send + Sync + From<Error> + 'static,
    {
        let (listener, master) = super::Address::listen_on_loopback()?;
        let mut listener = Some(listener);
        let one = |rank: usize, listener: Option<TcpListener>| -> Result<T, E> {
            let world = World::new(rank, size, rank, master.clone())?;
            let group = Self::open(listener, world, &Fingerprint::new(), timeouts)?;
            group.run(|| work(&group))
        };
        Ok(std::thread::scope(|scope| {
            let one = &one;
            let start = |rank| {
                let listener = listener.take();
                scope.spawn(move || one(rank, listener))
            };
            let threads: Vec<_> = (0..size).map(start).collect();
            let threads = threads.into_iter();
            threads
                .map(|thread| match thread.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        }))
    }

    /// The rank and size of the group.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The host of each rank.
    pub fn hosts(&self) -> &[String] {
        self.ring.hosts()
    }

    /// The collectives over the ranks.
    pub fn process_group(&self) -> Arc<dyn ProcessGroup> {
        self.ring.clone()
    }

    /// Sets a handler that is called on a separate thread when another rank aborts the run: for
    /// devices on which the main thread may be blocked by the other ranks.
    pub fn on_abort(&self, handler: AbortHandler) {
        self.watchdog.on_abort(handler);
    }

    /// Tells all ranks from which checkpoint the run can be resumed. [`RankError`](super::RankError) has it.
    pub fn set_checkpoint(&self, checkpoint: impl Into<String>) {
        self.watchdog.set_checkpoint(checkpoint.into());
    }

    /// Checks that all ranks have the same data, by a digest such as SHA-256. The error names `what`
    /// and the first rank that differs from rank 0.
    ///
    /// # Errors
    /// When a rank differs, or is lost.
    pub fn check_same(&self, what: &str, digest: &[u8; 32], help: &str) -> Result<()> {
        let all = all_gather(&*self.ring, digest)?;
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(()),
            Some(rank) => Err(Error::invalid(
                what,
                format!("rank {rank} on {} differs from rank 0", self.hosts()[rank]),
                help,
            )),
        }
    }

    /// Sets a handler that is called once, on a separate thread, when another rank has aborted the run
    /// and the work of [`RankGroup::run`] has not returned within [`Timeouts::shutdown`]. A program may
    /// then end its process, for example if the work waits for a device that is blocked. Without a
    /// handler the group waits for the work.
    pub fn on_overdue(&self, handler: OverdueHandler) {
        self.watchdog.on_overdue(handler);
    }

    /// Runs the work of this rank and waits until all ranks have finished theirs. An error of one rank
    /// aborts the run on all ranks.
    ///
    /// # Errors
    /// [`RankError`](super::RankError) of the rank that failed first. Its source is the error of the work, if that is
    /// this rank.
    pub fn run<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        E: std::error::Error + Send + Sync + From<Error> + 'static,
    {
        let done = work().and_then(|done| {
            let waited = self.process_group().barrier().map_err(Error::from);
            waited.and_then(|()| self.close())?;
            Ok(done)
        });
        done.map_err(|source| {
            let mut error = self
                .watchdog
                .fail(&source.to_string(), self.reason_timeout());
            if error.own {
                error.source = Some(Arc::new(source));
            }
            Error::from(error).into()
        })
    }

    fn close(&self) -> Result<()> {
        if self.watchdog.close() {
            return Ok(());
        }
        Err(Error::invalid(
            "the end of the run",
            "not all ranks have finished",
            "see the messages of the other ranks",
        ))
    }

    /// Aborts the run on all ranks because of an error of this one, before the work returns it: for
    /// work that first releases a device that may be blocked by the other ranks. The time until
    /// [`RankGroup::on_overdue`] begins.
    pub fn abort(&self, error: &impl Display) {
        self.watchdog
            .report(&error.to_string(), self.reason_timeout());
    }

    /// How long to wait for the reason of another rank before the error of this one is reported.
    fn reason_timeout(&self) -> Duration {
        if self.ring.has_lost_neighbor() {
            // Rank 0 finds out why the neighbor is lost.
            self.timeouts.heartbeat + Duration::from_secs(3)
        } else {
            ABORT_DELAY
        }
    }
}
