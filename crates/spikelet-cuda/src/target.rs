//! The planner's queries about a GPU, the same whether it is present or not.

/// Implements them for a type that has a [`Device`](crate::op::Device).
macro_rules! target_of_device {
    ($target:ty, |$this:ident| $device:expr) => {
        const _: () = {
            use crate::gpu::Properties;
            use crate::op::{Device, LoweringContext, kernel_of, loops, overlap_chunks};
            use spikelet_graph::op::Op;
            use spikelet_graph::{
                Graph, InPlaceUpdates, Node, Result, SchedulingPolicy, SpikeStorage, Target,
                TensorType, WorkspaceQuery,
            };

            fn device($this: &$target) -> &dyn Device {
                $device
            }

            fn gpu(target: &$target) -> &Properties {
                device(target).properties()
            }

            impl WorkspaceQuery for $target {
                /// 0 for a node that cannot be lowered, whose plan is rejected.
                fn workspace(&self, graph: &Graph, node: &Node) -> usize {
                    let cx = LoweringContext::new(device(self), graph, node);
                    cx.lower().map_or(0, |lowered| lowered.workspace)
                }
            }

            impl SpikeStorage for $target {
                fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
                    kernel_of(op).reads_bits(gpu(self), inputs, operand)
                }

                fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
                    kernel_of(op).writes_bits(inputs, result)
                }
            }

            impl SchedulingPolicy for $target {
                fn sums_channels(&self, graph: &Graph, node: &Node) -> bool {
                    kernel_of(&node.op).sums_channels(&graph.types(&node.inputs))
                }

                fn unrolls(&self, steps: usize, operations: usize, bytes: usize) -> bool {
                    loops::unrolls(steps, operations, bytes)
                }

                fn scan_checkpoint(&self, graph: &Graph, node: &Node) -> Option<usize> {
                    kernel_of(&node.op).checkpoint(gpu(self), &graph.types(&node.inputs))
                }

                fn overlap_chunks(
                    &self,
                    graph: &Graph,
                    first: &Node,
                    second: &Node,
                ) -> Option<usize> {
                    overlap_chunks(gpu(self), graph, first, second)
                }
            }

            impl InPlaceUpdates for $target {
                /// A thread of a scan loads its neurons' elements of some steps, or its block, before it stores there.
                fn overwrites_sequences(&self) -> bool {
                    true
                }
            }

            impl Target for $target {
                fn check_node(&self, graph: &Graph, node: &Node) -> Result<()> {
                    let cx = LoweringContext::new(device(self), graph, node);
                    cx.lower().map(|_| ())
                }
            }
        };
    };
}

pub(crate) use target_of_device;
