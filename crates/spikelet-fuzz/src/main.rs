//! `tools/fuzz`: runs the targets on mutations of their valid inputs.
//!
//! A target whose input panics is left, with the input's number and a file with its bytes; ten seconds for
//! an input, or a gibibyte, end the program so. `--only NUMBER` makes the input again, `--file PATH` takes
//! it from the file. Exit code 0 says that no input failed.

use clap::Parser;
use spikelet_fuzz::mutate::Mutator;
use spikelet_fuzz::{TARGETS, Target, folder};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// Mutates valid inputs of every reader of untrusted bytes.
#[derive(Parser)]
struct Arguments {
    /// Targets; all if none is given
    #[arg(value_parser = named)]
    targets: Vec<&'static str>,

    /// Inputs of each target; otherwise as many as the time allows
    #[arg(long, value_name = "N")]
    inputs: Option<u64>,

    /// Seconds for all targets together
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    seconds: f64,

    /// Another seed makes other inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Runs the input of this number alone
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,

    /// Runs the targets on the bytes of this file alone
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Where an input that fails is written
    #[arg(long, value_name = "DIR", default_value = "fuzz/artifacts")]
    artifacts: PathBuf,
}

fn named(text: &str) -> Result<&'static str, String> {
    let found = Target::find(text).map(|target| target.name);
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    found.ok_or_else(|| format!("give one of {}", names.join(", ")))
}

/// The most memory that an input may take.
const MEMORY: usize = 1 << 30;

/// The longest time that an input may take.
const TIME: Duration = Duration::from_secs(10);

/// The target's place in [`TARGETS`] and the number of the present input.
static TARGET: AtomicUsize = AtomicUsize::new(0);
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The present input, and where it goes if it fails.
static INPUT: LazyLock<Mutex<(Vec<u8>, PathBuf)>> = LazyLock::new(Mutex::default);

/// When the present input began, in milliseconds since the program did; `u64::MAX` between inputs.
static BEGAN: AtomicU64 = AtomicU64::new(u64::MAX);

/// Bytes that are allocated, and that may be.
static HELD: AtomicUsize = AtomicUsize::new(0);
static ALLOWED: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Counts what is allocated, and ends the program where it is too much.
struct Counting;

// SAFETY: all memory is the system's allocator's; counting does not touch it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: usize) {
    let held = HELD
        .fetch_add(bytes, Ordering::Relaxed)
        .saturating_add(bytes);
    if held > ALLOWED.load(Ordering::Relaxed) {
        // What follows allocates too.
        ALLOWED.store(usize::MAX, Ordering::Relaxed);
        give_up(&format!("more than {MEMORY} bytes ({bytes} at once)"));
    }
}

/// Says how the present input fails, and keeps it.
fn report(how: &str) {
    let target = TARGETS[TARGET.load(Ordering::Relaxed)].name;
    let number = NUMBER.load(Ordering::Relaxed);
    let kept = INPUT.try_lock().map(|input| {
        let folder = input.1.join(target);
        let path = folder.join(number.to_string());
        let written =
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, &input.0));
        written.map_or_else(
            |e| format!("not written: {e}"),
            |()| path.display().to_string(),
        )
    });
    let kept = kept.unwrap_or_else(|_| "not written".to_string());
    // Nobody is left to be told if standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "error: {target}: input {number}: {how}\n  input: {kept}"
    );
}

/// Ends the program: memory and time cannot be taken back.
fn give_up(how: &str) -> ! {
    report(how);
    std::process::abort();
}

fn watch(start: Instant) {
    loop {
        std::thread::sleep(TIME / 20);
        let began = BEGAN.load(Ordering::Relaxed);
        let now = start.elapsed().as_millis() as u64;
        if began < now && u128::from(now - began) > TIME.as_millis() {
            give_up(&format!("more than {} s", TIME.as_secs()));
        }
    }
}

/// The inputs that a target has read; `None` if one failed.
fn fuzz(place: usize, arguments: &Arguments, time: Duration, start: Instant) -> Option<u64> {
    let target = &TARGETS[place];
    let corpus = (target.corpus)(folder());
    let mutator = Mutator::new(target.name, &corpus, arguments.seed);
    TARGET.store(place, Ordering::Relaxed);
    let began = Instant::now();
    let file = arguments.file.as_ref();
    let file = file.map(|path| std::fs::read(path).expect("the file can be read"));
    let numbers = match arguments.only.or(file.as_ref().map(|_| 0)) {
        Some(number) => number..number + 1,
        None => 0..arguments.inputs.unwrap_or(u64::MAX),
    };
    let mut done = 0;
    for number in numbers {
        if arguments.inputs.is_none() && began.elapsed() > time {
            break;
        }
        let input = file.clone().unwrap_or_else(|| mutator.input(number));
        *INPUT.lock().expect("nobody panics with it") =
            (input.clone(), arguments.artifacts.clone());
        NUMBER.store(number, Ordering::Relaxed);
        let held = HELD.load(Ordering::Relaxed);
        ALLOWED.store(held.saturating_add(MEMORY), Ordering::Relaxed);
        BEGAN.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
        let ended = catch_unwind(AssertUnwindSafe(|| (target.run)(&input, folder())));
        BEGAN.store(u64::MAX, Ordering::Relaxed);
        ALLOWED.store(usize::MAX, Ordering::Relaxed);
        if ended.is_err() {
            report("it panics");
            return None;
        }
        done += 1;
    }
    println!(
        "{:<16} {done:>10} inputs in {:.1} s",
        target.name,
        began.elapsed().as_secs_f64()
    );
    Some(done)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let start = Instant::now();
    std::thread::spawn(move || watch(start));
    let chosen = |place: &usize| {
        arguments.targets.is_empty() || arguments.targets.contains(&TARGETS[*place].name)
    };
    let places: Vec<usize> = (0..TARGETS.len()).filter(chosen).collect();
    let time = Duration::from_secs_f64(arguments.seconds.clamp(0.0, 1e9) / places.len() as f64);
    let done = places
        .iter()
        .map(|&place| fuzz(place, &arguments, time, start));
    let done: Vec<Option<u64>> = done.collect();
    // What is left there is in the way of nobody.
    let _ = std::fs::remove_dir_all(folder());
    let failed = done.iter().filter(|inputs| inputs.is_none()).count();
    let inputs: u64 = done.into_iter().flatten().sum();
    println!("{inputs} inputs without a failure, {failed} targets that failed");
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
