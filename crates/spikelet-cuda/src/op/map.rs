//! Fused elementwise regions with broadcast operands, up to 16 bytes per access.

use super::index::{self, offset};
use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_expr::cuda::statements;
use spikelet_graph::Result;
use spikelet_graph::op::Map;

/// The access to an operand for a pack of neighboring elements.
enum OperandAccess {
    /// One element for the pack, at this offset.
    Constant(String),
    /// Contiguous elements, at this offset.
    Pack(String),
    /// A separate offset for each element.
    Scattered(Vec<usize>),
}

/// Elements of a pack: as many as fit 16 bytes of the widest operand, if all operands allow it.
fn pack(cx: &LoweringContext<'_>, shape: &[usize]) -> usize {
    let last = shape.last().copied().unwrap_or(1);
    let items: usize = shape.iter().product();
    let dense_or_one = cx.inputs.iter().all(|x| x.len() == 1 || x.len() == items);
    let run = if dense_or_one { items } else { last };
    let widest = cx.inputs.iter().chain(&cx.outputs);
    let bytes = widest.map(|t| t.dtype.size_in_bytes()).max().unwrap_or(4);
    let mut pack = (16 / bytes.max(2)).min(8);
    while pack > 1 && (run % pack != 0 || items / pack < cx.gpu.saturating_threads()) {
        pack /= 2;
    }
    pack
}

impl CudaKernel for Map {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let shape = &self.shape;
        let items: usize = shape.iter().product();
        let n = pack(cx, shape);
        let mut kernel = KernelSource::new("map", Geometry::Items(items / n));
        let names = |name: &str| {
            let is_operand = (0..cx.inputs.len()).any(|k| Map::operand_name(k) == name);
            is_operand.then(|| format!("v_{name}"))
        };
        let code = statements(&self.expressions, &names, "t", 6);
        let code = code.map_err(|e| cx.expression(e))?;
        kernel.functions = code.functions;
        let mut inner = String::new();
        for (k, x) in cx.inputs.iter().enumerate() {
            let name = Map::operand_name(k);
            kernel.argument(&name, x, Binding::Read(k));
            let strides = index::strides(&x.shape, shape);
            let at = |strides: &[usize]| offset(shape, strides, &format!("(i * {n}u)"));
            let inner_stride = strides.last().copied().unwrap_or(0);
            let layout = if x.len() == 1 {
                OperandAccess::Constant("0u".to_string())
            } else if x.len() == items
                || (inner_stride == 1 && shape.last().is_some_and(|l| l % n == 0))
            {
                OperandAccess::Pack(at(&strides))
            } else if inner_stride == 0 && shape.last().is_some_and(|l| l % n == 0) {
                OperandAccess::Constant(at(&strides))
            } else {
                OperandAccess::Scattered(strides)
            };
            match layout {
                OperandAccess::Constant(at) => {
                    kernel.line(format!("    const float v_{name} = spk_get({name}[{at}]);"))
                }
                OperandAccess::Pack(at) => {
                    kernel.line(format!(
                        "    const auto p_{name} = spk_load<{n}>({name} + ({at}));"
                    ));
                    inner.push_str(&format!("      const float v_{name} = p_{name}[j];\n"));
                }
                OperandAccess::Scattered(strides) => {
                    let at = offset(shape, &strides, &format!("(i * {n}u + j)"));
                    inner.push_str(&format!(
                        "      const float v_{name} = spk_get({name}[{at}]);\n"
                    ));
                }
            }
        }
        for (k, y) in cx.outputs.iter().enumerate() {
            if cx.wanted[k] {
                kernel.argument(format!("y{k}"), y, Binding::Write(k));
                let element = crate::kernel_source::element(y.dtype);
                kernel.line(format!("    spk_vec<{element}, {n}> r{k};"));
            }
        }
        kernel.line(format!(
            "    #pragma unroll\n    for (int j = 0; j < {n}; ++j) {{"
        ));
        kernel.line(inner);
        kernel.line(code.code);
        for (k, result) in code.results.iter().enumerate() {
            if cx.wanted[k] {
                kernel.line(format!("      r{k}.set(j, {result});"));
            }
        }
        kernel.line("    }");
        for k in 0..cx.outputs.len() {
            if cx.wanted[k] {
                kernel.line(format!("    spk_store(y{k} + i * {n}u, r{k});"));
            }
        }
        Ok(vec![kernel])
    }
}
