//! Several processes that train one network: together, to the end, and when one of them fails.

mod agreement;
mod lost_rank;
mod rendezvous;

use crate::common::{code, mentions, program, said, stderr, stdout};
use serde_json::Value;
use spikelet::distributed::Address;
use spikelet::tensors::TensorFile;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const NETWORK: [&str; 13] = [
    "train",
    "--hidden",
    "24",
    "--time-steps",
    "4",
    "--batch-size",
    "16",
    "--test-images",
    "600",
    "--schedule",
    "constant",
    "--device",
    "cpu",
];

/// Long enough that a rank can be ended in the middle, and short enough to wait for.
const LONG: [&str; 6] = [
    "--train-images",
    "4096",
    "--epochs",
    "6",
    "--checkpoint-seconds",
    "0.05",
];

const SHORT: [&str; 4] = ["--train-images", "256", "--epochs", "2"];

/// Nothing here takes as long.
const TIMEOUT: Duration = Duration::from_secs(90);

fn words<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    [&[&NETWORK[..]], parts].concat().concat()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A secret, as a launcher gives it to its ranks.
const SECRET: &str = "a secret of these tests";

/// The listening socket of rank 0 of a run, and its port.
fn listener() -> (TcpListener, String) {
    let (listener, address) = Address::listen_on_loopback().expect("a port");
    (listener, address.port.to_string())
}

/// A rank as torchrun starts it, with a secret.
fn rank(rank: usize, size: usize, port: &str, arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    command
        .env("RANK", rank.to_string())
        .env("LOCAL_RANK", rank.to_string())
        .env("WORLD_SIZE", size.to_string())
        .env("MASTER_ADDR", "127.0.0.1")
        .env("MASTER_PORT", port)
        .env("SPIKELET_RENDEZVOUS_SECRET", SECRET);
    command
}

/// Two ranks that are under way, each with arguments of its own. Rank 0 is given its socket, so that
/// nobody else can take the port.
fn start_each(arguments: [&[&str]; 2]) -> [Child; 2] {
    let (listener, port) = listener();
    let mut listener = Some(listener);
    let mut k = 0;
    arguments.map(|arguments| {
        let mut command = rank(k, 2, &port, arguments);
        k += 1;
        if let Some(listener) = listener.take() {
            #[cfg(unix)]
            command
                .env("SPIKELET_RENDEZVOUS_LISTENER", "stdin")
                .stdin(std::os::fd::OwnedFd::from(listener));
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    })
}

fn start_two(arguments: &[&str]) -> [Child; 2] {
    start_each([arguments, arguments])
}

fn signal(name: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
}

fn wait_for(what: &str, happens: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happens() {
        assert!(begun.elapsed() < TIMEOUT, "{what} never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn end(child: Child) -> Output {
    child.wait_with_output().expect("it can be waited for")
}

/// Whether two runs ended with the same tensors, those of the optimizer included.
fn same(a: &Path, b: &Path) -> bool {
    let tensors = [a, b].map(|folder| {
        let file = TensorFile::read(folder.join("last.safetensors"));
        file.expect("a checkpoint").tensors
    });
    assert!(!tensors[0].is_empty());
    tensors[0] == tensors[1]
}

/// The epochs of a run, without times.
fn epochs(folder: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(folder.join("epochs.jsonl")).expect("a log");
    let parse = |line: &str| {
        let mut epoch: Value = serde_json::from_str(line).expect("JSON");
        let fields = epoch.as_object_mut().expect("an object");
        fields.remove("seconds");
        fields.remove("samples_per_second");
        epoch
    };
    lines.lines().map(parse).collect()
}
