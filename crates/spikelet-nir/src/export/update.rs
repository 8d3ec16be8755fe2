//! An imported graph with the tensors of a store: after training, the graph with the trained parameters.

use super::super::error::NirError;
use super::super::import::Imported;
use super::super::metadata::Recorded;
use crate::graph::{Graph, Node, NodeKind};
use spikelet_core::Result;
use spikelet_graph::Tensor;
use spikelet_nn::runtime::VarStore;
use spikelet_weights::{Dtype, Tensor as NirTensor};
use std::collections::BTreeMap;

impl Imported {
    /// The graph that was imported, with the tensors of a store: those that differ from the imported ones take the
    /// place of the parameters, in the units and the number types of the graph. The choices of time steps are added to
    /// the metadata.
    ///
    /// ```
    /// use spikelet_nir::{self as nir, ImportOptions};
    /// use spikelet_nn::prelude::*;
    /// # use spikelet_nir::{Linear as LinearNode, NodeKind};
    /// # let weight = nir::Tensor::from_f32(&[1, 1], &[0.5]).unwrap();
    /// # let mut graph = nir::Graph::default();
    /// # graph
    /// #     .insert("in", NodeKind::Input { shape: vec![1] })
    /// #     .insert("fc", NodeKind::Linear(LinearNode { weight }))
    /// #     .insert("out", NodeKind::Output { shape: vec![1] })
    /// #     .connect(&["in", "fc", "out"]);
    /// let imported = nir::import(&graph, &ImportOptions::default())?;
    /// let mut store = imported.store(spikelet_nn::device::cpu()?, DType::F32)?;
    /// store.set("fc.weight", &Tensor::f32([1, 1], [0.75]))?; // as training does
    /// let trained = imported.to_graph(&store)?;
    /// let NodeKind::Linear(linear) = &trained.nodes["fc"].kind else { panic!() };
    /// assert_eq!(linear.weight.to_f64(), [0.75]);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the store lacks a tensor of the graph.
    pub fn to_graph(&self, store: &VarStore) -> Result<Graph> {
        let semantics = &self.semantics;
        let graph = self.module.graph();
        let mut graph = trained(graph, &self.tensors, semantics.dt, |name| store.get(name))?;
        let recorded = Recorded {
            dt: Some(semantics.dt),
            discretization: Some(semantics.discretization),
            reset: Some(semantics.reset),
            reset_delay: Some(semantics.reset_delay),
            fires: Some(semantics.fires),
            feedback: Some(semantics.feedback),
            v_start: Some(semantics.v_start),
        };
        recorded.write(&mut graph.metadata)?;
        Ok(graph)
    }
}

/// A graph whose parameters were `before`, in steps of `dt`, with those that differ now.
pub(super) fn trained(
    graph: &Graph,
    before: &BTreeMap<String, Tensor>,
    dt: f64,
    now: impl Fn(&str) -> Result<Tensor>,
) -> Result<Graph> {
    let mut graph = graph.clone();
    for (name, before) in before {
        let now = now(name)?;
        if now.to_f64() == before.cast(now.ty().dtype).to_f64() {
            continue;
        }
        let Some((path, parameter)) = name.rsplit_once('.') else {
            continue;
        };
        if let Some(node) = find(&mut graph, path) {
            set(&mut node.kind, parameter, &now, dt)?;
        }
    }
    Ok(graph)
}

/// The node of this path.
pub(super) fn find<'a>(graph: &'a mut Graph, path: &str) -> Option<&'a mut Node> {
    if graph.nodes.contains_key(path) {
        return graph.nodes.get_mut(path);
    }
    let (first, rest) = path.split_once('/')?;
    match &mut graph.nodes.get_mut(first)?.kind {
        NodeKind::Graph(inner) => find(inner, rest),
        _ => None,
    }
}

