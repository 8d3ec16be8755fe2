//! Ranks that have met.

use super::failure::RankError;
use super::gather::gather;
use super::rendezvous::{Fingerprint, meet};
use super::ring::Ring;
use super::watch::{Abort, Overdue, Watch};
use super::world::World;
use spikelet_core::{Error, Result};
use spikelet_graph::ProcessGroup;
use std::fmt::Display;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// How long ranks wait for each other.
///
/// | field | default | |
/// |---|---|---|
/// | `rendezvous` | 60 s | until all have come to rank 0 |
/// | `heartbeat_timeout` | 20 s | a rank may give no sign of life before it ends the run |
/// | `exchange` | 10 min | a rank may wait for its neighbor's values while that one lives |
/// | `shutdown_timeout` | 5 s | the work may go on after another rank has ended the run, before [`Group::on_overdue`] |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Until all ranks have come to rank 0.
    pub rendezvous: Duration,
    /// Without a sign of life of a rank.
    pub heartbeat_timeout: Duration,
    /// Until a neighbor's values have come, while it lives.
    pub exchange: Duration,
    /// Until the work that should have ended is overdue.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rendezvous: Duration::from_secs(60),
            heartbeat_timeout: Duration::from_secs(20),
            exchange: Duration::from_secs(600),
            shutdown_timeout: Duration::from_secs(5),
        }
    }
}

/// Other errors than lost neighbors follow from a lost rank as well, on devices of which only the
/// abort is known here: the verdict comes within this time.
const VERDICT: Duration = Duration::from_millis(500);

/// Ranks that have met, as one of them sees it.
///
/// ```no_run
/// use spikelet::distributed::{Fingerprint, Group, Limits, World};
/// let world = World::new(0, 2, 0, "127.0.0.1:29500".parse()?)?;
/// let run = Fingerprint::new().with("seed", 0);
/// let group = Group::connect(world, &run, Limits::default())?;
/// group.run(|| {
///     let mut values = [1.0, 2.0];
///     group.exchange().all_reduce(&mut values)?;
///     Ok::<(), spikelet::Error>(())
/// })?;
/// # Ok::<(), spikelet::Error>(())
/// ```
pub struct Group {
    world: World,
    limits: Limits,
    ring: Arc<Ring>,
    watch: Watch,
}

impl Group {
    /// Meets the other ranks.
    ///
    /// # Errors
    /// When there is no secret where one is needed ([`World::check_secret`]), ranks have different
    /// ones, not all come in time, they do not fit together, or the port of rank 0 is somebody
    /// else's.
    pub fn connect(world: World, run: &Fingerprint, limits: Limits) -> Result<Arc<Self>> {
        Self::connect_by(None, world, run, limits)
    }

    /// As [`Group::connect`], for rank 0 with a socket that listens at its address already: so that
    /// nobody else can take a port that was free.
    ///
    /// # Errors
    /// As [`Group::connect`].
    pub fn connect_on(
        listener: TcpListener,
        world: World,
        run: &Fingerprint,
        limits: Limits,
    ) -> Result<Arc<Self>> {
        Self::connect_by(Some(listener), world, run, limits)
    }

    fn connect_by(
        listener: Option<TcpListener>,
        world: World,
        run: &Fingerprint,
        limits: Limits,
    ) -> Result<Arc<Self>> {
        let met = meet(&world, listener, run, limits.rendezvous)?;
        let ring = Ring::connect(world.rank, &met, limits.rendezvous, limits.exchange)?;
        let ring = Arc::new(ring);
        let watch = Watch::start(
            world.rank,
            met.control,
            ring.clone(),
            limits.heartbeat_timeout,
            limits.shutdown_timeout,
        );
        let watch = watch.map_err(|e| {
            Error::invalid(
                "rendezvous",
                e.to_string(),
                "check the network between the hosts",
            )
        })?;
        Ok(Arc::new(Self {
            world,
            limits,
            ring,
            watch,
        }))
    }

    /// This rank's place.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The hosts of all ranks, in their order.
    pub fn hosts(&self) -> &[String] {
        self.ring.hosts()
    }

    /// By what ranks exchange values.
    pub fn exchange(&self) -> Arc<dyn ProcessGroup> {
        self.ring.clone()
    }

    /// Called when another rank has ended the run, on a thread of its own: for devices on which the
    /// main thread may wait for the other ranks.
    pub fn on_abort(&self, abort: Abort) {
        self.watch.on_abort(abort);
    }

    /// Tells all ranks where the run can be resumed, for the message of an end.
    pub fn set_checkpoint(&self, words: impl Into<String>) {
        self.watch.checkpoint(words.into());
    }

    /// Checks that all ranks have the same, by a digest such as SHA-256: the error has the first rank
    /// that has not.
    ///
    /// # Errors
    /// When they have not, or a rank is gone.
    pub fn check_same(&self, what: &str, digest: &[u8; 32], help: &str) -> Result<()> {
        let all = gather(&*self.ring, digest)?;
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(()),
            Some(rank) => Err(Error::invalid(
                what,
                format!(
                    "rank {rank} on {} has another one than rank 0",
                    self.hosts()[rank]
                ),
                help,
            )),
        }
    }

    /// Called once, on a thread of its own, when the run has ended for another rank's reason and the
    /// work of [`Group::run`] has not returned within [`Limits::shutdown_timeout`]: a program may end its process
    /// then, if what the work waits for never comes. Without it the work is waited for.
    pub fn on_overdue(&self, overdue: Overdue) {
        self.watch.on_overdue(overdue);
    }

    /// Does a rank's work: an error of it ends the run on all ranks, and what it returns then has
    /// the rank that was the first to end. If all is well, it waits until the others are done too.
    ///
    /// # Errors
    /// Those of the work, as [`RankError`], whose source they are, and those of other ranks.
    pub fn run<T, E>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E>
    where
        E: std::error::Error + Send + Sync + From<Error> + 'static,
    {
        let done = work().and_then(|done| {
            let waited = self.exchange().barrier().map_err(Error::from);
            waited.and_then(|()| self.say_goodbye())?;
            Ok(done)
        });
        done.map_err(|source| {
            let mut error = self.fail(&source.to_string());
            if error.own {
                error.source = Some(Arc::new(source));
            }
            Error::from(error).into()
        })
    }

    fn say_goodbye(&self) -> Result<()> {
        match self.watch.goodbye() {
            true => Ok(()),
            false => Err(Error::invalid(
                "the end of the run",
                "not all ranks have said that they are done",
                "see what the other ranks say",
            )),
        }
    }

    /// Ends the run on all ranks because of this one's error: for work that, before it returns the
    /// error, lets go of a device on which it may wait for the others. The time until
    /// [`Group::on_overdue`] begins.
    pub fn report(&self, error: &impl Display) {
        self.watch.report(&error.to_string(), self.patience());
    }

    fn fail(&self, reason: &str) -> RankError {
        self.watch.fail(reason, self.patience())
    }

    /// How long somebody else's reason may take to be known, before this rank's own counts.
    fn patience(&self) -> Duration {
        // A lost neighbor is lost for a reason, which rank 0 finds out.
        match self.ring.is_deserted() {
            true => self.limits.heartbeat_timeout + Duration::from_secs(3),
            false => VERDICT,
        }
    }
}
