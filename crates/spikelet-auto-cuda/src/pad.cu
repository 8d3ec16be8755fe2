// Copies rows of halves into rows of another length. What a longer row has beyond is the last
// element once more, or zero.
typedef unsigned long long Size;
extern "C" __global__ void pad(const unsigned short* from, unsigned short* to, Size rows,
                               Size from_columns, Size to_columns, Size zero) {
  const Size threads = (Size)gridDim.x * blockDim.x;
  for (Size i = (Size)blockIdx.x * blockDim.x + threadIdx.x; i < rows * to_columns; i += threads) {
    const Size row = i / to_columns, column = i % to_columns;
    const bool beyond = column >= from_columns;
    const unsigned short x = from[row * from_columns + (beyond ? from_columns - 1 : column)];
    to[i] = beyond && zero ? 0 : x;
  }
}
