//! Ranks that meet, and those who are no ranks.

use super::super::handshake::{Purpose, greet};
use super::super::wire::{self, MAGIC};
use super::*;
use crate::Address;
use std::io::{Read, Write};
use std::thread;

const LONG: Duration = Duration::from_secs(60);

const SHORT: Duration = Duration::from_millis(600);

const SECRET: &str = "correct horse battery staple";

fn listener() -> (TcpListener, Address) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let master = Address {
        host: "127.0.0.1".to_string(),
        port: listener.local_addr().expect("an address").port(),
    };
    (listener, master)
}

fn world(rank: usize, size: usize, master: &Address) -> World {
    let mut world = World::new(rank, size, rank, master.clone()).expect("a rank below the size");
    world.secret = Some(SECRET.parse().expect("a secret"));
    world
}

/// What these ranks say who should not have met; the first has the socket.
fn refused(
    listener: TcpListener,
    ranks: Vec<(World, Fingerprint)>,
    limit: Duration,
) -> Vec<String> {
    thread::scope(|scope| {
        let mut listener = Some(listener);
        let ranks: Vec<_> = ranks
            .into_iter()
            .map(|(world, run)| {
                let listener = listener.take();
                scope.spawn(move || {
                    let met = meet(&world, listener, &run, limit);
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

/// Two ranks meet in spite of what is done at the port of rank 0 before the second comes; what was
/// done is given the address, and must end.
fn meet_in_spite_of(attack: impl FnOnce(&Address)) {
    let (listener, master) = listener();
    let run = || {
        Fingerprint::new()
            .with("learning_rate", "0.1234")
            .with("seed", 77)
    };
    thread::scope(|scope| {
        let first = world(0, 2, &master);
        let root = scope.spawn(move || meet(&first, Some(listener), &run(), LONG));
        attack(&master);
        let began = Instant::now();
        let second = meet(&world(1, 2, &master), None, &run(), LONG).expect("rank 1 meets");
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
        let root = root.join().expect("no rank panics").expect("rank 0 meets");
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

/// All that rank 0 says before it closes the connection.
fn all_said(mut stream: &TcpStream) -> Vec<u8> {
    let mut said = vec![];
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            // A connection with unread bytes is reset.
            Ok(0) => return said,
            Err(e) => {
                assert!(!wire::is_timeout(&e), "the connection stays open");
                return said;
            }
            Ok(read) => said.extend(&piece[..read]),
        }
    }
}

/// That nothing of the run is among these bytes.
fn says_nothing(said: &[u8]) {
    let text = String::from_utf8_lossy(said);
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
    // Magic, nonce, and the zeros for a wrong proof.
    assert!(said.len() <= 72, "{} bytes", said.len());
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

/// A connection of somebody who knows this secret.
fn proved(master: &Address, secret: &str) -> TcpStream {
    let stream = open(master);
    let greeted = greet(
        &stream,
        secret.as_bytes(),
        Purpose::Rendezvous,
        Instant::now() + LONG,
    );
    assert!(greeted.is_ok(), "the secret is right");
    stream
}

#[test]
fn a_wrong_secret_is_refused_and_rank_0_waits_on() {
    meet_in_spite_of(|master| {
        let mut stranger = world(1, 2, master);
        stranger.secret = Some("another secret of a run".parse().expect("a secret"));
        let began = Instant::now();
        let said = meet(&stranger, None, &Fingerprint::new(), LONG).map(|_| ());
        let said = said.expect_err("refused").to_string();
        assert!(said.contains("have different secrets"), "{said}");
        assert!(!said.contains("0.1234"), "{said}");
        assert!(began.elapsed() < Duration::from_secs(10));
        stranger.secret = None;
        let said = meet(&stranger, None, &Fingerprint::new(), LONG).map(|_| ());
        assert!(said.is_err());
    });
}

#[test]
fn a_hello_without_a_proof_ends_and_learns_nothing() {
    meet_in_spite_of(|master| {
        for hello in [hello(7, 2), hello(1, 3), hello(0, 2), hello(1, 2)] {
            let stream = open(master);
            (&stream).write_all(&MAGIC).expect("sent");
            wire::send(&stream, &hello).expect("sent");
            says_nothing(&all_said(&stream));
        }
    });
}

#[test]
fn a_recorded_greeting_is_of_no_use() {
    let (listener, master) = listener();
    let proxy = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let through = Address {
        host: "127.0.0.1".to_string(),
        port: proxy.local_addr().expect("an address").port(),
    };
    thread::scope(|scope| {
        let first = world(0, 2, &master);
        let root = scope.spawn(move || meet(&first, Some(listener), &Fingerprint::new(), LONG));
        // A true rank's greeting is recorded on its way, and does not arrive whole.
        let second = world(1, 2, &through);
        scope.spawn(move || meet(&second, None, &Fingerprint::new(), SHORT).map(|_| ()));
        let (mut rank, _) = proxy.accept().expect("a rank");
        drop(proxy);
        let mut server = open(&master);
        let mut opening = [0; 40];
        server.read_exact(&mut opening).expect("an opening");
        rank.write_all(&opening).expect("passed on");
        let mut recorded = [0; 72];
        rank.read_exact(&mut recorded).expect("a proof");
        drop((rank, server));
        // Replayed it proves nothing.
        let mut replay = open(&master);
        replay.read_exact(&mut [0; 40]).expect("an opening");
        replay.write_all(&recorded).expect("sent");
        assert_eq!(all_said(&replay), [0; 32]);
        let second = meet(&world(1, 2, &master), None, &Fingerprint::new(), LONG);
        second.expect("rank 1 meets");
        root.join().expect("no rank panics").expect("rank 0 meets");
    });
}

#[test]
fn strangers_at_the_port_of_rank_0_do_not_keep_ranks_from_meeting() {
    meet_in_spite_of(|master| {
        let words: [&[u8]; 5] = [
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"spkrank1",
            &[0; 200],
            &[0xff; 100_000],
        ];
        for words in words {
            let stream = open(master);
            // The connection may be closed before all is sent.
            let _ = (&stream).write_all(words);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            says_nothing(&all_said(&stream));
        }
    });
}

#[test]
fn two_hundred_silent_connections_do_not_keep_ranks_from_meeting() {
    let mut held = vec![];
    meet_in_spite_of(|master| {
        for _ in 0..200 {
            let stream = open(master);
            // The length of a message that never comes.
            let _ = (&stream).write_all(&[&MAGIC[..], &(16u32 << 20).to_le_bytes()].concat());
            held.push(stream);
        }
    });
    let closed = held.iter().filter(|stream| {
        let left = stream.set_read_timeout(Some(SHORT));
        left.is_ok() && all_said(stream).len() <= 72
    });
    assert_eq!(closed.count(), 200);
}

#[test]
fn a_message_of_impossible_length_is_not_read() {
    meet_in_spite_of(|master| {
        let stream = proved(master, SECRET);
        (&stream).write_all(&u32::MAX.to_le_bytes()).expect("sent");
        assert!(all_said(&stream).is_empty());
        let stream = proved(master, SECRET);
        let text = "[".repeat(100_000);
        let length = (text.len() as u32).to_le_bytes();
        (&stream).write_all(&length).expect("sent");
        (&stream).write_all(text.as_bytes()).expect("sent");
        assert!(all_said(&stream).is_empty());
    });
}

#[test]
fn a_rank_that_is_not_below_the_size_is_refused_on_both_sides() {
    let (listener, master) = listener();
    thread::scope(|scope| {
        let first = world(0, 2, &master);
        let root = scope.spawn(move || meet(&first, Some(listener), &Fingerprint::new(), LONG));
        let stream = proved(&master, SECRET);
        wire::send(&stream, &hello(7, 2)).expect("sent");
        let answer: Answer = wire::receive(&stream, LONGEST_ANSWER).expect("an answer");
        assert!(
            matches!(&answer, Answer::Refused { reason } if reason.contains("rank 7 on somewhere")),
        );
        let root = root.join().expect("no rank panics").map(|_| ());
        let said = root.expect_err("refused").to_string();
        assert!(
            said.contains("rank 7 on somewhere came, and there are 2 ranks"),
            "{said}"
        );
    });
}

#[test]
fn escape_sequences_of_other_hosts_are_not_passed_on() {
    let (listener, master) = listener();
    thread::scope(|scope| {
        let first = world(0, 2, &master);
        let root = scope.spawn(move || meet(&first, Some(listener), &Fingerprint::new(), LONG));
        let stream = proved(&master, SECRET);
        let evil = Hello {
            host: format!("\x1b]0;owned\x07{}", "x".repeat(10_000)),
            ..hello(1, 3)
        };
        wire::send(&stream, &evil).expect("sent");
        let root = root.join().expect("no rank panics").map(|_| ());
        let said = root.expect_err("refused").to_string();
        assert!(said.contains(r"\u{1b}]0;owned\u{7}xxx"), "{said}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'));
        assert!(said.len() < 1000);
    });
}

#[test]
fn without_a_secret_ranks_meet_at_loopback_addresses_only() {
    let run = Fingerprint::new;
    let mut second = World::new(1, 2, 1, "10.99.99.99:5".parse().expect("an address"));
    let second = second.as_mut().expect("a rank");
    let met = meet(second, None, &run(), SHORT).map(|_| ());
    let said = met.expect_err("refused").to_string();
    assert!(said.contains("the ranks have no secret"), "{said}");
    let (listener, master) = listener();
    thread::scope(|scope| {
        let worlds = [0, 1].map(|rank| World::new(rank, 2, rank, master.clone()));
        let [first, second] = worlds.map(|world| world.expect("a rank"));
        let root = scope.spawn(move || meet(&first, Some(listener), &run(), LONG));
        meet(&second, None, &run(), LONG).expect("rank 1 meets");
        root.join().expect("no rank panics").expect("rank 0 meets");
    });
}

#[test]
fn ranks_of_another_number_of_ranks_are_refused_on_both_sides() {
    let (listener, master) = listener();
    let run = Fingerprint::new;
    let said = refused(
        listener,
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
    let (listener, master) = listener();
    let worlds = [0, 1, 1].map(|rank| (world(rank, 3, &master), Fingerprint::new()));
    for said in refused(listener, worlds.into(), LONG) {
        assert!(said.contains("two processes are rank 1: one on "), "{said}");
    }
}

#[test]
fn a_port_that_is_in_use_is_named() {
    let (_listener, master) = listener();
    let met = meet(&world(0, 3, &master), None, &Fingerprint::new(), SHORT).map(|_| ());
    let said = met.expect_err("refused").to_string();
    let expected = format!("port {} of", master.port);
    assert!(
        said.contains(&expected) && said.contains("is in use"),
        "{said}"
    );
}

#[test]
fn ranks_that_mean_different_runs_are_told_the_difference() {
    let (listener, master) = listener();
    let run = |rate: f64| {
        Fingerprint::new()
            .with("learning_rate", rate)
            .with("seed", 0)
    };
    let said = refused(
        listener,
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
fn a_rank_that_finds_a_stranger_at_the_port_says_what_it_heard() {
    let (listener, master) = listener();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a rank");
        stream.write_all(b"SSH-2.0-Server\r\n").expect("a greeting");
        // Until the rank has gone.
        let _ = stream.read(&mut [0; 1]);
    });
    let met = meet(&world(1, 2, &master), None, &Fingerprint::new(), LONG).map(|_| ());
    let said = met.expect_err("refused").to_string();
    assert!(
        said.contains("is not rank 0 of spikelet: it says `SSH-2.0-…`"),
        "{said}"
    );
}

#[test]
fn a_false_rank_0_without_the_secret_is_told_nothing() {
    let (listener, master) = listener();
    let false_root = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a rank");
        stream
            .write_all(&[&MAGIC[..], &[5; 32]].concat())
            .expect("an opening");
        let mut heard = vec![0; 72];
        stream.read_exact(&mut heard).expect("a proof");
        stream.write_all(&[7; 32]).expect("a false proof");
        // It is closed now, or reset.
        let _ = stream.read_to_end(&mut heard);
        heard
    });
    let run = Fingerprint::new().with("learning_rate", "0.1234");
    let met = meet(&world(1, 2, &master), None, &run, LONG).map(|_| ());
    let said = met.expect_err("refused").to_string();
    assert!(said.contains("have different secrets"), "{said}");
    assert_eq!(false_root.join().expect("it ends").len(), 72);
}

#[test]
fn whoever_waits_in_vain_says_for_whom() {
    let (listener, master) = listener();
    let world_0 = world(0, 3, &master);
    let said = refused(listener, vec![(world_0, Fingerprint::new())], SHORT);
    assert!(
        said[0].contains("after 0.6 s these of 3 ranks have not come to"),
        "{}",
        said[0]
    );
    assert!(said[0].contains(": 1, 2\n"), "{}", said[0]);
    let met = meet(&world(2, 3, &master), None, &Fingerprint::new(), SHORT).map(|_| ());
    let said = met.expect_err("in vain").to_string();
    assert!(
        said.contains("rank 2 on") && said.contains("has not reached rank 0 at"),
        "{said}"
    );
}
