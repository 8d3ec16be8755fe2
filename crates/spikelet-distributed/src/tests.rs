//! Ranks as threads of one process.

use super::rendezvous::rendezvous;
use super::ring::Ring;
use super::*;
use spikelet_core::Result;
use spikelet_graph::ProcessGroup;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

const SHORT: Duration = Duration::from_millis(600);

fn world(rank: usize, size: usize, master: &Address) -> World {
    World::new(rank, size, rank, master.clone()).expect("a rank below the size")
}

fn timeouts(heartbeat: Duration) -> Timeouts {
    Timeouts {
        rendezvous: LONG,
        heartbeat,
        collective: LONG,
        shutdown: LONG * 10,
    }
}

/// Runs a function on several threads, one for each rank. Rank 0 gets a listening socket.
fn each<T: Send>(size: usize, act: impl Fn(World, Option<TcpListener>) -> T + Sync) -> Vec<T> {
    let (listener, master) = Address::listen_on_loopback().expect("a port");
    let secret = Secret::generate().expect("random bytes");
    thread::scope(|scope| {
        let mut listener = Some(listener);
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let (act, mut world) = (&act, world(rank, size, &master));
                world.secret = Some(secret.clone());
                let listener = listener.take();
                scope.spawn(move || act(world, listener))
            })
            .collect();
        let ends = ranks.into_iter();
        ends.map(|rank| rank.join().expect("no rank panics"))
            .collect()
    })
}

fn connect(
    world: World,
    listener: Option<TcpListener>,
    timeouts: Timeouts,
) -> Result<Arc<RankGroup>> {
    match listener {
        Some(listener) => {
            RankGroup::connect_with_listener(listener, world, &Fingerprint::new(), timeouts)
        }
        None => RankGroup::connect(world, &Fingerprint::new(), timeouts),
    }
}

fn grouped<T: Send>(size: usize, act: impl Fn(&RankGroup) -> Result<T> + Sync) -> Vec<Result<T>> {
    let results = RankGroup::run_threads(size, timeouts(LONG), |group| act(group));
    results.expect("a port")
}

/// Values that differ between ranks and whose sum depends on the order.
fn values_of(rank: usize, length: usize) -> Vec<f32> {
    let value = |k: usize| ((k * 31 + rank * 17) % 101) as f32 * 0.37 - 11.3;
    (0..length).map(value).collect()
}

#[test]
fn sums_are_right_and_have_the_same_bits_on_all_ranks() {
    for size in 1..=5 {
        for length in [0, 1, 3, 7, 1001, 300_001] {
            let sums = grouped(size, |group| {
                let mut values = values_of(group.world().rank, length);
                group.process_group().all_reduce(&mut values)?;
                Ok(values)
            });
            let sums: Vec<Vec<f32>> = sums.into_iter().map(|sum| sum.expect("a sum")).collect();
            for (k, sum) in sums[0].iter().enumerate() {
                let expected: f64 = (0..size).map(|r| f64::from(values_of(r, length)[k])).sum();
                assert!(
                    (f64::from(*sum) - expected).abs() < 1e-4,
                    "{size} ranks: {sum} for {expected}"
                );
                if length > 1001 && k > 100 {
                    break;
                }
            }
            let bits = |sum: &[f32]| sum.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
            for other in &sums {
                assert_eq!(bits(other), bits(&sums[0]), "{size} ranks, {length} values");
            }
        }
    }
}

#[test]
fn sums_of_more_than_connections_hold_do_not_wait_for_each_other() {
    let length = 6_000_000;
    for sum in grouped(3, |group| {
        let mut values = vec![group.world().rank as f32; length];
        group.process_group().all_reduce(&mut values)?;
        Ok(values)
    }) {
        let sum = sum.expect("a sum");
        assert!(sum.len() == length && sum.iter().all(|value| *value == 3.0));
    }
}

