// Gradients [CLUSTER][GRADIENT_PLANES][rows of a part][COLUMNS], in 16-bit terms, times weights.

// The place of a column in a row, so that two neighboring rows are in different banks.
__device__ __forceinline__ int spk_place(int row, int column) {
  return COLUMNS % 64 == 0 ? column ^ (row & 1) << 5 : column;
}

// The summands are numbered so that a thread takes eight neighbors: step 2·b + i multiplies the neurons
// 32·b + 8·q + 4·i + 2·e + h, for the thread q of four, the register e, its half h.
__device__ __forceinline__ int spk_summand(int step, int q, int e, int h) {
  return step / 2 * 32 + 8 * q + 4 * (step % 2) + 2 * e + h;
}

// Of the products of terms, those of the lowest of both are left out.
__device__ __forceinline__ float spk_scale(int, int) { return 1.0f; }

// The product of GROUPS groups of eight rows from FIRST on.
template <int FIRST, int GROUPS>
__device__ __forceinline__ void spk_product(
    const spk_weights& weights, const unsigned short* gradients, float* partial, int warp, int lane) {
  float sum[TILES][GROUPS][4] = {};
  #pragma unroll
  for (int s = 0; s < STEPS; s += 2) {
    const int step = (warp % SPLITS) * STEPS + s;
    uint4 b[GRADIENT_PLANES][GROUPS];
    #pragma unroll
    for (int g = 0; g < GRADIENT_PLANES; ++g) {
      #pragma unroll
      for (int n = 0; n < GROUPS; ++n)
        b[g][n] = *(const uint4*)(gradients + ((step * 16 / COLUMNS * GRADIENT_PLANES + g) * GROUPS * 8 + n * 8 + lane / 4) * COLUMNS +
                                  spk_place(lane / 4, step * 16 % COLUMNS + lane % 4 * 8));
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      #pragma unroll
      for (int m = 0; m < TILES; ++m) {
        #pragma unroll
        for (int p = 0; p < PLANES; ++p) {
          const uint4 a = weights.at(((s + i) * TILES + m) * PLANES + p);
          #pragma unroll
          for (int g = 0; g < GRADIENT_PLANES && g + p < PLANES; ++g) {
            #pragma unroll
            for (int n = 0; n < GROUPS; ++n)
              spk_multiply(sum[m][n], a, i == 0 ? b[g][n].x : b[g][n].z, i == 0 ? b[g][n].y : b[g][n].w);
          }
        }
      }
    }
  }
  spk_store_sums<FIRST>(partial, sum, warp, lane);
}
