//! Ranks as threads of one process.

use super::rendezvous::meet;
use super::ring::Ring;
use super::*;
use crate::error::Result;
use spikelet_graph::Exchange;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

const SHORT: Duration = Duration::from_millis(600);

/// A port that was free a moment ago.
fn address() -> Address {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    Address {
        host: "127.0.0.1".to_string(),
        port: listener.local_addr().expect("an address").port(),
    }
}

fn world(rank: usize, size: usize, master: &Address) -> World {
    World::new(rank, size, rank, master.clone()).expect("a rank below the size")
}

fn limits(silence: Duration) -> Limits {
    Limits {
        rendezvous: LONG,
        silence,
        exchange: LONG,
        grace: LONG * 10,
    }
}

/// What each rank finds, when all do the same.
fn each<T: Send>(size: usize, act: impl Fn(World) -> T + Sync) -> Vec<T> {
    let master = address();
    thread::scope(|scope| {
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let (act, world) = (&act, world(rank, size, &master));
                scope.spawn(move || act(world))
            })
            .collect();
        let ends = ranks.into_iter();
        ends.map(|rank| rank.join().expect("no rank panics"))
            .collect()
    })
}

fn grouped<T: Send>(size: usize, act: impl Fn(&Group) -> Result<T> + Sync) -> Vec<Result<T>> {
    each(size, |world| {
        let group = Group::connect(world, &Fingerprint::new(), limits(LONG))?;
        group.run(|| act(&group))
    })
}

/// Numbers that no two ranks share and whose sum depends on the order.
fn share(rank: usize, length: usize) -> Vec<f32> {
    let value = |k: usize| ((k * 31 + rank * 17) % 101) as f32 * 0.37 - 11.3;
    (0..length).map(value).collect()
}

