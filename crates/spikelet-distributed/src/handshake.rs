//! A handshake in which both ends of a connection prove that they have the same key, without sending
//! it.
//!
//! ```text
//! client                                     server
//!   │◀───────── magic, server's nonce ─────────│
//!   │─ magic, client's nonce, client's proof ─▶│   proof: HMAC-SHA256(key, purpose, side, both nonces)
//!   │◀──────────── server's proof ─────────────│   zeros to a client whose proof is wrong
//!   │──────────── its first message ──────────▶│
//! ```
//!
//! Each connection has new nonces, so a recorded proof is invalid on another one. Until a client has
//! proved the key, the server stores at most [`UNAUTHENTICATED_BYTES`] of it and sends no information
//! about the run.

use super::secret::{BYTES, random};
use super::wire::{self, MAGIC};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

type Proof = [u8; BYTES];

/// The number of bytes that a client sends before its proof is checked.
const UNAUTHENTICATED_BYTES: usize = MAGIC.len() + 2 * BYTES;

/// The answer to a client with a wrong proof.
const REFUSED: Proof = [0; BYTES];

/// The largest number of bytes that are read in one call.
const READ_BYTES: usize = 1 << 14;

/// The purpose of a connection. A proof for one purpose is invalid for another.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// From a rank to rank 0.
    Rendezvous,
    /// From a rank to the next one in the ring.
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

/// The state of the server's side of one handshake, without the connection.
pub(super) struct Handshake {
    purpose: Purpose,
    nonce: Proof,
    /// The received bytes of an incomplete proof or message.
    received: Vec<u8>,
    /// Whether the client has proved the key.
    authenticated: bool,
    /// The maximal length of the message.
    max_bytes: usize,
}

/// The result of the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are needed.
    Incomplete,
    /// The client has the key. This proof is sent to it, and its message follows.
    Authenticated(Proof),
    /// The message of a client that has the key.
    Message(Vec<u8>),
    /// The client does not have the key.
    WrongKey,
    /// The bytes do not follow the protocol.
    Invalid,
}

impl Handshake {
    pub(super) fn new(purpose: Purpose, nonce: Proof, max_bytes: usize) -> Self {
        Self {
            purpose,
            nonce,
            received: vec![],
            authenticated: false,
            max_bytes,
        }
    }

    /// The first bytes that the server sends.
    pub(super) fn opening(&self) -> Vec<u8> {
        [&MAGIC[..], &self.nonce].concat()
    }

    /// The length of the message, once it is received.
    fn message_length(&self) -> Option<usize> {
        let length = self.received.first_chunk().copied();
        length.map(|length| u32::from_le_bytes(length) as usize)
    }

    /// The number of bytes to read next: never more than belong to the handshake.
    pub(super) fn wanted(&self) -> usize {
        let all = match (self.authenticated, self.message_length()) {
            (false, _) => UNAUTHENTICATED_BYTES,
            (true, None) => 4,
            (true, Some(length)) => 4 + length,
        };
        (all - self.received.len()).min(READ_BYTES)
    }

    /// Processes received bytes, at most as many as [`Handshake::wanted`].
    pub(super) fn take(&mut self, bytes: &[u8], key: &[u8]) -> Progress {
        self.received.extend_from_slice(bytes);
        match self.authenticated {
            false => self.check_proof(key),
            true => self.check_message(),
        }
    }

    fn check_proof(&mut self, key: &[u8]) -> Progress {
        let known = self.received.len().min(MAGIC.len());
        if self.received[..known] != MAGIC[..known] {
            return Progress::Invalid;
        }
        if self.received.len() < UNAUTHENTICATED_BYTES {
            return Progress::Incomplete;
        }
        let (nonce, proof) = self.received[MAGIC.len()..].split_at(BYTES);
        let client: Proof = nonce.try_into().expect("a nonce has as many bytes");
        let expected = mac(key, self.purpose, Side::Client, &self.nonce, &client);
        if expected.verify_slice(proof).is_err() {
            return Progress::WrongKey;
        }
        self.authenticated = true;
        self.received = vec![];
        let own = mac(key, self.purpose, Side::Server, &self.nonce, &client);
        Progress::Authenticated(own.finalize().into_bytes().into())
    }

    fn check_message(&mut self) -> Progress {
        match self.message_length() {
            Some(length) if length > self.max_bytes => Progress::Invalid,
            Some(length) if self.received.len() == 4 + length => {
                Progress::Message(self.received.split_off(4))
            }
            _ => Progress::Incomplete,
        }
    }
}

/// Limits on clients whose handshake is incomplete.
#[derive(Clone, Copy)]
pub(super) struct ServerLimits {
    /// The time limit of a handshake.
    pub(super) time: Duration,
    /// The maximal number of connections. Beyond it, the oldest unauthenticated one is closed.
    pub(super) pending: usize,
    /// The maximal length of a client's message.
    pub(super) message_bytes: usize,
}

