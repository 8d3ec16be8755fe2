//! Comparisons and selections.

use super::{Dtype, call, call_of, infix, lanes, wrap_return_codes};
use crate::operand::bracketed;

/// z = x · mask + y · (1 − mask), for a mask of 1 and 0: x where it is 1, else y.
///
/// Both sides are multiplied, so an infinity or NaN on either side makes the result NaN; [`select`]
/// evaluates to one side only.
pub fn if_else<'a>(
    z: impl Into<Option<&'a str>>,
    x: &str,
    y: &str,
    mask: &str,
    dtype: Dtype,
) -> String {
    let codes = match dtype {
        Dtype::Float => {
            let [x, y, mask] = [x, y, mask].map(bracketed);
            format!("{x} * {mask} + {y} * (1.0f - {mask})")
        }
        Dtype::Half2 => {
            let rest = call("__hsub2", &["__float2half2_rn(1.0f)", mask]);
            call("__hfma2", &[x, mask, &call("__hmul2", &[y, &rest])])
        }
    };
    wrap_return_codes(z, &codes)
}

/// w = x where mask_x is 1, else y where mask_y is 1, else z: [`if_else`] twice. [`select_select`] is a
/// true selection.
pub fn if_else_else<'a>(
    w: impl Into<Option<&'a str>>,
    x: &str,
    y: &str,
    z: &str,
    mask_x: &str,
    mask_y: &str,
    dtype: Dtype,
) -> String {
    let rest = if_else(None, y, z, mask_y, dtype);
    if_else(w, x, &rest, mask_x, dtype)
}

/// z = x where the mask is not 0, else y: a true selection, unaffected by the other side.
pub fn select<'a>(
    z: impl Into<Option<&'a str>>,
    x: &str,
    y: &str,
    mask: &str,
    dtype: Dtype,
) -> String {
    let choose = |[x, y, mask]: [&str; 3]| {
        let [x, y, mask] = [x, y, mask].map(bracketed);
        format!("{mask} != 0.0f ? {x} : {y}")
    };
    let codes = match dtype {
        Dtype::Float => choose([x, y, mask]),
        // Half to float and back is exact.
        Dtype::Half2 => lanes([x, y, mask], |lane| {
            choose(lane.each_ref().map(|l| l.as_str()))
        }),
    };
    wrap_return_codes(z, &codes)
}

/// w = x where mask_x is not 0, else y where mask_y is not 0, else z: true selections.
pub fn select_select<'a>(
    w: impl Into<Option<&'a str>>,
    x: &str,
    y: &str,
    z: &str,
    mask_x: &str,
    mask_y: &str,
    dtype: Dtype,
) -> String {
    let rest = select(None, y, z, mask_y, dtype);
    select(w, x, &rest, mask_x, dtype)
}

/// z = 1 where x ≥ y, else 0; 0 for NaN.
pub fn greater_equal<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &compared(x, ">=", y, "__hge2", dtype))
}

/// z = 1 where x > y, else 0; 0 for NaN.
pub fn greater_than<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &compared(x, ">", y, "__hgt2", dtype))
}

/// y = Θ(x): 1 where x ≥ 0, else 0.
///
/// Θ(NaN) is 0 in `float` and 1 in `half2`: the reference prints the latter with `__hgeu2`, which is true
/// for unordered operands.
pub fn heaviside<'a>(y: impl Into<Option<&'a str>>, x: &str, dtype: Dtype) -> String {
    let codes = match dtype {
        Dtype::Float => compared(x, ">=", "0.0f", "", dtype),
        Dtype::Half2 => call("__hgeu2", &[x, "__float2half2_rn(0.0f)"]),
    };
    wrap_return_codes(y, &codes)
}

/// z = the smaller of x and y; the other one if one of them is NaN.
pub fn minimal<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &call_of(["fminf", "__hmin2"], &[x, y], dtype))
}

/// z = the larger of x and y; the other one if one of them is NaN.
pub fn maximum<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    wrap_return_codes(z, &call_of(["fmaxf", "__hmax2"], &[x, y], dtype))
}

/// 1 where the comparison holds, else 0; the intrinsic function for `half2` returns that itself.
fn compared(x: &str, sign: &str, y: &str, intrinsic: &str, dtype: Dtype) -> String {
    let comparison = infix(x, sign, y, intrinsic, dtype);
    match dtype {
        Dtype::Float => format!("{comparison} ? 1.0f: 0.0f"),
        Dtype::Half2 => comparison,
    }
}
