// y [M, N] = s [M, K] · w [N, K]ᵀ for spikes s, one bit each.
//
// Spikes are exact in 16 bits, and a weight is the sum of PLANES 16-bit numbers (three bf16 have all
// 24 bits of an f32), so the product on tensor cores has the precision of f32. A warp processes 32 rows;
// steps of 16 columns without a spike are skipped.
//
// Defined by the preceding text: M, N, WORDS (64-bit words of a row of spikes), TILE (columns of a block,
// a multiple of 8), PLANES, ONE (1.0 as 16 bits), MMA (the instruction), Out (element of y).
#define ROW_BYTES 128
#define STAGE (PLANES * TILE * ROW_BYTES)

__device__ __forceinline__ unsigned spk_shared(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void spk_copy16(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}
// Two spikes as a pair of 16-bit numbers.
__device__ __forceinline__ unsigned spk_pair(unsigned bits) {
  return (bits & 1u) * ONE + (bits & 2u) * (ONE << 15);
}

// Weights of one block and 64 columns, all planes: rows of 128 bytes whose 16-byte chunks are
// permuted so that eight rows are in different banks.
__device__ __forceinline__ void spk_stage(unsigned to, const unsigned short* planes, unsigned first, unsigned word) {
  for (unsigned k = threadIdx.x; k < PLANES * TILE * 8; k += 128) {
    const unsigned piece = k % 8, row = k / 8 % TILE, plane = k / (8 * TILE);
    const unsigned short* from =
        planes + ((size_t)(plane * COLUMNS + first + row) * WORDS + word) * 64 + piece * 8;
    spk_copy16(to + (plane * TILE + row) * ROW_BYTES + ((piece ^ (row & 7)) * 16), from);
  }
  asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ void spk_spike_linear_block(
    const unsigned long long* __restrict__ spikes, const unsigned short* __restrict__ planes, Out* __restrict__ y) {
  extern __shared__ __align__(128) unsigned char stage[];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned first_row = blockIdx.x * 128 + warp * 32, first_column = blockIdx.y * TILE;
  const unsigned base = spk_shared(stage);
  float sum[2][TILE / 8][4] = {};
  unsigned long long next[2][2];
  const auto fetch = [&](unsigned word) {
    #pragma unroll
    for (int f = 0; f < 4; ++f) {
      const unsigned row = first_row + f * 8 + lane / 4;
      next[f / 2][f % 2] = row < M ? spikes[(size_t)row * WORDS + word] : 0ull;
    }
  };
  spk_stage(base, planes, first_column, 0);
  fetch(0);
  for (unsigned word = 0; word < WORDS; ++word) {
    unsigned long long fired[2][2];
    unsigned long long any = 0;
    #pragma unroll
    for (int f = 0; f < 4; ++f) {
      any |= next[f / 2][f % 2];
      fired[f / 2][f % 2] = next[f / 2][f % 2] >> (2 * (lane % 4));
    }
    const unsigned low = __reduce_or_sync(0xffffffffu, (unsigned)any);
    const unsigned high = __reduce_or_sync(0xffffffffu, (unsigned)(any >> 32));
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    if (word + 1 < WORDS) {
      spk_stage(base + (word + 1) % 2 * STAGE, planes, first_column, word + 1);
      fetch(word + 1);
    }
    const unsigned here = base + word % 2 * STAGE;
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
      const unsigned part = step < 2 ? low : high;
      if (((part >> (step % 2 * 16)) & 0xffffu) == 0) continue;
      unsigned a[2][4];
      #pragma unroll
      for (int f = 0; f < 2; ++f) {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
          a[f][r] = spk_pair((unsigned)(fired[f][r % 2] >> (step * 16 + r / 2 * 8)) & 3u);
        }
      }
      #pragma unroll
      for (int plane = 0; plane < PLANES; ++plane) {
        #pragma unroll
        for (int n = 0; n < TILE / 8; n += 2) {
          // Four 8×8 tiles: columns n and n + 1 of eight, each for both halves of the step.
          const unsigned row = min((unsigned)(n * 8 + lane % 8 + lane / 16 * 8), TILE - 1u);
          const unsigned piece = step * 2 + lane / 8 % 2;
          const unsigned at = here + (plane * TILE + row) * ROW_BYTES + ((piece ^ (row & 7)) * 16);
          unsigned b[4];
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(at));
          #pragma unroll
          for (int half = 0; half < 2; ++half) {
            if (n + half < TILE / 8) {
              #pragma unroll
              for (int f = 0; f < 2; ++f) {
                float* c = sum[f][n + half];
                asm(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                    : "r"(a[f][0]), "r"(a[f][1]), "r"(a[f][2]), "r"(a[f][3]), "r"(b[half * 2]), "r"(b[half * 2 + 1]));
              }
            }
          }
        }
      }
    }
  }
  #pragma unroll
  for (int f = 0; f < 2; ++f) {
    #pragma unroll
    for (int n = 0; n < TILE / 8; ++n) {
      #pragma unroll
      for (int r = 0; r < 4; ++r) {
        const unsigned row = first_row + f * 16 + r / 2 * 8 + lane / 4;
        const unsigned column = first_column + n * 8 + lane % 4 * 2 + r % 2;
        if (row < M && column < N) spk_set(y[(size_t)row * N + column], sum[f][n][r]);
      }
    }
  }
}