/// A client whose handshake is incomplete.
struct PendingClient {
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
    handshake: Handshake,
}

/// A client that has proved the key, and its message.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    pub(super) from: SocketAddr,
    pub(super) message: Vec<u8>,
}

/// Performs the handshakes of all clients on one thread, without blocking.
pub(super) struct HandshakeServer {
    listener: TcpListener,
    key: Vec<u8>,
    purpose: Purpose,
    limits: ServerLimits,
    pending: VecDeque<PendingClient>,
    /// The number of clients that did not prove the key.
    pub(super) unauthenticated: usize,
    /// The address of the last of them.
    pub(super) last_unauthenticated: Option<SocketAddr>,
}

impl HandshakeServer {
    pub(super) fn new(
        listener: TcpListener,
        key: &[u8],
        purpose: Purpose,
        limits: ServerLimits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            key: key.to_vec(),
            purpose,
            limits,
            pending: VecDeque::new(),
            unauthenticated: 0,
            last_unauthenticated: None,
        })
    }

    /// Accepts connections and reads received bytes. Returns the clients whose handshake is complete.
    pub(super) fn poll(&mut self) -> Vec<Client> {
        self.accept();
        let mut complete = vec![];
        for mut client in std::mem::take(&mut self.pending) {
            match client.advance(&self.key) {
                Progress::Message(message) => match client.stream.set_nonblocking(false) {
                    Ok(()) => complete.push(Client {
                        stream: client.stream,
                        from: client.from,
                        message,
                    }),
                    Err(_) => self.count_unauthenticated(client.from),
                },
                Progress::Incomplete if client.since.elapsed() < self.limits.time => {
                    self.pending.push_back(client);
                }
                _ => self.count_unauthenticated(client.from),
            }
        }
        complete
    }

    /// The number of connections with an incomplete handshake.
    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn count_unauthenticated(&mut self, from: SocketAddr) {
        self.unauthenticated += 1;
        self.last_unauthenticated = Some(from);
    }

    fn accept(&mut self) {
        // A flood of connections must not keep earlier ones from being read.
        for _ in 0..self.limits.pending {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // Most likely too many open files.
                    self.drop_oldest();
                    return;
                }
            };
            if self.pending.len() >= self.limits.pending {
                self.drop_oldest();
            }
            match PendingClient::open(stream, from, self.purpose, self.limits.message_bytes) {
                Ok(client) => self.pending.push_back(client),
                Err(_) => self.count_unauthenticated(from),
            }
        }
    }

    fn drop_oldest(&mut self) {
        let unauthenticated = |client: &PendingClient| !client.handshake.authenticated;
        let oldest = self.pending.iter().position(unauthenticated).unwrap_or(0);
        if let Some(client) = self.pending.remove(oldest) {
            self.count_unauthenticated(client.from);
        }
    }
}

impl PendingClient {
    fn open(
        mut stream: TcpStream,
        from: SocketAddr,
        purpose: Purpose,
        max_bytes: usize,
    ) -> io::Result<Self> {
        let nonce = random().map_err(io::Error::other)?;
        let handshake = Handshake::new(purpose, nonce, max_bytes);
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        // These few bytes always fit into the send buffer of a new connection.
        stream.write_all(&handshake.opening())?;
        Ok(Self {
            stream,
            from,
            since: Instant::now(),
            handshake,
        })
    }

    /// Reads received bytes.
    fn advance(&mut self, key: &[u8]) -> Progress {
        let mut buffer = [0; READ_BYTES];
        loop {
            let wanted = self.handshake.wanted();
            let read = match self.stream.read(&mut buffer[..wanted]) {
                Ok(0) => return Progress::Invalid,
                Ok(read) => read,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Progress::Incomplete,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Progress::Invalid,
            };
            match self.handshake.take(&buffer[..read], key) {
                Progress::Incomplete => {}
                Progress::Authenticated(own) => {
                    if self.stream.write_all(&own).is_err() {
                        return Progress::Invalid;
                    }
                }
                Progress::WrongKey => {
                    // A client that has disconnected needs no answer.
                    let _ = self.stream.write_all(&REFUSED);
                    return Progress::WrongKey;
                }
                done => return done,
            }
        }
    }
}

/// The failure of a client's handshake.
pub(super) enum HandshakeError {
    /// The connection failed. It may be retried.
    Io(io::Error),
    /// The server is another program, whose first bytes are these.
    NotSpikelet([u8; MAGIC.len()]),
    /// The server has a different key, or none.
    OtherKey,
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<HandshakeError> for io::Error {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::Io(e) => e,
            HandshakeError::NotSpikelet(_) | HandshakeError::OtherKey => Self::new(
                ErrorKind::InvalidData,
                "the server is not a rank of this run",
            ),
        }
    }
}

