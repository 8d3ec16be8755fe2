//! Fusion of independent or small kernels into one launch.
//!
//! Consecutive small kernels run sequentially in one block, with barriers between them. Independent
//! elementwise kernels run concurrently in separate blocks (horizontal fusion): an optimizer's update
//! of all parameters is one launch.

use crate::kernel_source::{Binding, Geometry, KernelSource};

/// The most words of a kernel's arguments, which have at most 4 KiB.
const MOST_WORDS: usize = 400;

/// A kernel with its addresses.
pub(crate) struct BoundKernel {
    pub(crate) piece: KernelSource,
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
    fn touched(&self) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        let all = self
            .piece
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
        let meets =
            |a: (u64, u64, bool), b: (u64, u64, bool)| a.0 < b.1 && b.0 < a.1 && (a.2 || b.2);
        !self.touched().any(|a| other.touched().any(|b| meets(a, b)))
    }

    /// Whether it can be fused horizontally.
    fn is_wide(&self) -> bool {
        let own_memory =
            |a: &crate::kernel_source::Argument| !matches!(a.binding, Binding::Workspace(_));
        matches!(self.piece.geometry, Geometry::Items(_))
            && self.piece.before.is_empty()
            && self.piece.arguments.iter().all(own_memory)
    }
}

/// Fuses neighboring kernels, in order.
pub(crate) fn join<T>(planned: Vec<Result<BoundKernel, T>>) -> Vec<Group<T>> {
    let mut groups = vec![];
    for item in planned {
        match item {
            Err(other) => groups.push(Group::Other(other)),
            Ok(draft) => {
                let last = groups.pop();
                groups.extend(add(last, draft));
            }
        }
    }
    groups
}

fn fits(drafts: &[BoundKernel], draft: &BoundKernel) -> bool {
    drafts.iter().map(|d| d.words.len()).sum::<usize>() + draft.words.len() <= MOST_WORDS
}

fn add<T>(last: Option<Group<T>>, draft: BoundKernel) -> Vec<Group<T>> {
    let small = draft.piece.is_small();
    match last {
        Some(Group::Single(one)) if small && one.piece.is_small() => {
            vec![Group::Sequential(vec![*one, draft])]
        }
        Some(Group::Sequential(mut all)) if small && fits(&all, &draft) => {
            all.push(draft);
            vec![Group::Sequential(all)]
        }
        Some(Group::Single(one))
            if one.is_wide() && draft.is_wide() && one.is_independent_of(&draft) =>
        {
            vec![Group::Horizontal(vec![*one, draft])]
        }
        Some(Group::Horizontal(mut all))
            if draft.is_wide()
                && fits(&all, &draft)
                && all.iter().all(|one| one.is_independent_of(&draft)) =>
        {
            all.push(draft);
            vec![Group::Horizontal(all)]
        }
        Some(other) => vec![other, Group::Single(Box::new(draft))],
        None => vec![Group::Single(Box::new(draft))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_graph::{DType, TensorType};

    /// Reads `from`, writes `to`, `items` elements each.
    fn draft(items: usize, from: u64, to: u64) -> BoundKernel {
        let ty = TensorType::new(DType::F32, [items]);
        let mut piece = KernelSource::new("test", Geometry::Items(items));
        piece.argument("x", &ty, Binding::Read(0));
        piece.argument("y", &ty, Binding::Write(0));
        BoundKernel {
            piece,
            words: vec![from, to],
            bytes: vec![ty.bytes(); 2],
            kernel: 0,
        }
    }

    fn shape(groups: &[Group<()>]) -> Vec<(&'static str, usize)> {
        let one = |group: &Group<()>| match group {
            Group::Other(()) => ("other", 1),
            Group::Single(_) => ("single", 1),
            Group::Sequential(all) => ("in turn", all.len()),
            Group::Horizontal(all) => ("side by side", all.len()),
        };
        groups.iter().map(one).collect()
    }

    const LARGE: usize = 1 << 20;

    #[test]
    fn small_pieces_run_in_turn_and_large_ones_alone() {
        let large = 4 * LARGE as u64;
        let planned = vec![
            Ok(draft(8, 0, 256)),
            Ok(draft(8, 256, 512)),
            Err(()),
            Ok(draft(LARGE, 0, large)),
            Ok(draft(LARGE, large, 2 * large)),
        ];
        let expected = [("in turn", 2), ("other", 1), ("single", 1), ("single", 1)];
        assert_eq!(shape(&join(planned)), expected);
    }

    #[test]
    fn independent_kernels_are_fused_horizontally() {
        let large = 4 * LARGE as u64;
        let planned = vec![
            Ok::<_, ()>(draft(LARGE, 0, large)),
            Ok(draft(LARGE, 2 * large, 3 * large)),
            Ok(draft(8, 4 * large, 5 * large)),
            Ok(draft(LARGE, 3 * large, 6 * large)),
        ];
        assert_eq!(shape(&join(planned)), [("side by side", 3), ("single", 1)]);
    }
}
