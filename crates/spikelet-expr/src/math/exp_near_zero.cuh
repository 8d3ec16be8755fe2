// e^(r + d) for |r| up to half of ln 2 and a d beyond the precision of r.
__device__ __forceinline__ float spk_exp_near_zero(float r, float d) {
    float q = exp_remainder(r);
    const float sum = 1.0f + r;
    const float lost = (1.0f - sum) + r;
    return sum + (r * r * q + d + lost);
}
