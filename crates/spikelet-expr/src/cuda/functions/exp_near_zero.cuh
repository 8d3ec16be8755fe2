// e^(r + d) for |r| up to half of ln 2 and a d whose digits no longer fit into r.
__device__ __forceinline__ float spk_exp_near_zero(float r, float d) {
    float q = 0.0013838871f;
    q = q * r + 0.008369192f;
    q = q * r + 0.041668102f;
    q = q * r + 0.16666517f;
    q = q * r + 0.49999994f;
    const float sum = 1.0f + r;
    const float lost = (1.0f - sum) + r;
    return sum + (r * r * q + d + lost);
}
