//! The rendezvous: all ranks connect to rank 0, which checks that they belong to the same run and
//! tells each rank the addresses of the others.
//!
//! ```text
//! rank k                                   rank 0
//!   │ connect, retried until rank 0 listens     │
//!   │◀──── both prove the secret of the run ───▶│   see `handshake`; other clients are disconnected
//!   │──── Hello { rank, size, fingerprint } ───▶│
//!   │                                           │   once all ranks are connected, or one is refused:
//!   │◀──── Welcome { all hosts and ports } ─────│   or Refused { reason }, to all ranks
//! ```
//!
//! The connection stays open for heartbeats. A client that has not proved the secret receives no
//! information about the run and cannot end it.

mod join;
mod server;

use super::error::RendezvousError;
use super::secret;
use super::world::World;
use serde::{Deserialize, Serialize};
use server::RendezvousServer;
use spikelet_core::Result;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The time limit of a handshake, from the connection to the last byte of a Hello.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximal size of a Hello, which contains settings and a network, in bytes.
pub(super) const MAX_HELLO_BYTES: usize = 1 << 20;

/// The maximal size of the answer, which contains the address of each rank, in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The maximal length of a host name in characters.
const MAX_HOST_LENGTH: usize = 255;

/// The maximal number of connections with an incomplete handshake, in addition to one per rank.
const MAX_PENDING: usize = 64;

/// The interval between two polls of the sockets.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Named values that must be equal on all ranks of a run: settings, network, data set.
///
/// ```
/// use spikelet_distributed::Fingerprint;
/// let ours = Fingerprint::new().with("seed", 1).with("network", "mnist-fc");
/// let theirs = Fingerprint::new().with("seed", 2).with("network", "mnist-fc");
/// let (name, [first, second]) = ours.difference(&theirs).unwrap();
/// assert_eq!((name.as_str(), first.as_str(), second.as_str()), ("seed", "1", "2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    /// A fingerprint without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.0.insert(name.into(), value.to_string());
        self
    }

    /// Adds the fields of a struct by their paths, such as `optimizer.lr` of settings.
    #[must_use]
    pub fn with_fields(mut self, fields: &impl Serialize) -> Self {
        self.add("", serde_json::to_value(fields).unwrap_or_default());
        self
    }

    fn add(&mut self, path: &str, value: serde_json::Value) {
        let serde_json::Value::Object(fields) = value else {
            self.0.insert(path.to_string(), value.to_string());
            return;
        };
        for (name, value) in fields {
            match path {
                "" => self.add(&name, value),
                path => self.add(&format!("{path}.{name}"), value),
            }
        }
    }

    /// The first name, in alphabetical order, whose values differ: this fingerprint's value, then the
    /// other's. A missing value is `nothing`.
    pub fn difference(&self, other: &Self) -> Option<(String, [String; 2])> {
        let names = self.0.keys().chain(other.0.keys());
        let name = names
            .filter(|name| self.0.get(*name) != other.0.get(*name))
            .min()?;
        let value = |fingerprint: &Self| {
            let value = fingerprint.0.get(name).cloned();
            value.unwrap_or_else(|| "nothing".to_string())
        };
        Some((name.clone(), [value(self), value(other)]))
    }
}

#[derive(Serialize, Deserialize)]
struct Hello {
    rank: usize,
    size: usize,
    host: String,
    /// The port at which the rank accepts its neighbor in the ring.
    port: u16,
    fingerprint: Fingerprint,
}

/// Whether these bytes are a Hello.
pub(super) fn is_hello(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Hello>(bytes).is_ok()
}

/// The address of a rank, for its neighbor.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) host: String,
    /// `None` for ranks on the host of rank 0, which may know them by addresses that other hosts
    /// cannot use: their address is that of rank 0.
    pub(super) ip: Option<IpAddr>,
    pub(super) port: u16,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Welcome {
        /// The key of the connections between neighbors.
        token: [u8; secret::BYTES],
        peers: Vec<Peer>,
    },
    Refused {
        reason: String,
    },
}

/// The connections that carry heartbeats.
pub(super) enum Control {
    /// Those of rank 0: one to each other rank, in order.
    Root(Vec<TcpStream>),
    /// That of another rank, to rank 0.
    Member(TcpStream),
}

/// The result of a rendezvous.
pub(super) struct Membership {
    pub(super) peers: Vec<Peer>,
    pub(super) token: [u8; secret::BYTES],
    pub(super) control: Control,
    /// The socket at which this rank accepts its neighbor.
    pub(super) listener: TcpListener,
    /// The address of rank 0 as seen by this rank.
    pub(super) root: IpAddr,
}

/// The address at which a rank that sees rank 0 at `root` opens a port. If rank 0 has a loopback
/// address, only processes of its host can connect.
fn listening_address(world: &World, root: IpAddr) -> IpAddr {
    match root {
        root if world.master.is_loopback() => root,
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// The socket address of rank 0.
fn resolve(world: &World) -> Result<SocketAddr, RendezvousError> {
    let master = &world.master;
    let unknown = |source: io::Error| RendezvousError::UnknownHost {
        host: master.host.clone(),
        source,
    };
    let addresses = (master.host.as_str(), master.port).to_socket_addrs();
    let first = addresses.map_err(unknown)?.min_by_key(SocketAddr::is_ipv6);
    first.ok_or_else(|| unknown(io::Error::new(ErrorKind::NotFound, "it has no address")))
}

/// Connects all ranks within the time limit. Rank 0 listens with `listener`, if one is given.
///
/// # Errors
/// When a secret is required and missing, a rank does not connect in time, two processes have the same
/// rank, the ranks belong to different runs, the port is in use, or another program answers at it.
pub(super) fn rendezvous(
    world: &World,
    listener: Option<TcpListener>,
    fingerprint: &Fingerprint,
    limit: Duration,
) -> Result<Membership> {
    world.check_secret()?;
    let deadline = Instant::now() + limit;
    if world.rank == 0 {
        let server = RendezvousServer::open(world, listener)?;
        Ok(server.accept_all(fingerprint, limit, deadline)?)
    } else {
        Ok(join::join(world, fingerprint, limit, deadline)?)
    }
}

#[cfg(test)]
mod tests;
