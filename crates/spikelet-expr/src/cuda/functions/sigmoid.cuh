// The logistic function, as in `math/logistic.rs`.
__device__ __forceinline__ float spk_sigmoid(float x) {
    const float z = spk_exp(-fabsf(x));
    const float t = z / (1.0f + z);
    const float below = z < 0.25f ? z - z * t : t;
    return x > 0.0f ? 1.0f - t : below;
}
