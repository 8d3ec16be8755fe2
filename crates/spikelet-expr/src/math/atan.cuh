// The arc tangent, as in `math/atan.rs`.
__device__ __forceinline__ float spk_atan(float x) {
    const float a = fabsf(x);
    const bool small = a <= 0.41421357f;
    const bool large = a > 2.4142137f;

    const float numerator = large ? -1.0f : small ? a : a - 1.0f;
    const float denominator = large ? a : small ? 1.0f : a + 1.0f;
    const float high = large ? 1.57079637f : small ? 0.0f : 0.785398185f;
    const float low = large ? 2.0f * -2.1855694e-8f : small ? 0.0f : -2.1855694e-8f;

    const float t = numerator / denominator;
    const float square = t * t;
    float p = atan_near_zero(square);
    return copysignf(high + (t + (t * (square * p) + low)), x);
}
