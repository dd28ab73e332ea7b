// What the threads of a block share, and the steps of parameters in it.
#pragma once
#include "block.cuh"
#include "maths.cuh"
#include "philox.cuh"

// Layout of the block's shared memory.
struct Shared {
    float* batch;       // [TILE, PITCH], then what is kept of noise and functions of the inputs, in the same form
    float* deltas;      // [TILE, ROW_PITCH]
    float* weights;     // what the generated code stores of functions of the parameters
    float* parameters;  // in the order of the network, then constants
    float* first;       // Adam's moments, unless in registers
    float* second;
    float* gradients;   // sums over the tiles of a batch, of weights, then of terms, if they must be kept
    float* partial;     // [warp, TERMS]
    u32* zeros;         // [warp, ZERO_COUNT] products over the inputs that are 0, a bit for each observation
    double* scratch;    // [warp]
};

__device__ __forceinline__ Shared share(float* memory) {
    return {memory + BATCH_AT,
            memory + DELTAS_AT,
            memory + WEIGHTS_AT,
            memory + PARAMETERS_AT,
            memory + FIRST_AT - SHARED_FROM,
            memory + SECOND_AT - SHARED_FROM,
            memory + GRADIENTS_AT - KEPT_FROM,
            memory + PARTIAL_AT,
            reinterpret_cast<u32*>(memory + ZEROS_AT),
            reinterpret_cast<double*>(memory + SCRATCH_AT)};
}

// The logarithm of a number that is from [1, 4) if the inputs are drawn from [1, 2).
template <class Inputs> __device__ __forceinline__ float near_log(const float* weights, float a) {
    if constexpr (LOGS && Inputs::DRAWN)
        return near_log(reinterpret_cast<const NearLog*>(weights + (LOGS_AT - WEIGHTS_AT)), a);
    else
        return finite_log(a);
}

// Marks of products that are 0: leaves them, and tells whether there are any in the warp; and reads one.
__device__ __forceinline__ bool mark(u32* marks, bool zero) {
    const u32 bits = __ballot_sync(ALL_LANES, zero);
    if (lane_id() == 0) marks[warp_id() * ZERO_COUNT] = bits;
    return bits;
}

__device__ __forceinline__ bool marked(const u32* marks, int b) {
    const int place = b % (GROUP * EACH), lane = place / GROUP * OWN + place % GROUP;
    return marks[b / (GROUP * EACH) * ZERO_COUNT] >> lane & 1u;
}

// The thread's observation: position in the tile, position in the batch, and what its gradient is scaled by.
struct Observation {
    int b;
    u32 seed, row, step;
    float scale;         // 2 / (batch * outputs), or 0 for a position without an observation
    bool taken, leaves;  // whether there is an observation, and whether this thread leaves its values

    __device__ __forceinline__ void leave(float* place, float value) const {
        *place = BATCH % TILE == 0 || taken ? value : 0.0f;
    }

    template <int COUNT> __device__ __forceinline__ void noise(u32 call, float low, float width, float (&values)[COUNT]) const {
        const Stream stream(seed, UNIT_STREAM + call, row, step);
#pragma unroll
        for (int j = 0; j < COUNT; j += 4) {
            const float4 drawn = scaled(stream(j / 4), low, width);
#pragma unroll
            for (int c = 0; c < 4; ++c)
                if (j + c < COUNT) values[j + c] = part(drawn, c);
        }
    }
};

// Moments of the parameters that meet a thread's input, in registers where they are few.
struct Owned {
    float first[OWNED + 1], second[OWNED + 1];
};

// A step of parameter p by its gradient, with its moments in shared memory or in registers, perhaps into a range.
__device__ __forceinline__ void step(const Shared& s, int p, float gradient, const Adam& adam) {
    s.parameters[p] = adam(s.parameters[p], gradient, s.first[p], s.second[p]);
}

__device__ __forceinline__ void step(const Shared& s, int p, float gradient, const Adam& adam, float low, float high) {
    s.parameters[p] = clamp(adam(s.parameters[p], gradient, s.first[p], s.second[p]), low, high);
}

__device__ __forceinline__ void step(const Shared& s, Owned& owned, int p, int place, float gradient, const Adam& adam) {
    if constexpr (OWNED > 0)
        s.parameters[p] = adam(s.parameters[p], gradient, owned.first[place], owned.second[place]);
    else
        step(s, p, gradient, adam);
}

__device__ __forceinline__ void step(const Shared& s, Owned& owned, int p, int place, float gradient, const Adam& adam,
                                     float low, float high) {
    step(s, owned, p, place, gradient, adam);
    s.parameters[p] = clamp(s.parameters[p], low, high);
}

// Gradient summed over tiles; true when it is complete. It is KEPT where others than this thread need it.
template <bool KEPT> __device__ __forceinline__ bool whole(const Shared& s, int place, int tile, float& gradient) {
    if constexpr (TILES == 1 && !KEPT) return true;
    if (tile > 0) gradient += s.gradients[place];
    s.gradients[place] = gradient;
    return tile == TILES - 1;
}

// The same of what a thread has gathered, which has all tiles where the parts are joined after the last.
template <bool KEPT> __device__ __forceinline__ bool all_gathered(const Shared& s, int place, int tile, float& gradient) {
    if constexpr (!SPREAD) return whole<KEPT>(s, place, tile, gradient);
    if constexpr (KEPT) s.gradients[place] = gradient;
    return true;
}

template <bool KEPT> __device__ __forceinline__ bool term_total(const Shared& s, int term, int tile, float& gradient) {
    gradient = 0.0f;
    for (int warp = 0; warp < WARPS; ++warp) gradient += s.partial[warp * TERMS + term];
    return whole<KEPT>(s, GATHERED + term, tile, gradient);
}

__device__ __forceinline__ float sparsity_error(float w) {
    const float a = fabsf(w), other = fabsf(1.0f - a);
    return a < other ? a : other;
}
