// The parts of a leaf: weight map, aggregation, activation. The maths is in arithmos/nn; here are forward and backward.
#pragma once
#include "names.cuh"

constexpr float EPSILON = 1e-7f;  // added to every magnitude before its logarithm is taken

__device__ __forceinline__ float logarithm(float x) { return logf(fabsf(x) + EPSILON); }
__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }

// Comparisons, unlike fminf and fmaxf, let NaN through.
__device__ __forceinline__ float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

__device__ __forceinline__ float part(const float4& v, int c) { return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w; }

// What an aggregation reads of an input, and the value it starts from.
template <int AGGREGATION> __device__ __forceinline__ float read(float x) {
    if constexpr (AGGREGATION == SUM) return x;
    if constexpr (AGGREGATION == EXP_LOG) return logarithm(x);
    return x - 1.0f;
}

template <int AGGREGATION> __device__ __forceinline__ float start() { return AGGREGATION == PRODUCT ? 1.0f : 0.0f; }

template <int AGGREGATION> __device__ __forceinline__ float step(float sum, float w, float r) {
    return AGGREGATION == PRODUCT ? sum * fmaf(w, r, 1.0f) : fmaf(w, r, sum);
}

template <int AGGREGATION> __device__ __forceinline__ float join(float a, float b) {
    return AGGREGATION == PRODUCT ? a * b : a + b;
}

template <int AGGREGATION> __device__ __forceinline__ float finish(float sum) {
    return AGGREGATION == EXP_LOG ? expf(sum) : sum;
}

template <int ACTIVATION> __device__ __forceinline__ float activate(float z) {
    if constexpr (ACTIVATION == IDENTITY) return z;
    const float positive = z < 0.0f ? 0.0f : z;
    return ACTIVATION == RELU6 && positive > 6.0f ? 6.0f : positive;
}

template <int ACTIVATION> __device__ __forceinline__ float slope(float z) {
    if constexpr (ACTIVATION == IDENTITY) return 1.0f;
    return z <= 0.0f || (ACTIVATION == RELU6 && z >= 6.0f) ? 0.0f : 1.0f;
}

// The effective weight number k of a leaf, from all raw parameters.
template <class Leaf> __device__ __forceinline__ float effective(const float* parameters, int k) {
    const float w = parameters[Leaf::w + k];
    if constexpr (Leaf::map == TANH_SIGMOID) return tanhf(w) * sigmoid(parameters[Leaf::m + k]);
    if constexpr (Leaf::map == SIGMOID) return sigmoid(w);
    if constexpr (Leaf::map == CLAMP && Leaf::clip) return clamp(w, Leaf::low, Leaf::high);
    return w;
}

// Derivative of the sparsity regularizer at one weight: 0 at 0, 1/2 and 1.
template <int SPARSITY> __device__ __forceinline__ float sparsity_slope(float w) {
    if constexpr (SPARSITY == UNSIGNED) return w < 0.5f ? sign(w) : w > 0.5f ? -sign(1.0f - w) : 0.0f;
    const float a = fabsf(w);
    return a < 0.5f ? sign(w) : a > 0.5f ? -sign(1.0f - a) * sign(w) : 0.0f;
}

// One step of Adam, as a value of one iteration.
struct Adam {
    float rate, scale, gain1, beta2, gain2, epsilon;

    __device__ __forceinline__ float operator()(float w, float gradient, float& first, float& second) const {
        first = fmaf(gain1, gradient - first, first);
        second = fmaf(beta2, second, gain2 * gradient * gradient);
        return w - rate * (first / fmaf(sqrtf(second), scale, epsilon));
    }
};

// From the gradient of an effective weight to the next parameters of number k; returns the next effective weight.
// `moments.first(0)` and `moments.second(0)` are Adam's moments of w, those of 1 are of m.
template <class Leaf, class Moments>
__device__ __forceinline__ float descend(float* parameters, int k, float gradient, float lambda, const Adam& adam,
                                         Moments moments) {
    float& w = parameters[Leaf::w + k];
    float slope_w = gradient;
    if constexpr (Leaf::map == TANH_SIGMOID) {
        float& m = parameters[Leaf::m + k];
        const float t = tanhf(w), s = sigmoid(m);
        slope_w = gradient * s * (1.0f - t * t);
        m = adam(m, gradient * t * s * (1.0f - s), moments.first(1), moments.second(1));
    }
    if constexpr (Leaf::map == SIGMOID) {
        const float s = sigmoid(w);
        slope_w = gradient * s * (1.0f - s);
    }
    if constexpr (Leaf::map == CLAMP && Leaf::clip) {
        if (w < Leaf::low || w > Leaf::high) slope_w = 0.0f;
    }
    if constexpr (Leaf::sparsity != NO_SPARSITY) slope_w = fmaf(lambda, sparsity_slope<Leaf::sparsity>(w), slope_w);
    const float next = adam(w, slope_w, moments.first(0), moments.second(0));
    w = Leaf::map == CLAMP && Leaf::project ? clamp(next, Leaf::low, Leaf::high) : next;
    return effective<Leaf>(parameters, k);
}

// What the matrix of a gate is made of.
struct Plain {
    static constexpr int aggregation = SUM, map = FREE, sparsity = NO_SPARSITY;
};
