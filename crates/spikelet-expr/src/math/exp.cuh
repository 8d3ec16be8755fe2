// The exponential function, as in `math/exponential.rs`.

// e^(x - y) for a |y| < 0.1 beyond the precision of x.
__device__ __forceinline__ float spk_exp_of_difference(float x, float y) {
    x = x > 89.0f ? 89.0f : x;
    x = x < -105.0f ? -105.0f : x;
    const spk_rounded n = spk_round((x - y) * 1.44269504f);

    const float high = __fmaf_rn(n.value, -0.6933594f, x); // the product is exact
    const float low = n.value * -2.1219444e-4f + y;
    const float r = high - low;
    const float d = (high - r) - low;
    return spk_scale(spk_exp_near_zero(r, d), n.integer);
}

__device__ __forceinline__ float spk_exp(float x) {
    return spk_exp_of_difference(x, 0.0f);
}
