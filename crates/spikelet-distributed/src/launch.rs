//! Starts the ranks of one host and waits for them.

use super::address::Address;
use super::secret::Secret;
use super::variables;
use super::world::host_name;
use spikelet_core::signals;
use spikelet_core::{Error, Result};
use std::ffi::OsString;
use std::fmt::{self, Debug, Display};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The interval between two checks whether a rank has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long the other ranks may take to end by themselves after the first has failed: longer than
/// [`super::Timeouts::shutdown`] and the messages between the ranks.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);

/// The same if all remaining ranks are suspended, and so cannot end.
const SUSPENDED_TIMEOUT: Duration = Duration::from_millis(500);

/// The number of received signals, and the last of them.
static SIGNALS: AtomicUsize = AtomicUsize::new(0);
static LAST_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// A handler of the lines that ranks print.
type LineHandler = Arc<dyn Fn(usize, &str) + Send + Sync>;

/// Starts a program as several ranks on this host.
///
/// Each rank gets the environment variables that torchrun sets, and a newly generated secret. Rank 0
/// inherits the standard output and error of this process. The standard output of the other ranks is
/// discarded, and their standard error is passed to [`Launcher::on_stderr_line`]. Ctrl-C, SIGTERM and
/// SIGHUP are forwarded to all ranks, unless this process ignores them. On Linux no rank outlives this
/// process.
#[must_use]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    ranks: usize,
    master: Option<Address>,
    on_stderr_line: Option<LineHandler>,
}

impl Debug for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launcher")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("ranks", &self.ranks)
            .field("master", &self.master)
            .finish_non_exhaustive()
    }
}

/// The first rank that failed, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchFailure {
    /// The rank.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// The exit status of the rank.
    pub status: ExitStatus,
    /// Whether other ranks did not end by themselves and were killed.
    pub killed_others: bool,
}

impl LaunchFailure {
    /// The exit code of the rank. If a signal ended it, 128 plus the number of the signal, as in shells.
    pub fn exit_code(&self) -> u8 {
        describe(self.status).0
    }

    /// Whether the rank ended by itself, and so has printed its error.
    pub fn is_reported(&self) -> bool {
        !self.killed_others && self.status.code().is_some()
    }
}

impl Display for LaunchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, how) = describe(self.status);
        let Self { rank, size, .. } = self;
        write!(
            f,
            "rank {rank} of {size} on {} ended with {how}",
            host_name()
        )?;
        if self.killed_others {
            f.write_str("; the other ranks were killed")?;
        }
        Ok(())
    }
}

impl std::error::Error for LaunchFailure {}

/// The values by which ranks find and authenticate each other.
struct Rendezvous {
    master: Address,
    secret: Secret,
}

/// A started rank.
struct Rank {
    child: Child,
    /// Reads its standard error.
    errors: Option<JoinHandle<()>>,
    status: Option<ExitStatus>,
}

/// How the ranks ended.
struct Ends {
    /// The first rank that failed.
    first: Option<(usize, ExitStatus)>,
    /// Whether ranks were killed.
    killed: bool,
}

