__device__ __forceinline__ float spk_cos_2pi(float u) {
    return spk_cosine_of(spk_of_turns(fabsf(u)));
}
