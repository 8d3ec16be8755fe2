// The hyperbolic tangent, as in `math/logistic.rs`.
__device__ __forceinline__ float spk_tanh(float x) {
    const float a = fabsf(x);
    const float square = a * a;
    float p = tanh_near_zero(square);
    const float near = a + a * (square * p);
    const float far = 1.0f - 2.0f / (spk_exp(2.0f * a) + 1.0f);
    return copysignf(a < 0.625f ? near : far, x);
}
