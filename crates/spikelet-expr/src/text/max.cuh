// The larger of two; NaN if either is NaN, b where they are equal.
__device__ __forceinline__ float spk_max(float a, float b) {
    return a > b || a != a ? a : b;
}
