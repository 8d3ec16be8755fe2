//! The rank of a process and the number of ranks.

use super::address::Address;
use super::error::RendezvousError;
use super::secret::Secret;
use super::world_error::WorldError;
use spikelet_core::Result;

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
    /// [`RendezvousError::MissingSecret`] when no secret is set, other hosts can reach the address of
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
        if self.secret.is_some() || self.insecure || self.master.is_loopback() {
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

/// The name of this host.
pub(super) fn host_name() -> String {
    let system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = system.or_else(|| std::env::var("HOSTNAME").ok());
    let named = named.map(|name| name.trim().to_string());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_string())
}
