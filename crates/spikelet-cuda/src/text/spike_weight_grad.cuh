// y [N, K] = g [M, N]ᵀ · s [M, K] for spikes s, one bit each: the gradient of a weight.
//
// As in the forward product, spikes are exact in 16 bits and a gradient is the sum of PLANES
// 16-bit numbers. The M rows are divided into SPLITS ranges of RANGE rows, whose partial sums
// [SPLITS, N, K] are added by the next kernel in a fixed order. A warp processes 32 columns; rows and
// columns without a spike are skipped.
//
// Defined by the preceding text: M, N, K, WORDS, TILES (of 16 rows of y a block), RANGE, PLANES, ONE,
// MMA, In (element of g), spk_part (rounds to 16 bits and subtracts the result).
#define WIDTH (TILES * 16)
#define PITCH (WIDTH * 2 + 16)
#define ROWS 32
#define PIECES (ROWS * WIDTH / 128)

__device__ __forceinline__ unsigned spk_shared(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void spk_spike_weight_grad_block(
    const In* __restrict__ g, const unsigned* __restrict__ spikes, float* __restrict__ y) {
  __shared__ __align__(128) unsigned char stage[PLANES * ROWS * PITCH];
  __shared__ unsigned bits[ROWS][4];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned first_n = blockIdx.x % BLOCKS_N * WIDTH, first_word = blockIdx.x / BLOCKS_N * 4;
  const unsigned start = blockIdx.y * RANGE, end = min(start + RANGE, (unsigned)M);
  const unsigned base = spk_shared(stage);
  float sum[TILES][4][4] = {};
  float next[PIECES];
  unsigned next_bits;
  const auto fetch = [&](unsigned row) {
    #pragma unroll
    for (int k = 0; k < PIECES; ++k) {
      const unsigned at = k * 128 + threadIdx.x;
      const unsigned r = row + at / WIDTH, n = first_n + at % WIDTH;
      next[k] = r < end && n < N ? spk_get(g[(size_t)r * N + n]) : 0.0f;
    }
    const unsigned r = row + threadIdx.x / 4, word = first_word + threadIdx.x % 4;
    next_bits = r < end && word < WORDS * 2 ? spikes[(size_t)r * (WORDS * 2) + word] : 0u;
  };
  fetch(start);
  for (unsigned row = start; row < end; row += ROWS) {
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < PIECES; ++k) {
      const unsigned at = k * 128 + threadIdx.x;
      float rest = next[k];
      #pragma unroll
      for (int plane = 0; plane < PLANES; ++plane) {
        *(unsigned short*)(stage + (plane * ROWS + at / WIDTH) * PITCH + at % WIDTH * 2) = spk_part(rest);
      }
    }
    bits[threadIdx.x / 4][threadIdx.x % 4] = next_bits;
    __syncthreads();
    if (row + ROWS < end) fetch(row + ROWS);
    #pragma unroll
    for (int step = 0; step < ROWS; step += 16) {
      const unsigned k = step + lane % 4 * 2;
      unsigned fired[4] = {bits[k][warp], bits[k + 1][warp], bits[k + 8][warp], bits[k + 9][warp]};
      const unsigned any = __reduce_or_sync(0xffffffffu, fired[0] | fired[1] | fired[2] | fired[3]);
      if (any == 0) continue;
      unsigned b[4][2];
      #pragma unroll
      for (int n = 0; n < 4; ++n) {
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
          const unsigned shift = n * 8 + lane / 4;
          b[n][half] = ((fired[half * 2] >> shift) & 1u) * ONE + ((fired[half * 2 + 1] >> shift) & 1u) * (ONE << 16);
        }
      }
      #pragma unroll
      for (int tile = 0; tile < TILES; ++tile) {
        #pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
          const unsigned at = base + (plane * ROWS + step + lane % 8 + lane / 16 * 8) * PITCH + (tile * 16 + lane / 8 % 2 * 8) * 2;
          unsigned a[4];
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(at));
          #pragma unroll
          for (int n = 0; n < 4; ++n) {
            if ((any >> (n * 8)) & 0xffu) {
              float* c = sum[tile][n];
              asm(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                  : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                  : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[n][0]), "r"(b[n][1]));
            }
          }
        }
      }
    }
  }
  #pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
      #pragma unroll
      for (int r = 0; r < 4; ++r) {
        const unsigned at_n = first_n + tile * 16 + r / 2 * 8 + lane / 4;
        const unsigned at_k = (first_word + warp) * 32 + n * 8 + lane % 4 * 2 + r % 2;
        if (at_n < N && at_k < K) y[((size_t)blockIdx.y * N + at_n) * K + at_k] = sum[tile][n][r];
      }
    }
  }
}