impl Launcher {
    /// Starts `ranks` ranks of a program with these arguments.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = OsString>,
        ranks: usize,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().collect(),
            ranks,
            master: None,
            on_stderr_line: None,
        }
    }

    /// Sets the address of rank 0. By default it is a free port of the loopback address.
    pub fn master(mut self, address: Option<Address>) -> Self {
        self.master = address;
        self
    }

    /// Sets a handler of the lines that ranks other than 0 print on standard error. It is called with the
    /// rank and the line on one thread per rank. Without a handler the lines are discarded.
    pub fn on_stderr_line(mut self, handler: impl Fn(usize, &str) + Send + Sync + 'static) -> Self {
        self.on_stderr_line = Some(Arc::new(handler));
        self
    }

    /// Starts all ranks and waits until they have ended. Returns the first failure, if there is one.
    ///
    /// # Errors
    /// When a process cannot be started. Those that have been started are killed.
    pub fn run(self) -> Result<Option<LaunchFailure>> {
        signals::catch(record_signal);
        let ends = self.start_all();
        signals::release(record_signal);
        let ends = ends?;
        Ok(ends.first.map(|(rank, status)| LaunchFailure {
            rank,
            size: self.ranks,
            status,
            killed_others: ends.killed,
        }))
    }

    fn start_all(&self) -> Result<Ends> {
        let (master, mut listener) = match self.master.clone() {
            Some(master) => (master, None),
            None => {
                let (listener, master) = Address::listen_on_loopback()?;
                (master, as_stdin(listener))
            }
        };
        let rendezvous = Rendezvous {
            master,
            secret: Secret::generate()?,
        };
        let mut ranks: Vec<Rank> = vec![];
        for rank in 0..self.ranks {
            match self.start(rank, &rendezvous, listener.take()) {
                Ok(started) => ranks.push(started),
                Err(e) => {
                    kill_all(&mut ranks);
                    return Err(Error::invalid(
                        format!("rank {rank}"),
                        format!("{} cannot be started: {e}", self.program.display()),
                        "use fewer ranks, or allow this user more processes",
                    ));
                }
            }
        }
        Ok(wait_for_all(&mut ranks))
    }

    fn start(
        &self,
        rank: usize,
        rendezvous: &Rendezvous,
        stdin: Option<Stdio>,
    ) -> std::io::Result<Rank> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", rank.to_string())
            .env("WORLD_SIZE", self.ranks.to_string())
            .env("LOCAL_WORLD_SIZE", self.ranks.to_string())
            .env("MASTER_ADDR", &rendezvous.master.host)
            .env("MASTER_PORT", rendezvous.master.port.to_string())
            .env(variables::SECRET, rendezvous.secret.text())
            .env_remove("TORCHELASTIC_USE_AGENT_STORE")
            .env_remove(variables::LISTENER);
        match stdin {
            Some(listener) => command.env(variables::LISTENER, "stdin").stdin(listener),
            None => command.stdin(Stdio::null()),
        };
        if rank > 0 {
            command.stdout(Stdio::null()).stderr(Stdio::piped());
        }
        bind_to_this_process(&mut command);
        let mut child = command.spawn()?;
        let errors = child.stderr.take().map(|errors| {
            let handler = self.on_stderr_line.clone();
            thread::spawn(move || {
                let mut lines = BufReader::new(errors).split(b'\n');
                while let Some(Ok(line)) = lines.next() {
                    if let Some(handler) = &handler {
                        handler(rank, &String::from_utf8_lossy(&line));
                    }
                }
            })
        });
        Ok(Rank {
            child,
            errors,
            status: None,
        })
    }
}

/// Waits until all ranks have ended. Those that run for too long after the first failure are killed.
fn wait_for_all(ranks: &mut [Rank]) -> Ends {
    let mut ends = Ends {
        first: None,
        killed: false,
    };
    let (mut since, mut forwarded) = (None, 0);
    while ranks.iter().any(|rank| rank.status.is_none()) {
        let requests = SIGNALS.load(Ordering::SeqCst);
        for _ in forwarded..requests {
            ranks.iter().for_each(forward_signal);
        }
        forwarded = requests;
        for (k, rank) in ranks.iter_mut().enumerate() {
            if rank.status.is_some() {
                continue;
            }
            let Ok(Some(status)) = rank.child.try_wait() else {
                continue;
            };
            rank.status = Some(status);
            if !status.success() {
                record_failure(&mut ends.first, k, status);
                // Interrupted ranks end together, after they have saved a checkpoint.
                if forwarded == 0 {
                    since.get_or_insert_with(Instant::now);
                }
            }
        }
        let suspended = |rank: &Rank| rank.status.is_some() || is_suspended(rank);
        let timeout = if ranks.iter().all(suspended) {
            SUSPENDED_TIMEOUT
        } else {
            SHUTDOWN_TIMEOUT
        };
        if since.is_some_and(|since| since.elapsed() > timeout) {
            ends.killed = true;
            kill_all(ranks);
        }
        thread::sleep(POLL_INTERVAL);
    }
    for rank in ranks {
        if let Some(errors) = rank.errors.take() {
            // A panicking thread has printed its message.
            let _ = errors.join();
        }
    }
    ends
}

