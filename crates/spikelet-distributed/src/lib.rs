//! Several processes, ranks, that train one network together: each takes its share of a batch, and
//! all make the same step.
//!
//! ```text
//! launcher          torchrun, srun, mpirun, or `spikelet train --data-parallel 4` itself
//!    │ variables
//!    ▼
//! World             rank, size, where rank 0 listens                          (world, environment)
//!    │ rendezvous   who has the secret, do all mean the same run              (handshake, rendezvous)
//!    ▼
//! Group ─┬─ Ring    sums and broadcasts between neighbors, `ProcessGroup`        (ring)
//!        └─ Watch   heartbeats to rank 0; one rank's end is everybody's end   (watch)
//! ```
//!
//! Everything is plain TCP. Each connection begins with a proof that both ends have the secret of the
//! run; nothing is encrypted.

mod environment;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
mod gather;
mod gradients;
mod group;
mod handshake;
mod launch;
mod nodelist;
mod rendezvous;
mod ring;
mod secret;
mod watch;
mod wire;
mod world;

pub use failure::RankError;
pub use gather::{gather, sum_numbers};
pub use gradients::average_over_ranks;
pub use group::{Group, Limits};
pub use launch::Launcher;
pub use rendezvous::Fingerprint;
pub use secret::Secret;
pub use watch::{Abort, Overdue};
pub use world::{Address, Role, World};

/// The exit code of a process whose run was ended by another rank.
pub const ENDED_BY_ANOTHER_RANK: u8 = 4;

/// What the devices are told of a failure between ranks.
fn exchange_error(problem: String) -> spikelet_graph::Error {
    spikelet_graph::Error::Backend {
        backend: "ranks".to_string(),
        problem,
    }
}

#[cfg(test)]
mod tests;
