//! Fusion of independent or small kernels into one launch.
//!
//! Consecutive small kernels run sequentially in one block, with barriers between them. Independent
//! elementwise kernels run concurrently in separate blocks (horizontal fusion): an optimizer's update
//! of all parameters is one launch.

use crate::kernel_source::{Binding, Geometry, KernelSource};

/// The most words of a kernel's arguments, which occupy at most 4 KiB.
const MAX_WORDS: usize = 400;

/// A kernel with its addresses.
pub(crate) struct BoundKernel {
    pub(crate) source: KernelSource,
    pub(crate) words: Vec<u64>,
    /// The bytes at each address.
    pub(crate) bytes: Vec<usize>,
    /// The index of the plan's kernel.
    pub(crate) kernel: usize,
}

/// One launch.
pub(crate) enum Group<T> {
    /// Not a generated kernel.
    Other(T),
    /// One kernel.
    Single(Box<BoundKernel>),
    /// Several in one block, in sequence.
    Sequential(Vec<BoundKernel>),
    /// Several concurrently, in separate blocks.
    Horizontal(Vec<BoundKernel>),
}

impl BoundKernel {
    fn accesses(&self) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        let all = self
            .source
            .arguments
            .iter()
            .zip(&self.words)
            .zip(&self.bytes);
        all.map(|((argument, start), bytes)| {
            let written = !matches!(argument.binding, Binding::Read(_));
            (*start, start + *bytes as u64, written)
        })
    }

    /// Whether neither kernel writes memory that the other accesses.
    fn is_independent_of(&self, other: &BoundKernel) -> bool {
        let conflict =
            |a: (u64, u64, bool), b: (u64, u64, bool)| a.0 < b.1 && b.0 < a.1 && (a.2 || b.2);
        !self
            .accesses()
            .any(|a| other.accesses().any(|b| conflict(a, b)))
    }

    /// Whether it can be fused horizontally.
    fn is_wide(&self) -> bool {
        let is_tensor =
            |a: &crate::kernel_source::Argument| !matches!(a.binding, Binding::Workspace(_));
        matches!(self.source.geometry, Geometry::Items(_))
            && self.source.before.is_empty()
            && self.source.arguments.iter().all(is_tensor)
    }
}

/// Fuses neighboring kernels, in order.
pub(crate) fn fuse<T>(planned: Vec<Result<BoundKernel, T>>) -> Vec<Group<T>> {
    let mut groups = vec![];
    for item in planned {
        match item {
            Err(other) => groups.push(Group::Other(other)),
            Ok(kernel) => {
                let last = groups.pop();
                groups.extend(add(last, kernel));
            }
        }
    }
    groups
}

fn fits(kernels: &[BoundKernel], kernel: &BoundKernel) -> bool {
    kernels.iter().map(|d| d.words.len()).sum::<usize>() + kernel.words.len() <= MAX_WORDS
}

fn add<T>(last: Option<Group<T>>, kernel: BoundKernel) -> Vec<Group<T>> {
    let small = kernel.source.is_small();
    match last {
        Some(Group::Single(one)) if small && one.source.is_small() => {
            vec![Group::Sequential(vec![*one, kernel])]
        }
        Some(Group::Sequential(mut all)) if small && fits(&all, &kernel) => {
            all.push(kernel);
            vec![Group::Sequential(all)]
        }
        Some(Group::Single(one))
            if one.is_wide() && kernel.is_wide() && one.is_independent_of(&kernel) =>
        {
            vec![Group::Horizontal(vec![*one, kernel])]
        }
        Some(Group::Horizontal(mut all))
            if kernel.is_wide()
                && fits(&all, &kernel)
                && all.iter().all(|one| one.is_independent_of(&kernel)) =>
        {
            all.push(kernel);
            vec![Group::Horizontal(all)]
        }
        Some(other) => vec![other, Group::Single(Box::new(kernel))],
        None => vec![Group::Single(Box::new(kernel))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_graph::{DType, TensorType};

    /// Reads `from`, writes `to`, `items` elements each.
    fn kernel(items: usize, from: u64, to: u64) -> BoundKernel {
        let ty = TensorType::new(DType::F32, [items]);
        let mut source = KernelSource::new("test", Geometry::Items(items));
        source.argument("x", &ty, Binding::Read(0));
        source.argument("y", &ty, Binding::Write(0));
        BoundKernel {
            source,
            words: vec![from, to],
            bytes: vec![ty.bytes(); 2],
            kernel: 0,
        }
    }

    fn shape(groups: &[Group<()>]) -> Vec<(&'static str, usize)> {
        let one = |group: &Group<()>| match group {
            Group::Other(()) => ("other", 1),
            Group::Single(_) => ("single", 1),
            Group::Sequential(all) => ("sequential", all.len()),
            Group::Horizontal(all) => ("horizontal", all.len()),
        };
        groups.iter().map(one).collect()
    }

    const LARGE_GPUS: usize = 1 << 20;

    #[test]
    fn small_kernels_share_a_block_and_large_ones_do_not() {
        let large = 4 * LARGE_GPUS as u64;
        let planned = vec![
            Ok(kernel(8, 0, 256)),
            Ok(kernel(8, 256, 512)),
            Err(()),
            Ok(kernel(LARGE_GPUS, 0, large)),
            Ok(kernel(LARGE_GPUS, large, 2 * large)),
        ];
        let expected = [
            ("sequential", 2),
            ("other", 1),
            ("single", 1),
            ("single", 1),
        ];
        assert_eq!(shape(&fuse(planned)), expected);
    }

    #[test]
    fn independent_kernels_are_fused_horizontally() {
        let large = 4 * LARGE_GPUS as u64;
        let planned = vec![
            Ok::<_, ()>(kernel(LARGE_GPUS, 0, large)),
            Ok(kernel(LARGE_GPUS, 2 * large, 3 * large)),
            Ok(kernel(8, 4 * large, 5 * large)),
            Ok(kernel(LARGE_GPUS, 3 * large, 6 * large)),
        ];
        assert_eq!(shape(&fuse(planned)), [("horizontal", 3), ("single", 1)]);
    }
}