/// Records the first failure. A rank that was aborted by another rank is replaced by that one, which may
/// end later.
fn record_failure(first: &mut Option<(usize, ExitStatus)>, rank: usize, status: ExitStatus) {
    let follows =
        |status: ExitStatus| status.code() == Some(i32::from(super::ENDED_BY_ANOTHER_RANK));
    match first {
        Some((_, known)) if !follows(*known) || follows(status) => {}
        _ => *first = Some((rank, status)),
    }
}

fn kill_all(ranks: &mut [Rank]) {
    for rank in ranks.iter_mut().filter(|rank| rank.status.is_none()) {
        // It may have ended by itself.
        let _ = rank.child.kill();
        rank.status = rank.child.wait().ok();
    }
}

/// The listening socket as the standard input of rank 0, so that no other process can take the port. Only
/// on Unix: on other systems the socket is closed.
#[cfg(unix)]
fn as_stdin(listener: TcpListener) -> Option<Stdio> {
    Some(Stdio::from(std::os::fd::OwnedFd::from(listener)))
}

#[cfg(not(unix))]
fn as_stdin(_: TcpListener) -> Option<Stdio> {
    None
}

/// The signal handler.
extern "C" fn record_signal(signal: i32) {
    LAST_SIGNAL.store(signal, Ordering::SeqCst);
    SIGNALS.fetch_add(1, Ordering::SeqCst);
}

#[cfg(unix)]
fn forward_signal(rank: &Rank) {
    if rank.status.is_none()
        && let Ok(id) = libc::pid_t::try_from(rank.child.id())
    {
        // SAFETY: `kill` accesses no memory of this process. The child has not been waited for, so its
        // process number has not been reused.
        unsafe { libc::kill(id, LAST_SIGNAL.load(Ordering::SeqCst)) };
    }
}

#[cfg(not(unix))]
fn forward_signal(_: &Rank) {
    // The consoles of other systems signal all processes.
}

/// Whether a rank that has not ended is suspended (SIGSTOP, a debugger).
#[cfg(unix)]
fn is_suspended(rank: &Rank) -> bool {
    // SAFETY: all zeros are a valid `siginfo_t`.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `found` is valid for writes, and `WNOWAIT` does not change the state of the child.
    let asked = unsafe { libc::waitid(libc::P_PID, rank.child.id(), &mut found, options) };
    // SAFETY: `waitid` has written the process number, or the zero remains.
    asked == 0 && unsafe { found.si_pid() } != 0
}

#[cfg(not(unix))]
fn is_suspended(_: &Rank) -> bool {
    false
}

/// Gives the child a separate process group, so that only this process receives Ctrl-C of a terminal and
/// forwards it. On Linux the child is killed when this process ends.
#[cfg(unix)]
fn bind_to_this_process(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        let parent = std::process::id();
        let bind = move || {
            // SAFETY: both calls are allowed between fork and exec, and access no memory.
            let orphaned = unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                u32::try_from(libc::getppid()) != Ok(parent)
            };
            if orphaned {
                return Err(std::io::Error::other("the launcher has ended"));
            }
            Ok(())
        };
        // SAFETY: `bind` makes two system calls and allocates no memory unless it fails.
        unsafe { command.pre_exec(bind) };
    }
}

#[cfg(not(unix))]
fn bind_to_this_process(_: &mut Command) {}

/// The exit code of a process as in shells, and a description of it.
fn describe(status: ExitStatus) -> (u8, String) {
    if let Some(code) = status.code() {
        return (u8::try_from(code).unwrap_or(1), format!("exit code {code}"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            let code = u8::try_from(128 + signal).unwrap_or(1);
            return (code, format!("signal {signal}"));
        }
    }
    (1, "no exit code".to_string())
}
