//! Starts the ranks of one host, and waits for them.

use super::world::{Address, host_name};
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write, stderr};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at whether a rank has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// How long the others may take to end with a message of their own, after the first has failed.
const GRACE: Duration = Duration::from_secs(12);

/// Ctrl-C and SIGTERM that came so far.
static REQUESTS: AtomicUsize = AtomicUsize::new(0);

/// Starts a program as several ranks on this host.
///
/// Each gets the variables that torchrun sets. Rank 0 has this process's standard output and error;
/// of the others the lines on standard error are shown, with their rank in front. Ctrl-C and
/// SIGTERM are passed on to all. Where the system can (Linux), no rank outlives this process.
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    ranks: usize,
    master: Option<Address>,
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
        pass_signals_on();
        let master = match self.master.clone() {
            Some(master) => master,
            None => free_port()?,
        };
        let mut ranks: Vec<Rank> = vec![];
        for rank in 0..self.ranks {
            match self.start(rank, &master) {
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
        let ends = wait_for_all(&mut ranks);
        Ok(self.report(&ends))
    }

    fn start(&self, rank: usize, master: &Address) -> std::io::Result<Rank> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", rank.to_string())
            .env("WORLD_SIZE", self.ranks.to_string())
            .env("LOCAL_WORLD_SIZE", self.ranks.to_string())
            .env("MASTER_ADDR", &master.host)
            .env("MASTER_PORT", master.port.to_string())
            .env_remove("TORCHELASTIC_USE_AGENT_STORE")
            .stdin(Stdio::null());
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
            ranks.iter().for_each(interrupt);
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
        if since.is_some_and(|since| since.elapsed() > GRACE) {
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

/// A port that nobody uses at the moment.
fn free_port() -> Result<Address> {
    let found = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    match found {
        Ok(address) => Ok(Address {
            host: address.ip().to_string(),
            port: address.port(),
        }),
        Err(e) => Err(Error::invalid(
            "--data-parallel",
            format!("there is no free port on this host: {e}"),
            "name one with --master 127.0.0.1:PORT",
        )),
    }
}

/// From now on Ctrl-C and SIGTERM are counted, and do not end this process.
fn pass_signals_on() {
    // Where a program has its own handler, that one stays.
    let _ = ctrlc::set_handler(|| {
        REQUESTS.fetch_add(1, Ordering::SeqCst);
    });
}

#[cfg(unix)]
fn interrupt(rank: &Rank) {
    if rank.ended.is_none()
        && let Ok(id) = libc::pid_t::try_from(rank.child.id())
    {
        // SAFETY: `kill` reads no memory of ours; the child has not been waited for, so that its
        // number is still its own.
        unsafe { libc::kill(id, libc::SIGINT) };
    }
}

#[cfg(not(unix))]
fn interrupt(_: &Rank) {
    // Consoles of such systems tell all processes themselves.
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
