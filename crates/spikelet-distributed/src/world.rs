//! The rank, size and role of a process.

use super::environment;
use super::error::RendezvousError;
use super::secret::{self, Secret};
use super::world_error::WorldError;
use spikelet_core::{Error, Result};
use std::fmt::{self, Display};
use std::net::TcpListener;
use std::str::FromStr;

/// The address at which rank 0 listens.
///
/// ```
/// use spikelet_distributed::Address;
/// let address: Address = "node01:29500".parse()?;
/// assert_eq!((address.host.as_str(), address.port), ("node01", 29500));
/// assert_eq!("[fe80::1]:7000".parse::<Address>()?.host, "fe80::1");
/// assert!("node01".parse::<Address>().is_err());
/// assert!("[]:29500".parse::<Address>().is_err());
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A host name, or an IPv4 or IPv6 address.
    pub host: String,
    /// The port, at least 1.
    pub port: u16,
}

impl Address {
    /// Opens a listening socket at a free port of the loopback address: pass it on with
    /// [`RankGroup::connect_with_listener`](super::RankGroup::connect_with_listener), so that no other
    /// process can take the port.
    ///
    /// # Errors
    /// [`RendezvousError::System`] when no port can be opened.
    pub fn listen_on_loopback() -> Result<(TcpListener, Self)> {
        let open = || {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let address = listener.local_addr()?;
            Ok((
                listener,
                Self {
                    host: address.ip().to_string(),
                    port: address.port(),
                },
            ))
        };
        open().map_err(|source| RendezvousError::System { source }.into())
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = || WorldError::Address {
            text: text.to_string(),
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let bracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        if host.is_empty() || host == "[]" || (bracketed.is_none() && host.contains(':')) {
            return Err(invalid().into());
        }
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self {
                host: bracketed.unwrap_or(host).to_string(),
                port,
            }),
            _ => Err(invalid().into()),
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A rank: one of several processes that train together.
///
/// ```
/// use spikelet_distributed::World;
/// let second = World::new(1, 4, 1, "node01:29500".parse()?)?;
/// assert_eq!((second.rank, second.size), (1, 4));
/// assert!(World::new(4, 4, 0, "node01:29500".parse()?).is_err());
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The rank of the process, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// The rank among those on the same host, from 0. It selects the GPU.
    pub local_rank: usize,
    /// The number of ranks on the same host, if the launcher sets it.
    pub local_size: Option<usize>,
    /// The name of the host, for messages.
    pub host: String,
    /// The address of rank 0.
    pub master: Address,
    /// The secret that authenticates the ranks. Without one, any process that reaches rank 0 is
    /// accepted.
    pub secret: Option<Secret>,
    /// Whether ranks may connect without a secret at an address that other hosts can reach.
    pub insecure: bool,
    /// Whether the standard input of rank 0 is its listening socket (Unix).
    pub listener_on_stdin: bool,
}

impl World {
    /// A rank without a secret.
    ///
    /// # Errors
    /// [`WorldError::Rank`] when the rank is not below the size.
    pub fn new(rank: usize, size: usize, local_rank: usize, master: Address) -> Result<Self> {
        if rank >= size {
            return Err(WorldError::Rank { rank, size }.into());
        }
        Ok(Self {
            rank,
            size,
            local_rank,
            local_size: None,
            host: host_name(),
            master,
            secret: None,
            insecure: false,
            listener_on_stdin: false,
        })
    }

    /// Checks that there is a secret if other hosts can reach rank 0.
    ///
    /// # Errors
    /// [`RendezvousError::MissingSecret`] when there is none, other hosts can reach the address of
    /// rank 0, and `insecure` is not set.
    ///
    /// ```
    /// use spikelet_distributed::{Secret, World};
    /// let mut second = World::new(1, 4, 1, "node01:29500".parse()?)?;
    /// assert!(second.check_secret().is_err());
    /// second.secret = Some(Secret::generate()?);
    /// assert!(second.check_secret().is_ok());
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn check_secret(&self) -> Result<()> {
        if self.secret.is_some() || self.insecure || secret::is_loopback(&self.master) {
            return Ok(());
        }
        let master = self.master.clone();
        Err(RendezvousError::MissingSecret { master }.into())
    }

    /// The key of the handshakes.
    pub(super) fn key(&self) -> &[u8] {
        self.secret.as_ref().map_or(&[], Secret::key)
    }

    /// The number of ranks on this host: all ranks, if the launcher does not set it.
    pub fn ranks_on_host(&self) -> usize {
        self.local_size.unwrap_or(self.size).max(1)
    }
}

/// The role of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Train without other ranks.
    Single,
    /// Train as one of several ranks.
    Rank(World),
    /// Start this many ranks and wait for them.
    Launch(usize),
}

impl Role {
    /// The role of this process by the environment variables of a launcher, or else by the `requested`
    /// number of ranks. `master` replaces the address of the variables.
    ///
    /// A launcher that has started a single process is ignored: the process may launch ranks itself.
    ///
    /// # Errors
    /// [`WorldError`] when a variable is missing, cannot be parsed, or contradicts another one or the
    /// requested number of ranks.
    ///
    /// ```
    /// use spikelet_distributed::Role;
    /// let none = |_: &str| None;
    /// assert_eq!(Role::from_variables(None, None, &none)?, Role::Single);
    /// assert_eq!(Role::from_variables(Some(4), None, &none)?, Role::Launch(4));
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn from_variables(
        requested: Option<usize>,
        master: Option<&Address>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let found = environment::world(master, variable)?;
        match (found, requested) {
            (Some((world, variables)), Some(requested)) if requested != world.size => {
                let size = world.size;
                Err(WorldError::OtherSize {
                    requested,
                    variables,
                    size,
                }
                .into())
            }
            (Some((world, _)), _) => Ok(Self::Rank(world)),
            (None, Some(ranks)) if ranks > 1 => Ok(Self::Launch(ranks)),
            (None, _) => Ok(Self::Single),
        }
    }
}

/// The name of this host.
pub(super) fn host_name() -> String {
    let system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = system.or_else(|| std::env::var("HOSTNAME").ok());
    let named = named.map(|name| name.trim().to_string());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_string())
}