#[test]
fn sums_are_right_and_have_the_same_bits_on_all_ranks() {
    for size in 1..=5 {
        for length in [0, 1, 3, 7, 1001, 300_001] {
            let sums = grouped(size, |group| {
                let mut values = share(group.world().rank, length);
                group.exchange().all_reduce(&mut values)?;
                Ok(values)
            });
            let sums: Vec<Vec<f32>> = sums.into_iter().map(|sum| sum.expect("a sum")).collect();
            for (k, sum) in sums[0].iter().enumerate() {
                let expected: f64 = (0..size).map(|r| f64::from(share(r, length)[k])).sum();
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
        group.exchange().all_reduce(&mut values)?;
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
                let exchange = group.exchange();
                let mut found = vec![];
                for length in [0, 1, 700_000] {
                    let mut bytes: Vec<u8> = match exchange.rank() == root {
                        true => (0..length).map(|k| (k * 7 % 251) as u8).collect(),
                        false => vec![9; 5],
                    };
                    exchange.broadcast(&mut bytes, root)?;
                    found.push(bytes);
                }
                exchange.barrier()?;
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
fn what_each_rank_says_is_gathered_to_the_last_bit() {
    let numbers = |rank: usize| [0.1 + rank as f64, -1e-300, f64::MAX];
    let found = grouped(3, |group| {
        let own = numbers(group.world().rank);
        let all = gather::gather_numbers(&*group.exchange(), &own)?;
        let mut sum = [0.1, f64::NAN];
        gather::sum_numbers(&*group.exchange(), &mut sum)?;
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
fn another_number_of_values_is_an_error_that_has_both_whoever_sees_it_first() {
    for late in 0..2 {
        let found = grouped(2, |group| {
            let rank = group.world().rank;
            if rank == late {
                // The other one's header has come by then.
                thread::sleep(SHORT / 6);
            }
            let mut values = vec![1.0; 4 + rank];
            Ok(group.exchange().all_reduce(&mut values)?)
        });
        for error in found {
            let error = error.expect_err("refused").to_string();
            for part in ["do different things", "of 4 values", "of 5 values"] {
                assert!(error.contains(part), "rank {late} is late: {error}");
            }
        }
    }
}

#[test]
fn another_kind_of_exchange_is_an_error_that_has_both() {
    let found = grouped(2, |group| {
        let exchange = group.exchange();
        match group.world().rank {
            0 => exchange.all_reduce(&mut [1.0])?,
            _ => exchange.broadcast(&mut vec![], 1)?,
        }
        Ok(())
    });
    for error in found {
        let error = error.expect_err("refused").to_string();
        for part in ["a sum of 1 values", "bytes of rank 1"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[test]
fn a_rank_that_does_not_come_to_an_exchange_is_missed_in_time() {
    let found = each(2, |world| {
        let met = meet(&world, &Fingerprint::new(), LONG)?;
        let ring = Ring::connect(world.rank, &met, LONG, SHORT)?;
        if world.rank == 0 {
            ring.barrier()?;
        } else {
            thread::sleep(2 * SHORT);
        }
        Ok::<(), crate::Error>(())
    });
    let message = found[0].as_ref().expect_err("in vain").to_string();
    assert!(
        message.contains("waits for its neighbours, rank 1 on "),
        "{message}"
    );
}

/// What ranks with these places and fingerprints say who should not have met.
fn refused(ranks: Vec<(World, Fingerprint)>, limit: Duration) -> Vec<String> {
    thread::scope(|scope| {
        let ranks: Vec<_> = ranks
            .into_iter()
            .map(|(world, run)| {
                scope.spawn(move || {
                    let met = meet(&world, &run, limit);
                    met.map(|_| "met".to_string())
                        .unwrap_or_else(|e| e.to_string())
                })
            })
            .collect();
        let ends = ranks.into_iter();
        ends.map(|rank| rank.join().expect("no rank panics"))
            .collect()
    })
}

#[test]
fn ranks_of_another_number_of_ranks_are_refused_on_both_sides() {
    let master = address();
    let run = Fingerprint::new;
    let said = refused(
        vec![(world(0, 2, &master), run()), (world(1, 3, &master), run())],
        LONG,
    );
    for said in said {
        assert!(
            said.contains("was started as one of 3 ranks, rank 0 on"),
            "{said}"
        );
        assert!(said.contains("as one of 2"), "{said}");
    }
}

#[test]
fn two_processes_of_one_rank_are_refused_and_everybody_is_told() {
    let master = address();
    let worlds = [0, 1, 1].map(|rank| (world(rank, 3, &master), Fingerprint::new()));
    for said in refused(worlds.into(), LONG) {
        assert!(said.contains("two processes are rank 1: one on "), "{said}");
    }
    let worlds = [(0, 3), (1, 3), (0, 3)]
        .map(|(rank, size)| (world(rank, size, &master), Fingerprint::new()));
    let said = refused(worlds.into(), SHORT);
    assert!(
        said.iter()
            .any(|said| said.contains(&format!("port {} of", master.port))),
        "{said:?}"
    );
    assert!(
        said.iter().any(|said| said.contains("is in use")),
        "{said:?}"
    );
}

#[test]
fn ranks_that_mean_different_runs_are_told_the_difference() {
    let master = address();
    let run = |rate: f64| {
        Fingerprint::new()
            .with("learning_rate", rate)
            .with("seed", 0)
    };
    let said = refused(
        vec![
            (world(0, 2, &master), run(0.1)),
            (world(1, 2, &master), run(0.2)),
        ],
        LONG,
    );
    for said in said {
        assert!(
            said.contains("mean different runs: learning_rate: 0.1 against 0.2"),
            "{said}"
        );
    }
}

#[test]
fn strangers_at_the_port_of_rank_0_do_not_keep_ranks_from_meeting() {
    let master = address();
    let found = thread::scope(|scope| {
        let (first, second) = (world(0, 2, &master), world(1, 2, &master));
        let root =
            scope.spawn(move || meet(&first, &Fingerprint::new(), LONG).map(|met| met.peers.len()));
        let stranger = scope.spawn(|| {
            let begun = Instant::now();
            while begun.elapsed() < LONG {
                if let Ok(mut stream) = TcpStream::connect((master.host.as_str(), master.port)) {
                    stream
                        .write_all(b"GET / HTTP/1.1\r\n\r\n")
                        .expect("a request");
                    return;
                }
            }
        });
        stranger.join().expect("a stranger");
        let member = meet(&second, &Fingerprint::new(), LONG).map(|met| met.peers.len());
        (root.join().expect("no rank panics"), member)
    });
    assert_eq!((found.0.expect("met"), found.1.expect("met")), (2, 2));
}

#[test]
fn a_rank_that_finds_a_stranger_at_the_port_says_what_it_heard() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let master = Address {
        host: "127.0.0.1".to_string(),
        port: listener.local_addr().expect("an address").port(),
    };
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a rank");
        stream.write_all(b"SSH-2.0-Server\r\n").expect("a greeting");
        // Until the rank has gone.
        let _ = stream.read(&mut [0; 1]);
    });
    let said = refused(vec![(world(1, 2, &master), Fingerprint::new())], LONG);
    assert!(
        said[0].contains("is not rank 0 of spikelet: it says `SSH-2.0-…`"),
        "{}",
        said[0]
    );
}

#[test]
fn whoever_waits_in_vain_says_for_whom() {
    let master = address();
    let said = refused(vec![(world(0, 3, &master), Fingerprint::new())], SHORT);
    assert!(
        said[0].contains("after 0.6 s these of 3 ranks have not come to"),
        "{}",
        said[0]
    );
    assert!(said[0].contains(": 1, 2\n"), "{}", said[0]);
    let said = refused(vec![(world(2, 3, &master), Fingerprint::new())], SHORT);
    assert!(
        said[0].contains("rank 2 on") && said[0].contains("has not reached rank 0 at"),
        "{}",
        said[0]
    );
}

/// What each rank says after rank `culprit` has done something else than exchange values.
fn ended(
    size: usize,
    silence: Duration,
    culprit: usize,
    act: impl Fn(&Group) -> Result<()> + Sync,
) -> Vec<RankError> {
    let found = each(size, |world| {
        let rank = world.rank;
        let group = Group::connect(world, &Fingerprint::new(), limits(silence))?;
        if rank == 0 {
            group.set_checkpoint("run/last.safetensors");
        }
        group.exchange().barrier()?;
        group.run(|| {
            if rank == culprit {
                return act(&group);
            }
            loop {
                group.exchange().all_reduce(&mut [1.0; 100])?;
            }
        })
    });
    found.into_iter().map(rank_error).collect()
}

fn rank_error(end: Result<()>) -> RankError {
    match end {
        Err(crate::Error::Rank(error)) => *error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_of_one_rank_is_the_message_of_all() {
    for culprit in 0..3 {
        let ends = ended(3, LONG, culprit, |_| {
            Err(crate::Error::invalid("the loss", "it is NaN", "think"))
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
fn a_verdict_calls_what_aborts_devices() {
    let (sender, aborted) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let ends = ended(2, LONG, 1, |group| {
        let sender = sender.lock().expect("nobody panics").clone();
        group.on_abort(Box::new(move || {
            // Nobody listens any more when the test is over.
            let _ = sender.send(());
        }));
        Err(crate::Error::invalid("a", "b", "c"))
    });
    assert_eq!(ends.len(), 2);
    aborted.recv_timeout(LONG).expect("the abort");
}

#[test]
fn an_orderly_end_is_nobody_s_death() {
    for _ in 0..20 {
        for end in grouped(3, |group| Ok(group.exchange().barrier()?)) {
            end.expect("all is well");
        }
    }
}

#[test]
fn all_ranks_have_the_same_or_the_first_that_has_not_is_named() {
    let found = grouped(3, |group| {
        let rank = group.world().rank as u64;
        group.check_same("the data set", 7, "copy it")?;
        group.check_same("the data set", rank / 2, "copy it")
    });
    for rank in found {
        let message = rank.expect_err("another one").to_string();
        assert!(message.contains("the data set: rank 2 on "), "{message}");
    }
}
