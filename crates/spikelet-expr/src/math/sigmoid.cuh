// The logistic function, as in `math/logistic.rs`, with fewer instructions for the same bits.

// e^x for x <= 0, as in `math/exponential.rs`. n * 0.6933594f is exact, so that a fused product
// changes nothing. 2^(n + 64) is a normal number, 2^n need not be; the last product rounds.
__device__ __forceinline__ float spk_exp_below_zero(float x) {
    x = x < -105.0f ? -105.0f : x;
    const float shifted = x * 1.44269504f + 12582912.0f;
    const float n = shifted - 12582912.0f;

    const float high = __fmaf_rn(n, -0.6933594f, x);
    const float low = n * -2.1219444e-4f;
    const float r = high - low;
    const float d = (high - r) - low;
    const float scale = __uint_as_float((__float_as_uint(shifted) << 23) + 0x5f800000u);
    return spk_exp_near_zero(r, d) * scale * 5.4210109e-20f;
}

// z / (1 + z) for 0 <= z <= 1, correctly rounded: Newton's step for the reciprocal, Markstein's for
// the quotient. Where something could underflow, 1 + z is 1.
__device__ __forceinline__ float spk_share_of_one(float z) {
    const float b = 1.0f + z;
#ifdef __CUDA_ARCH__
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
#else
    float r = 1.0f / b;
#endif
    r = __fmaf_rn(r, __fmaf_rn(-b, r, 1.0f), r);
    const float t = z * r;
    return __fmaf_rn(__fmaf_rn(-b, t, z), r, t);
}

__device__ __forceinline__ float spk_sigmoid(float x) {
    const float z = spk_exp_below_zero(-fabsf(x));
    const float t = spk_share_of_one(z);
    const float below = z < 0.25f ? z - z * t : t;
    return x > 0.0f ? 1.0f - t : below;
}
