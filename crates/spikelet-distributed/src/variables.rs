//! The environment variables that spikelet's own launcher sets for its ranks.

/// The secret of the run.
pub(super) const SECRET: &str = "SPIKELET_RENDEZVOUS_SECRET";

/// `stdin` if the standard input of rank 0 is its listening socket.
pub(super) const LISTENER: &str = "SPIKELET_RENDEZVOUS_LISTENER";
