// The first layer: as many inputs as the task has. In the forward pass a thread owns an observation (SPLIT threads, if
// the inputs are many, each every SPLIT-th group of four), in the backward pass an input with all weights that meet it.
#pragma once
#include "block.cuh"
#include "philox.cuh"
#include "tail.cuh"

using First = Layer<0>;
using Add = First::Add;
using Mul = First::Mul;

constexpr int PITCH = TILE + 4;  // of a batch row in shared memory: 16-byte reads down a column have no bank conflicts
constexpr int LOGS = 4 * COLUMNS * PITCH;  // from an input of the batch to its logarithm, where those are kept
constexpr int KINDS = First::gated ? 3 : 1;
constexpr int CHAINS = First::out * KINDS <= 6 ? 4 : First::out * KINDS <= 16 ? 2 : 1;
constexpr int OUT_TILE = First::out * KINDS <= 32 ? First::out : First::gated ? 8 : 16;

__device__ __forceinline__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }

struct Sums {
    float add[First::out], mul[First::out], gate[First::out];
};

__device__ __forceinline__ float4 log4(const float4& x) {
    return make_float4(finite_logarithm(x.x), finite_logarithm(x.y), finite_logarithm(x.z), finite_logarithm(x.w));
}

template <int AGGREGATION> __device__ __forceinline__ float4 read4(const float4& x, const float4& log) {
    return make_float4(read<AGGREGATION>(x.x, log.x), read<AGGREGATION>(x.y, log.y), read<AGGREGATION>(x.z, log.z),
                       read<AGGREGATION>(x.w, log.w));
}

template <int AGGREGATION> __device__ __forceinline__ void step4(float (&sum)[CHAINS], const float4& w, const float4& r) {
#pragma unroll
    for (int c = 0; c < 4; ++c) sum[c % CHAINS] = step<AGGREGATION>(sum[c % CHAINS], part(w, c), part(r, c));
}

template <int AGGREGATION> __device__ __forceinline__ float join_chains(const float (&sum)[CHAINS]) {
    if constexpr (CHAINS == 1) return sum[0];
    if constexpr (CHAINS == 2) return join<AGGREGATION>(sum[0], sum[1]);
    return join<AGGREGATION>(join<AGGREGATION>(sum[0], sum[1]), join<AGGREGATION>(sum[CHAINS - 2], sum[CHAINS - 1]));
}

// Aggregates the outputs from FROM on over the groups of four inputs first, first + stride, …: `inputs(j)` gives a
// group, `logs(j, x)` the logarithms of its inputs x.
template <int FROM, int STRIDE, class Inputs, class Logs>
__device__ __forceinline__ void aggregate_tile(const float* weights, int first, Inputs inputs, Logs logs, Sums& sums) {
    constexpr int COUNT = First::out - FROM < OUT_TILE ? First::out - FROM : OUT_TILE;
    float add[COUNT][CHAINS], mul[COUNT][CHAINS], gate[COUNT][CHAINS];
#pragma unroll
    for (int o = 0; o < COUNT; ++o) {
#pragma unroll
        for (int c = 0; c < CHAINS; ++c) {
            add[o][c] = start<Add::aggregation>();
            mul[o][c] = start<Mul::aggregation>();
            gate[o][c] = 0.0f;
        }
    }
#pragma unroll UNROLL
    for (int j = first; j < COLUMNS; j += STRIDE) {
        const float4 x = inputs(j), log = First::takes_logs ? logs(j, x) : x;
        const float4 ra = read4<Add::aggregation>(x, log), rm = First::gated ? read4<Mul::aggregation>(x, log) : ra;
#pragma unroll
        for (int o = 0; o < COUNT; ++o) {
            const int at = (FROM + o) * First::stride + 4 * j;
            const float4 w = load4(weights + Add::e + at);
            step4<Add::aggregation>(add[o], w, ra);
            if constexpr (First::gated) {
                step4<Mul::aggregation>(mul[o], First::shared ? w : load4(weights + Mul::e + at), rm);
                step4<SUM>(gate[o], load4(weights + First::gate_e + at), x);
            }
        }
    }
#pragma unroll
    for (int o = 0; o < COUNT; ++o) {
        sums.add[FROM + o] = join_chains<Add::aggregation>(add[o]);
        sums.mul[FROM + o] = join_chains<Mul::aggregation>(mul[o]);
        sums.gate[FROM + o] = join_chains<SUM>(gate[o]);
    }
}

