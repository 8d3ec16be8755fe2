// Rounding and scaling, as in `math/bits.rs`.

struct spk_rounded {
    float value;
    int integer;
};

// The integer nearest to x, |x| < 2^22, as a float and as an integer; ties go to even.
__device__ __forceinline__ spk_rounded spk_round(float x) {
    const float shifted = x + 12582912.0f;
    spk_rounded result;
    result.value = shifted - 12582912.0f;
    result.integer = (int)(__float_as_uint(shifted) - 0x4b400000u);
    return result;
}

// 2^n for -126 <= n <= 127.
__device__ __forceinline__ float spk_power_of_two(int n) {
    return __uint_as_float(((unsigned)n + 127u) << 23);
}

// x * 2^n in two factors, rounded once.
__device__ __forceinline__ float spk_scale(float x, int n) {
    const int half = n >> 1;
    return x * spk_power_of_two(half) * spk_power_of_two((int)((unsigned)n - (unsigned)half));
}
