#include <cuda_fp16.h> extern "C" __global__ void example_ck( const int & numel )
