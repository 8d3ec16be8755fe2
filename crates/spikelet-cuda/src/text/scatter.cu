// Copies the parts of an uploaded slab to their destinations: one row of blocks per part.
#define PIECE(k) unsigned long long to##k, unsigned long long offset##k, unsigned long long bytes##k
#define TAKE(k) if (blockIdx.y == k) { to = to##k; offset = offset##k; bytes = bytes##k; }
extern "C" __global__ void __launch_bounds__(256) scatter(
    const char* slab, PIECE(0), PIECE(1), PIECE(2), PIECE(3), PIECE(4), PIECE(5), PIECE(6), PIECE(7),
    PIECE(8), PIECE(9), PIECE(10), PIECE(11), PIECE(12), PIECE(13), PIECE(14), PIECE(15)) {
  unsigned long long to = 0, offset = 0, bytes = 0;
  TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5) TAKE(6) TAKE(7)
  TAKE(8) TAKE(9) TAKE(10) TAKE(11) TAKE(12) TAKE(13) TAKE(14) TAKE(15)
  const unsigned long long first = blockIdx.x * 256ull + threadIdx.x, stride = gridDim.x * 256ull;
  const char* from = slab + offset;
  char* target = (char*)to;
  for (unsigned long long i = first; i < bytes / 16; i += stride) ((uint4*)target)[i] = ((const uint4*)from)[i];
  for (unsigned long long i = bytes / 16 * 16 + first; i < bytes; i += stride) target[i] = from[i];
}
