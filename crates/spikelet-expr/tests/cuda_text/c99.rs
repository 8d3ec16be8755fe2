//! Expressions and elementary functions as C99 text, for a compiler of the host.
//!
//! The prelude includes `math.h`, `stdbool.h` and `string.h`. Compiled without contraction and
//! unsafe optimizations (gcc and clang: `-std=c99 -ffp-contract=off`), on a machine that evaluates
//! `float` in f32 (`FLT_EVAL_METHOD` 0), the code gives the bits of `Program` in
//! f32; only the sign and payload of a NaN are unspecified.

use spikelet_expr::cuda::Cuda;
use spikelet_expr::text::{Approximate, Builtin, Dialect};

/// C99.
#[derive(Clone, Copy, Debug, Default)]
pub struct C99;

/// The qualifiers and intrinsics of the functions' texts, which have CUDA's names.
const PRELUDE: &str = "\
#include <math.h>
#include <stdbool.h>
#include <string.h>
#pragma STDC FP_CONTRACT OFF
#define __device__ static
#define __forceinline__ inline
#define __fmaf_rn fmaf

typedef struct spk_rounded spk_rounded;
typedef struct spk_angle spk_angle;

static inline unsigned __float_as_uint(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float __uint_as_float(unsigned bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline long long __double_as_longlong(double x) {
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double __longlong_as_double(long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
";

impl Dialect for C99 {
    fn prelude(&self) -> &'static str {
        PRELUDE
    }

    fn literal(&self, value: f32) -> String {
        match value {
            f32::INFINITY => "INFINITY".to_string(),
            f32::NEG_INFINITY => "-INFINITY".to_string(),
            value if value.is_nan() => "NAN".to_string(),
            // The literals of finite numbers are those of C++.
            value => Cuda.literal(value),
        }
    }

    fn builtin(&self, function: Builtin) -> &'static str {
        match function {
            Builtin::Sqrt => "sqrtf",
            Builtin::Abs => "fabsf",
            Builtin::Round => "rintf",
            Builtin::Floor => "floorf",
        }
    }

    /// C99 has no operations that are faster and less accurate.
    fn approximate(&self, _: Approximate<'_>) -> Option<String> {
        None
    }
}
