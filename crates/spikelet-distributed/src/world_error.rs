//! Errors in the rank, size and addresses of a process.

use spikelet_core::OtherError;

/// A reason why the rank of a process cannot be determined.
///
/// [`spikelet_core::Error::downcast_ref`] gives it back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A rank that is not below the number of ranks.
    #[error(
        "rank: {rank} was given, {size} ranks exist\n  help: ranks count from 0 to one less than their number"
    )]
    Rank {
        /// The rank.
        rank: usize,
        /// The number of ranks.
        size: usize,
    },
    /// A text that is not an address.
    #[error(
        "the address of rank 0: `{text}` is not HOST:PORT\n  help: write it as node01:29500 or [fe80::1]:29500"
    )]
    Address {
        /// The text.
        text: String,
    },
    /// The launcher has started another number of ranks than was requested.
    #[error(
        "--data-parallel {requested}: {variables} are set for {size} ranks\n  help: omit --data-parallel, or \
         start the program without that launcher"
    )]
    OtherSize {
        /// The requested number of ranks.
        requested: usize,
        /// The names of the launcher's variables.
        variables: String,
        /// The launcher's number of ranks.
        size: usize,
    },
    /// A variable of a launcher is not set, but another one is.
    #[error(
        "{name}: it is not set, {other} is {value}\n  help: set both, or unset {other} to train without other \
         ranks"
    )]
    NotSet {
        /// The variable that is not set.
        name: String,
        /// The variable that is set.
        other: String,
        /// The value of the other variable.
        value: String,
    },
    /// A variable that must be an integer.
    #[error("{name}: `{value}` is not an integer\n  help: set {name} to an integer, or unset it")]
    NotAnInteger {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
    },
    /// The launcher's rank is not below its number of ranks.
    #[error(
        "{name}: it is {rank}, {size_name} is {size}\n  help: ranks count from 0 to one less than their number"
    )]
    RankVariable {
        /// The variable of the rank.
        name: String,
        /// Its value.
        rank: usize,
        /// The variable of the number of ranks.
        size_name: String,
        /// Its value.
        size: usize,
    },
    /// `MASTER_ADDR` or `MASTER_PORT` is not set.
    #[error(
        "{name}: it is not set: the address of rank 0 is unknown\n  help: set MASTER_ADDR to the host of rank \
         0 and MASTER_PORT to a free port of it, or use --master HOST:PORT"
    )]
    NoMaster {
        /// The variable.
        name: String,
    },
    /// `MASTER_PORT` is not a port.
    #[error("MASTER_PORT: `{value}` is not a port\n  help: give a number from 1 to 65535")]
    Port {
        /// Its value.
        value: String,
    },
    /// A variable of Slurm is not a list of hosts.
    #[error(
        "{name}: `{value}` is not a list of hosts\n  help: use --master HOST:PORT with the host of rank 0"
    )]
    NodeList {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
    },
    /// Slurm has not set its lists of hosts.
    #[error(
        "SLURM_JOB_NODELIST: it is not set: the address of rank 0 is unknown\n  help: start the program with \
         srun, or use --master HOST:PORT"
    )]
    NoNodeList,
    /// Slurm has not set the number of its job.
    #[error(
        "SLURM_JOB_ID: it is not set, and the port of rank 0 is derived from it\n  help: use --master HOST:PORT"
    )]
    NoJob,
}

impl OtherError for WorldError {}
