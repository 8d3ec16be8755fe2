//! Planning for a GPU of known properties without the GPU, and the texts of a plan's kernels.

use crate::dnn::Convolution;
use crate::error::failure;
use crate::gemm::{self, Product};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, TooLarge, sections};
use crate::op::{self, Device, LoweringContext};
use crate::target::target_of_device;
use spikelet_graph::{DType, Plan, Result, TensorType, ValueId};

/// A planning target for a GPU with these properties; needs no GPU, driver or vendor library.
///
/// Plans equal those of [`Cuda`](crate::Cuda) except for the workspaces of the vendor's libraries,
/// which are known on the GPU alone: a matrix product gets the most that it may use, a convolution
/// the size of its operands and its result in f32. The plan on the GPU is slightly smaller.
///
/// ```
/// use spikelet_cuda::{OfflineTarget, Properties};
/// use spikelet_graph::{DType, Plan, Tracer};
/// let tracer = Tracer::new(DType::F32);
/// let x = tracer.input("x", DType::F32, [64, 100]);
/// tracer.output("y", &x.mean(&[1]));
/// let target = OfflineTarget::new(Properties::large((9, 0)));
/// let plan = Plan::new(tracer.finish()?, &target);
/// plan.check_target(&target)?;
/// # Ok::<(), spikelet_graph::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OfflineTarget {
    properties: Properties,
}

impl OfflineTarget {
    /// A target for a GPU of these properties.
    pub fn new(properties: Properties) -> Self {
        Self { properties }
    }

    /// The GPU's properties.
    pub fn properties(&self) -> Properties {
        self.properties
    }

    /// The generated kernels of a plan for this target, without those of the bodies of its loops. Products
    /// and convolutions of the vendor's libraries have no text. On the GPU, small kernels that are neighbors
    /// share a launch.
    ///
    /// ```
    /// use spikelet_cuda::{OfflineTarget, Properties};
    /// use spikelet_graph::{DType, Plan, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [64, 100]);
    /// tracer.output("y", &x.exp());
    /// let target = OfflineTarget::new(Properties::large((9, 0)));
    /// let kernels = target.kernels(&Plan::new(tracer.finish()?, &target))?;
    /// assert!(kernels[0].full_codes().contains("spk_exp("));
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an operation has no kernel for the types of its operands, or needs more than a launch can have.
    pub fn kernels(&self, plan: &Plan) -> Result<Vec<KernelText>> {
        let fills = op::fills(&plan.graph);
        let mut texts = vec![];
        for kernel in &plan.kernels {
            let cx = LoweringContext::of_kernel(self, plan, kernel, &fills);
            for source in cx.lower()?.sources()? {
                let too_large = |error: TooLarge| failure(self.name(), error.to_string());
                let (grid, block, _) = source.launch().map_err(too_large)?;
                let parameters = source.arguments.iter().map(|argument| Parameter {
                    ctype: argument.ctype(),
                    name: argument.name.clone(),
                    value: match argument.binding {
                        Binding::Read(k) => Some(cx.node.inputs[k]),
                        Binding::Write(k) => Some(cx.node.outputs[k]),
                        Binding::Workspace(_) => None,
                    },
                });
                texts.push(KernelText {
                    node: kernel.node,
                    parameters: parameters.collect(),
                    sections: sections(&source),
                    name: source.name,
                    grid,
                    block,
                });
            }
        }
        Ok(texts)
    }
}

/// The text of a kernel, and its launch.
#[derive(Clone, Debug)]
pub struct KernelText {
    /// The node of the plan's graph that it computes.
    pub node: usize,
    /// The kernel's name.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: u32,
    /// Its text in named sections: common definitions, its device functions, the kernel.
    pub sections: [(&'static str, String); 3],
}

/// A parameter of a kernel: a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its C++ type.
    pub ctype: String,
    /// Its name.
    pub name: String,
    /// The value of the graph that it points to; `None` for scratch memory.
    pub value: Option<ValueId>,
}

impl KernelText {
    /// The complete text.
    pub fn full_codes(&self) -> String {
        self.sections
            .iter()
            .map(|(_, text)| text.as_str())
            .collect()
    }
}

impl Device for OfflineTarget {
    fn name(&self) -> &str {
        "cuda"
    }

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn product_workspace(&self, _: Product) -> usize {
        gemm::WORKSPACE
    }

    fn convolution_workspace(&self, convolution: &Convolution) -> usize {
        let copies = convolution
            .shapes()
            .map(|shape| TensorType::new(DType::F32, shape).bytes());
        copies.into_iter().fold(0, usize::saturating_add)
    }

    fn convolution_on_tensor_cores(&self, _: &Convolution) -> bool {
        true
    }
}

target_of_device!(OfflineTarget, |this| this);

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_graph::Tracer;

    #[test]
    fn the_kernels_of_a_plan_have_the_values_that_they_read_and_write() {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::F32, [64, 100]);
        let w = tracer.parameter("w", [100, 30]);
        tracer.output("y", &x.matmul(&w).cumprod(1));
        let target = OfflineTarget::new(Properties::large((9, 0)));
        let plan = Plan::new(tracer.finish().unwrap(), &target);
        let kernels = target.kernels(&plan).unwrap();
        assert!(!kernels.is_empty(), "the product has no text, the sum has");
        for kernel in kernels {
            let node = &plan.graph.nodes[kernel.node];
            let values = kernel.parameters.iter().filter_map(|p| p.value);
            assert!(
                values
                    .clone()
                    .all(|v| node.inputs.contains(&v) || node.outputs.contains(&v))
            );
            assert!(values.count() >= 2, "{kernel:?}");
            let codes = kernel.full_codes();
            assert!(codes.contains(&format!(" {}(", kernel.name)), "{codes}");
        }
    }
}
