//! Reductions over the lanes of a warp.

/// The sum of `a` and `b`, as a `combine` of [`reduce`].
pub(super) const SUM: &str = "a + b";

/// The larger of `a` and `b`, NaN if either is NaN, as a `combine` of [`reduce`].
pub(super) const MAX: &str = "a > b || a != a ? a : b";

/// Code that reduces the variable `value` of all lanes in a fixed order, so that every lane has the
/// result. `combine` is an expression of `a`, the value of another lane, and `b`, the own one.
pub(super) fn reduce(value: &str, combine: &str) -> String {
    format!(
        "    for (int offset = 16; offset > 0; offset /= 2) {{
      const float a = __shfl_xor_sync(0xffffffffu, {value}, offset), b = {value};
      {value} = {combine};
    }}"
    )
}
