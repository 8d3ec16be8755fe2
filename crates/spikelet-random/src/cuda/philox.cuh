// Philox 4x32-10, uniform numbers and Bernoulli draws, as defined in the crate's documentation.

// The draws of one encoder or layer in one training step.
struct spk_stream {
    // The low and the high half of the seed.
    unsigned key0;
    unsigned key1;
    unsigned id;
    unsigned step;
};

// Four random words from a counter and a key.
__device__ __forceinline__ uint4 spk_philox(
    unsigned c0, unsigned c1, unsigned c2, unsigned c3, unsigned k0, unsigned k1
) {
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const unsigned long long p0 = (unsigned long long)c0 * 0xd2511f53u;
        const unsigned long long p1 = (unsigned long long)c2 * 0xcd9e8d57u;
        c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
        c1 = (unsigned)p1;
        c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
        c3 = (unsigned)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    uint4 words;
    words.x = c0;
    words.y = c1;
    words.z = c2;
    words.w = c3;
    return words;
}

// The words of the four elements starting at 4 * group.
__device__ __forceinline__ uint4 spk_words(spk_stream stream, unsigned time, unsigned group) {
    return spk_philox(group, time, stream.id, stream.step, stream.key0, stream.key1);
}

// The random word of one element.
__device__ __forceinline__ unsigned spk_word(
    spk_stream stream, unsigned time, unsigned long long element
) {
    const uint4 words = spk_words(stream, time, (unsigned)(element >> 2));
    const unsigned lane = (unsigned)element & 3u;
    const unsigned low = lane & 1u ? words.y : words.x;
    const unsigned high = lane & 1u ? words.w : words.z;
    return lane & 2u ? high : low;
}

// A number in (0, 1].
__device__ __forceinline__ float spk_unit(unsigned word) {
    return (float)(int)((word >> 8) + 1u) * 5.9604645e-8f;
}

// `spk_unit(word) <= p` is `word >> 8 < spk_threshold(p)`.
__device__ __forceinline__ unsigned spk_threshold(float p) {
    p = p > 0.0f ? p : 0.0f;
    p = p < 1.0f ? p : 1.0f;
    return (unsigned)(int)(p * 16777216.0f);
}

// The uniform number in (0, 1] of one element.
__device__ __forceinline__ float spk_uniform(
    spk_stream stream, unsigned time, unsigned long long element
) {
    return spk_unit(spk_word(stream, time, element));
}

// Whether one element fires with probability p.
__device__ __forceinline__ bool spk_bernoulli(
    spk_stream stream, unsigned time, unsigned long long element, float p
) {
    return spk_uniform(stream, time, element) <= p;
}
