__device__ __forceinline__ float spk_sin(float x) {
    return spk_sine_of(spk_of_radians(fabsf(x)), x);
}
