//! Both ends of a connection prove that they have the same key, without sending it.
//!
//! ```text
//! client                                     server
//!   │◀───────── magic, server's nonce ─────────│
//!   │─ magic, client's nonce, client's proof ─▶│   proof: HMAC-SHA256(key, purpose, side, both nonces)
//!   │◀──────────── server's proof ─────────────│   zeros to a client whose proof is wrong
//!   │──────────── its first message ──────────▶│
//! ```
//!
//! Nonces are new for each connection: a recorded proof is of no use on another one. Until a client
//! has proved the key the server keeps [`UNPROVED`] bytes of it and tells it nothing.

use super::secret::{BYTES, random};
use super::wire::{self, MAGIC};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

type Proof = [u8; BYTES];

/// All that a client says before its proof is looked at.
const UNPROVED: usize = MAGIC.len() + 2 * BYTES;

/// What a client with a wrong proof is told.
const REFUSED: Proof = [0; BYTES];

/// Bytes of a message that are read at once.
const PIECE: usize = 1 << 14;

/// What a key is proved for: a proof for one purpose is none for another.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// A rank comes to rank 0.
    Rendezvous,
    /// A rank comes to the next one.
    Ring,
}

#[derive(Clone, Copy)]
enum Side {
    Client,
    Server,
}

fn mac(key: &[u8], purpose: Purpose, side: Side, server: &Proof, client: &Proof) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(match purpose {
        Purpose::Rendezvous => b"spikelet rendezvous\0",
        Purpose::Ring => b"spikelet ring\0",
    });
    mac.update(match side {
        Side::Client => b"client\0",
        Side::Server => b"server\0",
    });
    mac.update(server);
    mac.update(client);
    mac
}

/// A client's proof that it has the key.
pub(super) fn client_proof(key: &[u8], purpose: Purpose, server: &Proof, client: &Proof) -> Proof {
    let proof = mac(key, purpose, Side::Client, server, client);
    proof.finalize().into_bytes().into()
}

/// The server's side of one connection, without the connection.
pub(super) struct Greeting {
    purpose: Purpose,
    nonce: Proof,
    /// What has come and is not complete yet.
    came: Vec<u8>,
    proved: bool,
    /// Bytes of a message at most.
    longest: usize,
}

/// What follows from the bytes that have come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More is to come.
    Waits,
    /// The client has the key and is to be sent this; its message is to come.
    Proved(Proof),
    /// The client has the key and has said this.
    Said(Vec<u8>),
    /// The client does not have the key.
    WrongKey,
    /// It does not speak as ranks do.
    Garbage,
}

impl Greeting {
    pub(super) fn new(purpose: Purpose, nonce: Proof, longest: usize) -> Self {
        Self {
            purpose,
            nonce,
            came: vec![],
            proved: false,
            longest,
        }
    }

    /// What the server says first.
    pub(super) fn opening(&self) -> Vec<u8> {
        [&MAGIC[..], &self.nonce].concat()
    }

    /// The length of the message, once it has come.
    fn message(&self) -> Option<usize> {
        let length = self.came.first_chunk().copied();
        length.map(|length| u32::from_le_bytes(length) as usize)
    }

    /// How many more bytes may be read at once: never more than belong to the greeting.
    pub(super) fn wanted(&self) -> usize {
        let all = match (self.proved, self.message()) {
            (false, _) => UNPROVED,
            (true, None) => 4,
            (true, Some(length)) => 4 + length,
        };
        (all - self.came.len()).min(PIECE)
    }

    /// Takes at most as many bytes as are wanted.
    pub(super) fn take(&mut self, bytes: &[u8], key: &[u8]) -> Progress {
        self.came.extend_from_slice(bytes);
        match self.proved {
            false => self.check_proof(key),
            true => self.check_message(),
        }
    }

    fn check_proof(&mut self, key: &[u8]) -> Progress {
        let known = self.came.len().min(MAGIC.len());
        if self.came[..known] != MAGIC[..known] {
            return Progress::Garbage;
        }
        if self.came.len() < UNPROVED {
            return Progress::Waits;
        }
        let (nonce, proof) = self.came[MAGIC.len()..].split_at(BYTES);
        let client: Proof = nonce.try_into().expect("a nonce has as many bytes");
        let expected = mac(key, self.purpose, Side::Client, &self.nonce, &client);
        if expected.verify_slice(proof).is_err() {
            return Progress::WrongKey;
        }
        self.proved = true;
        self.came = vec![];
        let own = mac(key, self.purpose, Side::Server, &self.nonce, &client);
        Progress::Proved(own.finalize().into_bytes().into())
    }

    fn check_message(&mut self) -> Progress {
        match self.message() {
            Some(length) if length > self.longest => Progress::Garbage,
            Some(length) if self.came.len() == 4 + length => Progress::Said(self.came.split_off(4)),
            _ => Progress::Waits,
        }
    }
}

