// The hyperbolic tangent, as in `math/logistic.rs`.
__device__ __forceinline__ float spk_tanh(float x) {
    const float a = fabsf(x);
    const float square = a * a;
    float p = -0.0056926943f;
    p = p * square + 0.020628305f;
    p = p * square + -0.053736515f;
    p = p * square + 0.13331406f;
    p = p * square + -0.3333328f;
    const float near = a + a * (square * p);
    const float far = 1.0f - 2.0f / (spk_exp(2.0f * a) + 1.0f);
    return copysignf(a < 0.625f ? near : far, x);
}
