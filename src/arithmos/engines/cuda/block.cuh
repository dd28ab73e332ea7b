// Sums over a warp and over the thread block, in a fixed order.
#pragma once

constexpr u32 ALL_LANES = 0xffffffffu;
constexpr int WARPS = THREADS / 32;

// SPLIT threads of a warp reduce EACH observations at once, GROUP of them beside each other, and go on with one of them,
// the first OWN threads with the first. In a small network a thread has EACH observations of its own.
constexpr int GROUP = 32 / SPLIT, OWN = SMALL ? 32 : 32 / EACH;
constexpr int MINE = SMALL ? EACH : 1, AT_ONCE = SMALL ? 1 : EACH;

__device__ __forceinline__ void sync() {
    if constexpr (WARPS == 1)
        __syncwarp();
    else
        __syncthreads();
}

// A barrier that tells whether something holds in any thread, if somebody asks.
template <bool ASKED> __device__ __forceinline__ bool sync_any(bool here) {
    if constexpr (ASKED) return __syncthreads_or(here);
    sync();
    return false;
}

__device__ __forceinline__ int lane_id() { return WARPS == 1 ? threadIdx.x : threadIdx.x & 31; }
__device__ __forceinline__ int warp_id() { return WARPS == 1 ? 0 : threadIdx.x >> 5; }

// Halves the values of each lane while it sums them over the warp: lane l ends up with the total of one value, whose
// number is returned, or -1 for a lane without one. 32 values cost 31 exchanges instead of 160.
template <int COUNT, int OFFSET = 16> __device__ __forceinline__ int warp_totals(float* values) {
    if constexpr (OFFSET == 0) {
        return 0;
    } else if constexpr (COUNT == 1) {
        values[0] += __shfl_xor_sync(ALL_LANES, values[0], OFFSET);
        const int number = warp_totals<1, OFFSET / 2>(values);
        return lane_id() & OFFSET ? -1 : number;
    } else {
        constexpr int HALF = (COUNT + 1) / 2;
        const bool upper = lane_id() & OFFSET;
#pragma unroll
        for (int k = 0; k < HALF; ++k) {
            const float a = values[k], b = k + HALF < COUNT ? values[k + HALF] : 0.0f;
            values[k] = (upper ? b : a) + __shfl_xor_sync(ALL_LANES, upper ? a : b, OFFSET);
        }
        const int number = warp_totals<HALF, OFFSET / 2>(values);
        return number < 0 ? -1 : upper ? (number + HALF < COUNT ? number + HALF : -1) : number;
    }
}

// The total over SHARING threads, each of which has a value for each of the observations that they share: the one of
// the observation that this thread goes on with.
template <int SHARING, float (*JOINED)(float, float), int COUNT>
__device__ __forceinline__ float shared_total(float (&values)[COUNT]) {
    int offset = 16;
#pragma unroll
    for (int half = COUNT / 2; half; half /= 2, offset /= 2) {
        const bool upper = lane_id() & offset;
#pragma unroll
        for (int n = 0; n < half; ++n) {
            const float a = values[n], b = values[n + half];
            values[n] = JOINED(upper ? b : a, __shfl_xor_sync(ALL_LANES, upper ? a : b, offset));
        }
    }
#pragma unroll
    for (; offset >= 32 / SHARING; offset /= 2)
        values[0] = JOINED(values[0], __shfl_xor_sync(ALL_LANES, values[0], offset));
    return values[0];
}

// The total of a value over the block, the same bits in every thread. `scratch` holds one double per warp.
__device__ __forceinline__ double block_sum(double value, double* scratch) {
#pragma unroll
    for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    sync();
    if (lane_id() == 0) scratch[warp_id()] = value;
    sync();
    double total = 0.0;
    for (int warp = 0; warp < WARPS; ++warp) total += scratch[warp];
    return total;
}

__device__ __forceinline__ double block_max(double value, double* scratch) {
#pragma unroll
    for (int offset = 16; offset; offset /= 2) {
        const double other = __shfl_xor_sync(ALL_LANES, value, offset);
        value = other > value ? other : value;
    }
    sync();
    if (lane_id() == 0) scratch[warp_id()] = value;
    sync();
    double largest = scratch[0];
    for (int warp = 1; warp < WARPS; ++warp) largest = scratch[warp] > largest ? scratch[warp] : largest;
    return largest;
}
