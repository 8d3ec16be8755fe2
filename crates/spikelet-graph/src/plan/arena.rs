//! Liveness and the arena.
//!
//! Every value that is not in a caller's buffer gets a piece of one arena for as long as
//! somebody may still read it. Pieces are placed largest first, each at the lowest offset where
//! it overlaps no other that is alive at the same time.

use super::Place;
use crate::backend::Target;
use crate::graph::{Graph, ValueId};
use crate::op::{Op, Operation};

/// Offsets are multiples of this: a cache line, and what GPUs want.
pub(super) const ALIGNMENT: usize = 256;

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

pub(super) struct Layout {
    pub(super) places: Vec<Place>,
    pub(super) workspaces: Vec<Option<(usize, usize)>>,
    pub(super) allocations: Vec<Allocation>,
    pub(super) bytes: usize,
}

/// What needs a piece of the arena, before the pieces have a place.
struct Needs {
    roots: Vec<usize>,
    /// Where values live that are not in the arena.
    places: Vec<Place>,
    requests: Vec<Allocation>,
    /// The request for each node's workspace.
    workspace_of: Vec<Option<usize>>,
}

fn needs(graph: &Graph, target: &dyn Target) -> Needs {
    let mut roots = roots(graph);
    let mut places = vec![Place::Unused; graph.values()];
    for (k, input) in graph.inputs.iter().enumerate() {
        places[input.value.index()] = Place::Input(k);
    }
    let mut lives = lives(graph, &roots);
    for (k, output) in graph.outputs.iter().enumerate() {
        let value = output.value.index();
        if roots[value] == value
            && places[value] == Place::Unused
            && made_in_place(graph, k, &roots, &lives)
        {
            places[value] = match output.updates {
                Some(input) => places[input.index()],
                None => Place::Output(k),
            };
        }
    }

    take_over(graph, target, &mut roots, &mut lives, &places);

    let mut requests: Vec<Allocation> = vec![];
    for value in 0..graph.values() {
        if roots[value] == value
            && places[value] == Place::Unused
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
        let bytes = target.workspace(graph, node);
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
        places,
        requests,
        workspace_of,
    }
}

/// What needs a piece of the arena, and when.
pub(crate) fn requests(graph: &Graph, target: &dyn Target) -> Vec<Allocation> {
    needs(graph, target).requests
}

