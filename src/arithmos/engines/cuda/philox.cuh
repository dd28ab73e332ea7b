// Philox-4x32-7 on counters (row, column / 4, step, stream); the numbers are those of arithmos.philox.
#pragma once

struct alignas(8) Wide {
    u32 low, high;
};

// Both halves of a product, in PTX, because the compiler turns a 64-bit product into two or three instructions.
__device__ __forceinline__ Wide wide(u32 a, u32 b) {
#ifdef __CUDA_ARCH__
    Wide product;
    asm("{\n\t.reg .u64 p;\n\tmul.wide.u32 p, %2, %3;\n\tmov.b64 {%0, %1}, p;\n\t}"
        : "=r"(product.low), "=r"(product.high)
        : "r"(a), "r"(b));
    return product;
#else
    const u64 product = (u64)a * b;
    return {(u32)product, (u32)(product >> 32)};
#endif
}

struct Words {
    u32 a, b, c, d;
};

__device__ __forceinline__ Words philox_round(const Words& c, u32 k0, u32 k1) {
    const Wide p0 = wide(c.a, M0), p1 = wide(c.c, M1);
    return {p1.high ^ c.b ^ k0, p1.low, p0.high ^ c.d ^ k1, p0.low};
}

// The first rounds of the observations of a row at all steps, of all columns at one step, and of both, as far as they
// depend on nothing else: a call is left with 9 wide products instead of 14, and one for its column.
struct Row {
    u32 second_key;
    Wide mixed;

    Row() = default;

    __device__ __forceinline__ Row(u32 row, u32 stream) {
        const Wide rows = wide(row, M0);
        second_key = rows.low ^ (RUN_KEY + W1);
        mixed = wide(rows.high ^ stream ^ RUN_KEY, M1);
    }
};

struct Step {
    u32 seed;
    Wide steps;

    Step() = default;

    __device__ __forceinline__ Step(u32 seed, u32 step) : seed(seed), steps(wide(step, M1)) {}
    __device__ __forceinline__ Wide column(u32 column) const { return wide(steps.high ^ seed ^ column, M0); }
};

struct Stream {
    Step step;
    u32 second_key, third_key, third_mix, fourth_mix;

    Stream() = default;

    __device__ __forceinline__ Stream(const Step& step, const Row& row) : step(step), second_key(row.second_key) {
        const Wide crossed = wide(row.mixed.high ^ step.steps.low ^ (step.seed + W0), M0);
        third_key = row.mixed.low ^ (step.seed + 2 * W0);
        third_mix = crossed.high ^ (RUN_KEY + 2 * W1);
        fourth_mix = crossed.low ^ (RUN_KEY + 3 * W1);
    }

    __device__ __forceinline__ Stream(u32 seed, u32 stream, u32 row, u32 step) : Stream(Step(seed, step), Row(row, stream)) {}

    __device__ __forceinline__ Words operator()(u32 column) const { return (*this)(step.column(column)); }

    __device__ __forceinline__ Words operator()(const Wide& p2) const {
        const Wide p3 = wide(p2.high ^ second_key, M1);
        const Wide p40 = wide(p3.high ^ third_key, M0), p41 = wide(p2.low ^ third_mix, M1);
        Words c = {p41.high ^ p3.low ^ (step.seed + 3 * W0), p41.low, p40.high ^ fourth_mix, p40.low};
#pragma unroll
        for (u32 round = 4; round < ROUNDS; ++round) c = philox_round(c, step.seed + round * W0, RUN_KEY + round * W1);
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

// Four words as numbers from [low, low + width).
__device__ __forceinline__ float4 scaled(const Words& words, float low, float width) {
    return make_float4(number<SCALED>(words.a, &width, &low), number<SCALED>(words.b, &width, &low),
                       number<SCALED>(words.c, &width, &low), number<SCALED>(words.d, &width, &low));
}
