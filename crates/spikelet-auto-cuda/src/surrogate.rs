//! A surrogate's derivative as statements of a kernel.
//!
//! Expressions are printed by [`spikelet_expr::cuda`], so a surrogate needs no CUDA text. For `half2` the
//! derivative is computed in `float` for each of the two elements and rounded once.

use super::params::is_identifier;
use super::{AutoCudaError, Dtype};
use spikelet_expr::Expr;
use spikelet_expr::cuda::statements;
use std::fmt::Write;
use std::sync::Arc;

/// The derivative of a surrogate as text: the reference's `cuda_codes`.
///
/// Closures are surrogates, and so is [`ExprSurrogate`], which wraps the expression of a derivative:
///
/// ```
/// use spikelet_auto_cuda::{Dtype, ExprSurrogate, SurrogateCodes, cfunction};
/// let sigmoid = |y: &str, x: &str, dtype| cfunction::sigmoid_backward(y, x, 4.0, dtype);
/// let rational = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x))?;
/// for surrogate in [&sigmoid as &dyn SurrogateCodes, &rational] {
///     println!("{}", surrogate.cuda_codes("grad_s", "over_th", Dtype::Float));
/// }
/// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
/// ```
pub trait SurrogateCodes: Send + Sync {
    /// Statements that give `y` the derivative at `x`; `y` may be a declaration such as
    /// `const float grad_s_to_h`. `x` may be evaluated several times, so it should have no side effects.
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> String;

    /// The same derivative as an expression of the symbol `x`, for neurons on the CPU; `None` by default.
    fn expression(&self) -> Option<Expr> {
        None
    }
}

impl<F: Fn(&str, &str, Dtype) -> String + Send + Sync> SurrogateCodes for F {
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> String {
        self(y, x, dtype)
    }
}

impl<S: SurrogateCodes + ?Sized> SurrogateCodes for Arc<S> {
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> String {
        (**self).cuda_codes(y, x, dtype)
    }

    fn expression(&self) -> Option<Expr> {
        (**self).expression()
    }
}

/// A surrogate whose derivative is an expression.
#[derive(Clone, Debug)]
pub struct ExprSurrogate {
    derivative: Expr,
}

/// The argument of the derivative inside [`ExprSurrogate`].
const ARGUMENT: &str = "x";

impl ExprSurrogate {
    /// The surrogate with this derivative, a function of x − v_threshold.
    ///
    /// # Errors
    /// If the derivative depends on anything but its argument.
    pub fn new(derivative: impl FnOnce(&Expr) -> Expr) -> Result<Self, AutoCudaError> {
        let derivative = derivative(&Expr::symbol(ARGUMENT));
        let known = |name: &str| (name == ARGUMENT).then(|| name.to_string());
        statements(std::slice::from_ref(&derivative), &known, "t", 0)?;
        Ok(Self { derivative })
    }

    /// The derivative; its argument is the symbol `x`.
    pub fn derivative(&self) -> &Expr {
        &self.derivative
    }
}

impl SurrogateCodes for ExprSurrogate {
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> String {
        print(&self.derivative, y, x, dtype)
    }

    fn expression(&self) -> Option<Expr> {
        Some(self.derivative.clone())
    }
}

/// Statements that give `y` the value of `derivative` at `x`, as
/// [`SurrogateCodes::cuda_codes`].
///
/// # Errors
/// If the derivative depends on anything but its argument.
///
/// ```
/// use spikelet_auto_cuda::{Dtype, cuda_codes};
/// let text = cuda_codes(|x| (-x.abs()).exp(), "const float slope", "h[t] - v_th", Dtype::Float)?;
/// assert_eq!(
///     text,
///     "const float slope__x = h[t] - v_th;\n\
///      const float slope__0 = fabsf(slope__x);\n\
///      const float slope__1 = -slope__0;\n\
///      const float slope__2 = spk_exp(slope__1);\n\
///      const float slope = slope__2;"
/// );
/// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
/// ```
pub fn cuda_codes(
    derivative: impl FnOnce(&Expr) -> Expr,
    y: &str,
    x: &str,
    dtype: Dtype,
) -> Result<String, AutoCudaError> {
    Ok(ExprSurrogate::new(derivative)?.cuda_codes(y, x, dtype))
}