pub(super) fn lay_out(graph: &Graph, target: &dyn Target) -> Layout {
    let Needs {
        roots,
        mut places,
        mut requests,
        workspace_of,
    } = needs(graph, target);
    let bytes = assign(&mut requests);
    for request in &requests {
        if let Some(value) = request.value {
            places[value.index()] = Place::Arena(request.offset);
        }
    }
    for value in 0..graph.values() {
        places[value] = places[roots[value]];
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

/// The value whose memory each value is: itself, or what it is a view of.
pub(crate) fn roots(graph: &Graph) -> Vec<usize> {
    let mut roots: Vec<usize> = (0..graph.values()).collect();
    for node in &graph.nodes {
        if node.op.is_view() {
            roots[node.outputs[0].index()] = roots[node.inputs[0].index()];
        }
    }
    roots
}

/// From the node that makes a value to the last that reads it or a view of it; `None` if nobody
/// does. What the caller gets at the end lives to the end.
fn lives(graph: &Graph, roots: &[usize]) -> Vec<Option<(usize, usize)>> {
    let mut made = vec![0; graph.values()];
    let mut last: Vec<Option<usize>> = vec![None; graph.values()];
    for (k, node) in graph.nodes.iter().enumerate() {
        if !node.op.is_view() {
            for output in &node.outputs {
                made[output.index()] = k;
            }
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
            let last = &mut last[output.index()];
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

/// Lets maps, and where the target can, backward scans and gradients of blocks' maxima, write over an operand of the same type that
/// nobody reads after them.
fn take_over(
    graph: &Graph,
    target: &dyn Target,
    roots: &mut [usize],
    lives: &mut [Option<(usize, usize)>],
    places: &[Place],
) {
    for (k, node) in graph.nodes.iter().enumerate() {
        let outputs = match &node.op {
            Op::Map(_) => &node.outputs[..],
            Op::ScanGrad(_) if target.overwrites_sequences() => &node.outputs[..1],
            Op::PoolGrad(op) if op.by_blocks() && target.overwrites_sequences() => {
                &node.outputs[..]
            }
            _ => continue,
        };
        let mut taken: Vec<usize> = vec![];
        for output in outputs {
            let own = output.index();
            let Some((_, end)) =
                lives[own].filter(|_| roots[own] == own && places[own] == Place::Unused)
            else {
                continue;
            };
            let elementwise = |root: usize| {
                let read = node.inputs.iter().filter(|v| roots[v.index()] == root);
                read.into_iter()
                    .all(|v| graph.shape(*v) == graph.shape(*output))
            };
            let fits = |v: &&ValueId| {
                let root = roots[v.index()];
                graph.ty(**v) == graph.ty(*output)
                    && places[root] == Place::Unused
                    && lives[root].is_some_and(|(_, last)| last == k)
                    && graph.ty(ValueId(root as u32)).bytes() == graph.ty(*output).bytes()
                    && !taken.contains(&root)
                    && elementwise(root)
            };
            let Some(root) = node.inputs.iter().find(fits).map(|v| roots[v.index()]) else {
                continue;
            };
            taken.push(root);
            if let Some((_, last)) = &mut lives[root] {
                *last = end;
            }
            lives[own] = None;
            for other in roots.iter_mut().filter(|r| **r == own) {
                *other = root;
            }
        }
    }
}

/// Whether output `k` can be made right in its buffer.
///
/// A fresh output can, unless another output is the same value. One that takes an input's place
/// can if no later node reads the old value, and the node that makes it reads the old value, if
/// at all, only element by element.
fn made_in_place(
    graph: &Graph,
    k: usize,
    roots: &[usize],
    lives: &[Option<(usize, usize)>],
) -> bool {
    let output = &graph.outputs[k];
    let shared = graph
        .outputs
        .iter()
        .filter(|o| roots[o.value.index()] == roots[output.value.index()]);
    if shared.count() != 1 {
        return false;
    }
    let Some(old) = output.updates else {
        return true;
    };
    let Some((made, _)) = lives[output.value.index()] else {
        return false;
    };
    let old = roots[old.index()];
    if graph.outputs.iter().any(|o| roots[o.value.index()] == old) {
        return false;
    }
    for (n, node) in graph.nodes.iter().enumerate() {
        for input in &node.inputs {
            let reads_old = roots[input.index()] == old;
            let elementwise = matches!(&node.op, Op::Map(map) if map.shape == graph.shape(*input));
            if reads_old && (n > made || (n == made && !elementwise)) {
                return false;
            }
        }
    }
    true
}

fn assign(requests: &mut [Allocation]) -> usize {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(requests[i].bytes), requests[i].alive, i));
    let mut placed: Vec<usize> = vec![];
    let mut total = 0;
    for i in order {
        let mut offset = 0;
        for &p in &placed {
            let other = &requests[p];
            if overlap(other.alive, requests[i].alive)
                && offset < other.offset + other.bytes
                && other.offset < offset + requests[i].bytes
            {
                offset = (other.offset + other.bytes).next_multiple_of(ALIGNMENT);
            }
        }
        requests[i].offset = offset;
        total = total.max(offset + requests[i].bytes);
        let at = placed.partition_point(|&p| requests[p].offset <= offset);
        placed.insert(at, i);
    }
    total.next_multiple_of(ALIGNMENT)
}

fn overlap(a: (usize, usize), b: (usize, usize)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

pub(super) fn is_sound(allocations: &[Allocation], bytes: usize) -> bool {
    let apart = |a: &Allocation, b: &Allocation| {
        !overlap(a.alive, b.alive)
            || a.offset + a.bytes <= b.offset
            || b.offset + b.bytes <= a.offset
    };
    allocations.iter().enumerate().all(|(i, a)| {
        a.offset + a.bytes <= bytes
            && a.offset % ALIGNMENT == 0
            && allocations[i + 1..].iter().all(|b| apart(a, b))
    })
}