/// Limits on those who have not said yet what they want.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// For a whole greeting.
    pub(super) time: Duration,
    /// Connections at a time; of more the oldest without a proof is closed.
    pub(super) pending: usize,
    /// Bytes of a client's message.
    pub(super) message: usize,
}

/// A client whose greeting is not complete.
struct Pending {
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
    greeting: Greeting,
}

/// A client that has proved the key, and its message.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    pub(super) from: SocketAddr,
    pub(super) said: Vec<u8>,
}

/// Greets whoever connects, without a thread for anybody and without waiting for anybody.
pub(super) struct Greeter {
    listener: TcpListener,
    key: Vec<u8>,
    purpose: Purpose,
    bounds: Bounds,
    pending: VecDeque<Pending>,
    /// How many came that did not prove the key.
    pub(super) unknown: usize,
    /// The last of them.
    pub(super) last_unknown: Option<SocketAddr>,
}

impl Greeter {
    pub(super) fn new(
        listener: TcpListener,
        key: &[u8],
        purpose: Purpose,
        bounds: Bounds,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            key: key.to_vec(),
            purpose,
            bounds,
            pending: VecDeque::new(),
            unknown: 0,
            last_unknown: None,
        })
    }

    /// Accepts who is there and reads what has come; returns who has completed the greeting.
    pub(super) fn poll(&mut self) -> Vec<Client> {
        self.accept();
        let mut complete = vec![];
        for mut client in std::mem::take(&mut self.pending) {
            match client.advance(&self.key) {
                Progress::Said(said) => match client.stream.set_nonblocking(false) {
                    Ok(()) => complete.push(Client {
                        stream: client.stream,
                        from: client.from,
                        said,
                    }),
                    Err(_) => self.note_unknown(client.from),
                },
                Progress::Waits if client.since.elapsed() < self.bounds.time => {
                    self.pending.push_back(client);
                }
                _ => self.note_unknown(client.from),
            }
        }
        complete
    }

    /// Connections whose greeting is not complete.
    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn note_unknown(&mut self, from: SocketAddr) {
        self.unknown += 1;
        self.last_unknown = Some(from);
    }

    fn accept(&mut self) {
        // A flood of connections must not keep those that are there from being read.
        for _ in 0..self.bounds.pending {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // Too many open files, most likely.
                    self.drop_oldest();
                    return;
                }
            };
            if self.pending.len() >= self.bounds.pending {
                self.drop_oldest();
            }
            match Pending::open(stream, from, self.purpose, self.bounds.message) {
                Ok(client) => self.pending.push_back(client),
                Err(_) => self.note_unknown(from),
            }
        }
    }

    fn drop_oldest(&mut self) {
        let unproved = |client: &Pending| !client.greeting.proved;
        let oldest = self.pending.iter().position(unproved).unwrap_or(0);
        if let Some(client) = self.pending.remove(oldest) {
            self.note_unknown(client.from);
        }
    }
}

impl Pending {
    fn open(
        mut stream: TcpStream,
        from: SocketAddr,
        purpose: Purpose,
        longest: usize,
    ) -> io::Result<Self> {
        let nonce = random().map_err(io::Error::other)?;
        let greeting = Greeting::new(purpose, nonce, longest);
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        // So few bytes always fit into the buffer of a new connection.
        stream.write_all(&greeting.opening())?;
        Ok(Self {
            stream,
            from,
            since: Instant::now(),
            greeting,
        })
    }

    /// Reads what has come.
    fn advance(&mut self, key: &[u8]) -> Progress {
        let mut piece = [0; PIECE];
        loop {
            let room = &mut piece[..self.greeting.wanted()];
            let read = match self.stream.read(room) {
                Ok(0) => return Progress::Garbage,
                Ok(read) => read,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Progress::Waits,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Progress::Garbage,
            };
            match self.greeting.take(&piece[..read], key) {
                Progress::Waits => {}
                Progress::Proved(own) => {
                    if self.stream.write_all(&own).is_err() {
                        return Progress::Garbage;
                    }
                }
                Progress::WrongKey => {
                    // Whoever is gone need not be told.
                    let _ = self.stream.write_all(&REFUSED);
                    return Progress::WrongKey;
                }
                done => return done,
            }
        }
    }
}

/// Why a server could not be greeted.
pub(super) enum GreetError {
    /// The connection failed: another try may help.
    Io(io::Error),
    /// It says this first.
    NotSpikelet([u8; MAGIC.len()]),
    /// It has another key, or none.
    OtherKey,
}

impl From<io::Error> for GreetError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<GreetError> for io::Error {
    fn from(error: GreetError) -> Self {
        match error {
            GreetError::Io(e) => e,
            GreetError::NotSpikelet(_) | GreetError::OtherKey => {
                Self::new(ErrorKind::InvalidData, "no rank of this run answers")
            }
        }
    }
}

