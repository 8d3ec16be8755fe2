//! Bit packing of binary values and its inverse: a thread processes eight neighbors, one byte.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_graph::op::Pack;
use spikelet_graph::{DType, Result};

impl CudaKernel for Pack {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let (rows, columns) = x.rows_and_columns();
        let bytes = columns.div_ceil(64) * 8;
        let packs = y.dtype == DType::Bits;
        let mut kernel = KernelSource::new(
            if packs { "to_bits" } else { "from_bits" },
            Geometry::Items(rows * bytes),
        );
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        // Full bytes of a row are read or written at once.
        let full_bytes = columns % 8 == 0;
        kernel.line(format!(
            "    const Index row = i / {bytes}u, c = i % {bytes}u * 8u;"
        ));
        match (packs, full_bytes) {
            (true, true) => kernel.line(format!(
                "    unsigned byte = 0;
    if (c < {columns}u) {{
      const auto e = spk_load<8>(x + row * {columns}u + c);
      #pragma unroll
      for (int j = 0; j < 8; ++j) byte |= (e[j] != 0.0f ? 1u : 0u) << j;
    }}
    ((unsigned char*)y)[i] = (unsigned char)byte;"
            )),
            (true, false) => kernel.line(format!(
                "    unsigned byte = 0;
    for (int j = 0; j < 8; ++j)
      if (c + j < {columns}u) byte |= (spk_get(x[row * {columns}u + c + j]) != 0.0f ? 1u : 0u) << j;
    ((unsigned char*)y)[i] = (unsigned char)byte;"
            )),
            (false, true) => kernel.line(format!(
                "    const unsigned byte = ((const unsigned char*)x)[i];
    if (c < {columns}u) {{
      spk_vec<{}, 8> e;
      #pragma unroll
      for (int j = 0; j < 8; ++j) e.set(j, byte >> j & 1u ? 1.0f : 0.0f);
      spk_store(y + row * {columns}u + c, e);
    }}",
                element(y.dtype)
            )),
            (false, false) => kernel.line(format!(
                "    const unsigned byte = ((const unsigned char*)x)[i];
    for (int j = 0; j < 8; ++j)
      if (c + j < {columns}u) spk_set(y[row * {columns}u + c + j], byte >> j & 1u ? 1.0f : 0.0f);"
            )),
        }
        Ok(vec![kernel])
    }
}
