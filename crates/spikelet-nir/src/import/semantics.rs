//! The choices that apply to a graph and to each of its neurons.

use super::super::choices::{Fires, Reset, VStart};
use super::super::convention::Choices;
use super::super::error::NirError;
use super::super::metadata::Recorded;
use super::super::options::{ImportOptions, Semantics};
use super::super::step_length;
use crate::graph::{ExpandedGraph, Graph, Node, NodeKind};
use spikelet_nn::neuron::Discretization;

/// The choices of a neuron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NodeSemantics {
    pub(super) dt: f64,
    pub(super) discretization: Discretization,
    pub(super) reset: Reset,
    pub(super) reset_delay: bool,
    pub(super) fires: Fires,
    pub(super) v_start: VStart,
}

impl NodeSemantics {
    /// The choices of a node of this type as metadata; `None` if nothing depends on them.
    pub(super) fn recorded(&self, kind: &NodeKind) -> Option<Recorded> {
        let fires = Recorded {
            fires: Some(self.fires),
            ..Recorded::default()
        };
        match kind {
            NodeKind::Threshold(_) => Some(fires),
            NodeKind::I(_) | NodeKind::Li(_) | NodeKind::CubaLi(_) => Some(Recorded {
                discretization: Some(self.discretization),
                v_start: Some(self.v_start),
                ..Recorded::default()
            }),
            NodeKind::If(_) | NodeKind::Lif(_) | NodeKind::CubaLif(_) => Some(Recorded {
                discretization: Some(self.discretization),
                reset: Some(self.reset),
                reset_delay: Some(true).filter(|_| self.reset_delay),
                v_start: Some(self.v_start),
                ..fires
            }),
            _ => None,
        }
    }
}

/// The choices of a graph: those of the options, of the convention, of the metadata, or the defaults.
pub(super) fn of_graph(
    graph: &Graph,
    expanded: &ExpandedGraph<'_>,
    options: &ImportOptions,
) -> Result<Semantics, NirError> {
    let recorded = Recorded::read("of the graph", &graph.metadata)?;
    let (dt, dt_from) = step_length::find(expanded, options.dt, options.convention, recorded.dt)?;
    let choices = options.convention.map(|convention| convention.choices());
    let choices = choices.as_ref();
    Ok(Semantics {
        dt,
        dt_from,
        discretization: (options.discretization)
            .or(choices.map(|by: &Choices| by.discretization))
            .or(recorded.discretization)
            .unwrap_or_default(),
        reset: (options.reset.or(choices.map(|by| by.reset)))
            .or(recorded.reset)
            .unwrap_or_default(),
        reset_delay: (options.reset_delay.or(choices.map(|by| by.reset_delay)))
            .or(recorded.reset_delay)
            .unwrap_or_default(),
        fires: (options.fires.or(choices.map(|by| by.fires)))
            .or(recorded.fires)
            .unwrap_or_default(),
        feedback: (options.feedback.or(choices.map(|by| by.feedback)))
            .or(recorded.feedback)
            .unwrap_or_default(),
        v_start: (options.v_start.or(choices.map(|by| by.v_start)))
            .or(recorded.v_start)
            .unwrap_or_default(),
    })
}

/// The choices of a node: those of the graph, where neither options nor a convention were given and the metadata of the
/// node has others.
pub(super) fn of_node(
    path: &str,
    node: &Node,
    options: &ImportOptions,
    graph: &Semantics,
) -> Result<NodeSemantics, NirError> {
    let recorded = Recorded::read(path, &node.metadata)?;
    let recorded = match options.convention {
        Some(_) => Recorded::default(),
        None => recorded,
    };
    fn pick<T>(given: Option<T>, recorded: Option<T>, graph: T) -> T {
        match given {
            Some(_) => graph,
            None => recorded.unwrap_or(graph),
        }
    }
    Ok(NodeSemantics {
        dt: graph.dt,
        discretization: pick(
            options.discretization,
            recorded.discretization,
            graph.discretization,
        ),
        reset: pick::<Reset>(options.reset, recorded.reset, graph.reset),
        reset_delay: pick(options.reset_delay, recorded.reset_delay, graph.reset_delay),
        fires: pick::<Fires>(options.fires, recorded.fires, graph.fires),
        v_start: pick::<VStart>(options.v_start, recorded.v_start, graph.v_start),
    })
}
