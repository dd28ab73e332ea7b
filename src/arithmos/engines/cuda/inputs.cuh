// Where the inputs of an observation come from, in groups of four.
#pragma once

// Drawn for training, and kept in shared memory.
template <class Draw> struct Drawn {
    static constexpr bool DRAWN = true;
    Draw draw;
    float* at;
    u32 seed, row, step;

    __device__ __forceinline__ float4 operator()(int j) const { return keep(0, j, draw(j)); }

    template <int PLACE, class Compute> __device__ __forceinline__ float4 kept(int j, Compute compute) const {
        return keep(PLACE, j, compute());
    }

    template <int PLACE> __device__ __forceinline__ float4 noise(int j, u32 call, float low, float width) const {
        return keep(PLACE, j, scaled(Stream(seed, UNIT_STREAM + call, row, step)(j), low, width));
    }

    __device__ __forceinline__ float4 keep(int place, int j, const float4& x) const {
        *reinterpret_cast<float4*>(at + place * PLANE + 4 * j) = x;
        return x;
    }
};

// Read again from shared memory.
struct Kept {
    static constexpr bool DRAWN = false;
    const float* at;

    __device__ __forceinline__ float4 operator()(int j) const { return read(0, j); }

    template <int PLACE, class Compute> __device__ __forceinline__ float4 kept(int j, Compute) const { return read(PLACE, j); }

    template <int PLACE> __device__ __forceinline__ float4 noise(int j, u32, float, float) const { return read(PLACE, j); }

    __device__ __forceinline__ float4 read(int place, int j) const {
        return load4(at + place * PLANE + 4 * j);
    }
};

// Of a fixed set.
struct Fixed {
    static constexpr bool DRAWN = false;
    const float4* inputs;
    int rows, row;

    __device__ __forceinline__ float4 operator()(int j) const { return inputs[(i64)j * rows + row]; }

    template <int, class Compute> __device__ __forceinline__ float4 kept(int, Compute compute) const { return compute(); }
};

// Of the observations that a thread reduces at once.
template <class Input> struct Inputs {
    Input of[AT_ONCE];
};

// Reductions for the outputs from FROM on, a tile of outputs at a time.
template <int FROM, int STRIDE, class Inputs, class Sums>
__device__ __forceinline__ void reduce_rest(const float* w, const float* p, int first, const Inputs& inputs, Sums& sums) {
    if constexpr (FROM < OUT) {
        reduce<FROM, STRIDE>(w, p, first, inputs, sums);
        reduce_rest<FROM + OUT_TILE, STRIDE>(w, p, first, inputs, sums);
    }
}
