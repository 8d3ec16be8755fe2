// The error function, as in `math/erf.rs`.
__device__ __forceinline__ float spk_erf(float x) {
    const float a = fabsf(x);
    const float square = a * a;
    float p = erf_near_zero(square);
    const float near = a + a * p;

    const float clamped = a > 3.95f ? 3.95f : a;
    float q = erf_exponent(clamped);
    const float far = 1.0f - spk_exp(-(clamped * q));
    return copysignf(a < 0.92f ? near : far, x);
}
