//! Starts the ranks of one host, and waits for them.

use super::environment::LISTENER;
use super::secret::{self, Secret};
use super::world::{Address, host_name};
use spikelet_core::signals;
use spikelet_core::{Error, Result};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write, stderr};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at whether a rank has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// How long the others may take to end with a message of their own, after the first has failed: longer
/// than [`super::Limits::shutdown_timeout`] and all that is said and heard meanwhile.
const GRACE: Duration = Duration::from_secs(8);

/// How long one may that is stopped: whatever it would say, it cannot.
const GRACE_STOPPED: Duration = Duration::from_millis(500);

/// Requests to end that came so far, and the last of them.
static REQUESTS: AtomicUsize = AtomicUsize::new(0);
static LAST_REQUEST: AtomicI32 = AtomicI32::new(0);

/// Starts a program as several ranks on this host.
///
/// Each gets the variables that torchrun sets, and a secret that is made anew, by which they know each
/// other. Rank 0 has this process's standard output and error;
/// of the others the lines on standard error are shown, with their rank in front. Ctrl-C,
/// SIGTERM and SIGHUP are passed on to all, unless this process ignores them. Where the system can (Linux), no rank outlives this process.
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    ranks: usize,
    master: Option<Address>,
}

/// What all ranks are told.
struct Meeting {
    master: Address,
    secret: Secret,
}

/// A rank that was started.
struct Rank {
    child: Child,
    /// Passes its lines on.
    errors: Option<JoinHandle<()>>,
    ended: Option<ExitStatus>,
}

/// How the ranks ended.
struct Ends {
    /// The first that failed.
    first: Option<(usize, ExitStatus)>,
    /// Whether others had to be ended.
    forced: bool,
}

