// Products of a tile of rows with a weight matrix that a cluster of blocks shares, once a time step.
//
// Defined by the preceding text: CLUSTER (blocks), COLUMNS (neurons of a block), ROWS (rows of a tile, a
// multiple of 8), STEPS (steps of 16 along the summation axis, of a warp), SPLITS (warps that share a sum),
// TILES (groups of 16 neurons of a warp), PLANES (16-bit terms of a weight), IN_REGISTERS and IN_SHARED
// (of the fragments of a warp; the others are read from global memory at every time step), FEATURES,
// spk_weight_at (the weight of a neuron of the block and an index of the sum).

#define FRAGMENTS (STEPS * TILES * PLANES)
#define PARTIAL (COLUMNS + 4)

__device__ __forceinline__ unsigned spk_shared(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}

// Blocks of a cluster exchange what they computed in a step: spikes by the word, gradients by the block. The
// bytes are counted at a barrier in the receiver's shared memory. A barrier of all blocks would also wait for
// stores to global memory.
//
// There are two buffers. A block writes into one of them after it has received all of the other, for which
// the receivers were done with the former: no further barrier is needed.
#if CLUSTER > 1
__device__ __forceinline__ unsigned spk_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// The address of this block's shared memory at `p` in the block `rank` of the cluster.
__device__ __forceinline__ unsigned spk_peer(const void* p, unsigned rank) {
  unsigned at;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(spk_shared(p)), "r"(rank));
  return at;
}
// Writes a word that all lanes have to `at` in all blocks, this one too; called by the lanes below CLUSTER.
__device__ __forceinline__ void spk_send_word(unsigned* at, unsigned word, unsigned long long* received, unsigned step, int lane) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
               ::"r"(spk_peer(at, lane)), "r"(word), "r"(spk_peer(received + step % 2, lane))
               : "memory");
}
// Sends `bytes` at `from`, which all threads wrote, to the same place in the other blocks.
__device__ __forceinline__ void spk_send(const void* from, unsigned bytes, unsigned rank, unsigned long long* received, unsigned step) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  // A warp would send one after the other.
  if (threadIdx.x % 32 == 0) {
    for (unsigned k = threadIdx.x / 32; k < CLUSTER - 1; k += WARPS) {
      const unsigned peer = (rank + 1 + k) % CLUSTER;
      asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                   ::"r"(spk_peer(from, peer)), "r"(spk_shared(from)), "r"(bytes), "r"(spk_peer(received + step % 2, peer))
                   : "memory");
    }
  }
}
// Prepares the barriers of both buffers, and waits until all blocks of the cluster are there.
__device__ __forceinline__ void spk_begin(unsigned long long* received) {
  if (threadIdx.x < 2 * PARTS)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(spk_shared(received + threadIdx.x)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Lets the barrier of the buffer of `step` complete after this many bytes.
__device__ __forceinline__ void spk_expect(unsigned long long* received, unsigned step, unsigned bytes) {
  if (threadIdx.x == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 ::"r"(spk_shared(received + step % 2)), "r"(bytes) : "memory");
}
// Waits for what was sent to the buffer of `step`, which is at least 1.
__device__ __forceinline__ void spk_receive(unsigned long long* received, unsigned step) {
  const unsigned barrier = spk_shared(received + step % 2), parity = (step - 1) / 2 % 2;
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}"
      ::"r"(barrier), "r"(parity) : "memory");
}
// Waits until no other block sends to this one.
__device__ __forceinline__ void spk_end() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
#else
__device__ __forceinline__ unsigned spk_rank() { return 0; }
__device__ __forceinline__ void spk_send_word(unsigned* at, unsigned word, unsigned long long*, unsigned, int) { *at = word; }
__device__ __forceinline__ void spk_send(const void*, unsigned, unsigned, unsigned long long*, unsigned) {}
__device__ __forceinline__ void spk_end() {}
__device__ __forceinline__ void spk_begin(unsigned long long*) { __syncthreads(); }
__device__ __forceinline__ void spk_expect(unsigned long long*, unsigned, unsigned) {}
__device__ __forceinline__ void spk_receive(unsigned long long*, unsigned) { __syncthreads(); }
#endif

// The index of the sum that `e`, `h` of a fragment's register hold at a step, in the thread `q` of four.
__device__ int spk_summand(int step, int q, int e, int h);
// The factor of the weights that these summands are multiplied by.
__device__ float spk_scale(int step, int e);

// The 16-bit term `plane` of a weight: the remainder after the terms before it, rounded.
__device__ __forceinline__ unsigned spk_term(float value, int plane) {
  spk_bf16 term;
  spk_set(term, value);
  for (int k = 0; k < plane; ++k) {
    value -= spk_get(term);
    spk_set(term, value);
  }
  return term.bits;
}

