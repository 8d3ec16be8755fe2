// Sine and cosine of an angle of n quarter turns and a rest, as in `math/trigonometric.rs`.

struct spk_angle {
    // Of the rest.
    float sine;
    float cosine;
    // n; its lowest two bits count.
    unsigned quadrant;
};

// The sine of the angle, negated where x is negative.
__device__ __forceinline__ float spk_sine_of(spk_angle angle, float x) {
    const float result = (angle.quadrant & 1u) == 0u ? angle.sine : angle.cosine;
    const unsigned sign = ((angle.quadrant & 2u) << 30) ^ (__float_as_uint(x) & 0x80000000u);
    return __uint_as_float(__float_as_uint(result) ^ sign);
}

__device__ __forceinline__ float spk_cosine_of(spk_angle angle) {
    const float result = (angle.quadrant & 1u) == 0u ? angle.cosine : angle.sine;
    const unsigned sign = ((angle.quadrant + 1u) & 2u) << 30;
    return __uint_as_float(__float_as_uint(result) ^ sign);
}
