//! Who a process is among those that train together.

use super::environment;
use super::secret::{self, Secret};
use spikelet_core::{Error, Result};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Where rank 0 listens.
///
/// ```
/// use spikelet::distributed::Address;
/// let address: Address = "node01:29500".parse()?;
/// assert_eq!((address.host.as_str(), address.port), ("node01", 29500));
/// assert_eq!("[fe80::1]:7000".parse::<Address>()?.host, "fe80::1");
/// assert!("node01".parse::<Address>().is_err());
/// assert!("[]:29500".parse::<Address>().is_err());
/// # Ok::<(), spikelet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name, or an address of the fourth or sixth version.
    pub host: String,
    /// From 1.
    pub port: u16,
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(
                "the address of rank 0",
                format!("`{text}` is not HOST:PORT"),
                "write it as in node01:29500, or [fe80::1]:29500",
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let bracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        if host.is_empty() || host == "[]" || (bracketed.is_none() && host.contains(':')) {
            return Err(bad());
        }
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self {
                host: bracketed.unwrap_or(host).to_string(),
                port,
            }),
            _ => Err(bad()),
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// A process among those that train together.
///
/// ```
/// use spikelet::distributed::World;
/// let second = World::new(1, 4, 1, "node01:29500".parse()?)?;
/// assert_eq!((second.rank, second.size), (1, 4));
/// assert!(World::new(4, 4, 0, "node01:29500".parse()?).is_err());
/// # Ok::<(), spikelet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The process's number, from 0.
    pub rank: usize,
    /// How many there are.
    pub size: usize,
    /// Its number on its host, from 0: by this it chooses its GPU.
    pub local_rank: usize,
    /// How many there are on its host, where the launcher tells.
    pub local_size: Option<usize>,
    /// The host's name, for messages.
    pub host: String,
    /// Where rank 0 listens.
    pub master: Address,
    /// By what the ranks of the run know each other. Without one every process that reaches rank 0
    /// counts as a rank.
    pub secret: Option<Secret>,
    /// Whether ranks may meet without a secret at an address that other hosts reach.
    pub insecure: bool,
    /// Whether rank 0 was given the socket that it listens with, as its standard input (Unix).
    pub listener_on_stdin: bool,
}

impl World {
    /// A process whose place was decided by whoever started it; without a secret.
    ///
    /// # Errors
    /// When the rank is not below the size.
    pub fn new(rank: usize, size: usize, local_rank: usize, master: Address) -> Result<Self> {
        if rank >= size {
            return Err(Error::invalid(
                "rank",
                format!("{rank} was given, and there are {size} ranks"),
                "ranks count from 0",
            ));
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

    /// Checks that there is a secret where strangers could reach rank 0.
    ///
    /// # Errors
    /// When there is none, other hosts reach the address of rank 0, and `insecure` is not set.
    ///
    /// ```
    /// use spikelet::distributed::{Secret, World};
    /// let mut second = World::new(1, 4, 1, "node01:29500".parse()?)?;
    /// assert!(second.check_secret().is_err());
    /// second.secret = Some(Secret::generate()?);
    /// assert!(second.check_secret().is_ok());
    /// # Ok::<(), spikelet::Error>(())
    /// ```
    pub fn check_secret(&self) -> Result<()> {
        if self.secret.is_some() || self.insecure || secret::is_loopback(&self.master) {
            return Ok(());
        }
        Err(Error::invalid(
            "rendezvous",
            format!(
                "other hosts reach rank 0 at {}, and the ranks have no secret by which they know each other",
                self.master
            ),
            format!(
                "give all ranks the same with --rendezvous-secret-file FILE or {}; in a network that unknown_clients cannot reach, --insecure-rendezvous does without",
                secret::VARIABLE
            ),
        ))
    }

    /// The key that ranks prove to each other.
    pub(super) fn key(&self) -> &[u8] {
        self.secret.as_ref().map_or(&[], Secret::key)
    }

    /// How many ranks are on this host: all of them, where the launcher does not tell.
    pub fn ranks_here(&self) -> usize {
        self.local_size.unwrap_or(self.size).max(1)
    }
}

/// What a process is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Train by itself.
    Single,
    /// Train as one of several.
    Rank(World),
    /// Start as many processes, and wait for them.
    Launch(usize),
}

impl Role {
    /// What this process is to do: `asked` ranks were asked for, if any were; variables that a
    /// launcher has set count more. `master` takes the place of the address in the variables.
    ///
    /// A launcher that has started one process only has started no group, so that such a process
    /// may start ranks of its own.
    ///
    /// # Errors
    /// When variables are missing, contradict each other or the number that was asked for, or
    /// cannot be read; the error has the variable and its value.
    ///
    /// ```
    /// use spikelet::distributed::Role;
    /// let none = |_: &str| None;
    /// assert_eq!(Role::of(None, None, &none)?, Role::Single);
    /// assert_eq!(Role::of(Some(4), None, &none)?, Role::Launch(4));
    /// # Ok::<(), spikelet::Error>(())
    /// ```
    pub fn of(
        asked: Option<usize>,
        master: Option<&Address>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let found = environment::world(master, variable)?;
        match (found, asked) {
            (Some((world, source)), Some(asked)) if asked != world.size => Err(Error::invalid(
                format!("--data-parallel {asked}"),
                format!("{source} say that there are {} ranks", world.size),
                "leave --data-parallel out, or start the program without that launcher",
            )),
            (Some((world, _)), _) => Ok(Self::Rank(world)),
            (None, Some(ranks)) if ranks > 1 => Ok(Self::Launch(ranks)),
            (None, _) => Ok(Self::Single),
        }
    }
}

/// This host's name.
pub(super) fn host_name() -> String {
    let system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = system.or_else(|| std::env::var("HOSTNAME").ok());
    let named = named.map(|name| name.trim().to_string());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_string())
}
