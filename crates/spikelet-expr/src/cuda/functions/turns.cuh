// a = n/4 + rest turns for a >= 0, as in `math/trigonometric.rs`.
__device__ __forceinline__ spk_angle spk_of_turns(float a) {
    const spk_rounded n = spk_round(4.0f * a);
    const float r = a - 0.25f * n.value;
    const float square = r * r;
    float p = -75.368965f;
    p = p * square + 81.59189f;
    p = p * square + -41.34166f;
    p = p * square + -1.9532348e-7f;
    float q = 58.62106f;
    q = q * square + -85.42452f;
    q = q * square + 64.93915f;
    q = q * square + -19.739208f;
    spk_angle angle;
    angle.sine = r * 6.28318548f + r * p;
    angle.cosine = 1.0f + square * q;
    angle.quadrant = (unsigned)n.integer;
    return angle;
}
