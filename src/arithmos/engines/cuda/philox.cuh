// Philox-4x32-7 on counters (row, column / 4, step, stream); the numbers are those of arithmos.philox.
#pragma once
#include "names.cuh"

constexpr u32 M0 = 0xD2511F53u, M1 = 0xCD9E8D57u, W0 = 0x9E3779B9u, W1 = 0xBB67AE85u;
constexpr u32 RUN_KEY = 0x52554E00u;
constexpr u32 TRAIN_STREAM = 0, ROWS_STREAM = 3;

__device__ __forceinline__ u32 high(u64 product) { return (u32)(product >> 32); }

struct Words {
    u32 a, b, c, d;
};

__device__ __forceinline__ Words philox_round(Words c, u32 k0, u32 k1) {
    const u64 p0 = (u64)c.a * M0, p1 = (u64)c.c * M1;
    return {high(p1) ^ c.b ^ k0, (u32)p1, high(p0) ^ c.d ^ k1, (u32)p0};
}

// The first three rounds of one observation at one step, as far as they do not depend on the column:
// row and step are multiplied once, and a call is left with 10 wide products instead of 14.
struct Stream {
    u32 column_key, second_key, third_key, third_mix, fourth_mix, seed;

    __device__ __forceinline__ Stream(u32 seed, u32 stream, u32 row, u32 step) : seed(seed) {
        const u64 rows = (u64)row * M0, steps = (u64)step * M1;
        column_key = high(steps) ^ seed;
        const u64 mixed = (u64)(high(rows) ^ stream ^ RUN_KEY) * M1;
        second_key = (u32)rows ^ (RUN_KEY + W1);
        const u64 crossed = (u64)(high(mixed) ^ (u32)steps ^ (seed + W0)) * M0;
        third_key = (u32)mixed ^ (seed + 2 * W0);
        third_mix = high(crossed) ^ (RUN_KEY + 2 * W1);
        fourth_mix = (u32)crossed ^ (RUN_KEY + 3 * W1);
    }

    __device__ __forceinline__ Words operator()(u32 column) const {
        const u64 p2 = (u64)(column_key ^ column) * M0;
        const u64 p3 = (u64)(high(p2) ^ second_key) * M1;
        const u64 p40 = (u64)(high(p3) ^ third_key) * M0, p41 = (u64)((u32)p2 ^ third_mix) * M1;
        Words c = {high(p41) ^ (u32)p3 ^ (seed + 3 * W0), (u32)p41, high(p40) ^ fourth_mix, (u32)p40};
#pragma unroll
        for (u32 round = 4; round < 7; ++round) c = philox_round(c, seed + round * W0, RUN_KEY + round * W1);
        return c;
    }
};

// A word as a number of the range: 1 + u is exact in the bits, and so is fma(width, u, low) in one rounding.
template <int RANGE> __device__ __forceinline__ float number(u32 word, const float* width, const float* low) {
    const float one = __uint_as_float((word >> 9) | 0x3f800000u);  // 1 + u
    if constexpr (RANGE == UNIT) return one;
    if constexpr (RANGE == SHIFTED) return fmaf(width[0], one, low[0]);  // low holds low - width, exact
    if constexpr (RANGE == SCALED) return fmaf(width[0], one - 1.0f, low[0]);
    const bool second = word & 1u;
    return fmaf(second ? width[1] : width[0], one - 1.0f, second ? low[1] : low[0]);
}
