// -x. Of a truth that became a number, NVRTC makes an integer's negation, and loses -0; this it
// does not look into.
__device__ __forceinline__ float spk_neg(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("neg.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return -x;
#endif
}
