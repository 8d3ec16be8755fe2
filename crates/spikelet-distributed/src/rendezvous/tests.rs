//! The rendezvous of ranks, and of clients that are not ranks.

use super::super::handshake::{Purpose, client_handshake};
use super::super::wire::{self, MAGIC};
use super::*;
use crate::Address;
use std::io::{Read, Write};
use std::thread;

const LONG: Duration = Duration::from_secs(60);

const SHORT: Duration = Duration::from_millis(600);

const SECRET: &str = "correct horse battery staple";

fn listener() -> (TcpListener, Address) {
    Address::listen_on_loopback().expect("a port")
}

/// The typed error of a rendezvous that must fail.
fn error_of(result: Result<Membership>) -> RendezvousError {
    let error = result.map(|_| ()).expect_err("refused");
    error.downcast().expect("an error of the rendezvous")
}

fn world(rank: usize, size: usize, master: &Address) -> World {
    let mut world = World::new(rank, size, rank, master.clone()).expect("a rank below the size");
    world.secret = Some(SECRET.parse().expect("a secret"));
    world
}

/// The errors of ranks that do not match. The first has the listening socket.
fn refused(
    listener: TcpListener,
    ranks: Vec<(World, Fingerprint)>,
    limit: Duration,
) -> Vec<RendezvousError> {
    thread::scope(|scope| {
        let mut listener = Some(listener);
        let ranks: Vec<_> = ranks
            .into_iter()
            .map(|(world, run)| {
                let listener = listener.take();
                scope.spawn(move || error_of(rendezvous(&world, listener, &run, limit)))
            })
            .collect();
        let ends = ranks.into_iter();
        ends.map(|rank| rank.join().expect("no rank panics"))
            .collect()
    })
}

/// Connects two ranks despite an attack on the port of rank 0 before the second one is started.
fn connect_despite(attack: impl FnOnce(&Address)) {
    let (listener, master) = listener();
    let run = || {
        Fingerprint::new()
            .with("learning_rate", "0.1234")
            .with("seed", 77)
    };
    thread::scope(|scope| {
        let first = world(0, 2, &master);
        let root = scope.spawn(move || rendezvous(&first, Some(listener), &run(), LONG));
        attack(&master);
        let began = Instant::now();
        let second =
            rendezvous(&world(1, 2, &master), None, &run(), LONG).expect("rank 1 connects");
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
        let root = root
            .join()
            .expect("no rank panics")
            .expect("rank 0 connects");
        assert_eq!((root.peers.len(), second.peers.len()), (2, 2));
        assert_eq!(root.token, second.token);
    });
}

fn open(master: &Address) -> TcpStream {
    let stream = TcpStream::connect((master.host.as_str(), master.port)).expect("a connection");
    stream.set_read_timeout(Some(LONG)).expect("a time limit");
    stream.set_write_timeout(Some(LONG)).expect("a time limit");
    stream
}

/// All bytes that rank 0 sends before it closes the connection.
fn all_received(mut stream: &TcpStream) -> Vec<u8> {
    let mut received = vec![];
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            // A connection with unread bytes is reset.
            Ok(0) => return received,
            Err(e) => {
                assert!(!wire::is_timeout(&e), "the connection stays open");
                return received;
            }
            Ok(read) => received.extend(&buffer[..read]),
        }
    }
}

/// Asserts that these bytes contain no information about the run.
fn assert_no_information(received: &[u8]) {
    let text = String::from_utf8_lossy(received);
    for secret in [
        "learning_rate",
        "0.1234",
        "seed",
        "token",
        "Welcome",
        "Refused",
    ] {
        assert!(!text.contains(secret), "{text}");
    }
    // Magic bytes, nonce, and the zeros for a wrong proof.
    assert!(received.len() <= 72, "{} bytes", received.len());
}

fn hello(rank: usize, size: usize) -> Hello {
    Hello {
        rank,
        size,
        host: "somewhere".to_string(),
        port: 9,
        fingerprint: Fingerprint::new(),
    }
}

/// A connection of a client that has this secret.
fn authenticated(master: &Address, secret: &str) -> TcpStream {
    let stream = open(master);
    let accepted = client_handshake(
        &stream,
        secret.as_bytes(),
        Purpose::Rendezvous,
        Instant::now() + LONG,
    );
    assert!(accepted.is_ok(), "the secret is right");
    stream
}

