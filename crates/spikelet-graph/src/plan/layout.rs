//! The locations of all values and workspaces of a plan.

use crate::arena::{self, Allocation};
use crate::graph::Graph;
use crate::liveness::{Liveness, Location, liveness, workspace};
use crate::target::Target;

pub(super) struct Layout {
    pub(super) places: Vec<Location>,
    pub(super) workspaces: Vec<Option<(usize, usize)>>,
    pub(super) allocations: Vec<Allocation>,
    pub(super) bytes: usize,
}

/// Lays out a graph as it is: with the workspace of every node.
pub(super) fn lay_out(graph: &Graph, target: &dyn Target) -> Layout {
    let Liveness {
        roots,
        offsets,
        mut places,
        mut requests,
        workspace_of,
    } = liveness(graph, target, |graph, node| workspace(graph, node, target));
    let bytes = arena::assign(&mut requests);
    for request in &requests {
        if let Some(value) = request.value {
            places[value.index()] = Location::Arena(request.offset);
        }
    }
    for value in 0..graph.values() {
        places[value] = places[roots[value]].behind(offsets[value]);
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
