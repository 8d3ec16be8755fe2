// a = n/4 + rest turns for a >= 0, as in `math/trigonometric.rs`.
__device__ __forceinline__ spk_angle spk_of_turns(float a) {
    const spk_rounded n = spk_round(4.0f * a);
    const float r = a - 0.25f * n.value;
    const float square = r * r;
    float p = sin_turns(square);
    float q = cos_turns(square);
    spk_angle angle;
    angle.sine = r * 6.28318548f + r * p;
    angle.cosine = 1.0f + square * q;
    angle.quadrant = (unsigned)n.integer;
    return angle;
}
