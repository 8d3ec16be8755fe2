//! An imported graph in a network becomes a graph in the graph, with the tensors of the store.

use super::super::error::NirError;
use super::super::import::GraphModule;
use super::super::options::StepLengthFrom;
use super::writer::Writer;
use super::{refused, update};
use crate::graph::{Graph, NodeKind};
use spikelet_core::Result;

/// Adds the graph as a node.
pub(super) fn add(writer: &mut Writer<'_>, path: &str, module: &GraphModule) -> Result<()> {
    let ([input], [output]) = (module.inputs(), module.outputs()) else {
        return Err(NirError::Ports {
            inputs: module.inputs().len(),
            outputs: module.outputs().len(),
        }
        .into());
    };
    if writer.shape != input.shape {
        let expected = format!("{:?}", input.shape);
        return Err(refused::wrong_input(path, &writer.shape, &expected).into());
    }
    let semantics = module.semantics();
    let dt = writer.options.dt;
    if semantics.dt != dt && semantics.dt_from != StepLengthFrom::Unused {
        return Err(refused::other_dt(path, semantics.dt, dt).into());
    }
    if module.has_cycles() {
        writer.cycle(path, semantics.feedback)?;
    }
    let before = module.imported_tensors()?;
    let now = |name: &str| writer.tensor(path, name);
    let mut graph: Graph = update::trained(module.graph(), &before, semantics.dt, now)?;
    // The choices of the options of its import are those of its neurons.
    for (name, recorded) in module.choices() {
        if let Some(node) = update::find(&mut graph, name) {
            recorded.write(&mut node.metadata)?;
        }
        writer.agree(recorded);
    }
    writer.push(path, NodeKind::Graph(graph), output.shape.clone());
    Ok(())
}
