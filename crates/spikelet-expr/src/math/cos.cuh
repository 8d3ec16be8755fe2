__device__ __forceinline__ float spk_cos(float x) {
    return spk_cosine_of(spk_of_radians(fabsf(x)));
}