/// Sets a parameter of a node, which is in the units of the module.
fn set(kind: &mut NodeKind, name: &str, values: &Tensor, dt: f64) -> Result<(), NirError> {
    let is_integrator = matches!(kind, NodeKind::I(_) | NodeKind::If(_));
    let unit = match name {
        "tau" | "tau_syn" | "tau_mem" => dt,
        "r" if is_integrator => 1.0 / dt,
        _ => 1.0,
    };
    let Some(parameter) = parameter(kind, name) else {
        return Ok(());
    };
    let values_in_units: Vec<f64> = values.to_f64().iter().map(|value| value * unit).collect();
    *parameter = match parameter.dtype() {
        Dtype::F64 => NirTensor::from_f64(&values.shape, &values_in_units)?,
        _ => {
            let rounded: Vec<f32> = values_in_units.iter().map(|value| *value as f32).collect();
            NirTensor::from_f32(&values.shape, &rounded)?
        }
    };
    Ok(())
}

/// A parameter of a node by its name in the module. One that the graph left out, because it has its default, takes the
/// number type of another until it is set.
fn parameter<'a>(kind: &'a mut NodeKind, name: &str) -> Option<&'a mut NirTensor> {
    match (kind, name) {
        (NodeKind::Affine(n), "weight") => Some(&mut n.weight),
        (NodeKind::Affine(n), "bias") => Some(&mut n.bias),
        (NodeKind::Linear(n), "weight") => Some(&mut n.weight),
        (NodeKind::Scale(n), "scale") => Some(&mut n.scale),
        (NodeKind::Conv1d(n) | NodeKind::Conv2d(n), "weight") => Some(&mut n.weight),
        (NodeKind::Conv1d(n) | NodeKind::Conv2d(n), "bias") => Some(&mut n.bias),
        (NodeKind::I(n), "r") => Some(&mut n.r),
        (NodeKind::If(n), "r") => Some(&mut n.r),
        (NodeKind::If(n), "v_threshold") => Some(&mut n.v_threshold),
        (NodeKind::If(n), "v_reset") => Some(n.v_reset.get_or_insert(n.v_threshold.clone())),
        (NodeKind::Li(n), "tau") => Some(&mut n.tau),
        (NodeKind::Li(n), "r") => Some(&mut n.r),
        (NodeKind::Li(n), "v_leak") => Some(&mut n.v_leak),
        (NodeKind::Lif(n), "tau") => Some(&mut n.tau),
        (NodeKind::Lif(n), "r") => Some(&mut n.r),
        (NodeKind::Lif(n), "v_leak") => Some(&mut n.v_leak),
        (NodeKind::Lif(n), "v_threshold") => Some(&mut n.v_threshold),
        (NodeKind::Lif(n), "v_reset") => Some(n.v_reset.get_or_insert(n.v_threshold.clone())),
        (NodeKind::CubaLi(n), "tau_syn") => Some(&mut n.tau_syn),
        (NodeKind::CubaLi(n), "tau_mem") => Some(&mut n.tau_mem),
        (NodeKind::CubaLi(n), "r") => Some(&mut n.r),
        (NodeKind::CubaLi(n), "v_leak") => Some(&mut n.v_leak),
        (NodeKind::CubaLi(n), "w_in") => Some(n.w_in.get_or_insert(n.r.clone())),
        (NodeKind::CubaLif(n), "tau_syn") => Some(&mut n.tau_syn),
        (NodeKind::CubaLif(n), "tau_mem") => Some(&mut n.tau_mem),
        (NodeKind::CubaLif(n), "r") => Some(&mut n.r),
        (NodeKind::CubaLif(n), "v_leak") => Some(&mut n.v_leak),
        (NodeKind::CubaLif(n), "v_threshold") => Some(&mut n.v_threshold),
        (NodeKind::CubaLif(n), "v_reset") => Some(n.v_reset.get_or_insert(n.v_threshold.clone())),
        (NodeKind::CubaLif(n), "w_in") => Some(n.w_in.get_or_insert(n.r.clone())),
        (NodeKind::Threshold(n), "v_threshold") => Some(&mut n.threshold),
        _ => None,
    }
}
