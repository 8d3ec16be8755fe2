//! The environment variables with which launchers set the rank of a process.
//!
//! | | rank | size | on the host | address of rank 0 |
//! |---|---|---|---|---|
//! | torchrun | `RANK` | `WORLD_SIZE` | `LOCAL_RANK`, `LOCAL_WORLD_SIZE` | `MASTER_ADDR`, `MASTER_PORT` |
//! | mpirun (Open MPI) | `OMPI_COMM_WORLD_RANK` | `…_SIZE` | `…_LOCAL_RANK`, `…_LOCAL_SIZE` | `MASTER_ADDR`, `MASTER_PORT` |
//! | srun (Slurm) | `SLURM_PROCID` | `SLURM_STEP_NUM_TASKS`, `SLURM_NTASKS` | `SLURM_LOCALID` | the first host of `SLURM_STEP_NODELIST` or `SLURM_JOB_NODELIST`, else `SLURM_LAUNCH_NODE_IPADDR`; a port derived from `SLURM_JOB_ID` |
//!
//! The first launcher in this table whose variables are set is used, because each may run inside those
//! below it. In addition, `SPIKELET_RENDEZVOUS_SECRET` is the secret of the run, and
//! `SPIKELET_RENDEZVOUS_LISTENER=stdin` means that the standard input of rank 0 is its listening socket.

use super::address::Address;
use super::nodelist::first_host;
use super::variables;
use super::world::World;
use super::world_error::WorldError;
use spikelet_core::Result;

/// Returns the value of an environment variable.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables of a launcher.
struct Names {
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    local_size: &'static str,
}

const TORCHRUN: Names = Names {
    rank: "RANK",
    size: "WORLD_SIZE",
    local_rank: "LOCAL_RANK",
    local_size: "LOCAL_WORLD_SIZE",
};

const OPEN_MPI: Names = Names {
    rank: "OMPI_COMM_WORLD_RANK",
    size: "OMPI_COMM_WORLD_SIZE",
    local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
};

/// The ports of Slurm jobs: below those that systems use for outgoing connections.
const SLURM_PORTS: std::ops::Range<u64> = 15_000..30_000;

/// The rank of this process by the environment variables, and the names of those that were used. `None`
/// without a launcher, and for a launcher that has started a single process.
pub(super) fn world(
    master: Option<&Address>,
    variable: Lookup<'_>,
) -> Result<Option<(World, String)>> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let lookup: Lookup<'_> = &set;
    for names in [&TORCHRUN, &OPEN_MPI] {
        if lookup(names.rank).is_some() || lookup(names.size).is_some() {
            return by_names(names, names.size, lookup, || named_master(master, lookup));
        }
    }
    if lookup("SLURM_PROCID").is_none() || in_batch_script(lookup) {
        return Ok(None);
    }
    let step = lookup("SLURM_STEP_NUM_TASKS").is_some();
    let names = Names {
        rank: "SLURM_PROCID",
        size: if step {
            "SLURM_STEP_NUM_TASKS"
        } else {
            "SLURM_NTASKS"
        },
        local_rank: "SLURM_LOCALID",
        local_size: "SLURM_NTASKS_PER_NODE",
    };
    by_names(&names, names.size, lookup, || match master {
        Some(master) => Ok(master.clone()),
        None => slurm_master(lookup),
    })
}

/// Whether this process is a batch script of Slurm: it has the variables of a task but is not a rank.
/// srun sets the number of the step for its tasks.
fn in_batch_script(lookup: Lookup<'_>) -> bool {
    lookup("SLURM_TASK_PID").is_some()
        && lookup("SLURM_STEP_ID").is_none()
        && lookup("SLURM_LAUNCH_NODE_IPADDR").is_none()
}

