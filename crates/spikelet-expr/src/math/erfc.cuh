// The complementary error function, as in `math/erf.rs`.
__device__ __forceinline__ float spk_erfc(float x) {
    const float size = fabsf(x);
    const float a = size > 10.5f ? 10.5f : size;
    const float high = __uint_as_float(__float_as_uint(a) & 0xfffff000u);
    const float gauss = spk_exp_of_difference(-(high * high), (a - high) * (a + high));
    const float s = (a - 2.0f) / (a + 2.0f);
    float g = erfc_tail(s);
    const float tail = gauss * (g / (1.0f + 2.0f * a));
    return x < 0.0f ? 2.0f - tail : tail;
}
