//! What launchers tell a process of its place, in variables.
//!
//! | | rank | size | on the host | rank 0 listens at |
//! |---|---|---|---|---|
//! | torchrun | `RANK` | `WORLD_SIZE` | `LOCAL_RANK`, `LOCAL_WORLD_SIZE` | `MASTER_ADDR`, `MASTER_PORT` |
//! | mpirun (Open MPI) | `OMPI_COMM_WORLD_RANK` | `…_SIZE` | `…_LOCAL_RANK`, `…_LOCAL_SIZE` | `MASTER_ADDR`, `MASTER_PORT` |
//! | srun (Slurm) | `SLURM_PROCID` | `SLURM_STEP_NUM_TASKS`, `SLURM_NTASKS` | `SLURM_LOCALID` | the first host of `SLURM_STEP_NODELIST` or `SLURM_JOB_NODELIST`, else `SLURM_LAUNCH_NODE_IPADDR`; a port made of `SLURM_JOB_ID` |
//!
//! The first line whose variables are there counts, because each launcher may run inside of those
//! below it. Beside them, `SPIKELET_RENDEZVOUS_SECRET` is the secret of the run's ranks, and
//! `SPIKELET_RENDEZVOUS_LISTENER=stdin` says that rank 0 listens with the socket that is its standard
//! input.

use super::nodelist::first_host;
use super::secret;
use super::world::{Address, World};
use spikelet_core::{Error, Result};

/// A variable of the environment, or of a test.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A launcher's variables.
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

/// The variable that is `stdin` where rank 0 was given the socket that it listens with.
pub(super) const LISTENER: &str = "SPIKELET_RENDEZVOUS_LISTENER";

/// The ports that jobs of Slurm share: below those that systems give to outgoing connections.
const SLURM_PORTS: std::ops::Range<u64> = 15_000..30_000;

/// This process's place as the variables tell it, with the names of those that count; `None` where
/// no launcher is at work, or one that has started one process only.
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

/// A batch script is a task of its own and has a task's variables, but is nobody's rank; srun gives
/// its tasks the number of the step.
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
        None => Err(missing(name, other, lookup)),
    };
    let rank = number(names.rank, size_name)?;
    let size = number(size_name, names.rank)?;
    if rank >= size {
        return Err(Error::invalid(
            names.rank,
            format!("it is {rank}, and {size_name} is {size}"),
            "ranks count from 0 to one less than there are",
        ));
    }
    if size == 1 {
        return Ok(None);
    }
    let local_rank = number(names.local_rank, names.rank)?;
    // Slurm writes some counts as in `2(x3)`: whatever is no number is not needed.
    let local_size = lookup(names.local_size).and_then(|value| value.trim().parse().ok());
    let mut world = World::new(rank, size, local_rank, master()?)?;
    world.local_size = local_size.filter(|&count| count > local_rank && count <= size);
    let secret = lookup(secret::VARIABLE).map(|text| text.parse());
    world.secret = secret.transpose()?;
    world.listener_on_stdin = lookup(LISTENER).is_some_and(|value| value == "stdin");
    Ok(Some((world, format!("{} and {size_name}", names.rank))))
}

fn parsed(name: &str, value: &str) -> Result<usize> {
    value.trim().parse().map_err(|_| {
        Error::invalid(
            name,
            format!("`{value}` is not a whole number"),
            format!("set {name} as the launcher does, or unset it"),
        )
    })
}

fn missing(name: &str, other: &str, lookup: Lookup<'_>) -> Error {
    let value = lookup(other).unwrap_or_default();
    Error::invalid(
        name,
        format!("it is not set, and {other} is {value}"),
        format!("set both as a launcher does, or unset {other} to train alone"),
    )
}

/// `MASTER_ADDR` and `MASTER_PORT`, unless an address is given.
fn named_master(given: Option<&Address>, lookup: Lookup<'_>) -> Result<Address> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let text = |name: &str| {
        lookup(name).ok_or_else(|| {
            Error::invalid(
                name,
                "it is not set, so that ranks cannot find rank 0",
                "set MASTER_ADDR to the host of rank 0 and MASTER_PORT to a free port there, or write --master HOST:PORT",
            )
        })
    };
    let host = text("MASTER_ADDR")?.trim().to_string();
    let port = master_port(&text("MASTER_PORT")?)?;
    // Where torchrun's agent keeps its own store at that port, ours is beside it.
    let store = lookup("TORCHELASTIC_USE_AGENT_STORE");
    let taken = store.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    let port = match (taken, port) {
        (false, port) => port,
        (true, u16::MAX) => port - 1,
        (true, port) => port + 1,
    };
    Ok(Address { host, port })
}

fn master_port(text: &str) -> Result<u16> {
    match text.trim().parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(Error::invalid(
            "MASTER_PORT",
            format!("`{text}` is not a port"),
            "give a number from 1 to 65535",
        )),
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

fn slurm_host(lookup: Lookup<'_>) -> Result<String> {
    for name in ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"] {
        if let Some(list) = lookup(name) {
            return first_host(&list).ok_or_else(|| {
                Error::invalid(
                    name,
                    format!("`{list}` is not a list of hosts"),
                    "write --master HOST:PORT with the host of rank 0",
                )
            });
        }
    }
    lookup("SLURM_LAUNCH_NODE_IPADDR").ok_or_else(|| {
        Error::invalid(
            "SLURM_JOB_NODELIST",
            "it is not set, so that ranks cannot find rank 0",
            "start the program with srun, or write --master HOST:PORT",
        )
    })
}

