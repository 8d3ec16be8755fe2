//! Data parallelism: several processes, called ranks, train one network. Each computes the gradients
//! of its share of a batch, and all apply the same update.
//!
//! ```text
//! launcher          torchrun, srun, mpirun, or `spikelet train --data-parallel 4`
//!    │ environment variables
//!    ▼
//! World             rank, size, address of rank 0                         (world, role, environment)
//!    │ rendezvous   authenticates the ranks and compares their settings   (handshake, rendezvous)
//!    ▼
//! RankGroup ─┬─ Ring      all-reduce and broadcast between neighbors, a `ProcessGroup`    (ring)
//!            └─ Watchdog  heartbeats to rank 0; a failed rank aborts the run on all   (watchdog)
//! ```
//!
//! All connections are TCP. Each begins with a handshake that proves that both ends have the secret of
//! the run; the traffic is not encrypted.

mod address;
mod environment;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod gather;
mod gradients;
mod group;
mod handshake;
mod handshake_server;
mod launch;
mod listener;
mod nodelist;
mod rendezvous;
mod ring;
mod role;
mod secret;
mod variables;
mod watchdog;
mod wire;
mod world;
mod world_error;

pub use address::Address;
pub use error::{RankError, RendezvousError};
pub use gather::{all_gather, all_reduce_f64};
pub use gradients::average_over_ranks;
pub use group::{RankGroup, Timeouts};
pub use launch::{LaunchFailure, Launcher};
pub use rendezvous::Fingerprint;
pub use role::Role;
pub use secret::Secret;
pub use watchdog::{AbortHandler, OverdueHandler};
pub use world::World;
pub use world_error::WorldError;

/// The exit code of a process whose run was aborted by another rank.
pub const ENDED_BY_ANOTHER_RANK: u8 = 4;

#[cfg(test)]
mod tests;
