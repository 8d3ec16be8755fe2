// Elements of a storage type, as in memory; arithmetic is in float.
struct spk_bf16 { unsigned short bits; };
struct spk_f16 { unsigned short bits; };
__device__ __forceinline__ float spk_get(float x) { return x; }
__device__ __forceinline__ float spk_get(spk_bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ __forceinline__ float spk_get(spk_f16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
__device__ __forceinline__ void spk_set(float& to, float x) { to = x; }
__device__ __forceinline__ void spk_set(spk_f16& to, float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void spk_set(spk_bf16& to, float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
#else
__device__ __forceinline__ void spk_set(spk_bf16& to, float x) {
  const unsigned bits = __float_as_uint(x);
  to.bits = x != x ? 0x7fff : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
#endif

// N contiguous elements that are loaded and stored in one access.
template <int BYTES> struct spk_raw;
struct alignas(16) spk_raw32 { uint4 low, high; };
template <> struct spk_raw<32> { typedef spk_raw32 type; };
template <> struct spk_raw<16> { typedef uint4 type; };
template <> struct spk_raw<8> { typedef uint2 type; };
template <> struct spk_raw<4> { typedef unsigned type; };
template <> struct spk_raw<2> { typedef unsigned short type; };
template <class S, int N> struct alignas(sizeof(S) * N) spk_vec {
  S e[N];
  __device__ __forceinline__ float operator[](int j) const { return spk_get(e[j]); }
  __device__ __forceinline__ void set(int j, float x) { spk_set(e[j], x); }
};
template <int N, class S> __device__ __forceinline__ spk_vec<S, N> spk_load(const S* p) {
  typedef typename spk_raw<sizeof(S) * N>::type R;
  const R r = *(const R*)p;
  return *(const spk_vec<S, N>*)&r;
}
template <class S, int N> __device__ __forceinline__ void spk_store(S* p, const spk_vec<S, N>& x) {
  typedef typename spk_raw<sizeof(S) * N>::type R;
  *(R*)p = *(const R*)&x;
}
// The same for streaming accesses, which should not evict other data from the cache.
template <int N, class S> __device__ __forceinline__ spk_vec<S, N> spk_load_once(const S* p) {
  typedef typename spk_raw<sizeof(S) * N>::type R;
  const R r = __ldcs((const R*)p);
  return *(const spk_vec<S, N>*)&r;
}
template <class S, int N> __device__ __forceinline__ void spk_store_once(S* p, const spk_vec<S, N>& x) {
  typedef typename spk_raw<sizeof(S) * N>::type R;
  __stcs((R*)p, *(const R*)&x);
}
