//! Liveness and the arena.
//!
//! Every value that is not in a caller's buffer gets a piece of one arena for as long as
//! somebody may still read it. Pieces are placed one by one, each in the tightest gap between those
//! that are alive at the same time; of several orders the best is taken.

use super::space::Space;
use super::{Location, collective};
use crate::backend::Target;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, Operation};
use crate::pass;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Offsets are multiples of this: a cache line, and what GPUs want.
pub(super) const ALIGNMENT: usize = 256;

/// Smaller pieces fit anywhere.
const LARGE: usize = 1 << 20;

/// A piece of the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The value, or `None` for a kernel's workspace.
    pub value: Option<ValueId>,
    /// Where it starts.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
    /// The first and the last node during which it is alive.
    pub alive: (usize, usize),
}

impl Allocation {
    /// One past its last byte.
    fn end(&self) -> usize {
        self.offset.saturating_add(self.bytes)
    }
}

pub(super) struct Layout {
    pub(super) places: Vec<Location>,
    pub(super) workspaces: Vec<Option<(usize, usize)>>,
    pub(super) allocations: Vec<Allocation>,
    pub(super) bytes: usize,
}

/// What needs a piece of the arena, before the pieces have a place.
struct Needs {
    roots: Vec<usize>,
    /// Where each value starts in the memory of its root.
    offsets: Vec<usize>,
    /// Where values live that are not in the arena.
    places: Vec<Location>,
    requests: Vec<Allocation>,
    /// The request for each node's workspace.
    workspace_of: Vec<Option<usize>>,
}

