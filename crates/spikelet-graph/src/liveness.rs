//! Liveness: which memory a graph needs, and from which node to which.
//!
//! A value that is not in a caller's buffer has memory from the node that computes it to the last
//! node that reads it or a view of it. Passes that look at memory and the plan's layout share this
//! analysis.

mod collective;
mod in_place;

use crate::arena::{self, Allocation};
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Operation, View};
use crate::target::{InPlaceUpdates, Target};
use in_place::Readers;
use std::borrow::Cow;

/// The location of a value while the plan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// At this byte of the arena.
    Arena(usize),
    /// In the buffer of input `k`.
    Input(usize),
    /// In the buffer of output `k`.
    Output(usize),
    /// In the buffer of input `k`, from this byte on.
    InputAt(usize, usize),
    /// In the buffer of output `k`, from this byte on.
    OutputAt(usize, usize),
    /// Nowhere: it is not read.
    Unused,
}

impl Location {
    /// The location this many bytes behind it, in the same memory.
    pub(crate) fn behind(self, bytes: usize) -> Self {
        match self {
            Location::Arena(offset) => Location::Arena(offset + bytes),
            Location::Input(k) if bytes > 0 => Location::InputAt(k, bytes),
            Location::Output(k) if bytes > 0 => Location::OutputAt(k, bytes),
            Location::InputAt(k, offset) => Location::InputAt(k, offset + bytes),
            Location::OutputAt(k, offset) => Location::OutputAt(k, offset + bytes),
            Location::Input(_) | Location::Output(_) | Location::Unused => self,
        }
    }

    /// The arena or buffer, and the byte in it; a whole buffer begins at 0. `None` for no memory.
    pub(crate) fn within(self) -> Option<(Self, usize)> {
        match self {
            Location::Arena(offset) => Some((Location::Arena(0), offset)),
            Location::Input(_) | Location::Output(_) => Some((self, 0)),
            Location::InputAt(k, offset) => Some((Location::Input(k), offset)),
            Location::OutputAt(k, offset) => Some((Location::Output(k), offset)),
            Location::Unused => None,
        }
    }
}

/// The memory that a graph needs.
pub(crate) struct Liveness {
    /// The value whose memory each value is.
    pub(crate) roots: Vec<usize>,
    /// The offset of each value in the memory of its root.
    pub(crate) offsets: Vec<usize>,
    /// The locations of values outside the arena.
    pub(crate) places: Vec<Location>,
    /// The pieces of the arena, which have no offset yet.
    pub(crate) requests: Vec<Allocation>,
    /// The request for each node's workspace.
    pub(crate) workspace_of: Vec<Option<usize>>,
}

/// The memory that a graph needs on a target; `workspace` is the scratch memory of a node while it
/// runs, in bytes.
pub(crate) fn liveness(
    graph: &Graph,
    target: &dyn InPlaceUpdates,
    workspace: impl Fn(&Graph, &Node) -> usize,
) -> Liveness {
    // Devices ask of every node whether its results are read.
    let mut counted = Cow::Borrowed(graph);
    if !graph.has_counted() {
        counted.to_mut().count_uses();
    }
    let graph = &*counted;
    let (mut roots, offsets) = roots_and_offsets(graph);
    let mut places = vec![Location::Unused; graph.values()];
    for (k, input) in graph.inputs.iter().enumerate() {
        places[input.value.index()] = Location::Input(k);
    }
    let mut lives = lives(graph, &roots);
    let readers = Readers::of(graph, &roots);
    for (k, output) in graph.outputs.iter().enumerate() {
        let (value, root) = (output.value.index(), roots[output.value.index()]);
        // Another shape of the same elements, such as that of joined chunks, is made in the buffer as well.
        let is_whole = value == root
            || (output.updates.is_none()
                && offsets[value] == 0
                && graph.ty(output.value).bytes() == graph.ty(id(root)).bytes());
        if is_whole
            && places[root] == Location::Unused
            && readers.written_in_place(graph, k, &roots, &lives)
        {
            places[root] = match output.updates {
                Some(input) => places[input.index()],
                None => Location::Output(k),
            };
        }
    }

    collective::extend(graph, &mut roots, &mut lives, &places);
    in_place::overwrite_operands(graph, target, &mut roots, &mut lives, &places);

    let mut requests: Vec<Allocation> = vec![];
    for value in 0..graph.values() {
        if roots[value] == value
            && places[value] == Location::Unused
            && let Some(alive) = lives[value]
        {
            requests.push(Allocation {
                value: Some(id(value)),
                offset: 0,
                bytes: graph.ty(id(value)).bytes().max(1),
                alive,
            });
        }
    }
    let mut workspace_of = vec![None; graph.nodes.len()];
    for (k, node) in graph.nodes.iter().enumerate() {
        let bytes = workspace(graph, node);
        if bytes > 0 {
            workspace_of[k] = Some(requests.len());
            requests.push(Allocation {
                value: None,
                offset: 0,
                bytes,
                alive: (k, k),
            });
        }
    }
    Liveness {
        roots,
        offsets,
        places,
        requests,
        workspace_of,
    }
}

