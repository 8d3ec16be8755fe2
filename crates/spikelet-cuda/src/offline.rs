//! Planning for a GPU of known properties without the GPU.

use crate::dnn::Convolution;
use crate::gemm::{self, Product};
use crate::gpu::Properties;
use crate::op::Device;
use crate::target::target_of_device;
use spikelet_graph::{DType, TensorType};

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
