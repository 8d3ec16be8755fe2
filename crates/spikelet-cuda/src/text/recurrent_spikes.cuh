// Spikes [CLUSTER][ROWS][WORDS], a bit each, times weights.

#define WORDS (COLUMNS / 32)

// The summands are numbered so that a thread takes the spikes of one word: step 8·b + i multiplies the
// neurons 128·b + 32·q + 2·i + e + 16·h, for the thread q of four, the register e, its half h.
__device__ __forceinline__ int spk_summand(int step, int q, int e, int h) {
  return step / 8 * 128 + 32 * q + 2 * (step % 8) + e + 16 * h;
}

// A pair of spikes, the bits `bit` and `bit` + 16 of a word, as 16-bit numbers: the bits stay where they
// are, or are moved to one of three places, where they are the numbers 2, 2^-63 or 2^-95. The weights are
// multiplied by the reciprocals, which is exact.
__device__ __forceinline__ unsigned spk_pair(unsigned word, int bit) {
  const unsigned moved = bit == 15 ? word >> 1 : word << (14 - bit) / 3 * 3;
  return moved & (bit == 15 || bit % 3 == 2 ? 0x40004000u : bit % 3 == 1 ? 0x20002000u : 0x10001000u);
}
__device__ __forceinline__ float spk_scale(int step, int e) {
  const int bit = 2 * (step % 8) + e;
  return bit == 15 || bit % 3 == 2 ? 0.5f : bit % 3 == 1 ? 0x1p63f : 0x1p95f;
}

// The product of GROUPS groups of eight rows from FIRST on.
template <int FIRST, int GROUPS>
__device__ __forceinline__ void spk_product(
    const spk_weights& weights, const unsigned* spikes, float* partial, int warp, int lane) {
  float sum[TILES][GROUPS][4] = {};
  unsigned word[GROUPS];
  #pragma unroll
  for (int s = 0; s < STEPS; ++s) {
    const int step = (warp % SPLITS) * STEPS + s;
    if (s % 8 == 0) {
      #pragma unroll
      for (int n = 0; n < GROUPS; ++n) {
        const int at = step / 8 * 4 + lane % 4;
        word[n] = at < CLUSTER * WORDS ? spikes[(at / WORDS * ROWS + (FIRST + n) * 8 + lane / 4) * WORDS + at % WORDS] : 0u;
      }
    }
    unsigned b[GROUPS][2];
    #pragma unroll
    for (int n = 0; n < GROUPS; ++n) {
      b[n][0] = spk_pair(word[n], 2 * (s % 8));
      b[n][1] = spk_pair(word[n], 2 * (s % 8) + 1);
    }
    #pragma unroll
    for (int m = 0; m < TILES; ++m) {
      #pragma unroll
      for (int p = 0; p < PLANES; ++p) {
        const uint4 a = weights.at((s * TILES + m) * PLANES + p);
        #pragma unroll
        for (int n = 0; n < GROUPS; ++n) spk_multiply(sum[m][n], a, b[n][0], b[n][1]);
      }
    }
  }
  spk_store_sums<FIRST>(partial, sum, warp, lane);
}
