// ln(1 + x), as in `math/logarithm.rs`.
__device__ __forceinline__ float spk_ln_1p(float x) {
    const float u = 1.0f + x;
    const float dropped = (x - (u - 1.0f)) / u;
    float result = spk_ln(u) + dropped;
    result = u == 1.0f ? x : result;
    result = u == 0.0f ? __uint_as_float(0xff800000u) : result;
    return x == __uint_as_float(0x7f800000u) ? x : result;
}