// Fragment `f` of a warp: 16 neurons by 16 summands, of the first operand of the product.
__device__ __forceinline__ uint4 spk_fragment(const Weight* __restrict__ w, unsigned rank, int warp, int f, int lane) {
  const int step = (warp % SPLITS) * STEPS + f / (TILES * PLANES), plane = f % PLANES;
  const int row = ((warp / SPLITS) * TILES + f / PLANES % TILES) * 16 + lane / 4;
  unsigned part[4];
  #pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int j = row + k % 2 * 8;
    const float scale = spk_scale(step, k / 2);
    const float low = scale * spk_weight_at(w, rank * COLUMNS + j, spk_summand(step, lane % 4, k / 2, 0));
    const float high = scale * spk_weight_at(w, rank * COLUMNS + j, spk_summand(step, lane % 4, k / 2, 1));
    part[k] = spk_term(low, plane) | spk_term(high, plane) << 16;
  }
  return make_uint4(part[0], part[1], part[2], part[3]);
}

// c += a·b: 16 neurons, 8 rows, 16 summands.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void spk_multiply(float (&c)[4], const uint4& a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
#else
// The same without the instruction, which older GPUs lack.
__device__ void spk_multiply(float (&c)[4], const uint4& a, unsigned b0, unsigned b1) {
  const int lane = threadIdx.x % 32;
  for (int k = 0; k < 8; ++k) {
    const int from = (lane & ~3) | k % 4;
    const unsigned near = __shfl_sync(~0u, k < 4 ? a.x : a.z, from), far = __shfl_sync(~0u, k < 4 ? a.y : a.w, from);
    for (int n = 0; n < 2; ++n) {
      const unsigned b = __shfl_sync(~0u, k < 4 ? b0 : b1, (lane % 4 * 2 + n) * 4 + k % 4);
      for (int h = 0; h < 32; h += 16) {
        const float value = __uint_as_float(b >> h << 16);
        c[n] += __uint_as_float(near >> h << 16) * value;
        c[2 + n] += __uint_as_float(far >> h << 16) * value;
      }
    }
  }
}
#endif

// The fragments of a warp, where they are kept.
struct spk_weights {
  uint4 own[IN_REGISTERS > 0 ? IN_REGISTERS : 1];
  const uint4* near;
  const uint4* far;

  __device__ __forceinline__ uint4 at(int f) const {
    if (f < IN_REGISTERS) return own[f];
    if (f < IN_REGISTERS + IN_SHARED) return near[(f - IN_REGISTERS) * 32];
    return __ldg(far + f * 32);
  }
};

// Loads a warp's fragments. `planes` has those of all warps of all blocks if some stay in global memory.
__device__ __forceinline__ void spk_load_weights(
    spk_weights& weights, uint4* shared, const Weight* __restrict__ w, const uint4* planes, unsigned rank, int warp, int lane) {
  uint4* near = shared + warp * IN_SHARED * 32 + lane;
  const bool far = IN_REGISTERS + IN_SHARED < FRAGMENTS;
  const uint4* all = planes + ((size_t)rank * WARPS + warp) * FRAGMENTS * 32 + lane;
  #pragma unroll
  for (int f = 0; f < IN_REGISTERS; ++f) weights.own[f] = far ? all[f * 32] : spk_fragment(w, rank, warp, f, lane);
  #pragma unroll 1
  for (int f = 0; f < IN_SHARED; ++f)
    near[f * 32] = far ? all[(IN_REGISTERS + f) * 32] : spk_fragment(w, rank, warp, IN_REGISTERS + f, lane);
  weights.near = near;
  weights.far = all;
}

// Writes a warp's sums to `partial` [SPLITS][ROWS][PARTIAL], from the group of eight rows FIRST on.
template <int FIRST, int GROUPS>
__device__ __forceinline__ void spk_store_sums(float* partial, const float (&sum)[TILES][GROUPS][4], int warp, int lane) {
  float* to = partial + ((warp % SPLITS) * ROWS + FIRST * 8) * PARTIAL + (warp / SPLITS) * TILES * 16 + lane / 4;
  #pragma unroll
  for (int m = 0; m < TILES; ++m) {
    #pragma unroll
    for (int n = 0; n < GROUPS; ++n) {
      #pragma unroll
      for (int k = 0; k < 4; ++k)
        to[(n * 8 + lane % 4 * 2 + k % 2) * PARTIAL + m * 16 + k / 2 * 8] = sum[m][n][k];
    }
  }
}

__device__ __forceinline__ float spk_sum(const float* partial, int row, int column) {
  float sum = partial[row * PARTIAL + column];
  #pragma unroll
  for (int k = 1; k < SPLITS; ++k) sum += partial[(k * ROWS + row) * PARTIAL + column];
  return sum;
}

// Lets `sum` be the sum of a neuron.
__device__ __forceinline__ void spk_set_sum(float* partial, int row, int column, float sum) {
  #pragma unroll
  for (int k = 0; k < SPLITS; ++k) partial[(k * ROWS + row) * PARTIAL + column] = k == 0 ? sum : 0.0f;
}