#[test]
fn a_wrong_secret_is_refused_and_rank_0_keeps_waiting() {
    connect_despite(|master| {
        let mut client = world(1, 2, master);
        client.secret = Some("another secret of a run".parse().expect("a secret"));
        let began = Instant::now();
        let error = error_of(rendezvous(&client, None, &Fingerprint::new(), LONG));
        let RendezvousError::DifferentSecrets { rank: 1, .. } = &error else {
            panic!("{error}");
        };
        assert!(!error.to_string().contains("0.1234"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(10));
        client.secret = None;
        error_of(rendezvous(&client, None, &Fingerprint::new(), LONG));
    });
}

#[test]
fn a_client_without_a_proof_is_disconnected_without_information() {
    connect_despite(|master| {
        for hello in [hello(7, 2), hello(1, 3), hello(0, 2), hello(1, 2)] {
            let stream = open(master);
            (&stream).write_all(&MAGIC).expect("sent");
            wire::send(&stream, &hello).expect("sent");
            assert_no_information(&all_received(&stream));
        }
    });
}

#[test]
fn a_recorded_handshake_is_invalid() {
    let (listener, master) = listener();
    let proxy = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let through = Address {
        host: "127.0.0.1".to_string(),
        port: proxy.local_addr().expect("an address").port(),
    };
    thread::scope(|scope| {
        let first = world(0, 2, &master);
        let root =
            scope.spawn(move || rendezvous(&first, Some(listener), &Fingerprint::new(), LONG));
        // The handshake of a rank is recorded by a proxy, which does not forward it.
        let second = world(1, 2, &through);
        scope.spawn(move || rendezvous(&second, None, &Fingerprint::new(), SHORT).map(|_| ()));
        let (mut rank, _) = proxy.accept().expect("a rank");
        drop(proxy);
        let mut server = open(&master);
        let mut opening = [0; 40];
        server.read_exact(&mut opening).expect("an opening");
        rank.write_all(&opening).expect("forwarded");
        let mut recorded = [0; 72];
        rank.read_exact(&mut recorded).expect("a proof");
        drop((rank, server));
        // A replayed proof is invalid.
        let mut replay = open(&master);
        replay.read_exact(&mut [0; 40]).expect("an opening");
        replay.write_all(&recorded).expect("sent");
        assert_eq!(all_received(&replay), [0; 32]);
        let second = rendezvous(&world(1, 2, &master), None, &Fingerprint::new(), LONG);
        second.expect("rank 1 connects");
        root.join()
            .expect("no rank panics")
            .expect("rank 0 connects");
    });
}

#[test]
fn other_clients_do_not_keep_ranks_from_connecting() {
    connect_despite(|master| {
        let words: [&[u8]; 5] = [
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"spkrank1",
            &[0; 200],
            &[0xff; 100_000],
        ];
        for words in words {
            let stream = open(master);
            // The connection may be closed before all bytes are sent.
            let _ = (&stream).write_all(words);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            assert_no_information(&all_received(&stream));
        }
    });
}

#[test]
fn two_hundred_silent_connections_do_not_keep_ranks_from_connecting() {
    let mut held = vec![];
    connect_despite(|master| {
        for _ in 0..200 {
            let stream = open(master);
            // The length of a message that is never sent.
            let _ = (&stream).write_all(&[&MAGIC[..], &(16u32 << 20).to_le_bytes()].concat());
            held.push(stream);
        }
    });
    let closed = held.iter().filter(|stream| {
        let left = stream.set_read_timeout(Some(SHORT));
        left.is_ok() && all_received(stream).len() <= 72
    });
    assert_eq!(closed.count(), 200);
}

#[test]
fn a_message_that_is_too_long_is_not_read() {
    connect_despite(|master| {
        let stream = authenticated(master, SECRET);
        (&stream).write_all(&u32::MAX.to_le_bytes()).expect("sent");
        assert!(all_received(&stream).is_empty());
        let stream = authenticated(master, SECRET);
        let text = "[".repeat(100_000);
        let length = (text.len() as u32).to_le_bytes();
        (&stream).write_all(&length).expect("sent");
        (&stream).write_all(text.as_bytes()).expect("sent");
        assert!(all_received(&stream).is_empty());
    });
}

/// The error of rank 0 of two, and its answer, when a client with the secret sends `hello`.
fn error_and_answer(hello: &Hello) -> (RendezvousError, Answer) {
    let (listener, master) = listener();
    thread::scope(|scope| {
        let first = world(0, 2, &master);
        let root =
            scope.spawn(move || rendezvous(&first, Some(listener), &Fingerprint::new(), LONG));
        let stream = authenticated(&master, SECRET);
        wire::send(&stream, hello).expect("sent");
        let answer = wire::receive(&stream, MAX_ANSWER_BYTES).expect("an answer");
        (error_of(root.join().expect("no rank panics")), answer)
    })
}

#[test]
fn a_rank_that_is_not_below_the_size_is_rejected_on_both_sides() {
    let (error, answer) = error_and_answer(&hello(7, 2));
    assert!(
        matches!(&answer, Answer::Refused { reason } if reason.contains("rank 7 on somewhere")),
    );
    let RendezvousError::RankOutOfRange {
        rank: 7, size: 2, ..
    } = error
    else {
        panic!("{error}");
    };
}

#[test]
fn escape_sequences_of_other_hosts_are_not_forwarded() {
    let evil = Hello {
        host: format!("\x1b]0;owned\x07{}", "x".repeat(10_000)),
        ..hello(1, 3)
    };
    let message = error_and_answer(&evil).0.to_string();
    assert!(message.contains(r"\u{1b}]0;owned\u{7}xxx"), "{message}");
    assert!(!message.contains(|c: char| c.is_control() && c != '\n'));
    assert!(message.len() < 1000);
}

#[test]
fn without_a_secret_ranks_connect_at_loopback_addresses_only() {
    let run = Fingerprint::new;
    let mut second = World::new(1, 2, 1, "10.99.99.99:5".parse().expect("an address"));
    let second = second.as_mut().expect("a rank");
    let error = error_of(rendezvous(second, None, &run(), SHORT));
    assert!(
        matches!(error, RendezvousError::MissingSecret { .. }),
        "{error}"
    );
    let (listener, master) = listener();
    thread::scope(|scope| {
        let worlds = [0, 1].map(|rank| World::new(rank, 2, rank, master.clone()));
        let [first, second] = worlds.map(|world| world.expect("a rank"));
        let root = scope.spawn(move || rendezvous(&first, Some(listener), &run(), LONG));
        rendezvous(&second, None, &run(), LONG).expect("rank 1 connects");
        root.join()
            .expect("no rank panics")
            .expect("rank 0 connects");
    });
}

#[test]
fn without_a_secret_a_client_that_does_not_fit_ends_nothing_and_learns_no_values() {
    let run = || Fingerprint::new().with("learning_rate", "0.1234");
    let open_world = |rank, master: &Address| World::new(rank, 2, rank, master.clone());
    let misfits = |master: &Address| {
        for (hello, expected) in [
            (hello(1, 3), "another number of ranks"),
            (hello(7, 2), "another rank"),
            (hello(0, 2), "has this rank"),
            (hello(1, 2), "other settings"),
        ] {
            let stream = open(master);
            let end = Instant::now() + LONG;
            let proved = client_handshake(&stream, &[], Purpose::Rendezvous, end);
            assert!(proved.is_ok());
            wire::send(&stream, &hello).expect("sent");
            let answer = wire::receive(&stream, MAX_ANSWER_BYTES).expect("an answer");
            let Answer::Refused { reason } = answer else {
                panic!("{expected}: it is welcome");
            };
            assert!(reason.contains(expected), "{reason}");
            assert!(!reason.contains("0.1234"), "{reason}");
        }
    };
    let (listener, master) = listener();
    thread::scope(|scope| {
        let first = open_world(0, &master).expect("a rank");
        let root = scope.spawn(move || rendezvous(&first, Some(listener), &run(), LONG));
        misfits(&master);
        let second = open_world(1, &master).expect("a rank");
        rendezvous(&second, None, &run(), LONG).expect("rank 1 connects");
        root.join()
            .expect("no rank panics")
            .expect("rank 0 connects");
    });
    // Where nobody else comes, rank 0 tells its own user why.
    let (listener, master) = self::listener();
    thread::scope(|scope| {
        let first = open_world(0, &master).expect("a rank");
        let root = scope.spawn(move || rendezvous(&first, Some(listener), &run(), 5 * SHORT));
        misfits(&master);
        let error = error_of(root.join().expect("no rank panics"));
        let is_first = matches!(error, RendezvousError::DifferentSizes { size: 3, .. });
        assert!(is_first, "{error}");
    });
}

#[test]
fn different_numbers_of_ranks_are_rejected_on_both_sides() {
    let (listener, master) = listener();
    let run = Fingerprint::new;
    let errors = refused(
        listener,
        vec![(world(0, 2, &master), run()), (world(1, 3, &master), run())],
        LONG,
    );
    let [
        RendezvousError::DifferentSizes {
            rank: 1,
            size: 3,
            root_size: 2,
            ..
        },
        RendezvousError::Refused { reason },
    ] = &errors[..]
    else {
        panic!("{errors:?}");
    };
    assert!(errors[0].to_string().contains(reason), "{reason}");
}

#[test]
fn two_processes_with_the_same_rank_are_rejected_on_all_ranks() {
    let (listener, master) = listener();
    let worlds = [0, 1, 1].map(|rank| (world(rank, 3, &master), Fingerprint::new()));
    let errors = refused(listener, worlds.into(), LONG);
    let text = errors[0].to_string();
    assert!(
        matches!(errors[0], RendezvousError::DuplicateRank { rank: 1, .. }),
        "{text}"
    );
    for error in &errors[1..] {
        let RendezvousError::Refused { reason } = error else {
            panic!("{error}");
        };
        assert!(text.contains(reason), "{reason}");
    }
}

#[test]
fn a_port_that_is_in_use_is_named() {
    let (_listener, master) = listener();
    let rank = world(0, 3, &master);
    let error = error_of(rendezvous(&rank, None, &Fingerprint::new(), SHORT));
    assert!(
        matches!(error, RendezvousError::PortInUse { port, .. } if port == master.port),
        "{error}"
    );
}

#[test]
fn the_first_difference_between_two_runs_is_reported_on_both_sides() {
    let (listener, master) = listener();
    let run = |rate: f64| {
        Fingerprint::new()
            .with("learning_rate", rate)
            .with("seed", 0)
    };
    let errors = refused(
        listener,
        vec![
            (world(0, 2, &master), run(0.1)),
            (world(1, 2, &master), run(0.2)),
        ],
        LONG,
    );
    let [
        RendezvousError::DifferentRuns { name, values, .. },
        RendezvousError::Refused { reason },
    ] = &errors[..]
    else {
        panic!("{errors:?}");
    };
    assert_eq!(
        (name.as_str(), values),
        ("learning_rate", &["0.1".into(), "0.2".into()])
    );
    assert!(errors[0].to_string().contains(reason), "{reason}");
}

#[test]
fn another_program_at_the_port_is_reported_with_its_first_bytes() {
    let (listener, master) = listener();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a rank");
        stream.write_all(b"SSH-2.0-Server\r\n").expect("a greeting");
        // Until the rank disconnects.
        let _ = stream.read(&mut [0; 1]);
    });
    let rank = world(1, 2, &master);
    let error = error_of(rendezvous(&rank, None, &Fingerprint::new(), LONG));
    assert!(
        matches!(&error, RendezvousError::NotRankZero { received: Some(text), .. } if text == "SSH-2.0-"),
        "{error}"
    );
}