/// Two jobs on a host, or two steps of a job, rarely meet at a port.
fn slurm_port(lookup: Lookup<'_>) -> Result<u16> {
    let Some(job) = lookup("SLURM_JOB_ID") else {
        return Err(Error::invalid(
            "SLURM_JOB_ID",
            "it is not set, and the port of rank 0 is made of it",
            "write --master HOST:PORT",
        ));
    };
    let step = lookup("SLURM_STEP_ID").and_then(|step| step.trim().parse::<u64>().ok());
    let ports = SLURM_PORTS.end - SLURM_PORTS.start;
    let job = parsed("SLURM_JOB_ID", &job)? as u64 % ports;
    let step = step.unwrap_or(0) % ports;
    Ok((SLURM_PORTS.start + (job + 7 * step) % ports) as u16)
}

#[cfg(test)]
mod tests {
    use super::super::world::Role;
    use super::*;

    fn role(asked: Option<usize>, variables: &[(&str, &str)]) -> Result<Role> {
        Role::of(asked, None, &|name| {
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

    fn complaint(asked: Option<usize>, variables: &[(&str, &str)]) -> String {
        role(asked, variables).expect_err("refused").to_string()
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
        assert_eq!(world.ranks_here(), 2);
        assert_eq!(world.master.to_string(), "10.0.0.1:29500");
    }

    #[test]
    fn the_secret_of_a_run_is_read() {
        let name = secret::VARIABLE;
        let world = rank(&but(&BY_TORCHRUN, name, "0123456789abcdef\n"));
        assert!(world.secret.is_some() && world.check_secret().is_ok());
        let message = complaint(None, &but(&BY_TORCHRUN, name, "short"));
        assert!(message.contains("secret: it has 5 bytes"), "{message}");
        let world = rank(&BY_TORCHRUN);
        let message = world.check_secret().expect_err("refused").to_string();
        assert!(message.contains("rank 0 at 10.0.0.1:29500"), "{message}");
        assert!(message.contains("--rendezvous-secret-file"), "{message}");
    }

    #[test]
    fn the_port_beside_a_store_of_torchrun_s_agent_is_taken() {
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
    fn a_batch_script_of_slurm_is_no_rank() -> Result<()> {
        let variables = but(&BY_SRUN, "SLURM_STEP_ID", "");
        let variables = but(&variables, "SLURM_TASK_PID", "77");
        assert_eq!(role(None, &variables)?, Role::Single);
        assert_eq!(role(Some(4), &variables)?, Role::Launch(4));
        Ok(())
    }

    #[test]
    fn open_mpi_needs_to_be_told_where_rank_0_is() -> Result<()> {
        let variables = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ];
        let message = complaint(None, &variables);
        assert!(message.contains("MASTER_ADDR: it is not set"), "{message}");
        assert!(message.contains("--master HOST:PORT"), "{message}");
        let told = but(&but(&variables, "MASTER_ADDR", "a"), "MASTER_PORT", "5");
        assert_eq!(rank(&told).master.to_string(), "a:5");
        let master = "b:6".parse()?;
        let found = Role::of(None, Some(&master), &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_string())
        })?;
        assert!(matches!(found, Role::Rank(world) if world.master == master));
        Ok(())
    }

    #[test]
    fn an_inner_launcher_counts_more_than_the_one_around_it() {
        let both: Vec<_> = BY_SRUN.into_iter().chain(BY_TORCHRUN).collect();
        assert_eq!(rank(&both).size, 4);
    }

    #[test]
    fn a_launcher_of_one_process_has_started_no_group() -> Result<()> {
        let variables = [("RANK", "0"), ("WORLD_SIZE", "1")];
        assert_eq!(role(None, &variables)?, Role::Single);
        assert_eq!(role(Some(2), &variables)?, Role::Launch(2));
        Ok(())
    }

    #[test]
    fn variables_that_cannot_be_right_are_named_with_their_values() {
        let cases: [(Vec<(&str, &str)>, &str); 8] = [
            (
                vec![("RANK", "1")],
                "WORLD_SIZE: it is not set, and RANK is 1",
            ),
            (
                vec![("WORLD_SIZE", "2")],
                "RANK: it is not set, and WORLD_SIZE is 2",
            ),
            (
                but(&BY_TORCHRUN, "RANK", "4"),
                "RANK: it is 4, and WORLD_SIZE is 4",
            ),
            (
                but(&BY_TORCHRUN, "RANK", "one"),
                "RANK: `one` is not a whole number",
            ),
            (
                but(&BY_TORCHRUN, "LOCAL_RANK", ""),
                "LOCAL_RANK: it is not set, and RANK is 3",
            ),
            (
                but(&BY_TORCHRUN, "MASTER_PORT", "70000"),
                "MASTER_PORT: `70000` is not a port",
            ),
            (
                but(&BY_SRUN, "SLURM_NTASKS", ""),
                "SLURM_NTASKS: it is not set, and SLURM_PROCID is 2",
            ),
            (
                but(&BY_SRUN, "SLURM_JOB_NODELIST", "node[1"),
                "SLURM_JOB_NODELIST: `node[1` is not",
            ),
        ];
        for (variables, expected) in cases {
            let message = complaint(None, &variables);
            assert!(message.contains(expected), "{message}");
            assert!(message.contains("help:"), "{message}");
        }
    }

    #[test]
    fn another_number_of_ranks_than_the_launcher_s_is_refused() {
        let message = complaint(Some(2), &BY_TORCHRUN);
        assert!(message.contains("--data-parallel 2"), "{message}");
        assert!(
            message.contains("RANK and WORLD_SIZE say that there are 4 ranks"),
            "{message}"
        );
    }
}