fn by_names(
    names: &Names,
    size_name: &str,
    lookup: Lookup<'_>,
    master: impl FnOnce() -> Result<Address>,
) -> Result<Option<(World, String)>> {
    let number = |name: &str, other: &str| match lookup(name) {
        Some(value) => parsed(name, &value),
        None => Err(not_set(name, other, lookup)),
    };
    let rank = number(names.rank, size_name)?;
    let size = number(size_name, names.rank)?;
    if rank >= size {
        return Err(WorldError::RankVariable {
            name: names.rank.to_string(),
            rank,
            size_name: size_name.to_string(),
            size,
        }
        .into());
    }
    if size == 1 {
        return Ok(None);
    }
    let local_rank = number(names.local_rank, names.rank)?;
    // Slurm writes some counts as `2(x3)`, which is ignored.
    let local_size = lookup(names.local_size).and_then(|value| value.trim().parse().ok());
    let mut world = World::new(rank, size, local_rank, master()?)?;
    world.local_size = local_size.filter(|&count| count > local_rank && count <= size);
    let secret = lookup(variables::SECRET).map(|text| text.parse());
    world.secret = secret.transpose()?;
    world.listener_on_stdin = lookup(variables::LISTENER).is_some_and(|value| value == "stdin");
    Ok(Some((world, format!("{} and {size_name}", names.rank))))
}

fn parsed(name: &str, value: &str) -> Result<usize, WorldError> {
    let integer = value.trim().parse();
    integer.map_err(|_| WorldError::NotAnInteger {
        name: name.to_string(),
        value: value.to_string(),
    })
}

fn not_set(name: &str, other: &str, lookup: Lookup<'_>) -> WorldError {
    WorldError::NotSet {
        name: name.to_string(),
        other: other.to_string(),
        value: lookup(other).unwrap_or_default(),
    }
}

/// `MASTER_ADDR` and `MASTER_PORT`, unless an address is given.
fn named_master(given: Option<&Address>, lookup: Lookup<'_>) -> Result<Address> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let text = |name: &str| {
        lookup(name).ok_or_else(|| WorldError::NoMaster {
            name: name.to_string(),
        })
    };
    let host = text("MASTER_ADDR")?.trim().to_string();
    let port = master_port(&text("MASTER_PORT")?)?;
    // The agent of torchrun may use that port for its store: then the next port is used.
    let store = lookup("TORCHELASTIC_USE_AGENT_STORE");
    let taken = store.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    let port = match (taken, port) {
        (false, port) => port,
        (true, u16::MAX) => port - 1,
        (true, port) => port + 1,
    };
    Ok(Address { host, port })
}

fn master_port(text: &str) -> Result<u16, WorldError> {
    match text.trim().parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(WorldError::Port {
            value: text.to_string(),
        }),
    }
}

fn slurm_master(lookup: Lookup<'_>) -> Result<Address> {
    let host = match lookup("MASTER_ADDR") {
        Some(host) => host.trim().to_string(),
        None => slurm_host(lookup)?,
    };
    let port = match lookup("MASTER_PORT") {
        Some(port) => master_port(&port)?,
        None => slurm_port(lookup)?,
    };
    Ok(Address { host, port })
}

fn slurm_host(lookup: Lookup<'_>) -> Result<String, WorldError> {
    for name in ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"] {
        if let Some(value) = lookup(name) {
            let name = name.to_string();
            return first_host(&value).ok_or(WorldError::NodeList { name, value });
        }
    }
    lookup("SLURM_LAUNCH_NODE_IPADDR").ok_or(WorldError::NoNodeList)
}

/// A port that two jobs of a host, or two steps of a job, are unlikely to share.
fn slurm_port(lookup: Lookup<'_>) -> Result<u16, WorldError> {
    let job = lookup("SLURM_JOB_ID").ok_or(WorldError::NoJob)?;
    let step = lookup("SLURM_STEP_ID").and_then(|step| step.trim().parse::<u64>().ok());
    let ports = SLURM_PORTS.end - SLURM_PORTS.start;
    let job = parsed("SLURM_JOB_ID", &job)? as u64 % ports;
    let step = step.unwrap_or(0) % ports;
    Ok((SLURM_PORTS.start + (job + 7 * step) % ports) as u16)
}

#[cfg(test)]
mod tests {
    use super::super::role::Role;
    use super::*;
    use crate::RendezvousError;

