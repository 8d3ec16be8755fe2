//! Checks of a plan for the device that runs it.
//!
//! A plan is laid out for one target: its workspaces, its spikes stored as bits, its gradients that
//! overwrite operands. Another target, such as the same device with more threads, may have other
//! requirements.

use super::check::plan_error;
use super::{Kernel, Location, Plan};
use crate::error::Result;
use crate::graph::Node;
use crate::liveness::workspace;
use crate::op::{OpKind, Operation, Pack, ScanGrad};
use crate::target::Target;
use crate::types::DType;

impl Plan {
    /// Checks that `target` can run the plan as it is laid out: that it has a kernel for every node
    /// ([`Target::check_node`]) and enough workspace for it, and that nodes read and write bits,
    /// overwrite operands and sum by channel only where the target supports that.
    ///
    /// # Errors
    /// [`Error::Plan`](crate::Error::Plan) when one of these is violated; those of
    /// [`Target::check_node`].
    pub fn check_target(&self, target: &dyn Target) -> Result<()> {
        for kernel in &self.kernels {
            let node = &self.graph.nodes[kernel.node];
            target.check_node(&self.graph, node)?;
            if let Some(problem) = self.unfit(kernel, node, target) {
                let name = node.op.name();
                let name = match &*node.layer {
                    "" => name,
                    layer => format!("{name} in `{layer}`"),
                };
                return Err(plan_error(format!(
                    "{name} {problem}; it was made for another device or number of threads, plan \
                     the graph for this one"
                )));
            }
            if let Some(body) = &kernel.body {
                body.check_target(target)?;
            }
        }
        Ok(())
    }

    /// Why the target cannot run a kernel.
    fn unfit(&self, kernel: &Kernel, node: &Node, target: &dyn Target) -> Option<String> {
        let graph = &self.graph;
        let given = kernel.workspace.map_or(0, |(_, bytes)| bytes);
        let needed = workspace(graph, node, target);
        if needed > given {
            return Some(format!(
                "needs {needed} bytes of workspace here and has {given}"
            ));
        }
        let packs = Pack::of(&node.op).is_some();
        let bits = |v| graph.ty(v).dtype == DType::Bits && !packs;
        let inputs = graph.types(&node.inputs);
        let mut reads = node.inputs.iter().enumerate();
        if let Some((k, _)) =
            reads.find(|(k, v)| bits(**v) && !target.reads_bits(&node.op, &inputs, *k))
        {
            return Some(format!("cannot read its operand {k} as bits here"));
        }
        let mut writes = node.outputs.iter().enumerate();
        if let Some((k, _)) =
            writes.find(|(k, v)| bits(**v) && !target.writes_bits(&node.op, &inputs, *k))
        {
            return Some(format!("cannot write its result {k} as bits here"));
        }
        let over = |place: &Location| *place != Location::Unused && kernel.reads.contains(place);
        let in_place = kernel.writes.iter().any(over);
        if in_place && node.op.asks_device() && !target.overwrites_sequences() {
            return Some("cannot write over its operand here".to_string());
        }
        let sums = ScanGrad::of(&node.op).is_some_and(|op| op.channel_sums);
        (sums && !target.sums_channels(graph, node))
            .then(|| "cannot sum over channels here".to_string())
    }
}
