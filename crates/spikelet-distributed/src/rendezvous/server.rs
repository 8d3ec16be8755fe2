//! The side of rank 0 in the rendezvous.

use super::super::error::RendezvousError;
use super::super::handshake::Purpose;
use super::super::handshake_server::{Client, HandshakeServer, ServerLimits};
use super::super::secret::random;
use super::super::wire::{self, printable};
use super::super::world::World;
use super::{
    Answer, Control, Fingerprint, HANDSHAKE_TIMEOUT, Hello, MAX_HELLO_BYTES, MAX_HOST_LENGTH,
    MAX_PENDING, Membership, POLL_INTERVAL, Peer, listening_address, resolve,
};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Accepts the other ranks.
pub(super) struct RendezvousServer<'a> {
    world: &'a World,
    handshakes: HandshakeServer,
    address: SocketAddr,
    registered: BTreeMap<usize, (Hello, TcpStream)>,
    /// Without a secret: why the first client that does not fit was refused.
    misfit: Option<RendezvousError>,
}

impl<'a> RendezvousServer<'a> {
    /// Listens with the given socket, or opens one at the address of rank 0.
    pub(super) fn open(
        world: &'a World,
        listener: Option<TcpListener>,
    ) -> Result<Self, RendezvousError> {
        let address = resolve(world)?;
        let listener = match listener {
            Some(listener) => listener,
            None if world.listener_on_stdin => {
                listener_on_stdin().map_err(|source| RendezvousError::ListenerOnStdin { source })?
            }
            None => bind(world, address)?,
        };
        let limits = ServerLimits {
            time: HANDSHAKE_TIMEOUT,
            pending: MAX_PENDING + world.size,
            message_bytes: MAX_HELLO_BYTES,
        };
        let handshakes = HandshakeServer::new(listener, world.key(), Purpose::Rendezvous, limits)
            .map_err(|source| RendezvousError::System { source })?;
        Ok(Self {
            world,
            handshakes,
            address,
            registered: BTreeMap::new(),
            misfit: None,
        })
    }

