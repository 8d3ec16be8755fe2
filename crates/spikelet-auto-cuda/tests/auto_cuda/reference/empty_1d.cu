#include <cuda_fp16.h> extern "C" __global__ void temp_kernel( const int & numel ) { const int index = blockIdx.x * blockDim.x + threadIdx.x; if (index < numel) { } }
