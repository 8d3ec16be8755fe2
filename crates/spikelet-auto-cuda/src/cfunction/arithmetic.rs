//! Constants, sums, products and quotients.

use super::{Dtype, call, call_of, infix, wrap_return_codes};
use crate::operand::bracketed;
use spikelet_expr::cuda::literal;

/// The constant x, rounded to f32 and written exactly.
pub fn constant<'a>(y: impl Into<Option<&'a str>>, x: f64, dtype: Dtype) -> String {
    let number = literal(x as f32);
    let codes = match dtype {
        Dtype::Float => number,
        Dtype::Half2 => call("__float2half2_rn", &[&number]),
    };
    wrap_return_codes(y, &codes)
}

/// y = |x|
pub fn abs<'a>(y: impl Into<Option<&'a str>>, x: &str, dtype: Dtype) -> String {
    wrap_return_codes(y, &call_of(["fabsf", "__habs2"], &[x], dtype))
}

/// z = x + y
pub fn add<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &infix(x, "+", y, "__hadd2", dtype))
}

/// z = x − y
pub fn sub<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &infix(x, "-", y, "__hsub2", dtype))
}

/// z = x · y
pub fn mul<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &infix(x, "*", y, "__hmul2", dtype))
}

/// z = x / y
pub fn div<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &infix(x, "/", y, "__h2div", dtype))
}

/// y = −x
pub fn neg<'a>(y: impl Into<Option<&'a str>>, x: &str, dtype: Dtype) -> String {
    let codes = match dtype {
        Dtype::Float => format!("-{}", bracketed(x)),
        Dtype::Half2 => call("__hneg2", &[x]),
    };
    wrap_return_codes(y, &codes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dtype::{Float, Half2};

    #[test]
    fn operands_get_brackets_if_they_need_them() {
        assert_eq!(
            mul("z", "a + b", "c[i + 1]", Float),
            "z = (a + b) * c[i + 1];"
        );
        assert_eq!(sub(None, "a", "b - c", Float), "(a - (b - c))");
        assert_eq!(neg("y", "-x", Float), "y = -(-x);");
        assert_eq!(
            div("z", "a + b", "c, d", Half2),
            "z = __h2div(a + b, (c, d));"
        );
        assert_eq!(abs(None, "a + b", Float), "(fabsf(a + b))");
    }

    #[test]
    fn constants_are_exact() {
        assert_eq!(constant(None, 1.0, Float), "(1.0f)");
        assert_eq!(constant("y", 0.1, Float), "y = 0xcccccdp-27f;");
        assert_eq!(constant("y", -0.5, Half2), "y = __float2half2_rn(-0.5f);");
        assert_eq!(
            constant("y", f64::INFINITY, Float),
            "y = __uint_as_float(0x7f800000u);"
        );
    }
}
