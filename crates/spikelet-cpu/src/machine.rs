//! The memory of the machine that is available to this process.
//!
//! Limits of a container or a user count as the machine's: a process that exceeds them is killed.

use spikelet_graph::Memory;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Memory and swap, within the limits of control groups and of the process; `None` if unknown.
pub(crate) fn memory() -> Option<Memory> {
    let machine = of_machine(&read_to_string("/proc/meminfo").ok()?)?;
    let limits = of_control_groups().into_iter().chain(of_process());
    Some(limits.fold(machine, |least, limit| Memory {
        total: least.total.min(limit.total),
        available: least.available.min(limit.available),
    }))
}

/// The memory according to `/proc/meminfo`.
fn of_machine(text: &str) -> Option<Memory> {
    let field = |name: &str| -> Option<usize> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    let swap = |name| field(name).unwrap_or(0);
    Some(Memory {
        total: field("MemTotal:")? + swap("SwapTotal:"),
        available: field("MemAvailable:")? + swap("SwapFree:"),
    })
}

/// Names of a control group's files: limit, usage, and the line of `memory.stat` with the part of the
/// usage that is reclaimed on demand.
type Files = [&'static str; 3];

const VERSION_2: Files = ["memory.max", "memory.current", "inactive_file"];
const VERSION_1: Files = [
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file",
];

/// The limits of the control groups that the process is in, those above them included.
fn of_control_groups() -> Vec<Memory> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut limits = vec![];
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (root, files) = match controllers {
            "" => (Path::new("/sys/fs/cgroup"), VERSION_2),
            _ if controllers.split(',').any(|c| c == "memory") => {
                (Path::new("/sys/fs/cgroup/memory"), VERSION_1)
            }
            _ => continue,
        };
        let own = root.join(path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|at| at.starts_with(root));
        limits.extend(above.filter_map(|at| of_control_group(at.to_path_buf(), files)));
    }
    limits
}

fn of_control_group(folder: PathBuf, [limit, used, reclaimable]: Files) -> Option<Memory> {
    let number = |name: &str| -> Option<usize> {
        let text = read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    // Without a limit the file contains `max`, or a number larger than any memory.
    let total = number(limit)?;
    let statistics = read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let reclaimable = statistics.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == reclaimable).then(|| value.parse::<usize>().ok())?
    });
    let used = number(used)?.saturating_sub(reclaimable.unwrap_or(0));
    Some(Memory {
        total,
        available: total.saturating_sub(used),
    })
}

/// The process's limit of its address space (`ulimit -v`).
#[cfg(target_os = "linux")]
fn of_process() -> Option<Memory> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a value of the type that the call writes.
    let done = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    if done != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    let total = usize::try_from(limit.rlim_cur).ok()?;
    let pages: usize = (read_to_string("/proc/self/statm").ok()?)
        .split(' ')
        .next()?
        .parse()
        .ok()?;
    // SAFETY: the call has no preconditions.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(Memory {
        total,
        available: total.saturating_sub(pages.saturating_mul(page)),
    })
}

#[cfg(not(target_os = "linux"))]
fn of_process() -> Option<Memory> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_counts_as_memory() {
        let text = "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\nSwapTotal: 100 kB\nSwapFree: 50 kB\n";
        let expected = Memory {
            total: 1100 << 10,
            available: 450 << 10,
        };
        assert_eq!(of_machine(text), Some(expected));
        assert_eq!(of_machine("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn a_control_groups_cache_is_free_memory() {
        let folder = std::env::temp_dir().join(format!("spikelet-cgroup-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        write("memory.stat", "anon 300\ninactive_file 200\n");
        assert_eq!(of_control_group(folder.clone(), VERSION_2), None);
        write("memory.max", "1000\n");
        let expected = Memory {
            total: 1000,
            available: 500,
        };
        assert_eq!(of_control_group(folder.clone(), VERSION_2), Some(expected));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