/// Performs the client's side of the handshake. Afterwards the server expects the client's message.
pub(super) fn client_handshake(
    mut stream: &TcpStream,
    key: &[u8],
    purpose: Purpose,
    deadline: Instant,
) -> Result<(), HandshakeError> {
    stream.set_nodelay(true)?;
    let mut magic = [0; MAGIC.len()];
    wire::read_exact(stream, &mut magic, deadline)?;
    if magic != MAGIC {
        return Err(HandshakeError::NotSpikelet(magic));
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
        .map_err(|_| HandshakeError::OtherKey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const KEY: &[u8] = b"a key of a test";

    fn server(limits: ServerLimits) -> (HandshakeServer, SocketAddr) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = HandshakeServer::new(listener, KEY, Purpose::Ring, limits);
        (server.expect("it listens"), address)
    }

    const LIMITS: ServerLimits = ServerLimits {
        time: Duration::from_millis(300),
        pending: 4,
        message_bytes: 16,
    };

    const LONG: Duration = Duration::from_secs(30);

    fn poll_until(
        server: &mut HandshakeServer,
        holds: impl Fn(&HandshakeServer) -> bool,
    ) -> Duration {
        let began = Instant::now();
        while !holds(server) {
            assert!(began.elapsed() < LONG, "it never holds");
            assert!(server.poll().is_empty());
            thread::sleep(Duration::from_millis(5));
        }
        began.elapsed()
    }

    #[test]
    fn a_handshake_has_one_time_limit_however_slowly_its_bytes_arrive() {
        let (mut server, address) = server(LIMITS);
        let slow = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("a connection");
            // At this rate all bytes would take 7 s.
            for byte in MAGIC.into_iter().chain([0; 64]) {
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        poll_until(&mut server, |server| server.pending() == 1);
        let took = poll_until(&mut server, |server| server.unauthenticated == 1);
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_eq!(server.pending(), 0);
        slow.join().expect("it ends");
    }

    #[test]
    fn connections_are_limited_and_the_oldest_unauthenticated_one_is_closed() {
        let limits = ServerLimits {
            time: LONG,
            ..LIMITS
        };
        let (mut server, address) = server(limits);
        let first = TcpStream::connect(address).expect("a connection");
        poll_until(&mut server, |server| server.pending() == 1);
        let others: Vec<TcpStream> = (0..20)
            .map(|_| TcpStream::connect(address).expect("a connection"))
            .collect();
        poll_until(&mut server, |server| server.unauthenticated == 17);
        assert_eq!(server.pending(), 4);
        let mut all = vec![];
        (&first).read_to_end(&mut all).expect("it is closed");
        assert_eq!(all.len(), MAGIC.len() + BYTES);
        drop(others);
    }

    #[test]
    fn both_ends_prove_the_key_and_a_message_follows() {
        let (mut server, address) = server(LIMITS);
        let client = thread::spawn(move || {
            let stream = TcpStream::connect(address).expect("a connection");
            let other = client_handshake(&stream, KEY, Purpose::Rendezvous, Instant::now() + LONG);
            assert!(matches!(other, Err(HandshakeError::OtherKey)));
            let stream = TcpStream::connect(address).expect("a connection");
            let accepted = client_handshake(&stream, KEY, Purpose::Ring, Instant::now() + LONG);
            assert!(accepted.is_ok());
            wire::send(&stream, &17).expect("sent");
            wire::send(&stream, &18).expect("sent");
            stream
        });
        let began = Instant::now();
        let found = loop {
            assert!(began.elapsed() < LONG);
            if let Some(found) = server.poll().pop() {
                break found;
            }
        };
        assert_eq!(
            (&found.message[..], server.unauthenticated),
            (&b"17"[..], 1)
        );
        // Bytes after the handshake were not read with it.
        assert_eq!(wire::receive::<u32>(&found.stream, 16).expect("read"), 18);
        client.join().expect("it ends");
    }

    #[test]
    fn an_unauthenticated_handshake_stores_a_bounded_number_of_bytes() {
        let mut handshake = Handshake::new(Purpose::Ring, [1; BYTES], 16);
        assert_eq!(handshake.wanted(), UNAUTHENTICATED_BYTES);
        assert_eq!(handshake.take(&MAGIC, KEY), Progress::Incomplete);
        assert_eq!(handshake.wanted(), 2 * BYTES);
        assert_eq!(handshake.take(&[0; 2 * BYTES], KEY), Progress::WrongKey);
        let mut handshake = Handshake::new(Purpose::Ring, [1; BYTES], 16);
        assert_eq!(handshake.take(b"s", KEY), Progress::Incomplete);
        assert_eq!(handshake.take(b"t", KEY), Progress::Invalid);
    }
}
