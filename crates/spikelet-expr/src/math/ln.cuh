// The natural logarithm, as in `math/logarithm.rs`.
__device__ __forceinline__ float spk_ln(float x) {
    const bool subnormal = x < 1.17549435e-38f;
    const float normal = subnormal ? x * 8388608.0f : x;
    const float shift = subnormal ? 23.0f : 0.0f;

    const int offset = (int)(__float_as_uint(normal) - 0x3f3504f3u);
    const float e = (float)(offset >> 23) - shift;
    const float m = __uint_as_float(((unsigned)offset & 0x007fffffu) + 0x3f3504f3u);

    const float f = m - 1.0f;
    const float square = f * f;
    float q = ln_remainder(f);
    const float tail = f * square * q + e * -2.1219444e-4f - 0.5f * square;
    const float result = f + tail + e * 0.6933594f;

    const float at_zero_or_below = __uint_as_float(x == 0.0f ? 0xff800000u : 0x7fc00000u);
    const float defined = x > 0.0f ? result : at_zero_or_below;
    return x == __uint_as_float(0x7f800000u) ? x : defined;
}
