// half and half2 under the names of cuda_fp16.h, for machines with NVRTC but without headers: the
// functions that this crate's kernels call, and related ones. Compute capability 5.3 and later.
#pragma once

struct __half {
    unsigned short bits;
};
struct alignas(4) __half2 {
    __half x, y;
};
typedef __half half;
typedef __half2 half2;

__device__ __forceinline__ unsigned spk_half2_bits(half2 a) {
    return *(const unsigned*)&a;
}
__device__ __forceinline__ half2 spk_half2_of(unsigned bits) {
    return *(const half2*)&bits;
}

__device__ __forceinline__ half __float2half_rn(float a) {
    half r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(a));
    return r;
}
__device__ __forceinline__ half __float2half(float a) { return __float2half_rn(a); }
__device__ __forceinline__ float __half2float(half a) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a.bits));
    return r;
}

__device__ __forceinline__ half2 __halves2half2(half a, half b) {
    half2 r;
    r.x = a;
    r.y = b;
    return r;
}
__device__ __forceinline__ half2 __half2half2(half a) { return __halves2half2(a, a); }
__device__ __forceinline__ half __low2half(half2 a) { return a.x; }
__device__ __forceinline__ half __high2half(half2 a) { return a.y; }
__device__ __forceinline__ float __low2float(half2 a) { return __half2float(a.x); }
__device__ __forceinline__ float __high2float(half2 a) { return __half2float(a.y); }
__device__ __forceinline__ half2 __floats2half2_rn(float a, float b) {
    return __halves2half2(__float2half_rn(a), __float2half_rn(b));
}
__device__ __forceinline__ half2 __float2half2_rn(float a) { return __half2half2(__float2half_rn(a)); }
__device__ __forceinline__ half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
__device__ __forceinline__ float2 __half22float2(half2 a) {
    float2 r;
    r.x = __low2float(a);
    r.y = __high2float(a);
    return r;
}

// Two operands in one instruction.
#define SPK_HALF2(name, instruction)                                                         \
    __device__ __forceinline__ half2 name(half2 a, half2 b) {                                \
        unsigned r;                                                                          \
        asm(instruction " %0, %1, %2;" : "=r"(r) : "r"(spk_half2_bits(a)), "r"(spk_half2_bits(b))); \
        return spk_half2_of(r);                                                              \
    }
SPK_HALF2(__hadd2, "add.rn.f16x2")
SPK_HALF2(__hsub2, "sub.rn.f16x2")
SPK_HALF2(__hmul2, "mul.rn.f16x2")
// 1 or 0; with a NaN 0, and 1 for those whose names end in u.
SPK_HALF2(__heq2, "set.eq.f16x2.f16x2")
SPK_HALF2(__hne2, "set.ne.f16x2.f16x2")
SPK_HALF2(__hlt2, "set.lt.f16x2.f16x2")
SPK_HALF2(__hle2, "set.le.f16x2.f16x2")
SPK_HALF2(__hgt2, "set.gt.f16x2.f16x2")
SPK_HALF2(__hge2, "set.ge.f16x2.f16x2")
SPK_HALF2(__hequ2, "set.equ.f16x2.f16x2")
SPK_HALF2(__hneu2, "set.neu.f16x2.f16x2")
SPK_HALF2(__hltu2, "set.ltu.f16x2.f16x2")
SPK_HALF2(__hleu2, "set.leu.f16x2.f16x2")
SPK_HALF2(__hgtu2, "set.gtu.f16x2.f16x2")
SPK_HALF2(__hgeu2, "set.geu.f16x2.f16x2")
#undef SPK_HALF2

__device__ __forceinline__ half2 __hfma2(half2 a, half2 b, half2 c) {
    unsigned r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;"
        : "=r"(r)
        : "r"(spk_half2_bits(a)), "r"(spk_half2_bits(b)), "r"(spk_half2_bits(c)));
    return spk_half2_of(r);
}
__device__ __forceinline__ half2 __hneg2(half2 a) { return spk_half2_of(spk_half2_bits(a) ^ 0x80008000u); }
__device__ __forceinline__ half2 __habs2(half2 a) { return spk_half2_of(spk_half2_bits(a) & 0x7fff7fffu); }

// In float, rounded once more: float has more than twice the digits, so the result is the rounded one.
#define SPK_HALF2(name, x, y)                                                                \
    __device__ __forceinline__ half2 name(half2 p, half2 q) {                                \
        const float2 a = __half22float2(p), b = __half22float2(q);                           \
        return __floats2half2_rn(x, y);                                                      \
    }
SPK_HALF2(__h2div, __fdiv_rn(a.x, b.x), __fdiv_rn(a.y, b.y))
SPK_HALF2(__hmin2, fminf(a.x, b.x), fminf(a.y, b.y))
SPK_HALF2(__hmax2, fmaxf(a.x, b.x), fmaxf(a.y, b.y))
#undef SPK_HALF2

#define SPK_HALF2(name, function)                                                            \
    __device__ __forceinline__ half2 name(half2 a) {                                         \
        return __floats2half2_rn(function(__low2float(a)), function(__high2float(a)));       \
    }
SPK_HALF2(h2exp, expf)
SPK_HALF2(h2exp2, exp2f)
SPK_HALF2(h2log, logf)
SPK_HALF2(h2log2, log2f)
SPK_HALF2(h2sqrt, __fsqrt_rn)
SPK_HALF2(h2rcp, __frcp_rn)
#undef SPK_HALF2