fn print(derivative: &Expr, y: &str, x: &str, dtype: Dtype) -> String {
    let target = Target::new(y);
    let prefix = format!("{}__", target.name);
    let mut code = String::new();
    let mut declare = |ctype: &str, value: &str| {
        let name = format!("{prefix}x");
        writeln!(code, "const {ctype} {name} = {value};")
            .expect("writing to a string does not fail");
        name
    };
    let values = match dtype {
        Dtype::Float if is_identifier(x) => vec![x.to_string()],
        Dtype::Float => vec![declare("float", x)],
        Dtype::Half2 => {
            let pair = declare("float2", &format!("__half22float2({x})"));
            vec![format!("{pair}.x"), format!("{pair}.y")]
        }
    };
    // Both lanes together, so that their temporaries have different names.
    let lanes: Vec<String> = (0..values.len()).map(|k| k.to_string()).collect();
    let roots: Vec<Expr> = lanes
        .iter()
        .map(|lane| derivative.substitute(&|_| Some(Expr::symbol(lane))))
        .collect();
    let names = |name: &str| {
        let lane = lanes.iter().position(|lane| lane == name)?;
        Some(values[lane].clone())
    };
    let printed = statements(&roots, &names, &prefix, 0)
        .expect("the derivative depends on its argument only");
    let value = match dtype {
        Dtype::Float => printed.results[0].clone(),
        Dtype::Half2 => format!("__floats2half2_rn({})", printed.results.join(", ")),
    };
    code.push_str(&printed.code);
    let assignment = format!("{y} = {value};");
    if target.declares {
        format!("{code}{assignment}")
    } else {
        let lines: String = code.lines().map(|line| format!("    {line}\n")).collect();
        format!("{{\n{lines}    {assignment}\n}}")
    }
}

/// The target of an assignment.
struct Target {
    /// The variable's name.
    name: String,
    /// Whether the statement declares it: then it cannot be in a separate block, and since no other variable
    /// has its name, names that start with it are unused.
    declares: bool,
}

impl Target {
    fn new(y: &str) -> Self {
        let y = y.trim();
        let end = y.find(['[', '(', '.']).unwrap_or(y.len());
        let words: Vec<&str> = y[..end]
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| is_identifier(word))
            .collect();
        Target {
            name: words.last().unwrap_or(&"y").to_string(),
            declares: words.len() > 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_variable_is_assigned_in_a_block() {
        let text = cuda_codes(|x| 2.0 * x, "grad[t]", "x", Dtype::Float).unwrap();
        insta::assert_snapshot!(text, @r"
        {
            const float grad__0 = 2.0f * x;
            grad[t] = grad__0;
        }
        ");
    }

    #[test]
    fn half2_is_computed_in_float_for_each_element_and_rounded_once() {
        let codes = |y| cuda_codes(|x| x * x, y, "a[t]", Dtype::Half2).unwrap();
        insta::assert_snapshot!(codes("const half2 g"), @r"
        const float2 g__x = __half22float2(a[t]);
        const float g__0 = g__x.x * g__x.x;
        const float g__1 = g__x.y * g__x.y;
        const half2 g = __floats2half2_rn(g__0, g__1);
        ");
    }

    #[test]
    fn a_constant_derivative_is_printed_as_a_constant() {
        let codes = |dtype| cuda_codes(|_| Expr::constant(0.1), "float y", "x", dtype).unwrap();
        assert_eq!(codes(Dtype::Float), "float y = 0xcccccdp-27f;");
        assert!(codes(Dtype::Half2).contains("__floats2half2_rn(0xcccccdp-27f, 0xcccccdp-27f)"));
    }

    #[test]
    fn a_derivative_with_another_symbol_is_rejected() {
        let alpha = Expr::symbol("alpha");
        let error = ExprSurrogate::new(|x| x * &alpha).unwrap_err();
        assert!(error.to_string().contains("`alpha`"), "{error}");
    }
}
