// A thread block on the host: every thread is a fiber, and all of them take turns on one processor.
#pragma once
#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __launch_bounds__(...)

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

struct Dim {
    int x;
};
static Dim threadIdx, blockIdx;
alignas(16) static float4 memory[16384];  // 256 KiB

namespace shim {
enum State { READY, AT_WARP, AT_BLOCK, DONE };

struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    State state;
};

static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static void (*body)();
static double exchange[1024];
static int votes[1024];

inline void pause(State state) {
    Fiber& self = fibers[threadIdx.x];
    self.state = state;
    swapcontext(&self.context, &scheduler);
}

inline void enter() {
    body();
    pause(DONE);
}

// Frees a group of threads once all of it that is not done waits at the same barrier.
inline bool release(size_t from, size_t to, State barrier) {
    bool any = false;
    for (size_t n = from; n < to; ++n) {
        if (fibers[n].state == DONE) continue;
        if (fibers[n].state != barrier) return false;
        any = true;
    }
    for (size_t n = from; n < to; ++n)
        if (fibers[n].state == barrier) fibers[n].state = READY;
    return any;
}

inline void run_block(int threads, void (*function)()) {
    body = function;
    fibers.resize(threads);
    for (auto& fiber : fibers) {
        fiber.stack.resize(1 << 17);
        fiber.state = READY;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enter, 0);
    }
    for (;;) {
        bool progress = false;
        for (int n = 0; n < threads; ++n) {
            while (fibers[n].state == READY) {
                threadIdx.x = n;
                swapcontext(&scheduler, &fibers[n].context);
                progress = true;
            }
        }
        for (int n = 0; n < threads; n += 32) progress |= release(n, n + 32, AT_WARP);
        progress |= release(0, threads, AT_BLOCK);
        if (!progress) break;
    }
    for (const auto& fiber : fibers) {
        if (fiber.state != DONE) {
            std::fprintf(stderr, "threads wait at different barriers\n");
            std::abort();
        }
    }
}
}  // namespace shim

inline void __syncthreads() { shim::pause(shim::AT_BLOCK); }
inline void __threadfence_system() {}
inline void __syncwarp() { shim::pause(shim::AT_WARP); }

template <class T> T __shfl_xor_sync(unsigned, T value, int offset) {
    shim::exchange[threadIdx.x] = value;
    shim::pause(shim::AT_WARP);
    const T other = (T)shim::exchange[threadIdx.x ^ offset];
    shim::pause(shim::AT_WARP);
    return other;
}

inline unsigned __ballot_sync(unsigned, int vote) {
    shim::votes[threadIdx.x] = vote;
    shim::pause(shim::AT_WARP);
    unsigned bits = 0;
    const size_t first = threadIdx.x & ~31u;
    for (size_t n = first; n < first + 32 && n < shim::fibers.size(); ++n) bits |= (unsigned)(shim::votes[n] != 0) << (n - first);
    shim::pause(shim::AT_WARP);
    return bits;
}

inline int __syncthreads_or(int vote) {
    shim::votes[threadIdx.x] = vote;
    shim::pause(shim::AT_BLOCK);
    int any = 0;
    for (size_t n = 0; n < shim::fibers.size(); ++n) any |= shim::votes[n];
    shim::pause(shim::AT_BLOCK);
    return any;
}

inline float __uint_as_float(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline float __int_as_float(int bits) { return __uint_as_float((unsigned)bits); }
inline int __float_as_int(float value) {
    int bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
