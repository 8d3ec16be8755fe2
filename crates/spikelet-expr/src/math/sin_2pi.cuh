__device__ __forceinline__ float spk_sin_2pi(float u) {
    return spk_sine_of(spk_of_turns(fabsf(u)), u);
}
