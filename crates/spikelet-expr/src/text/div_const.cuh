// x / c, correctly rounded. `high` + `low` is 1 / c to twice the precision of a float; the host
// calls this function only for c for which that suffices. Between the bounds nothing underflows or
// overflows.
__device__ __forceinline__ float spk_div_const(float x, float c, float high, float low) {
    const float a = fabsf(x);
    if (a > 8.6736174e-19f && a < 1.1529215e18f) {
        return __fmaf_rn(x, high, x * low);
    }
    return x == 0.0f ? x * high : x / c;
}
