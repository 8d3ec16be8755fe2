//! The server's side of [handshakes](super::handshake): accepts connections, and performs the handshakes of
//! all clients on one thread.

use super::handshake::{Handshake, Progress, Purpose, READ_BYTES, REFUSED};
use super::secret::random;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

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
        let unauthenticated = |client: &PendingClient| !client.handshake.is_authenticated();
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

#[cfg(test)]
mod tests {
    use super::super::handshake::{HandshakeError, client_handshake};
    use super::super::secret::BYTES;
    use super::super::wire::{self, MAGIC};
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
}
