// The error function, as in `math/erf.rs`.
__device__ __forceinline__ float spk_erf(float x) {
    const float a = fabsf(x);
    const float square = a * a;
    float p = 7.99665e-5f;
    p = p * square + -8.0497697e-4f;
    p = p * square + 0.005192405f;
    p = p * square + -0.026855731f;
    p = p * square + 0.11283626f;
    p = p * square + -0.3761263f;
    p = p * square + 0.12837917f;
    const float near = a + a * p;

    const float clamped = a > 3.95f ? 3.95f : a;
    float q = 1.1229923e-5f;
    q = q * clamped + -3.2280115e-4f;
    q = q * clamped + 0.0036424815f;
    q = q * clamped + -0.02376216f;
    q = q * clamped + 0.10623703f;
    q = q * clamped + 0.6351512f;
    q = q * clamped + 1.1286485f;
    const float far = 1.0f - spk_exp(-(clamped * q));
    return copysignf(a < 0.92f ? near : far, x);
}