impl Launcher {
    /// So many ranks of a program with these arguments.
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
        }
    }

    /// Rank 0 listens there; otherwise at a free port that other hosts cannot reach.
    pub fn master(mut self, address: Option<Address>) -> Self {
        self.master = address;
        self
    }

    /// Starts all ranks and waits until they have ended. Returns the exit code of the first that
    /// failed, 0 if none did; a rank that a signal ended counts as shells count it, 128 more than
    /// the signal.
    ///
    /// # Errors
    /// When a process cannot be started; those that were are ended.
    pub fn run(self) -> Result<u8> {
        signals::catch(note_request);
        let ends = self.start_all();
        signals::release(note_request);
        Ok(self.report(&ends?))
    }

    fn start_all(&self) -> Result<Ends> {
        let (master, mut listener) = match self.master.clone() {
            Some(master) => (master, None),
            None => free_port()?,
        };
        let meeting = Meeting {
            master,
            secret: Secret::generate()?,
        };
        let mut ranks: Vec<Rank> = vec![];
        for rank in 0..self.ranks {
            match self.start(rank, &meeting, listener.take()) {
                Ok(started) => ranks.push(started),
                Err(e) => {
                    end_all(&mut ranks);
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

    fn start(&self, rank: usize, meeting: &Meeting, stdin: Option<Stdio>) -> std::io::Result<Rank> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", rank.to_string())
            .env("WORLD_SIZE", self.ranks.to_string())
            .env("LOCAL_WORLD_SIZE", self.ranks.to_string())
            .env("MASTER_ADDR", &meeting.master.host)
            .env("MASTER_PORT", meeting.master.port.to_string())
            .env(secret::VARIABLE, meeting.secret.text())
            .env_remove("TORCHELASTIC_USE_AGENT_STORE")
            .env_remove(LISTENER);
        match stdin {
            Some(listener) => command.env(LISTENER, "stdin").stdin(listener),
            None => command.stdin(Stdio::null()),
        };
        if rank > 0 {
            command.stdout(Stdio::null()).stderr(Stdio::piped());
        }
        bind_to_this_process(&mut command);
        let mut child = command.spawn()?;
        let errors = child.stderr.take().map(|errors| {
            thread::spawn(move || {
                let mut lines = BufReader::new(errors).split(b'\n');
                while let Some(Ok(line)) = lines.next() {
                    let line = String::from_utf8_lossy(&line);
                    // Nobody is left to be told if standard error is closed.
                    let _ = writeln!(stderr(), "[rank {rank}] {line}");
                }
            })
        });
        Ok(Rank {
            child,
            errors,
            ended: None,
        })
    }

    fn report(&self, ends: &Ends) -> u8 {
        let Some((rank, status)) = ends.first else {
            return 0;
        };
        let (code, how) = code_of(status);
        if ends.forced || status.code().is_none() {
            let others = if ends.forced {
                "; the others were ended"
            } else {
                ""
            };
            // Nobody is left to be told if standard error is closed.
            let _ = writeln!(
                stderr(),
                "error: rank {rank} of {} on {} ended with {how}{others}",
                self.ranks,
                host_name()
            );
        }
        code
    }
}

/// Waits until all have ended; those that have not some time after the first failed are ended.
fn wait_for_all(ranks: &mut [Rank]) -> Ends {
    let mut ends = Ends {
        first: None,
        forced: false,
    };
    let (mut since, mut passed_on) = (None, 0);
    while ranks.iter().any(|rank| rank.ended.is_none()) {
        let requests = REQUESTS.load(Ordering::SeqCst);
        for _ in passed_on..requests {
            ranks.iter().for_each(pass_request_on);
        }
        passed_on = requests;
        for (k, rank) in ranks.iter_mut().enumerate() {
            if rank.ended.is_some() {
                continue;
            }
            let Ok(Some(status)) = rank.child.try_wait() else {
                continue;
            };
            rank.ended = Some(status);
            if !status.success() {
                note(&mut ends.first, k, status);
                // Ranks that were interrupted end together, however long saving takes.
                if passed_on == 0 {
                    since.get_or_insert_with(Instant::now);
                }
            }
        }
        let shutdown_timeout = match ranks
            .iter()
            .all(|rank| rank.ended.is_some() || is_stopped(rank))
        {
            true => GRACE_STOPPED,
            false => GRACE,
        };
        if since.is_some_and(|since| since.elapsed() > shutdown_timeout) {
            ends.forced = true;
            end_all(ranks);
        }
        thread::sleep(PAUSE);
    }
    for rank in ranks {
        if let Some(errors) = rank.errors.take() {
            // A panic of the thread has been reported by itself.
            let _ = errors.join();
        }
    }
    ends
}

/// The first failure; one that ends because of another rank gives way to that one, which may be
/// seen later.
fn note(first: &mut Option<(usize, ExitStatus)>, rank: usize, status: ExitStatus) {
    let follows =
        |status: ExitStatus| status.code() == Some(i32::from(super::ENDED_BY_ANOTHER_RANK));
    match first {
        Some((_, known)) if !follows(*known) || follows(status) => {}
        _ => *first = Some((rank, status)),
    }
}

fn end_all(ranks: &mut [Rank]) {
    for rank in ranks.iter_mut().filter(|rank| rank.ended.is_none()) {
        // One that has ended meanwhile is what is wanted.
        let _ = rank.child.kill();
        rank.ended = rank.child.wait().ok();
    }
}

/// A port that nobody uses at the moment, and where the system can (Unix) the socket that listens
/// there, as rank 0's standard input: then nobody else can take it meanwhile.
fn free_port() -> Result<(Address, Option<Stdio>)> {
    let opened = TcpListener::bind(("127.0.0.1", 0));
    let opened = opened.and_then(|listener| listener.local_addr().map(|at| (at, listener)));
    let (address, listener) = opened.map_err(|e| {
        Error::invalid(
            "--data-parallel",
            format!("there is no free port on this host: {e}"),
            "name one with --master 127.0.0.1:PORT",
        )
    })?;
    let address = Address {
        host: address.ip().to_string(),
        port: address.port(),
    };
    #[cfg(unix)]
    let stdin = Some(Stdio::from(std::os::fd::OwnedFd::from(listener)));
    #[cfg(not(unix))]
    let stdin = None;
    #[cfg(not(unix))]
    drop(listener);
    Ok((address, stdin))
}

/// The signal handler: it counts.
extern "C" fn note_request(signal: i32) {
    LAST_REQUEST.store(signal, Ordering::SeqCst);
    REQUESTS.fetch_add(1, Ordering::SeqCst);
}

#[cfg(unix)]
fn pass_request_on(rank: &Rank) {
    if rank.ended.is_none()
        && let Ok(id) = libc::pid_t::try_from(rank.child.id())
    {
        // SAFETY: `kill` reads no memory of ours; the child has not been waited for, so that its
        // number is still its own.
        unsafe { libc::kill(id, LAST_REQUEST.load(Ordering::SeqCst)) };
    }
}

#[cfg(not(unix))]
fn pass_request_on(_: &Rank) {
    // Consoles of such systems tell all processes themselves.
}

/// Whether a rank that has not ended is stopped (SIGSTOP, a debugger).
#[cfg(unix)]
fn is_stopped(rank: &Rank) -> bool {
    // SAFETY: a `siginfo_t` of zeros is a valid one.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `found` may be written; `WNOWAIT` leaves the child as it is.
    let asked = unsafe { libc::waitid(libc::P_PID, rank.child.id(), &mut found, options) };
    // SAFETY: `waitid` fills in the process's number, or leaves the zero.
    asked == 0 && unsafe { found.si_pid() } != 0
}

#[cfg(not(unix))]
fn is_stopped(_: &Rank) -> bool {
    false
}

/// Ctrl-C in a terminal reaches this process alone, which passes it on; and where the system can,
/// the child ends when this process does.
#[cfg(unix)]
fn bind_to_this_process(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        let parent = std::process::id();
        let bind = move || {
            // SAFETY: both calls may be made between fork and exec, and touch no memory of ours.
            let orphaned = unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                u32::try_from(libc::getppid()) != Ok(parent)
            };
            match orphaned {
                true => Err(std::io::Error::other("the launcher has ended")),
                false => Ok(()),
            }
        };
        // SAFETY: `bind` makes two system calls and allocates nothing where they succeed.
        unsafe { command.pre_exec(bind) };
    }
}

#[cfg(not(unix))]
fn bind_to_this_process(_: &mut Command) {}

/// A process's exit code as shells give it, and how it ended in words.
fn code_of(status: ExitStatus) -> (u8, String) {
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