/// Where `workspace` is the scratch memory of a node while it runs.
fn needs(graph: &Graph, target: &dyn Target, workspace: impl Fn(&Graph, &Node) -> usize) -> Needs {
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
        let value = output.value.index();
        if roots[value] == value
            && places[value] == Location::Unused
            && readers.made_in_place(graph, k, &roots, &lives)
        {
            places[value] = match output.updates {
                Some(input) => places[input.index()],
                None => Location::Output(k),
            };
        }
    }

    collective::settle(graph, &mut roots, &mut lives, &places);
    take_over(graph, target, &mut roots, &mut lives, &places);

    let mut requests: Vec<Allocation> = vec![];
    for value in 0..graph.values() {
        if roots[value] == value
            && places[value] == Location::Unused
            && let Some(alive) = lives[value]
        {
            let id = ValueId(u32::try_from(value).expect("values are numbered in 32 bits"));
            requests.push(Allocation {
                value: Some(id),
                offset: 0,
                bytes: graph.ty(id).bytes().max(1),
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
    Needs {
        roots,
        offsets,
        places,
        requests,
        workspace_of,
    }
}

/// What needs a piece of the arena, and when, in a graph that [`pass::time_chunking::run`] has still to cut:
/// an operation that it will cut needs no workspace for its whole sequence.
pub(crate) fn requests_before_cut(graph: &Graph, target: &dyn Target) -> Vec<Allocation> {
    let rule = pass::time_chunking::Rule::of(graph, target);
    let workspace = |graph: &Graph, node: &Node| match &rule {
        Some(rule) if rule.cuts_always(graph, node) => 0,
        _ => target.workspace(graph, node),
    };
    needs(graph, target, workspace).requests
}

/// Lays out a graph as it is: every node has the workspace that the device asks for.
pub(super) fn lay_out(graph: &Graph, target: &dyn Target) -> Layout {
    let Needs {
        roots,
        offsets,
        mut places,
        mut requests,
        workspace_of,
    } = needs(graph, target, |graph, node| target.workspace(graph, node));
    let bytes = assign(&mut requests);
    for request in &requests {
        if let Some(value) = request.value {
            places[value.index()] = Location::Arena(request.offset);
        }
    }
    for value in 0..graph.values() {
        places[value] = match places[roots[value]] {
            Location::Arena(start) => Location::Arena(start + offsets[value]),
            other => other,
        };
    }
    Layout {
        places,
        workspaces: workspace_of
            .iter()
            .map(|at| at.map(|i: usize| (requests[i].offset, requests[i].bytes)))
            .collect(),
        allocations: requests,
        bytes,
    }
}

/// The value whose memory each value is: itself, what it is a view of, or what it is joined to.
pub(crate) fn roots(graph: &Graph) -> Vec<usize> {
    roots_and_offsets(graph).0
}

fn roots_and_offsets(graph: &Graph) -> (Vec<usize>, Vec<usize>) {
    let mut inside: Vec<Option<(usize, usize)>> = vec![None; graph.values()];
    for node in graph.nodes.iter().filter(|n| n.op.is_view()) {
        let made = node.outputs[0];
        match &node.op {
            Op::AllReduceDone(_) => {
                for (sum, started) in node.outputs.iter().zip(&node.inputs) {
                    inside[sum.index()] = Some((started.index(), 0));
                }
            }
            Op::ConcatChunks(_) => {
                for (k, part) in node.inputs.iter().enumerate() {
                    let start = k * graph.ty(*part).bytes();
                    inside[part.index()] = Some((made.index(), start));
                }
            }
            Op::TimeChunk(op) => {
                let start = op.index * graph.ty(made).bytes();
                inside[made.index()] = Some((node.inputs[0].index(), start));
            }
            _ => inside[made.index()] = Some((node.inputs[0].index(), 0)),
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

/// From the node that makes a value to the last that reads it or a view of it; `None` if nobody
/// does. What the caller gets at the end lives to the end.
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
        let written = match &node.op {
            Op::Custom(op) => op.wanted(graph, node),
            op => vec![op.writes_all(); node.outputs.len()],
        };
        for (output, _) in node.outputs.iter().zip(written).filter(|(_, w)| *w) {
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

/// Lets maps, and where the target can, backward scans and gradients of blocks' maxima, write over
/// an operand of the same type that nobody reads after them.
fn take_over(
    graph: &Graph,
    target: &dyn Target,
    roots: &mut [usize],
    lives: &mut [Option<(usize, usize)>],
    places: &[Location],
) {
    for (k, node) in graph.nodes.iter().enumerate() {
        let outputs = match &node.op {
            Op::Map(_) => &node.outputs[..],
            Op::ScanGrad(_) if target.overwrites_sequences() => &node.outputs[..],
            Op::PoolGrad(op) if op.by_blocks() && target.overwrites_sequences() => {
                &node.outputs[..]
            }
            _ => continue,
        };
        let mut taken: Vec<usize> = vec![];
        for (at, output) in outputs.iter().enumerate() {
            let only = match &node.op {
                Op::ScanGrad(op) if at > 0 => match op.carried_from(at) {
                    Some(operand) => Some(node.inputs[operand]),
                    None => continue,
                },
                _ => None,
            };
            let own = output.index();
            let Some((_, end)) =
                lives[own].filter(|_| roots[own] == own && places[own] == Location::Unused)
            else {
                continue;
            };
            let elementwise = |root: usize| {
                let read = node
                    .inputs
                    .iter()
                    .filter(|v| find(roots, v.index()) == root);
                read.into_iter()
                    .all(|v| graph.shape(*v) == graph.shape(*output))
            };
            let fits = |v: &&ValueId| {
                let root = find(roots, v.index());
                only.is_none_or(|only| only == **v)
                    && graph.ty(**v) == graph.ty(*output)
                    && places[root] == Location::Unused
                    && lives[root].is_some_and(|(_, last)| last == k)
                    && graph.ty(ValueId(root as u32)).bytes() == graph.ty(*output).bytes()
                    && !taken.contains(&root)
                    && elementwise(root)
            };
            let Some(root) = node
                .inputs
                .iter()
                .find(fits)
                .map(|v| find(roots, v.index()))
            else {
                continue;
            };
            taken.push(root);
            if let Some((_, last)) = &mut lives[root] {
                *last = end;
            }
            lives[own] = None;
            roots[own] = root;
        }
    }
    for value in 0..roots.len() {
        roots[value] = find(roots, value);
    }
}

/// The root of a value, where those that roots were given to have not been told yet.
pub(super) fn find(roots: &[usize], value: usize) -> usize {
    let mut root = roots[value];
    while roots[root] != root {
        root = roots[root];
    }
    root
}

/// Who reads each piece of memory, by its root.
struct Readers {
    /// How many outputs it is.
    outputs: Vec<usize>,
    /// The last node that reads it.
    last: Vec<Option<usize>>,
    /// The last node before whose end a sum over ranks may read it.
    held: Vec<usize>,
}

impl Readers {
    fn of(graph: &Graph, roots: &[usize]) -> Self {
        let mut readers = Self {
            outputs: vec![0; graph.values()],
            last: vec![None; graph.values()],
            held: vec![0; graph.values()],
        };
        for output in &graph.outputs {
            readers.outputs[roots[output.value.index()]] += 1;
        }
        for (k, node) in graph.nodes.iter().enumerate() {
            for input in &node.inputs {
                readers.last[roots[input.index()]] = Some(k);
            }
        }
        for (end, value) in collective::held(graph) {
            let held = &mut readers.held[roots[value.index()]];
            *held = (*held).max(end);
        }
        readers
    }

    /// Whether output `k` can be made right in its buffer.
    ///
    /// A fresh output can, unless another output is the same value. One that takes an input's place
    /// can if no later node reads the old value, and the node that makes it reads the old value, if
    /// at all, only element by element.
    fn made_in_place(
        &self,
        graph: &Graph,
        k: usize,
        roots: &[usize],
        lives: &[Option<(usize, usize)>],
    ) -> bool {
        let output = &graph.outputs[k];
        if self.outputs[roots[output.value.index()]] != 1 {
            return false;
        }
        let Some(old) = output.updates.map(|input| roots[input.index()]) else {
            return true;
        };
        let Some((made, _)) = lives[output.value.index()] else {
            return false;
        };
        if self.outputs[old] > 0 || self.held[old] > made {
            return false;
        }
        let node = &graph.nodes[made];
        let elementwise = |input: &ValueId| {
            roots[input.index()] != old
                || matches!(&node.op, Op::Map(map) if map.shape == graph.shape(*input))
        };
        self.last[old].is_none_or(|last| last <= made) && node.inputs.iter().all(elementwise)
    }
}

/// Gives every piece its place, in the order that makes the arena smallest: the largest first, those
/// that take most for longest, or those that live to the end.
fn assign(requests: &mut [Allocation]) -> usize {
    let all = || (0..requests.len()).collect::<Vec<usize>>();
    let (mut by_size, mut by_area, mut by_end) = (all(), all(), all());
    by_size.sort_by_key(|&i| (Reverse(requests[i].bytes), requests[i].alive, i));
    by_area.sort_by_key(|&i| {
        let Allocation { bytes, alive, .. } = requests[i];
        let area = bytes.saturating_mul(1 + alive.1 - alive.0);
        (Reverse(area), alive, i)
    });
    by_end.sort_by_key(|&i| {
        let Allocation { bytes, alive, .. } = requests[i];
        (bytes < LARGE, Reverse(alive.1), alive.0, Reverse(bytes), i)
    });
    let mut smallest: Option<(usize, Vec<usize>)> = None;
    for order in [by_size, by_area, by_end] {
        let bytes = place(requests, &order);
        if smallest.as_ref().is_none_or(|(least, _)| bytes < *least) {
            smallest = Some((bytes, requests.iter().map(|r| r.offset).collect()));
        }
    }
    let (bytes, offsets) = smallest.unwrap_or_default();
    for (request, offset) in requests.iter_mut().zip(offsets) {
        request.offset = offset;
    }
    bytes
}

/// Places pieces one by one, each in the tightest gap between those that are alive at the same
/// time, or behind them. Returns where the last ends.
fn place(requests: &mut [Allocation], order: &[usize]) -> usize {
    let times = requests.iter().map(|r| r.alive.1 + 1).max();
    let mut space = Space::new(times.unwrap_or(0));
    let mut total = 0;
    for request in order {
        let piece = &mut requests[*request];
        piece.offset = space.fit(piece.alive, piece.bytes);
        space.add(piece.alive, piece.offset, piece.end());
        total = total.max(piece.end());
    }
    aligned(total)
}

/// The next offset at which a piece may start; the largest number where there is none, which no
/// device's memory has.
pub(super) fn aligned(offset: usize) -> usize {
    offset
        .checked_next_multiple_of(ALIGNMENT)
        .unwrap_or(usize::MAX)
}

/// Whether no two pieces that are alive at the same time overlap, and all lie inside the arena.
pub(super) fn is_sound(allocations: &[Allocation], bytes: usize) -> bool {
    let inside = |a: &Allocation| a.end() <= bytes && a.offset.is_multiple_of(ALIGNMENT);
    if !allocations.iter().all(inside) {
        return false;
    }
    let mut order: Vec<&Allocation> = allocations.iter().collect();
    order.sort_by_key(|a| a.alive.0);
    // Where those that are alive end, by where they start; and when they are gone.
    let mut alive: BTreeMap<usize, usize> = BTreeMap::new();
    let mut gone: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    for new in order {
        while let Some(Reverse((last, offset))) = gone.peek().copied()
            && last < new.alive.0
        {
            gone.pop();
            alive.remove(&offset);
        }
        let below = alive.range(..new.end()).next_back();
        if below.is_some_and(|(_, end)| *end > new.offset) {
            return false;
        }
        if new.bytes > 0 {
            alive.insert(new.offset, new.end());
            gone.push(Reverse((new.alive.1, new.offset)));
        }
    }
    true
}