    fn role(requested: Option<usize>, variables: &[(&str, &str)]) -> Result<Role> {
        role_with_master(requested, None, variables)
    }

    fn role_with_master(
        requested: Option<usize>,
        master: Option<&Address>,
        variables: &[(&str, &str)],
    ) -> Result<Role> {
        Role::from_variables(requested, master, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_string())
        })
    }

    fn rank(variables: &[(&str, &str)]) -> World {
        match role(None, variables) {
            Ok(Role::Rank(world)) => world,
            other => panic!("{other:?}"),
        }
    }

    fn error_of(requested: Option<usize>, variables: &[(&str, &str)]) -> WorldError {
        let error = role(requested, variables).expect_err("an error");
        error.downcast().expect("an error of the rank")
    }

    const BY_TORCHRUN: [(&str, &str); 6] = [
        ("RANK", "3"),
        ("WORLD_SIZE", "4"),
        ("LOCAL_RANK", "1"),
        ("LOCAL_WORLD_SIZE", "2"),
        ("MASTER_ADDR", "10.0.0.1"),
        ("MASTER_PORT", "29500"),
    ];

    const BY_SRUN: [(&str, &str); 6] = [
        ("SLURM_PROCID", "2"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_LOCALID", "2"),
        ("SLURM_JOB_NODELIST", "node[01-03,7],other"),
        ("SLURM_JOB_ID", "123456"),
        ("SLURM_STEP_ID", "0"),
    ];

    fn but<'a>(
        variables: &[(&'a str, &'a str)],
        name: &'a str,
        value: &'a str,
    ) -> Vec<(&'a str, &'a str)> {
        let kept = variables.iter().filter(|(known, _)| *known != name);
        kept.copied().chain([(name, value)]).collect()
    }

    #[test]
    fn torchrun_s_variables_are_read() {
        let world = rank(&BY_TORCHRUN);
        assert_eq!((world.rank, world.size, world.local_rank), (3, 4, 1));
        assert_eq!(world.ranks_on_host(), 2);
        assert_eq!(world.master.to_string(), "10.0.0.1:29500");
    }

    #[test]
    fn the_secret_of_a_run_is_read() {
        let name = variables::SECRET;
        let world = rank(&but(&BY_TORCHRUN, name, "0123456789abcdef\n"));
        assert!(world.secret.is_some() && world.check_secret().is_ok());
        assert!(role(None, &but(&BY_TORCHRUN, name, "short")).is_err());
        let world = rank(&BY_TORCHRUN);
        let error = world.check_secret().expect_err("no secret");
        let missing = error.downcast_ref();
        assert!(
            matches!(missing, Some(RendezvousError::MissingSecret { master }) if *master == world.master),
            "{error}"
        );
    }

    #[test]
    fn the_port_next_to_the_store_of_torchrun_s_agent_is_used() {
        let world = rank(&but(&BY_TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE", "True"));
        assert_eq!(world.master.port, 29501);
        let world = rank(&but(&BY_TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE", "False"));
        assert_eq!(world.master.port, 29500);
    }

    #[test]
    fn srun_s_variables_are_read() {
        let world = rank(&BY_SRUN);
        assert_eq!((world.rank, world.size, world.local_rank), (2, 8, 2));
        assert_eq!(world.master.to_string(), "node01:18456");
        let large = but(&BY_SRUN, "SLURM_STEP_ID", "18446744073709551615");
        let large = but(&large, "SLURM_JOB_ID", "18446744073709551615");
        assert!(SLURM_PORTS.contains(&u64::from(rank(&large).master.port)));
        let named = rank(&but(&BY_SRUN, "MASTER_PORT", "7000"));
        assert_eq!(named.master.to_string(), "node01:7000");
        let fewer = rank(&but(&BY_SRUN, "SLURM_STEP_NUM_TASKS", "4"));
        assert_eq!(fewer.size, 4);
        let elsewhere = but(&BY_SRUN, "SLURM_JOB_NODELIST", "");
        let world = rank(&but(&elsewhere, "SLURM_LAUNCH_NODE_IPADDR", "10.1.0.1"));
        assert_eq!(world.master.host, "10.1.0.1");
    }

    #[test]
    fn a_batch_script_of_slurm_is_not_a_rank() -> Result<()> {
        let variables = but(&BY_SRUN, "SLURM_STEP_ID", "");
        let variables = but(&variables, "SLURM_TASK_PID", "77");
        assert_eq!(role(None, &variables)?, Role::Single);
        assert_eq!(role(Some(4), &variables)?, Role::Launch(4));
        Ok(())
    }

    #[test]
    fn open_mpi_needs_the_address_of_rank_0() -> Result<()> {
        let variables = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ];
        let name = "MASTER_ADDR".to_string();
        assert_eq!(error_of(None, &variables), WorldError::NoMaster { name });
        let complete = but(&but(&variables, "MASTER_ADDR", "a"), "MASTER_PORT", "5");
        assert_eq!(rank(&complete).master.to_string(), "a:5");
        let master = "b:6".parse()?;
        let found = role_with_master(None, Some(&master), &variables)?;
        assert!(matches!(found, Role::Rank(world) if world.master == master));
        Ok(())
    }

    #[test]
    fn an_inner_launcher_takes_precedence_over_the_outer_one() {
        let both: Vec<_> = BY_SRUN.into_iter().chain(BY_TORCHRUN).collect();
        assert_eq!(rank(&both).size, 4);
    }

    #[test]
    fn a_launcher_of_a_single_process_is_ignored() -> Result<()> {
        let variables = [("RANK", "0"), ("WORLD_SIZE", "1")];
        assert_eq!(role(None, &variables)?, Role::Single);
        assert_eq!(role(Some(2), &variables)?, Role::Launch(2));
        Ok(())
    }

    #[test]
    fn invalid_variables_are_named_with_their_values() {
        let text = str::to_string;
        let not_set = |name: &str, other: &str, value: &str| WorldError::NotSet {
            name: text(name),
            other: text(other),
            value: text(value),
        };
        let cases = [
            (vec![("RANK", "1")], not_set("WORLD_SIZE", "RANK", "1")),
            (
                vec![("WORLD_SIZE", "2")],
                not_set("RANK", "WORLD_SIZE", "2"),
            ),
            (
                but(&BY_TORCHRUN, "RANK", "4"),
                WorldError::RankVariable {
                    name: text("RANK"),
                    rank: 4,
                    size_name: text("WORLD_SIZE"),
                    size: 4,
                },
            ),
            (
                but(&BY_TORCHRUN, "RANK", "one"),
                WorldError::NotAnInteger {
                    name: text("RANK"),
                    value: text("one"),
                },
            ),
            (
                but(&BY_TORCHRUN, "LOCAL_RANK", ""),
                not_set("LOCAL_RANK", "RANK", "3"),
            ),
            (
                but(&BY_TORCHRUN, "MASTER_PORT", "70000"),
                WorldError::Port {
                    value: text("70000"),
                },
            ),
            (
                but(&BY_SRUN, "SLURM_NTASKS", ""),
                not_set("SLURM_NTASKS", "SLURM_PROCID", "2"),
            ),
            (
                but(&BY_SRUN, "SLURM_JOB_NODELIST", "node[1"),
                WorldError::NodeList {
                    name: text("SLURM_JOB_NODELIST"),
                    value: text("node[1"),
                },
            ),
            (
                but(&BY_SRUN, "SLURM_JOB_NODELIST", ""),
                WorldError::NoNodeList,
            ),
            (but(&BY_SRUN, "SLURM_JOB_ID", ""), WorldError::NoJob),
        ];
        for (variables, expected) in cases {
            assert_eq!(error_of(None, &variables), expected);
            assert!(expected.to_string().contains("\n  help: "), "{expected}");
        }
    }

    #[test]
    fn a_number_of_ranks_that_differs_from_the_launcher_s_is_an_error() {
        let expected = WorldError::OtherSize {
            requested: 2,
            variables: "RANK and WORLD_SIZE".to_string(),
            size: 4,
        };
        assert_eq!(error_of(Some(2), &BY_TORCHRUN), expected);
    }
}
