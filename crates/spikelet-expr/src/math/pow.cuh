// Powers, in double inside, as in `math/power.rs`.

// The base-2 logarithm of x >= 0; the argument for infinity and NaN.
__device__ __forceinline__ double spk_log2(double x) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x);
    // The bits of 1 minus those of the root of one half.
    const unsigned long long biased = (bits + 0x00095f619980c433ull) >> 52;
    const double e = __longlong_as_double((long long)(0x4330000000000000ull | biased))
        - 4503599627371519.0;
    const double m = __longlong_as_double((long long)(bits - ((biased - 1023ull) << 52)));
    const double s = (m - 1.0) / (m + 1.0);
    const double square = s * s;
    double p = log2_near_one(square);
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    const double result = x == 0.0 ? -infinity : e + s * p;
    return x < infinity ? result : x;
}

// 2^t for |t| <= 200.
__device__ __forceinline__ double spk_exp2(double t) {
    const double shifted = t + 6755399441055744.0;
    const double f = t - (shifted - 6755399441055744.0);
    const unsigned long long n =
        (unsigned long long)__double_as_longlong(shifted) - 0x4338000000000000ull;
    const double scale = __longlong_as_double((long long)((n + 1023ull) << 52));
    double q = exp2_near_zero(f);
    return (1.0 + f * q) * scale;
}

__device__ __forceinline__ float spk_pow(float x, float y) {
    const double exponent = (double)y;
    double t = exponent * spk_log2((double)fabsf(x));
    t = t > 200.0 ? 200.0 : t;
    t = t < -200.0 ? -200.0 : t;
    const float magnitude = (float)spk_exp2(t);

    double size = fabs(exponent);
    size = size > 33554432.0 ? 33554432.0 : size;
    const double shifted = size + 6755399441055744.0;
    const bool integer = shifted - 6755399441055744.0 == size;
    const bool odd = integer && (__double_as_longlong(shifted) & 1ll) == 1ll;

    const float infinity = __uint_as_float(0x7f800000u);
    const bool negative = (__float_as_uint(x) >> 31) == 1u;
    const float with_sign = negative && odd ? -magnitude : magnitude;
    const bool undefined = x < 0.0f && x > -infinity && !integer;
    const float result = undefined ? __uint_as_float(0x7fc00000u) : with_sign;
    const bool one = x == 1.0f || y == 0.0f || (x == -1.0f && fabsf(y) == infinity);
    return one ? 1.0f : result;
}
