//! One step of a recurrence and its derivative as device functions.

use crate::kernel_source::KernelSource;
use spikelet_expr::cuda::{Function, statements, statements_approx};
use spikelet_expr::{CompileError, Expr};
use spikelet_graph::op::Recurrence;
use std::collections::BTreeSet;

/// The text of a device function.
pub(crate) struct Text {
    pub(crate) code: String,
    pub(crate) functions: BTreeSet<Function>,
}

impl Text {
    /// Adds the functions to those before a kernel.
    pub(crate) fn define(self, kernel: &mut KernelSource) {
        kernel.before.push_str(&self.code);
        kernel.functions.extend(self.functions);
    }
}

/// The length of a C++ array, which may not be empty.
pub(crate) fn array_len(count: usize) -> usize {
    count.max(1)
}

fn position(list: &[String], name: &str) -> Option<usize> {
    list.iter().position(|n| n == name)
}

/// The C++ name of an input, a state before the step, or a parameter.
fn name(r: &Recurrence, symbol: &str) -> Option<String> {
    let input = position(&r.inputs, symbol).map(|k| format!("x[{k}]"));
    let state = || position(&r.states, symbol).map(|k| format!("s{k}"));
    let param = || position(&r.params, symbol).map(|k| format!("p[{k}]"));
    input.or_else(state).or_else(param)
}

/// `spk_step(x, v, p, y)`: advances the states `v` by one step and writes the chosen outputs to `y`.
pub(crate) fn forward(r: &Recurrence, outputs: &[bool]) -> Result<Text, CompileError> {
    let chosen = r.outputs.iter().zip(outputs).filter(|(_, want)| **want);
    let mut roots: Vec<Expr> = chosen.map(|(o, _)| o.value.clone()).collect();
    let written = roots.len();
    roots.extend(r.next.iter().cloned());
    let body = statements(&roots, &|symbol| name(r, symbol), "t", 2)?;
    let (inputs, states, params) = (
        array_len(r.inputs.len()),
        array_len(r.states.len()),
        array_len(r.params.len()),
    );
    let mut code = format!(
        "__device__ __forceinline__ void spk_step(const float (&x)[{inputs}], float (&v)[{states}], const float (&p)[{params}], float (&y)[{}]) {{\n",
        array_len(written)
    );
    for k in 0..r.states.len() {
        code.push_str(&format!("  const float s{k} = v[{k}];\n"));
    }
    code.push_str(&body.code);
    for (k, result) in body.results.iter().enumerate() {
        if k < written {
            code.push_str(&format!("  y[{k}] = {result};\n"));
        } else {
            code.push_str(&format!("  v[{}] = {result};\n", k - written));
        }
    }
    code.push_str("}\n");
    Ok(Text {
        code,
        functions: body.functions,
    })
}

/// `spk_back(x, s, p, g, d, dx, dp)`: from the gradients `g` of the present outputs and `d` of
/// the states after the step, `d` becomes the gradient of the states before it, and `dx`, `dp`
/// take those of the wanted inputs and parameters. Last bits may differ from the CPU's; the spikes on
/// which the gradients depend are recomputed exactly.
pub(crate) fn backward(
    r: &Recurrence,
    present: &[bool],
    inputs: &[bool],
    params: &[bool],
) -> Result<Text, CompileError> {
    let grad_names: Vec<String> = r
        .outputs
        .iter()
        .map(|o| Recurrence::grad_name(&o.name))
        .collect();
    let state_grads: Vec<String> = r.states.iter().map(|s| Recurrence::grad_name(s)).collect();
    let [dx, dv, dp] = r.backward_step(present, inputs, params);
    let roots = [&dx[..], &dv, &dp].concat();
    let names = |symbol: &str| -> Option<String> {
        if let Some(known) = name(r, symbol) {
            return Some(known);
        }
        if let Some(k) = position(&state_grads, symbol) {
            return Some(format!("d{k}"));
        }
        let k = position(&grad_names, symbol)?;
        let at = present[..k].iter().filter(|p| **p).count();
        Some(format!("g[{at}]"))
    };
    let body = statements_approx(&roots, &names, "t", 2)?;
    let states = r.states.len();
    let here = present.iter().filter(|p| **p).count();
    let mut code = format!(
        "__device__ __forceinline__ void spk_back(const float (&x)[{}], const float (&s)[{}], const float (&p)[{}], const float (&g)[{}], float (&d)[{}], float (&dx)[{}], float (&dp)[{}]) {{\n",
        array_len(r.inputs.len()),
        array_len(states),
        array_len(r.params.len()),
        array_len(here),
        array_len(states),
        array_len(dx.len()),
        array_len(dp.len())
    );
    for k in 0..states {
        code.push_str(&format!("  const float s{k} = s[{k}], d{k} = d[{k}];\n"));
    }
    code.push_str(&body.code);
    for (k, result) in body.results.iter().enumerate() {
        if k < dx.len() {
            code.push_str(&format!("  dx[{k}] = {result};\n"));
        } else if k < dx.len() + states {
            code.push_str(&format!("  d[{}] = {result};\n", k - dx.len()));
        } else {
            code.push_str(&format!("  dp[{}] = {result};\n", k - dx.len() - states));
        }
    }
    code.push_str("}\n");
    Ok(Text {
        code,
        functions: body.functions,
    })
}