template <int FROM, int STRIDE, class Inputs, class Logs>
__device__ __forceinline__ void aggregate_rest(const float* weights, int first, Inputs inputs, Logs logs, Sums& sums) {
    if constexpr (FROM < First::out) {
        aggregate_tile<FROM, STRIDE>(weights, first, inputs, logs, sums);
        aggregate_rest<FROM + OUT_TILE, STRIDE>(weights, first, inputs, logs, sums);
    }
}

// Joins the shares of the SPLIT threads of an observation; all of them get the same bits.
__device__ __forceinline__ void join_split(Sums& sums) {
#pragma unroll
    for (int offset = 32 / SPLIT; offset < 32; offset *= 2) {
#pragma unroll
        for (int o = 0; o < First::out; ++o) {
            sums.add[o] = join<Add::aggregation>(sums.add[o], __shfl_xor_sync(ALL_LANES, sums.add[o], offset));
            if constexpr (First::gated) {
                sums.mul[o] = join<Mul::aggregation>(sums.mul[o], __shfl_xor_sync(ALL_LANES, sums.mul[o], offset));
                sums.gate[o] += __shfl_xor_sync(ALL_LANES, sums.gate[o], offset);
            }
        }
    }
}

// From sums to aggregated values, gates and the layer's outputs.
__device__ __forceinline__ void complete(Sums& sums, const float* parameters, float (&z)[First::out]) {
#pragma unroll
    for (int o = 0; o < First::out; ++o) {
        sums.add[o] = finish<Add::aggregation>(sums.add[o]);
        z[o] = activate<Add::activation>(with_bias<Add>(sums.add[o], parameters, o));
        if constexpr (First::gated) {
            sums.mul[o] = finish<Mul::aggregation>(sums.mul[o]);
            sums.gate[o] = sigmoid(sums.gate[o]);
            const float m = activate<Mul::activation>(with_bias<Mul>(sums.mul[o], parameters, o));
            z[o] = sums.gate[o] * z[o] + (1.0f - sums.gate[o]) * m;
        }
    }
}

// A product that is zero: the number of zero factors, and the product of the others. Rare, so the batch is read again.
template <class Leaf>
__device__ __noinline__ float product_of_others(const float* weights, const float* batch, int b, int o, int& zeros) {
    float product = 1.0f;
    zeros = 0;
    for (int i = 0; i < First::in; ++i) {
        const float factor = fmaf(weights[Leaf::e + o * First::stride + i], batch[i * PITCH + b] - 1.0f, 1.0f);
        if (factor == 0.0f)
            ++zeros;
        else
            product *= factor;
    }
    return product;
}

// Leaves what the owners of the inputs need of output o: the gradient of the sum; that of the exponent; or the
// gradient times the product, to be divided by a factor, and the gradient of a factor of zero.
template <class Leaf>
__device__ __forceinline__ void leave(float* deltas, const float* weights, const float* batch, int b, int o, float value,
                                      float dz) {
    float* delta = deltas + (Leaf::row + o) * TILE + b;
    if constexpr (Leaf::aggregation == SUM) *delta = dz;
    if constexpr (Leaf::aggregation == EXP_LOG) *delta = dz * value;
    if constexpr (Leaf::aggregation == PRODUCT) {
        float others = 0.0f;
        if (value == 0.0f) {
            int zeros;
            const float product = product_of_others<Leaf>(weights, batch, b, o, zeros);
            others = zeros == 1 ? dz * product : 0.0f;
        }
        *delta = dz * value;
        delta[First::out * TILE] = others;
    }
}

// Turns gradients of the first layer's outputs into deltas and bias terms. Only one thread per observation `leaves`.
__device__ __forceinline__ void wide_backward(const Observation& at, const Sums& sums, const float (&dz)[First::out],
                                              const float* batch, float* deltas, int b, bool leaves) {
#pragma unroll
    for (int o = 0; o < First::out; ++o) {
        float da = dz[o];
        const float za = with_bias<Add>(sums.add[o], at.parameters, o);
        if constexpr (First::gated) {
            const float zm = with_bias<Mul>(sums.mul[o], at.parameters, o), g = sums.gate[o];
            const float dg = dz[o] * (activate<Add::activation>(za) - activate<Mul::activation>(zm)) * g * (1.0f - g);
            const float dm = dz[o] * (1.0f - g) * slope<Mul::activation>(zm);
            da *= g;
            if (leaves) {
                leave<Mul>(deltas, at.weights, batch, b, o, sums.mul[o], dm);
                deltas[(First::gate_row + o) * TILE + b] = dg;
            }
            if constexpr (Mul::bias) at.terms[Mul::bias_term + o] += dm;
        }
        da *= slope<Add::activation>(za);
        if (leaves) leave<Add>(deltas, at.weights, batch, b, o, sums.add[o], da);
        if constexpr (Add::bias) at.terms[Add::bias_term + o] += da;
    }
}

