// Definitions of CUDA C++ for C++ compilers of the host.
#define __device__ static
#define __forceinline__ inline

static inline unsigned __float_as_uint(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float __uint_as_float(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
static inline long long __double_as_longlong(double x) {
    long long bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double __longlong_as_double(long long bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
static inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define rintf __builtin_rintf
#define floorf __builtin_floorf
#define copysignf __builtin_copysignf

struct uint4 {
    unsigned x, y, z, w;
};
struct float2 {
    float x, y;
};
