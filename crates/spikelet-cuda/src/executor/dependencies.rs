//! Which steps of a plan have to wait for which, by the memory that they read and write.
//!
//! A plan lists its kernels one after the other. Two of them may run at the same time if neither writes what the other
//! reads or writes: the arena gives memory to another value only after its last reader, which is such a conflict.

use super::action::Step;
use spikelet_graph::DeviceShare;
use spikelet_graph::{Location, Plan};

/// Memory that a step accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    start: u64,
    end: u64,
    is_write: bool,
}

impl Access {
    fn read(start: u64, bytes: usize) -> Self {
        Self {
            start,
            end: start + bytes as u64,
            is_write: false,
        }
    }

    fn write(start: u64, bytes: usize) -> Self {
        Self {
            is_write: true,
            ..Self::read(start, bytes)
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        (self.is_write || other.is_write) && self.start < other.end && other.start < self.end
    }
}

/// For each step the earlier ones that it waits for; `None` if all kernels of the plan run one after the other.
pub(super) fn of_steps(
    plan: &Plan,
    steps: &[Step],
    address: &dyn Fn(Location) -> u64,
) -> Option<Vec<Vec<usize>>> {
    if !overlaps(plan) {
        return None;
    }
    let of_kernels = accesses(plan, address);
    let of_steps = steps.iter().map(|step| {
        let kernels = of_kernels[step.kernel..=step.last].iter();
        kernels.flatten().copied().collect()
    });
    Some(dependencies(&of_steps.collect::<Vec<_>>()))
}

/// Whether kernels of a plan shall run at the same time.
fn overlaps(plan: &Plan) -> bool {
    let mut shares = plan.graph.nodes.iter().map(|node| node.notes.share);
    shares.any(|share| share != DeviceShare::Whole)
}

/// The memory that each kernel of a plan accesses, and the copies behind them.
fn accesses(plan: &Plan, address: &dyn Fn(Location) -> u64) -> Vec<Vec<Access>> {
    let mut all = vec![];
    for kernel in &plan.kernels {
        let node = &plan.graph.nodes[kernel.node];
        let mut own = vec![];
        for (place, value) in kernel.reads.iter().zip(&node.inputs) {
            own.push(Access::read(address(*place), plan.graph.ty(*value).bytes()));
        }
        for (place, value) in kernel.writes.iter().zip(&node.outputs) {
            if *place != Location::Unused {
                own.push(Access::write(
                    address(*place),
                    plan.graph.ty(*value).bytes(),
                ));
            }
        }
        if let Some((offset, bytes)) = kernel.workspace {
            own.push(Access::write(address(Location::Arena(offset)), bytes));
        }
        all.push(own);
    }
    let mut copies = vec![];
    for (from, to, ty) in &plan.copies {
        copies.push(Access::read(address(*from), ty.bytes()));
        copies.push(Access::write(address(*to), ty.bytes()));
    }
    all.push(copies);
    all
}

/// For each step the earlier ones that it waits for, without those that these wait for.
fn dependencies(steps: &[Vec<Access>]) -> Vec<Vec<usize>> {
    let conflict = |a: &[Access], b: &[Access]| a.iter().any(|a| b.iter().any(|b| a.conflicts(b)));
    let words = steps.len().div_ceil(64);
    // As bits, the steps that are complete before a step starts.
    let mut complete: Vec<Vec<u64>> = vec![];
    let mut found = vec![];
    for (k, step) in steps.iter().enumerate() {
        let (mut before, mut direct) = (vec![0; words], vec![]);
        for other in (0..k).rev() {
            let is_known = before[other / 64] >> (other % 64) & 1 == 1;
            if !is_known && conflict(&steps[other], step) {
                direct.push(other);
                before[other / 64] |= 1 << (other % 64);
                let theirs = before.iter_mut().zip(&complete[other]);
                theirs.for_each(|(mine, their)| *mine |= their);
            }
        }
        complete.push(before);
        found.push(direct);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(place: u64) -> u64 {
        1000 * place
    }

    /// Reads and writes of 1000 bytes each.
    fn step(reads: &[u64], writes: &[u64]) -> Vec<Access> {
        let reads = reads.iter().map(|place| Access::read(at(*place), 1000));
        let writes = writes.iter().map(|place| Access::write(at(*place), 1000));
        reads.chain(writes).collect()
    }

    #[test]
    fn a_step_waits_for_values_that_it_reads() {
        let steps = [step(&[], &[1]), step(&[1], &[2]), step(&[1, 2], &[3])];
        // The last one waits for the first one by waiting for the second.
        assert_eq!(dependencies(&steps), [vec![], vec![0], vec![1]]);
    }

    #[test]
    fn steps_on_other_memory_do_not_wait() {
        let steps = [
            step(&[1], &[2]),
            step(&[1], &[3]),
            step(&[2, 3], &[4]),
            vec![],
        ];
        assert_eq!(dependencies(&steps), [vec![], vec![], vec![1, 0], vec![]]);
    }

    #[test]
    fn memory_is_used_again_only_after_its_last_reader() {
        let steps = [step(&[], &[1]), step(&[1], &[2]), step(&[], &[1])];
        assert_eq!(dependencies(&steps), [vec![], vec![0], vec![1]]);
        let overlapping = [
            vec![Access::write(0, 100)],
            vec![Access::write(99, 1)],
            vec![Access::write(100, 1)],
        ];
        assert_eq!(dependencies(&overlapping), [vec![], vec![0], vec![]]);
    }

    #[test]
    fn many_steps_need_only_the_edges_that_order_them() {
        // Two chains, of which every tenth step reads what the other one wrote.
        let chain = |k: u64| match k % 20 {
            0 if k > 0 => step(&[k - 2, k - 1], &[k]),
            _ if k > 1 => step(&[k - 2], &[k]),
            _ => step(&[], &[k]),
        };
        let steps: Vec<_> = (0..300).map(chain).collect();
        let found = dependencies(&steps);
        for (k, waits) in found.iter().enumerate().skip(2) {
            let expected = match k % 20 {
                0 => vec![k - 1, k - 2],
                _ => vec![k - 2],
            };
            assert_eq!(*waits, expected, "step {k}");
        }
    }
}
