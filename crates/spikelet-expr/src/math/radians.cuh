// a = n pi/2 + rest for a >= 0, as in `math/trigonometric.rs`.
__device__ __forceinline__ spk_angle spk_of_radians(float a) {
    a = a > 6.5e6f ? 0.0f * a : a;
    const spk_rounded n = spk_round(a * 0.636619747f);
    const float high = a - n.value * 1.5703125f - n.value * 4.8351288e-4f;
    const float r = high - n.value * 3.138557e-7f;
    const float d = (high - r) - n.value * 3.138557e-7f - n.value * 6.0771006e-11f;
    const float square = r * r;
    const float half = 0.5f * square;
    float p = sin_radians(square);
    float q = cos_radians(square);
    spk_angle angle;
    angle.sine = r + (r * (square * p) + (d - d * half));
    angle.cosine = 1.0f - (half - (square * square * q - d * angle.sine));
    angle.quadrant = (unsigned)n.integer;
    return angle;
}
