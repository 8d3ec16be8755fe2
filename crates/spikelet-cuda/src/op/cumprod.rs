//! Running products along an axis: a thread multiplies the elements of one product in order.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::CumProd;

impl CudaKernel for CumProd {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let length = x.shape[self.axis];
        let inner: usize = x.shape[self.axis + 1..].iter().product();
        let mut kernel = KernelSource::new("cumprod", Geometry::Items(x.len() / length));
        kernel.depth = length;
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        kernel.line(format!(
            "    const Index first = i / {inner}u * {}u + i % {inner}u;
    float product = 1.0f;
    for (Index k = 0; k < {length}u; ++k) {{
      product *= spk_get(x[first + k * {inner}u]);
      spk_set(y[first + k * {inner}u], product);
    }}",
            length * inner
        ));
        Ok(vec![kernel])
    }
}

#[cfg(test)]
mod tests {
    use crate::gpu::Properties;
    use crate::kernel_source::source;
    use crate::offline::OfflineTarget;
    use crate::op::LoweringContext;
    use spikelet_graph::{DType, Plan, Tracer};
    use std::collections::HashMap;

    #[test]
    fn a_thread_walks_along_the_axis_and_multiplies_in_f32() {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::BF16, [4, 5, 6]);
        tracer.output("y", &x.cumprod(1));
        let gpu = OfflineTarget::new(Properties::large((9, 0)));
        let plan = Plan::new(tracer.finish().unwrap(), &gpu);
        let cx = LoweringContext::of_kernel(&gpu, &plan, &plan.kernels[0], &HashMap::new());
        let sources = cx.lower().unwrap().sources().unwrap();
        let text = source(&sources[0]);
        let start = text.find("extern \"C\"").unwrap();
        insta::assert_snapshot!(&text[start..], @r#"
        extern "C" __global__ void __launch_bounds__(256) spk_cumprod(const spk_bf16* x, spk_bf16* y) {
          const Index thread = blockIdx.x * blockDim.x + threadIdx.x;
          const Index threads = gridDim.x * blockDim.x;
          for (Index i = thread; i < 24u; i += threads) {
            const Index first = i / 6u * 30u + i % 6u;
            float product = 1.0f;
            for (Index k = 0; k < 5u; ++k) {
              product *= spk_get(x[first + k * 6u]);
              spk_set(y[first + k * 6u], product);
            }
          }
        }
        "#);
    }
}
