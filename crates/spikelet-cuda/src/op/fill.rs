//! Constants.

use super::{CudaKernel, LoweringContext, float_literal};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::Fill;
use spikelet_graph::{DType, Result};

impl CudaKernel for Fill {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let ty = &cx.outputs[0];
        let mut kernel = KernelSource::new("fill", Geometry::Items(ty.len()));
        kernel.argument("y", ty, Binding::Write(0));
        kernel.line(match ty.dtype {
            DType::I64 => format!("    y[i] = {}ll;", self.value as i64),
            _ => format!(
                "    spk_set(y[i], {});",
                float_literal(self.stored() as f32)
            ),
        });
        Ok(vec![kernel])
    }

    fn constant(&self) -> Option<f32> {
        self.ty.dtype.is_float().then(|| self.stored() as f32)
    }
}
