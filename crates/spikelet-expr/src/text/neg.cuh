// -x. NVRTC negates the result of a comparison as an integer, which loses -0; assembly prevents
// that.
__device__ __forceinline__ float spk_neg(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("neg.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return -x;
#endif
}
