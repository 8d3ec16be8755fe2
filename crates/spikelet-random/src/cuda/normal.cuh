// Standard normal numbers (Box and Muller).

// The numbers of an even element and the next one, from their words.
__device__ __forceinline__ float2 spk_normal_pair(unsigned b0, unsigned b1) {
    const float radius = __fsqrt_rn(-2.0f * spk_ln(spk_unit(b0)));
    const float turn = spk_unit(b1);
    float2 pair;
    pair.x = radius * spk_cos_2pi(turn);
    pair.y = radius * spk_sin_2pi(turn);
    return pair;
}

// The standard normal number of one element.
__device__ __forceinline__ float spk_normal(
    spk_stream stream, unsigned time, unsigned long long element
) {
    const uint4 words = spk_words(stream, time, (unsigned)(element >> 2));
    const bool second = (element & 2ull) != 0ull;
    const float2 pair = spk_normal_pair(second ? words.z : words.x, second ? words.w : words.y);
    return (element & 1ull) != 0ull ? pair.y : pair.x;
}