// Sums the gradient of one weight over four observations.
template <class Leaf>
__device__ __forceinline__ void meet(float (&sum)[CHAINS], const float* deltas, int o, int q, float w, const float4& r) {
    const float4 d = load4(deltas + (Leaf::row + o) * TILE + 4 * q);
    if constexpr (Leaf::aggregation != PRODUCT) {
        step4<SUM>(sum, d, r);
    } else {
        float factor[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) factor[c] = fmaf(w, part(r, c), 1.0f);
        if ((factor[0] * factor[1]) * (factor[2] * factor[3]) != 0.0f) {
#pragma unroll
            for (int c = 0; c < 4; ++c)
                sum[c % CHAINS] = fmaf(divide(part(d, c), factor[c]), part(r, c), sum[c % CHAINS]);
        } else {
            const float* zeros = deltas + (Leaf::row + First::out + o) * TILE + 4 * q;
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const float others = factor[c] == 0.0f ? zeros[c] : divide(part(d, c), factor[c]);
                sum[c % CHAINS] = fmaf(others, part(r, c), sum[c % CHAINS]);
            }
        }
    }
}

struct GateRow {
    static constexpr int row = First::gate_row, aggregation = SUM;
};

struct Gradients {
    float add[OUT_TILE], mul[OUT_TILE], gate[OUT_TILE];
};

// Gradients of the weights between input i and the outputs from FROM on, over every PARTS-th group of observations.
template <int FROM>
__device__ __forceinline__ void gather(const float* weights, const float* batch, const float* deltas, int i, int share,
                                       Gradients& total) {
    constexpr int COUNT = First::out - FROM < OUT_TILE ? First::out - FROM : OUT_TILE;
    float add[COUNT][CHAINS] = {}, mul[COUNT][CHAINS] = {}, gate[COUNT][CHAINS] = {};
    float w[COUNT], v[COUNT];
#pragma unroll
    for (int o = 0; o < COUNT; ++o) {
        w[o] = weights[Add::e + (FROM + o) * First::stride + i];
        v[o] = First::gated ? weights[Mul::e + (FROM + o) * First::stride + i] : 0.0f;
    }
#pragma unroll GATHER_UNROLL
    for (int q = share; q < TILE / 4; q += PARTS) {
        const float* at = batch + i * PITCH + 4 * q;
        const float4 x = load4(at), log = KEEP_LOGS ? load4(at + LOGS) : First::takes_logs ? log4(x) : x;
        const float4 ra = read4<Add::aggregation>(x, log), rm = First::gated ? read4<Mul::aggregation>(x, log) : ra;
#pragma unroll
        for (int o = 0; o < COUNT; ++o) {
            meet<Add>(add[o], deltas, FROM + o, q, w[o], ra);
            if constexpr (First::gated) {
                meet<Mul>(First::shared ? add[o] : mul[o], deltas, FROM + o, q, v[o], rm);
                meet<GateRow>(gate[o], deltas, FROM + o, q, 0.0f, x);
            }
        }
    }
#pragma unroll
    for (int o = 0; o < COUNT; ++o) {
        total.add[o] = join_chains<SUM>(add[o]);
        total.mul[o] = join_chains<SUM>(mul[o]);
        total.gate[o] = join_chains<SUM>(gate[o]);
#pragma unroll
        for (int offset = 1; offset < PARTS; offset *= 2) {
            total.add[o] += __shfl_xor_sync(ALL_LANES, total.add[o], offset);
            if constexpr (First::gated) {
                if constexpr (!First::shared) total.mul[o] += __shfl_xor_sync(ALL_LANES, total.mul[o], offset);
                total.gate[o] += __shfl_xor_sync(ALL_LANES, total.gate[o], offset);
            }
        }
    }
}