/// The client's side: afterwards both ends have proved the key, and the client's message is expected.
pub(super) fn greet(
    mut stream: &TcpStream,
    key: &[u8],
    purpose: Purpose,
    deadline: Instant,
) -> Result<(), GreetError> {
    stream.set_nodelay(true)?;
    let mut magic = [0; MAGIC.len()];
    wire::read_exact(stream, &mut magic, deadline)?;
    if magic != MAGIC {
        return Err(GreetError::NotSpikelet(magic));
    }
    let mut server = [0; BYTES];
    wire::read_exact(stream, &mut server, deadline)?;
    let client = random().map_err(io::Error::other)?;
    let proof = client_proof(key, purpose, &server, &client);
    stream.set_write_timeout(Some(wire::until(deadline)))?;
    stream.write_all(&[&MAGIC[..], &client, &proof].concat())?;
    let mut answer = [0; BYTES];
    wire::read_exact(stream, &mut answer, deadline)?;
    let expected = mac(key, purpose, Side::Server, &server, &client);
    expected
        .verify_slice(&answer)
        .map_err(|_| GreetError::OtherKey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const KEY: &[u8] = b"a key of a test";

    fn greeter(bounds: Bounds) -> (Greeter, SocketAddr) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let greeter = Greeter::new(listener, KEY, Purpose::Ring, bounds);
        (greeter.expect("it listens"), address)
    }

    const BOUNDS: Bounds = Bounds {
        time: Duration::from_millis(300),
        pending: 4,
        message: 16,
    };

    const LONG: Duration = Duration::from_secs(30);

    fn poll_until(greeter: &mut Greeter, holds: impl Fn(&Greeter) -> bool) -> Duration {
        let began = Instant::now();
        while !holds(greeter) {
            assert!(began.elapsed() < LONG, "it never holds");
            assert!(greeter.poll().is_empty());
            thread::sleep(Duration::from_millis(5));
        }
        began.elapsed()
    }

    #[test]
    fn a_greeting_has_one_time_limit_however_slowly_it_comes() {
        let (mut greeter, address) = greeter(BOUNDS);
        let slow = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("a connection");
            // A byte now and then would take 7 s.
            for byte in MAGIC.into_iter().chain([0; 64]) {
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        poll_until(&mut greeter, |greeter| greeter.pending() == 1);
        let took = poll_until(&mut greeter, |greeter| greeter.unknown == 1);
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_eq!(greeter.pending(), 0);
        slow.join().expect("it ends");
    }

    #[test]
    fn connections_are_bounded_and_the_oldest_without_a_proof_gives_way() {
        let bounds = Bounds {
            time: LONG,
            ..BOUNDS
        };
        let (mut greeter, address) = greeter(bounds);
        let first = TcpStream::connect(address).expect("a connection");
        poll_until(&mut greeter, |greeter| greeter.pending() == 1);
        let others: Vec<TcpStream> = (0..20)
            .map(|_| TcpStream::connect(address).expect("a connection"))
            .collect();
        poll_until(&mut greeter, |greeter| greeter.unknown == 17);
        assert_eq!(greeter.pending(), 4);
        let mut all = vec![];
        (&first).read_to_end(&mut all).expect("it is closed");
        assert_eq!(all.len(), MAGIC.len() + BYTES);
        drop(others);
    }

    #[test]
    fn both_ends_prove_the_key_and_a_message_follows() {
        let (mut greeter, address) = greeter(BOUNDS);
        let client = thread::spawn(move || {
            let stream = TcpStream::connect(address).expect("a connection");
            let other = greet(&stream, KEY, Purpose::Rendezvous, Instant::now() + LONG);
            assert!(matches!(other, Err(GreetError::OtherKey)));
            let stream = TcpStream::connect(address).expect("a connection");
            let greeted = greet(&stream, KEY, Purpose::Ring, Instant::now() + LONG);
            assert!(greeted.is_ok());
            wire::send(&stream, &17).expect("sent");
            wire::send(&stream, &18).expect("sent");
            stream
        });
        let began = Instant::now();
        let found = loop {
            assert!(began.elapsed() < LONG);
            if let Some(found) = greeter.poll().pop() {
                break found;
            }
        };
        assert_eq!((&found.said[..], greeter.unknown), (&b"17"[..], 1));
        // Nothing behind the greeting was read with it.
        assert_eq!(wire::receive::<u32>(&found.stream, 16).expect("read"), 18);
        client.join().expect("it ends");
    }

    #[test]
    fn a_greeting_keeps_no_more_than_it_must() {
        let mut greeting = Greeting::new(Purpose::Ring, [1; BYTES], 16);
        assert_eq!(greeting.wanted(), UNPROVED);
        assert_eq!(greeting.take(&MAGIC, KEY), Progress::Waits);
        assert_eq!(greeting.wanted(), 2 * BYTES);
        assert_eq!(greeting.take(&[0; 2 * BYTES], KEY), Progress::WrongKey);
        let mut greeting = Greeting::new(Purpose::Ring, [1; BYTES], 16);
        assert_eq!(greeting.take(b"s", KEY), Progress::Waits);
        assert_eq!(greeting.take(b"t", KEY), Progress::Garbage);
    }
}
