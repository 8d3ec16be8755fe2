//! Groups of threads.

use crate::thread_ranks::ThreadProcessGroup;
use spikelet_graph::{ProcessGroup, Result};
use std::time::Duration;

/// The result of each rank of a group.
fn ranks<T: Send>(size: usize, run: impl Fn(ThreadProcessGroup) -> T + Sync) -> Vec<T> {
    let run = &run;
    std::thread::scope(|scope| {
        let group = ThreadProcessGroup::group_within(size, Duration::from_millis(200)).into_iter();
        let threads: Vec<_> = group.map(|rank| scope.spawn(move || run(rank))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn problems<T>(results: Vec<Result<T>>) -> Vec<String> {
    let problem = |r: Result<T>| r.err().map(|e| e.to_string()).unwrap_or_default();
    results.into_iter().map(problem).collect()
}

#[test]
fn sums_have_the_same_bits_on_every_rank_and_in_every_run() {
    let sum = |rank: ThreadProcessGroup| {
        let mut sums = vec![];
        for step in 0..50 {
            let mine = [0.1, 1e8, -0.3].map(|x: f32| x * (rank.rank() * 7 + step) as f32);
            let mut values = mine.to_vec();
            rank.all_reduce(&mut values).unwrap();
            sums.extend(values.iter().map(|x| x.to_bits()));
        }
        sums
    };
    let (first, second) = (ranks(4, sum), ranks(4, sum));
    assert!(first.iter().chain(&second).all(|sums| *sums == first[0]));
}

#[test]
fn a_broadcast_brings_the_bytes_of_its_root() {
    let errors = ranks(3, |rank| {
        let mut bytes = vec![rank.rank() as u8; 1 + rank.rank()];
        rank.broadcast(&mut bytes, 1).unwrap();
        rank.barrier().unwrap();
        bytes
    });
    assert_eq!(errors, vec![vec![1, 1]; 3]);
}

#[test]
fn a_lost_rank_is_named() {
    let errors = problems(ranks(3, |rank| match rank.rank() {
        1 => Ok(()),
        _ => rank.barrier(),
    }));
    for rank in [0, 2] {
        assert_eq!(errors[rank], "group of threads: rank 1 is lost");
    }
}

#[test]
fn a_call_ends_after_the_time_limit() {
    let errors = problems(ranks(2, |rank| match rank.rank() {
        0 => rank.barrier(),
        _ => {
            std::thread::sleep(Duration::from_millis(600));
            rank.barrier()
        }
    }));
    assert_eq!(
        errors[0],
        "group of threads: 1 of 2 ranks had made the call after 0 s"
    );
    assert_eq!(errors[1], "group of threads: rank 0 is lost");
}

#[test]
fn different_calls_of_ranks_are_an_error() {
    let errors = problems(ranks(2, |rank| {
        rank.all_reduce(&mut vec![0.0; 2 + rank.rank()])
    }));
    assert_eq!(
        errors[0],
        "group of threads: rank 0 called Sum(2) while rank 1 called Sum(3); all ranks must run the same program"
    );
    assert!(!errors[1].is_empty());
}