#[test]
fn bytes_go_from_any_rank_to_all() {
    for size in 1..=4 {
        for root in 0..size {
            let found = grouped(size, |group| {
                let ranks = group.process_group();
                let mut found = vec![];
                for length in [0, 1, 700_000] {
                    let mut bytes: Vec<u8> = match ranks.rank() == root {
                        true => (0..length).map(|k| (k * 7 % 251) as u8).collect(),
                        false => vec![9; 5],
                    };
                    ranks.broadcast(&mut bytes, root)?;
                    found.push(bytes);
                }
                ranks.barrier()?;
                Ok(found)
            });
            let lengths = |all: &[Vec<u8>]| all.iter().map(Vec::len).collect::<Vec<_>>();
            for all in found {
                let all = all.expect("bytes");
                assert_eq!(lengths(&all), [0, 1, 700_000]);
                assert!((0..700_000).all(|k| all[2][k] == (k * 7 % 251) as u8));
            }
        }
    }
}

#[test]
fn values_of_all_ranks_are_gathered_exactly() {
    let numbers = |rank: usize| [0.1 + rank as f64, -1e-300, f64::MAX];
    let found = grouped(3, |group| {
        let own = numbers(group.world().rank);
        let all = gather::all_gather_f64(&*group.process_group(), &own)?;
        let mut sum = [0.1, f64::NAN];
        gather::all_reduce_f64(&*group.process_group(), &mut sum)?;
        Ok((all, sum))
    });
    for rank in found {
        let (all, sum) = rank.expect("numbers");
        assert_eq!(all, [numbers(0), numbers(1), numbers(2)]);
        assert_eq!(sum[0], 0.1 + 0.1 + 0.1);
        assert!(sum[1].is_nan());
    }
}

#[test]
fn different_numbers_of_values_are_an_error_with_both() {
    for late in 0..2 {
        let found = grouped(2, |group| {
            let rank = group.world().rank;
            if rank == late {
                // The header of the other rank has arrived by then.
                thread::sleep(SHORT / 6);
            }
            let mut values = vec![1.0; 4 + rank];
            Ok(group.process_group().all_reduce(&mut values)?)
        });
        for error in found {
            let error = error.expect_err("refused").to_string();
            for part in ["a sum of 4 values", "a sum of 5 values"] {
                assert!(error.contains(part), "rank {late} is late: {error}");
            }
        }
    }
}

