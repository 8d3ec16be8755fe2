//! What must hold of a plan for the device that is to run it.
//!
//! A plan is laid out for one target: with its workspaces, its spikes as bits, and its gradients in
//! the place of what they are gradients of. Another one, be it the same device with more threads,
//! may need or allow something else.

use super::check::refusal;
use super::{Kernel, Location, Plan};
use crate::error::Result;
use crate::graph::Node;
use crate::op::{Op, Operation};
use crate::target::Target;
use crate::types::DType;

impl Plan {
    /// Checks that `target` can run the plan as it is laid out: that there is a kernel for every node
    /// ([`Target::check_node`]), that it has the workspace that it needs there, takes and makes
    /// bits only where it can, writes over an operand only where it reads each element first, and
    /// sums what it can sum.
    ///
    /// # Errors
    /// [`Error::Plan`](crate::Error::Plan) when one of these does not hold; those of
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
                return Err(refusal(format!(
                    "{name} {problem}; it was made for another device or number of threads, plan \
                     the graph for this one"
                )));
            }
        }
        Ok(())
    }

    /// Why the target cannot run a kernel.
    fn unfit(&self, kernel: &Kernel, node: &Node, target: &dyn Target) -> Option<String> {
        let graph = &self.graph;
        let given = kernel.workspace.map_or(0, |(_, bytes)| bytes);
        let needed = target.workspace(graph, node);
        if needed > given {
            return Some(format!(
                "needs {needed} bytes of workspace here and has {given}"
            ));
        }
        let packs = matches!(node.op, Op::Pack(_));
        let bits = |v| graph.ty(v).dtype == DType::Bits && !packs;
        let mut reads = node.inputs.iter().enumerate();
        if let Some((k, _)) = reads.find(|(k, v)| bits(**v) && !target.reads_bits(graph, node, *k))
        {
            return Some(format!("cannot read its operand {k} as bits here"));
        }
        let mut writes = node.outputs.iter().enumerate();
        if let Some((k, _)) =
            writes.find(|(_, v)| bits(**v) && !target.writes_bits(graph, node, **v))
        {
            return Some(format!("cannot write its result {k} as bits here"));
        }
        let over = |place: &Location| *place != Location::Unused && kernel.reads.contains(place);
        let in_place = kernel.writes.iter().any(over);
        let allowed = match &node.op {
            Op::ScanGrad(_) => target.overwrites_sequences(),
            Op::PoolGrad(op) => op.by_blocks() && target.overwrites_sequences(),
            _ => true,
        };
        if in_place && !allowed {
            return Some("cannot write over its operand here".to_string());
        }
        match &node.op {
            Op::ScanGrad(op) if op.channel_sums && !target.sums_channels(graph, node) => {
                Some("cannot sum over channels here".to_string())
            }
            _ => None,
        }
    }
}
