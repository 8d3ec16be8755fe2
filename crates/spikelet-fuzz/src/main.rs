//! `tools/fuzz`: runs the targets on mutations of their valid inputs.
//!
//! After a panic, the rest of the target is skipped, and the number of the input and a file with its bytes are printed.
//! More than ten seconds or a gibibyte for an input end the program in the same way. `--only NUMBER` repeats an input,
//! `--file PATH` reads it from a file. Exit code 0: no input failed.

use clap::Parser;
use spikelet::schema::UnknownName;
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

    /// Number of inputs per target [default: as many as the time allows]
    #[arg(long, value_name = "N")]
    inputs: Option<u64>,

    /// Total time in seconds
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    seconds: f64,

    /// Seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Runs only the input of this number
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,

    /// Runs the targets only on the bytes of this file
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Where an input that fails is written
    #[arg(long, value_name = "DIR", default_value = "fuzz/artifacts")]
    artifacts: PathBuf,
}

fn named(text: &str) -> Result<&'static str, UnknownName> {
    Target::find(text).map(|target| target.name)
}

/// The memory limit of an input.
const MEMORY: usize = 1 << 30;

/// The time limit of an input.
const TIME: Duration = Duration::from_secs(10);

/// The index of the target in [`TARGETS`] and the number of the current input.
static TARGET: AtomicUsize = AtomicUsize::new(0);
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The current input, and the path to which it is written if it fails.
static INPUT: LazyLock<Mutex<(Vec<u8>, PathBuf)>> = LazyLock::new(Mutex::default);

/// The start of the current input in milliseconds since the start of the program; `u64::MAX` between inputs.
static BEGAN: AtomicU64 = AtomicU64::new(u64::MAX);

/// The allocated bytes and their limit.
static HELD: AtomicUsize = AtomicUsize::new(0);
static ALLOWED: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Counts allocated bytes and ends the program above the limit.
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
        // The code below allocates too.
        ALLOWED.store(usize::MAX, Ordering::Relaxed);
        give_up(&format!("more than {MEMORY} bytes ({bytes} at once)"));
    }
}

/// Prints the failure of the current input and writes the input to a file.
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
    // Nothing can be printed if standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "error: {target}: input {number}: {how}\n  input: {kept}"
    );
}

/// Ends the program: memory and time cannot be reclaimed.
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

/// The number of inputs that a target has read; `None` if one failed.
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
    // Remaining files do no harm.
    let _ = std::fs::remove_dir_all(folder());
    let failed = done.iter().filter(|inputs| inputs.is_none()).count();
    let inputs: u64 = done.into_iter().flatten().sum();
    println!("{inputs} inputs without a failure, {failed} targets that failed");
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