    /// Waits until all ranks are registered, and sends them their answer.
    pub(super) fn accept_all(
        mut self,
        fingerprint: &Fingerprint,
        limit: Duration,
        deadline: Instant,
    ) -> Result<Membership, RendezvousError> {
        while self.registered.len() + 1 < self.world.size {
            for client in self.handshakes.poll() {
                self.read_hello(client, fingerprint)?;
            }
            if Instant::now() >= deadline {
                let missing = self.missing_ranks(limit);
                return Err(match self.misfit.take() {
                    Some(misfit) => {
                        self.refuse_all(missing);
                        misfit
                    }
                    None => self.refuse_all(missing),
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
        self.welcome()
    }

    /// Reads the Hello of a client that has proved the secret.
    fn read_hello(&mut self, client: Client, ours: &Fingerprint) -> Result<(), RendezvousError> {
        let Ok(mut hello) = serde_json::from_slice::<Hello>(&client.message) else {
            self.handshakes.count_unauthenticated(client.from);
            return Ok(());
        };
        hello.host = hello.host.chars().take(MAX_HOST_LENGTH).collect();
        hello.host = printable(&hello.host);
        let timeout = Some(HANDSHAKE_TIMEOUT);
        if client.stream.set_write_timeout(timeout).is_err() {
            self.handshakes.count_unauthenticated(client.from);
            return Ok(());
        }
        let Some(error) = self.mismatch(&hello, ours) else {
            self.registered.insert(hello.rank, (hello, client.stream));
            return Ok(());
        };
        if self.world.secret.is_some() {
            refuse(&client.stream, &error);
            return Err(self.refuse_all(error));
        }
        // It may be any process of the host: it learns no values and ends nothing.
        refuse_with(&client.stream, misfit(&error));
        self.handshakes.count_unauthenticated(client.from);
        self.misfit.get_or_insert(error);
        Ok(())
    }

    /// The reason why a rank does not belong to this run, if there is one.
    fn mismatch(&self, hello: &Hello, ours: &Fingerprint) -> Option<RendezvousError> {
        let (rank, size, host) = (hello.rank, hello.size, hello.host.clone());
        let root_host = &self.world.host;
        if size != self.world.size {
            return Some(RendezvousError::DifferentSizes {
                rank,
                host,
                size,
                root_host: root_host.clone(),
                root_size: self.world.size,
            });
        }
        if rank >= size {
            return Some(RendezvousError::RankOutOfRange { rank, host, size });
        }
        let other = match self.registered.get(&rank) {
            _ if rank == 0 => Some(root_host),
            other => other.map(|(hello, _)| &hello.host),
        };
        if let Some(other) = other {
            let hosts = [other.clone(), host];
            return Some(RendezvousError::DuplicateRank { rank, hosts });
        }
        let (name, values) = ours.difference(&hello.fingerprint)?;
        Some(RendezvousError::DifferentRuns {
            rank,
            host,
            name,
            values,
        })
    }

    /// Sends an error to all registered ranks.
    fn refuse_all(&self, error: RendezvousError) -> RendezvousError {
        for (_, stream) in self.registered.values() {
            refuse(stream, &error);
        }
        error
    }

    fn missing_ranks(&self, limit: Duration) -> RendezvousError {
        let ranks = 1..self.world.size;
        RendezvousError::MissingRanks {
            missing: ranks
                .filter(|rank| !self.registered.contains_key(rank))
                .collect(),
            size: self.world.size,
            master: self.world.master.clone(),
            waited: limit,
            unauthenticated: self.handshakes.unauthenticated,
            last_unauthenticated: self.handshakes.last_unauthenticated,
        }
    }

    /// Sends all ranks the addresses of the others.
    fn welcome(self) -> Result<Membership, RendezvousError> {
        let system = |source| RendezvousError::System { source };
        let address = listening_address(self.world, self.address.ip());
        let listener = TcpListener::bind((address, 0)).map_err(system)?;
        let own = Peer {
            host: self.world.host.clone(),
            ip: None,
            port: listener.local_addr().map_err(system)?.port(),
        };
        let (mut peers, mut streams) = (vec![own], vec![]);
        for (rank, (hello, stream)) in self.registered {
            let ip = stream.peer_addr().map_err(lost(rank, &hello.host))?.ip();
            let ip = ip.to_canonical();
            let here = ip.is_loopback() || ip == self.address.ip();
            peers.push(Peer {
                host: hello.host,
                ip: (!here).then_some(ip),
                port: hello.port,
            });
            streams.push(stream);
        }
        let token = random()?;
        let answer = Answer::Welcome {
            token,
            peers: peers.clone(),
        };
        for (rank, (stream, peer)) in (1..).zip(streams.iter().zip(&peers[1..])) {
            wire::send(stream, &answer).map_err(lost(rank, &peer.host))?;
        }
        Ok(Membership {
            peers,
            token,
            control: Control::Root(streams),
            listener,
            root: self.address.ip(),
        })
    }
}

fn lost(rank: usize, host: &str) -> impl FnOnce(io::Error) -> RendezvousError {
    let host = host.to_string();
    move |source| RendezvousError::Connection { rank, host, source }
}

/// Sends a rank the first line of an error: what to do is said by the rank itself.
fn refuse(stream: &TcpStream, error: &RendezvousError) {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    refuse_with(stream, line.strip_prefix("rendezvous: ").unwrap_or(line));
}

fn refuse_with(stream: &TcpStream, reason: &str) {
    let reason = reason.to_string();
    // A rank that has disconnected needs no message.
    let _ = wire::send(stream, &Answer::Refused { reason });
}

/// The reason for a client that has not proved a secret, without values of the run.
fn misfit(error: &RendezvousError) -> &'static str {
    match error {
        RendezvousError::DifferentSizes { .. } => "rank 0 expects another number of ranks",
        RendezvousError::DuplicateRank { .. } => "another process has this rank",
        RendezvousError::DifferentRuns { .. } => {
            "rank 0 has other settings, which it tells only with a secret (see SPIKELET_RENDEZVOUS_SECRET)"
        }
        _ => "rank 0 expects another rank",
    }
}

fn bind(world: &World, address: SocketAddr) -> Result<TcpListener, RendezvousError> {
    let port = address.port();
    let opened = TcpListener::bind((listening_address(world, address.ip()), port));
    opened.map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => RendezvousError::PortInUse {
            host: world.host.clone(),
            port,
        },
        _ => RendezvousError::Listen {
            master: world.master.clone(),
            source,
        },
    })
}

/// The listening socket that the launcher passed as standard input.
#[cfg(unix)]
fn listener_on_stdin() -> io::Result<TcpListener> {
    use std::os::fd::AsFd;
    let own = std::io::stdin().as_fd().try_clone_to_owned();
    let listener = TcpListener::from(own?);
    listener.local_addr()?;
    Ok(listener)
}

#[cfg(not(unix))]
fn listener_on_stdin() -> io::Result<TcpListener> {
    Err(io::Error::new(
        ErrorKind::Unsupported,
        "this system cannot pass sockets as standard input",
    ))
}
