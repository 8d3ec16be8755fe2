//! Ranks find each other: all come to rank 0, say who they are and which run they mean, and are
//! told where the others are.
//!
//! ```text
//! rank k                                   rank 0
//!   │ connect, again and again until it listens │
//!   │◀──── both prove the secret of the run ───▶│   see `handshake`; a stranger is closed here
//!   │──── Hello { rank, size, fingerprint } ───▶│
//!   │                                           │   when all are there, or one does not fit:
//!   │◀──── Welcome { all hosts and ports } ─────│   or Refused { why }, to everybody
//! ```
//!
//! The connection stays open: heartbeats go over it. Nobody hears anything of the run, and nobody ends
//! it, who has not proved the secret.

mod join;
mod server;

use super::secret;
use super::world::World;
use serde::{Deserialize, Serialize};
use server::RendezvousServer;
use spikelet_core::{Error, Result};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long a greeting may take, from the connection to the last byte of a Hello.
const GREETING: Duration = Duration::from_secs(10);

/// Bytes of a Hello: settings and a network.
pub(super) const LONGEST_HELLO: usize = 1 << 20;

/// Bytes of the answer, which has the place of each rank.
const LONGEST_ANSWER: usize = 16 << 20;

/// Bytes of a host's name.
const LONGEST_HOST: usize = 255;

/// Connections whose greeting is not complete, beside one for each rank.
const PENDING: usize = 64;

/// Between two looks at whether something has happened.
const PAUSE: Duration = Duration::from_millis(20);

/// What all ranks must agree on before they train together, by name: settings, network, data set.
///
/// ```
/// use spikelet::distributed::Fingerprint;
/// let ours = Fingerprint::new().with("seed", 1).with("network", "mnist-fc");
/// let theirs = Fingerprint::new().with("seed", 2).with("network", "mnist-fc");
/// assert_eq!(ours.difference(&theirs).as_deref(), Some("seed: 1 against 2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    /// Nothing to agree on.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more thing to agree on.
    pub fn with(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.0.insert(name.into(), value.to_string());
        self
    }

    /// Each field of something, for example of settings.
    pub fn with_fields(mut self, of: &impl Serialize) -> Self {
        if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(of) {
            let fields = fields.into_iter();
            self.0
                .extend(fields.map(|(name, value)| (name, value.to_string())));
        }
        self
    }

    /// The first difference in words: this one's value, then the other's.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let names = self.0.keys().chain(other.0.keys());
        let mut names: Vec<&String> = names.collect();
        names.sort();
        let differs = names
            .into_iter()
            .find(|name| self.0.get(*name) != other.0.get(*name))?;
        let value = |of: &Self| {
            of.0.get(differs)
                .cloned()
                .unwrap_or_else(|| "nothing".to_string())
        };
        Some(format!(
            "{differs}: {} against {}",
            value(self),
            value(other)
        ))
    }
}

#[derive(Serialize, Deserialize)]
struct Hello {
    rank: usize,
    size: usize,
    host: String,
    /// Where its neighbor in the ring can reach it.
    port: u16,
    fingerprint: Fingerprint,
}

/// Whether these bytes are a Hello.
pub(super) fn is_hello(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Hello>(bytes).is_ok()
}

/// Where a rank is, for its neighbor.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) host: String,
    /// Nothing for ranks on the host of rank 0, which only knows them by names that other hosts
    /// cannot use: they are where rank 0 is.
    pub(super) ip: Option<IpAddr>,
    pub(super) port: u16,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Welcome {
        /// The key of the connections between neighbors: whoever has it has been welcomed here.
        token: [u8; secret::BYTES],
        peers: Vec<Peer>,
    },
    Refused {
        reason: String,
    },
}

/// Connections over which a rank's life is watched.
pub(super) enum Control {
    /// Rank 0 has one to each other rank, in their order.
    Root(Vec<TcpStream>),
    /// Others have one to rank 0.
    Member(TcpStream),
}

/// All ranks have met.
pub(super) struct Met {
    pub(super) peers: Vec<Peer>,
    pub(super) token: [u8; secret::BYTES],
    pub(super) control: Control,
    /// Where this rank's neighbor will connect to.
    pub(super) listener: TcpListener,
    /// Where rank 0 is, as this rank sees it.
    pub(super) root: IpAddr,
}

fn failed(problem: impl Into<String>, help: impl Into<String>) -> Error {
    Error::invalid("rendezvous", problem, help)
}

fn broken(what: &str, error: &io::Error) -> Error {
    failed(
        format!("{what}: {error}"),
        "check the network between the hosts",
    )
}

/// Where a port is opened, on a host that sees rank 0 at `root`: where a loopback address was given
/// for rank 0, nobody else can reach it and nobody else is let in.
fn open_at(world: &World, root: IpAddr) -> IpAddr {
    match root {
        root if secret::is_loopback(&world.master) => root,
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn resolve(world: &World) -> Result<SocketAddr> {
    let master = &world.master;
    let found = (master.host.as_str(), master.port).to_socket_addrs();
    let found = found.map_err(|e| {
        failed(
            format!(
                "the host of rank 0, `{}`, cannot be found: {e}",
                master.host
            ),
            "check the name, or give its address",
        )
    })?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| {
        failed(
            format!("the host of rank 0, `{}`, has no address", master.host),
            "check the name, or give its address",
        )
    })
}

/// Meets the other ranks within the time limit; rank 0 listens with `listener`, if there is one.
///
/// # Errors
/// When there is no secret where one is needed, not all come in time, two have one number, one means
/// another run, the port is taken, or something else answers there.
pub(super) fn meet(
    world: &World,
    listener: Option<TcpListener>,
    fingerprint: &Fingerprint,
    limit: Duration,
) -> Result<Met> {
    world.check_secret()?;
    let deadline = Instant::now() + limit;
    match world.rank {
        0 => RendezvousServer::open(world, listener)?.receive_all(fingerprint, limit, deadline),
        _ => join::join(world, fingerprint, limit, deadline),
    }
}

#[cfg(test)]
mod tests;