/// The size in bytes of the arena of a graph as it is.
pub(crate) fn arena_bytes(graph: &Graph, target: &dyn Target) -> usize {
    let workspace = |graph: &Graph, node: &Node| workspace(graph, node, target);
    arena::assign(&mut liveness(graph, target, workspace).requests)
}

/// The workspace of a node in bytes: the arena of the graph that its operation owns, if any, then
/// the memory that the target asks for.
pub(crate) fn workspace(graph: &Graph, node: &Node, target: &dyn Target) -> usize {
    let own = target.workspace(graph, node);
    match node.op.body() {
        None => own,
        Some(body) => arena_bytes(body, target)
            .checked_next_multiple_of(arena::ALIGNMENT)
            .map_or(usize::MAX, |bytes| bytes.saturating_add(own)),
    }
}

/// The value whose memory each value is: itself, what it is a view of, or what it is joined to.
pub(crate) fn roots(graph: &Graph) -> Vec<usize> {
    roots_and_offsets(graph).0
}

fn roots_and_offsets(graph: &Graph) -> (Vec<usize>, Vec<usize>) {
    let mut inside: Vec<Option<(usize, usize)>> = vec![None; graph.values()];
    for node in &graph.nodes {
        let Some(view) = node.op.view() else { continue };
        let made = node.outputs[0];
        match view {
            View::Operand => {
                for (result, operand) in node.outputs.iter().zip(&node.inputs) {
                    inside[result.index()] = Some((operand.index(), 0));
                }
            }
            View::Joined => {
                for (k, part) in node.inputs.iter().enumerate() {
                    let start = k * graph.ty(*part).bytes();
                    inside[part.index()] = Some((made.index(), start));
                }
            }
            View::Chunk(index) => {
                let start = index * graph.ty(made).bytes();
                inside[made.index()] = Some((node.inputs[0].index(), start));
            }
        }
    }
    let find = |value: usize| {
        let (mut root, mut offset) = (value, 0);
        while let Some((other, start)) = inside[root] {
            (root, offset) = (other, offset + start);
        }
        (root, offset)
    };
    (0..graph.values()).map(find).unzip()
}

/// From the node that computes a value to the last that reads it or a view of it; `None` if it is
/// not read. Outputs of the graph live to the end.
fn lives(graph: &Graph, roots: &[usize]) -> Vec<Option<(usize, usize)>> {
    let mut made = vec![0; graph.values()];
    let mut last: Vec<Option<usize>> = vec![None; graph.values()];
    for (k, node) in graph.nodes.iter().enumerate().rev() {
        for output in node.outputs.iter().filter(|_| !node.op.is_view()) {
            made[roots[output.index()]] = k;
        }
    }
    for (k, node) in graph.nodes.iter().enumerate() {
        if node.op.runs() {
            for input in &node.inputs {
                last[roots[input.index()]] = Some(k);
            }
        }
    }
    for (k, node) in graph.nodes.iter().enumerate() {
        let outputs = node.outputs.iter().enumerate();
        for (_, output) in outputs.filter(|(at, _)| node.op.writes_unread(*at)) {
            let last = &mut last[roots[output.index()]];
            *last = Some(last.unwrap_or(k));
        }
    }
    for output in &graph.outputs {
        last[roots[output.value.index()]] = Some(graph.nodes.len());
    }
    made.into_iter()
        .zip(last)
        .map(|(from, to)| Some((from, to?)))
        .collect()
}

/// The value of a number.
fn id(value: usize) -> ValueId {
    ValueId(u32::try_from(value).expect("values are numbered in 32 bits"))
}

/// The root of a value while roots are still being merged.
fn find(roots: &[usize], value: usize) -> usize {
    let mut root = roots[value];
    while roots[root] != root {
        root = roots[root];
    }
    root
}