#[test]
fn a_server_without_the_secret_receives_no_information() {
    let (listener, master) = listener();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a rank");
        stream
            .write_all(&[&MAGIC[..], &[5; 32]].concat())
            .expect("an opening");
        let mut received = vec![0; 72];
        stream.read_exact(&mut received).expect("a proof");
        stream.write_all(&[7; 32]).expect("a false proof");
        // The connection is closed or reset.
        let _ = stream.read_to_end(&mut received);
        received
    });
    let run = Fingerprint::new().with("learning_rate", "0.1234");
    let error = error_of(rendezvous(&world(1, 2, &master), None, &run, LONG));
    assert!(
        matches!(error, RendezvousError::DifferentSecrets { rank: 1, .. }),
        "{error}"
    );
    assert_eq!(server.join().expect("it ends").len(), 72);
}

#[test]
fn a_timeout_names_the_missing_ranks() {
    let (listener, master) = listener();
    let world_0 = world(0, 3, &master);
    let errors = refused(listener, vec![(world_0, Fingerprint::new())], SHORT);
    let RendezvousError::MissingRanks {
        missing, size: 3, ..
    } = &errors[0]
    else {
        panic!("{}", errors[0]);
    };
    assert_eq!(missing, &[1, 2]);
    let text = errors[0].to_string();
    assert!(text.contains("within 0.6 s: 1, 2\n"), "{text}");
    let rank = world(2, 3, &master);
    let error = error_of(rendezvous(&rank, None, &Fingerprint::new(), SHORT));
    assert!(
        matches!(error, RendezvousError::Unreachable { rank: 2, .. }),
        "{error}"
    );
}
