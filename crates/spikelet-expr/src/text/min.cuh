// The smaller of two; NaN if either is NaN, b where they are equal.
__device__ __forceinline__ float spk_min(float a, float b) {
    return a < b || a != a ? a : b;
}
