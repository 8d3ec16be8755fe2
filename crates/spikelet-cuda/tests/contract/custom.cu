// Kernels of the custom operations in `custom.rs`, all in one source.

#define ITEM(i, n) const unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return

// Soft thresholding and its derivative.
extern "C" __global__ void shrink(const float* x, float* y, unsigned n, float limit) {
  ITEM(i, n);
  y[i] = copysignf(fmaxf(fabsf(x[i]) - limit, 0.0f), x[i]);
}

extern "C" __global__ void shrink_grad(const float* x, const float* g, float* d, unsigned n, float limit) {
  ITEM(i, n);
  d[i] = fabsf(x[i]) > limit ? g[i] : 0.0f;
}

// A sum of squares in two kernels with scratch memory in between.
extern "C" __global__ void squares(const float* x, float* partial, unsigned n) {
  __shared__ float all[256];
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  all[threadIdx.x] = i < n ? x[i] * x[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0.0f;
  for (int k = 0; k < 256; ++k) sum += all[k];
  partial[blockIdx.x] = sum;
}

extern "C" __global__ void total(const float* partial, unsigned count, float* y) {
  extern __shared__ float room[];
  for (unsigned k = threadIdx.x; k < count; k += blockDim.x) room[k] = partial[k];
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0.0f;
  for (unsigned k = 0; k < count; ++k) sum += room[k];
  y[0] = sum;
}

// Numbers by reference, by pointer and by value, of several sizes.
struct Four { float a, b, c, d; };

extern "C" __global__ void numbers(
    const int & numel, const float* table, float & shift, const float* x, float scale, double factor,
    short step, Four four, float* y) {
  ITEM(i, numel);
  y[i] = x[i] * scale + table[i % 3] + shift + (float)factor + (float)step + four.a + four.d;
}

// The sign of 16-bit floats and of integers.
extern "C" __global__ void negate_half(const unsigned short* x, unsigned short* y, unsigned n) {
  ITEM(i, n);
  y[i] = x[i] ^ 0x8000u;
}

extern "C" __global__ void negate_whole(const long long* x, long long* y, unsigned n) {
  ITEM(i, n);
  y[i] = -x[i];
}

// An integrate-and-fire neuron over time, multi-step forward and backward.
extern "C" __global__ void if_forward(
    const int & numel, const int & N, const float* x_seq, const float* v_init, float* v_seq,
    float* h_seq, float* spike_seq, const float & v_th) {
  ITEM(index, N);
  float v = v_init[index];
  for (int t = index; t < numel; t += N) {
    h_seq[t] = v + x_seq[t];
    spike_seq[t] = h_seq[t] - v_th >= 0.0f ? 1.0f : 0.0f;
    v = h_seq[t] * (1.0f - spike_seq[t]);
    v_seq[t] = v;
  }
}

extern "C" __global__ void if_backward(
    const int & numel, const int & N, const float* grad_spike_seq, const float* grad_v_seq,
    const float* h_seq, float* grad_x_seq, float* grad_v_init, const float & v_th) {
  ITEM(index, N);
  float grad = 0.0f;
  for (int t = numel - N + index; t >= 0; t -= N) {
    const float u = h_seq[t] - v_th;
    const float slope = 1.0f / (1.0f + u * u);
    const float spike = u >= 0.0f ? 1.0f : 0.0f;
    const float through = (1.0f - spike) - h_seq[t] * slope;
    grad = (grad + grad_v_seq[t]) * through + grad_spike_seq[t] * slope;
    grad_x_seq[t] = grad;
  }
  if (grad_v_init) grad_v_init[index] = grad;
}
