// Enough of a GPU to run kernels on the host: blocks one after the other, the threads of each as
// threads.
#include <barrier>
#include <functional>
#include <thread>

#define __global__ static
#define __shared__ static

struct dim3 {
    unsigned x, y, z;
};
static dim3 blockIdx, blockDim;
static thread_local dim3 threadIdx;
static std::barrier<> *threads_of_block;

static inline void __syncthreads() { threads_of_block->arrive_and_wait(); }

static void run(unsigned blocks, unsigned threads, const std::function<void()> &kernel) {
    blockDim = {threads, 1, 1};
    for (unsigned block = 0; block < blocks; ++block) {
        blockIdx = {block, 0, 0};
        std::barrier barrier(threads);
        threads_of_block = &barrier;
        std::vector<std::thread> all;
        for (unsigned k = 0; k < threads; ++k) {
            all.emplace_back([k, &kernel, &barrier] {
                threadIdx = {k, 0, 0};
                kernel();
                // Those that have left are not waited for.
                barrier.arrive_and_drop();
            });
        }
        for (std::thread &thread : all) thread.join();
    }
}

typedef _Float16 half;
struct alignas(4) half2 {
    half x, y;
};

static inline half2 __floats2half2_rn(float a, float b) { return {(half)a, (half)b}; }
static inline half2 __float2half2_rn(float a) { return {(half)a, (half)a}; }
static inline float __low2float(half2 a) { return (float)a.x; }
static inline float __high2float(half2 a) { return (float)a.y; }
static inline float2 __half22float2(half2 a) { return {(float)a.x, (float)a.y}; }

// Of float operands; rounded once more.
#define EACH(name, of)                                                                            \
    static inline half2 name(half2 p, half2 q) {                                                  \
        auto lane = [](float a, float b) -> float { return of; };                                 \
        return __floats2half2_rn(lane((float)p.x, (float)q.x), lane((float)p.y, (float)q.y));     \
    }
EACH(__hadd2, a + b)
EACH(__hsub2, a - b)
EACH(__hmul2, a * b)
EACH(__h2div, a / b)
EACH(__hge2, a >= b ? 1.0f : 0.0f)
EACH(__hgt2, a > b ? 1.0f : 0.0f)
EACH(__hgeu2, !(a < b) ? 1.0f : 0.0f)
EACH(__hmin2, fminf(a, b))
EACH(__hmax2, fmaxf(a, b))
static inline half2 __hneg2(half2 a) { return {(half)-a.x, (half)-a.y}; }
static inline half2 __habs2(half2 a) { return __floats2half2_rn(fabsf((float)a.x), fabsf((float)a.y)); }
static inline half2 __hfma2(half2 a, half2 b, half2 c) {
    auto lane = [](half a, half b, half c) { return (half)__builtin_fma((double)a, (double)b, (double)c); };
    return {lane(a.x, b.x, c.x), lane(a.y, b.y, c.y)};
}