#[test]
fn different_collectives_are_an_error_with_both() {
    let found = grouped(2, |group| {
        let ranks = group.process_group();
        match group.world().rank {
            0 => ranks.all_reduce(&mut [1.0])?,
            _ => ranks.broadcast(&mut vec![], 1)?,
        }
        Ok(())
    });
    for error in found {
        let error = error.expect_err("refused").to_string();
        for part in ["a sum of 1 values", "a broadcast of rank 1"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[test]
fn a_rank_that_does_not_run_a_collective_times_out() {
    let found = each(2, |world, listener| {
        let members = rendezvous(&world, listener, &Fingerprint::new(), LONG)?;
        let ring = Ring::connect(world.rank, &members, LONG, SHORT)?;
        if world.rank == 0 {
            ring.barrier()?;
        } else {
            thread::sleep(2 * SHORT);
        }
        Ok::<(), spikelet_core::Error>(())
    });
    let message = found[0].as_ref().expect_err("in vain").to_string();
    assert!(
        message.contains("received no values from its neighbors, rank 1 on "),
        "{message}"
    );
}

/// The error of each rank after rank `culprit` has failed.
fn ended(
    size: usize,
    heartbeat: Duration,
    culprit: usize,
    act: impl Fn(&RankGroup) -> Result<()> + Sync,
) -> Vec<RankError> {
    let found = each(size, |world, listener| {
        let rank = world.rank;
        let group = connect(world, listener, timeouts(heartbeat))?;
        if rank == 0 {
            group.set_checkpoint("run/last.safetensors");
        }
        group.process_group().barrier()?;
        group.run(|| {
            if rank == culprit {
                return act(&group);
            }
            loop {
                group.process_group().all_reduce(&mut [1.0; 100])?;
            }
        })
    });
    found.into_iter().map(rank_error).collect()
}

fn rank_error(end: Result<()>) -> RankError {
    let error = end.expect_err("an error");
    match error.downcast_ref::<RankError>() {
        Some(error) => error.clone(),
        None => panic!("{error:?}"),
    }
}

#[test]
fn an_error_of_one_rank_is_the_message_of_all() {
    for culprit in 0..3 {
        let ends = ended(3, LONG, culprit, |_| {
            Err(spikelet_core::Error::invalid(
                "the loss",
                "it is NaN",
                "think",
            ))
        });
        for (rank, end) in ends.iter().enumerate() {
            assert_eq!((end.rank, end.own), (culprit, rank == culprit));
            assert!(end.reason.contains("the loss: it is NaN"), "{end}");
            assert_eq!(end.checkpoint.as_deref(), Some("run/last.safetensors"));
            assert!(
                end.to_string()
                    .starts_with(&format!("rank {culprit} of 3 on ")),
                "{end}"
            );
        }
    }
}

#[test]
fn the_error_of_the_failed_rank_is_the_source() {
    let ends = ended(2, LONG, 1, |_| {
        Err(spikelet_core::Error::invalid(
            "the loss",
            "it is NaN",
            "think",
        ))
    });
    assert!(ends[0].source.is_none());
    let source = std::error::Error::source(&ends[1]).expect("the own error");
    let source = source.downcast_ref::<spikelet_core::Error>();
    assert!(
        matches!(source, Some(spikelet_core::Error::Invalid { what, .. }) if what == "the loss"),
        "{source:?}"
    );
}

#[test]
fn the_overdue_handler_is_called_when_the_work_does_not_return() {
    let (sender, overdue) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let ends = each(2, |world, listener| {
        let timeouts = Timeouts {
            shutdown: SHORT / 3,
            ..timeouts(LONG)
        };
        let rank = world.rank;
        let group = connect(world, listener, timeouts)?;
        if rank == 1 {
            let sender = sender.lock().expect("no thread panics").clone();
            group.on_overdue(Box::new(move |error| {
                // The receiver is dropped at the end of the test.
                let _ = sender.send(error.rank);
            }));
        }
        group.run(|| match rank {
            0 => Err(spikelet_core::Error::invalid(
                "the disk",
                "it is full",
                "tidy up",
            )),
            _ => {
                // Longer than the shutdown timeout: the library does not end the process.
                thread::sleep(3 * SHORT);
                Err::<(), _>(spikelet_core::Error::invalid("a", "b", "c"))
            }
        })
    });
    for end in ends.into_iter().map(rank_error) {
        assert_eq!(end.rank, 0);
    }
    assert_eq!(overdue.recv_timeout(LONG), Ok(0));
    assert!(overdue.recv_timeout(SHORT).is_err());
}

#[test]
fn an_abort_calls_the_abort_handlers() {
    let (sender, aborted) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let ends = ended(2, LONG, 1, |group| {
        let sender = sender.lock().expect("no thread panics").clone();
        group.on_abort(Box::new(move || {
            // The receiver is dropped at the end of the test.
            let _ = sender.send(());
        }));
        Err(spikelet_core::Error::invalid("a", "b", "c"))
    });
    assert_eq!(ends.len(), 2);
    aborted.recv_timeout(LONG).expect("the abort");
}

#[test]
fn a_normal_end_is_not_an_error() {
    for _ in 0..20 {
        for end in grouped(3, |group| Ok(group.process_group().barrier()?)) {
            end.expect("all is well");
        }
    }
}

#[test]
fn the_first_rank_with_different_data_is_named() {
    let found = grouped(3, |group| {
        let half = group.world().rank as u8 / 2;
        group.check_same("the data set", &[7; 32], "copy it")?;
        group.check_same("the data set", &[half; 32], "copy it")
    });
    for rank in found {
        let message = rank.expect_err("another one").to_string();
        assert!(message.contains("the data set: rank 2 on "), "{message}");
    }
}
