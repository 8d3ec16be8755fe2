//! The errors of process groups.

use super::address::Address;
use std::error::Error as StdError;
use std::fmt::{self, Display};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The failure that ended a run of several ranks. All ranks return the same one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RankError {
    /// The rank that failed first.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// The host of the failed rank.
    pub host: String,
    /// The message of the failure.
    pub reason: String,
    /// The last checkpoint that can be resumed, as given to
    /// [`RankGroup::set_checkpoint`](super::RankGroup::set_checkpoint).
    pub checkpoint: Option<String>,
    /// Whether this process is the failed rank.
    pub own: bool,
    /// The error of this process, if it is the failed rank.
    pub source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rank,
            size,
            host,
            reason,
            ..
        } = self;
        write!(
            f,
            "rank {rank} of {size} on {host}: {reason}\n  checkpoint: "
        )?;
        match &self.checkpoint {
            Some(checkpoint) => {
                write!(f, "{checkpoint}; resume with the same command and --resume")
            }
            None => f.write_str("none was written"),
        }
    }
}

impl spikelet_core::OtherError for RankError {}

impl StdError for RankError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}

/// A reason why ranks did not form a group.
///
/// [`spikelet_core::Error::downcast_ref`] gives it back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RendezvousError {
    /// Other hosts can reach rank 0, and the run has no secret.
    #[error(
        "rendezvous: other hosts can reach rank 0 at {master}, and the run has no secret that \
         authenticates its ranks\n  help: give all ranks the same secret with \
         --rendezvous-secret-file FILE or {}; on a trusted network, --insecure-rendezvous connects \
         without one",
        super::variables::SECRET
    )]
    MissingSecret {
        /// The address of rank 0.
        master: Address,
    },
    /// Rank 0 and this rank have different secrets.
    #[error(
        "rendezvous: rank 0 at {master} and rank {rank} on {host} have different secrets\n  help: \
         give all ranks the same secret with --rendezvous-secret-file FILE or {}",
        super::variables::SECRET
    )]
    DifferentSecrets {
        /// The address of rank 0.
        master: Address,
        /// This rank.
        rank: usize,
        /// The host of this rank.
        host: String,
    },
    /// The host of rank 0 cannot be resolved.
    #[error(
        "rendezvous: the host of rank 0, `{host}`, cannot be resolved: {source}\n  help: check the \
         name, or give an IP address"
    )]
    UnknownHost {
        /// The name of the host.
        host: String,
        /// The error of the resolver.
        source: io::Error,
    },
    /// The port of rank 0 is in use.
    #[error(
        "rendezvous: port {port} of {host} is in use by another program or run\n  help: choose \
         another one with MASTER_PORT or --master HOST:PORT, the same for all ranks"
    )]
    PortInUse {
        /// The host of rank 0.
        host: String,
        /// The port.
        port: u16,
    },
    /// Rank 0 cannot listen at its address.
    #[error(
        "rendezvous: rank 0 cannot listen at {master}: {source}\n  help: give an address of the host \
         of rank 0, and a port above 1023"
    )]
    Listen {
        /// The address of rank 0.
        master: Address,
        /// The error of the system.
        source: io::Error,
    },
    /// The standard input of rank 0 is not the listening socket that its launcher announced.
    #[error(
        "rendezvous: standard input is not a listening socket: {source}\n  help: unset {}",
        super::variables::LISTENER
    )]
    ListenerOnStdin {
        /// The error of the system.
        source: io::Error,
    },
    /// The server at the address of rank 0 is not a rank of spikelet.
    #[error(
        "rendezvous: the server at {master} is not rank 0 of spikelet: it sent {}\n  help: check the \
         address, or choose a port that no other program uses, the same for all ranks",
        received.as_ref().map_or("nothing".to_string(), |text| format!("`{text}…`"))
    )]
    NotRankZero {
        /// The address of rank 0.
        master: Address,
        /// The first bytes that the server sent, if any.
        received: Option<String>,
    },
    /// Rank 0 could not be reached in time.
    #[error(
        "rendezvous: rank {rank} on {host} has not reached rank 0 at {master} within {} s: \
         {last}\n  help: start rank 0 there and check that no firewall is between the hosts; \
         --rendezvous-timeout gives more time", .waited.as_secs_f64()
    )]
    Unreachable {
        /// This rank.
        rank: usize,
        /// The host of this rank.
        host: String,
        /// The address of rank 0.
        master: Address,
        /// The time limit.
        waited: Duration,
        /// The message of the last attempt.
        last: String,
    },
    /// Ranks did not connect to rank 0 in time.
    #[error(
        "rendezvous: {} of {size} ranks have not connected to {master} within {} s: {}{}\n  help: start \
         all ranks at about the same time and check that their hosts can reach this one; \
         --rendezvous-timeout gives more time",
        missing.len(), .waited.as_secs_f64(), list(missing),
        clients(*unauthenticated, last_unauthenticated.as_ref())
    )]
    MissingRanks {
        /// The ranks that did not connect.
        missing: Vec<usize>,
        /// The number of ranks.
        size: usize,
        /// The address of rank 0.
        master: Address,
        /// The time limit.
        waited: Duration,
        /// The number of clients that did not prove the secret of the run.
        unauthenticated: usize,
        /// The address of the last of them.
        last_unauthenticated: Option<SocketAddr>,
    },
    /// Two ranks were started with different numbers of ranks.
    #[error(
        "rendezvous: rank {rank} on {host} was started as one of {size} ranks, rank 0 on {root_host} as \
         one of {root_size}\n  help: start all ranks with the same number of ranks"
    )]
    DifferentSizes {
        /// The rank that connected.
        rank: usize,
        /// Its host.
        host: String,
        /// Its number of ranks.
        size: usize,
        /// The host of rank 0.
        root_host: String,
        /// The number of ranks of rank 0.
        root_size: usize,
    },
    /// The rank of a process is not below the number of ranks.
    #[error(
        "rendezvous: rank {rank} on {host} connected, and there are {size} ranks\n  help: ranks count \
         from 0 to one less than their number"
    )]
    RankOutOfRange {
        /// The rank that connected.
        rank: usize,
        /// Its host.
        host: String,
        /// The number of ranks.
        size: usize,
    },
    /// Two processes have the same rank.
    #[error(
        "rendezvous: two processes have rank {rank}: one on {}, one on {}\n  help: give each process a \
         separate rank", hosts[0], hosts[1]
    )]
    DuplicateRank {
        /// The rank.
        rank: usize,
        /// The hosts of both processes.
        hosts: [String; 2],
    },
    /// Two ranks were started for different runs.
    #[error(
        "rendezvous: rank 0 and rank {rank} on {host} belong to different runs: {name}: {} against \
         {}\n  help: start all ranks with the same program and arguments",
        values[0], values[1]
    )]
    DifferentRuns {
        /// The rank that connected.
        rank: usize,
        /// Its host.
        host: String,
        /// The first entry of the [`Fingerprint`](super::Fingerprint) that differs.
        name: String,
        /// The value of rank 0, then that of the other rank.
        values: [String; 2],
    },
    /// Rank 0 refused this rank, or another rank of the run.
    #[error(
        "rendezvous: {reason}\n  help: start all ranks with the same program and arguments, each with a \
         separate rank"
    )]
    Refused {
        /// The message of rank 0.
        reason: String,
    },
    /// The connection between this rank and rank 0, or the rank on `host`, failed.
    #[error(
        "rendezvous: the connection to rank {rank} on {host} failed: {source}\n  help: check the network \
         between the hosts, and the message of rank {rank}"
    )]
    Connection {
        /// The other rank.
        rank: usize,
        /// Its host or address.
        host: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Two neighbors of the ring did not connect.
    #[error(
        "rendezvous: rank {rank} and its neighbor, rank {neighbor} on {host}, have not connected: \
         {source}\n  help: the hosts of all ranks must reach each other at any port above 1023"
    )]
    Neighbor {
        /// This rank.
        rank: usize,
        /// The neighbor.
        neighbor: usize,
        /// The host of the neighbor.
        host: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A socket or thread of this rank failed.
    #[error("rendezvous: {source}\n  help: allow this user more processes and open files")]
    System {
        /// The error of the system.
        source: io::Error,
    },
    /// The system has no random bytes.
    #[error(
        "rendezvous: the system returns no random bytes: {message}\n  help: check that /dev/urandom \
         exists"
    )]
    Random {
        /// The message of the system.
        message: String,
    },
}

fn list(ranks: &[usize]) -> String {
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    ranks.join(", ")
}

fn clients(count: usize, last: Option<&SocketAddr>) -> String {
    last.map_or(String::new(), |last| {
        format!(
            "; {count} other clients did not prove the secret of this run, the last one from {last}"
        )
    })
}

impl spikelet_core::OtherError for RendezvousError {}
