// The parts of a leaf: weight map, aggregation, activation. The maths is in arithmos/nn; here are forward and backward.
#pragma once

__device__ __forceinline__ float logarithm(float x) { return logf(fabsf(x) + EPSILON); }

// The same to one unit in the last place in two thirds of the instructions, for inputs, which are finite: the exponent
// is taken off so that 1 + f is within a third of 1, and log(1 + f) = f + f^2 P(f).
__device__ __forceinline__ float finite_logarithm(float x) {
    const float a = fabsf(x) + EPSILON;
    const int bits = __float_as_int(a), exponent = (bits - 0x3f2aaaab) & 0xff800000;
    const float f = __int_as_float(bits - exponent) - 1.0f;
    float p = 1.402633935e-1f;
    p = fmaf(p, f, -1.538853645e-1f);
    p = fmaf(p, f, 1.399581134e-1f);
    p = fmaf(p, f, -1.641596109e-1f);
    p = fmaf(p, f, 2.001116872e-1f);
    p = fmaf(p, f, -2.500782013e-1f);
    p = fmaf(p, f, 3.333319724e-1f);
    p = fmaf(p, f, -4.999993742e-1f);
    return fmaf((float)exponent, 8.262958294867817e-8f, fmaf(f * f, p, f));  // log(2) / 2^23
}

// Quotient and root to a unit or two in the last place, without the branches of the rounded ones. Numbers below 1e-38
// count as zero: no divisor here is that small, and no root that matters.
__device__ __forceinline__ float divide(float a, float b) {
#ifdef __CUDA_ARCH__
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
#else
    return a / b;
#endif
}

__device__ __forceinline__ float root(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return sqrtf(x);
#endif
}

__device__ __forceinline__ float sigmoid(float x) { return divide(1.0f, 1.0f + expf(-x)); }
__device__ __forceinline__ float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }

// Comparisons, unlike fminf and fmaxf, propagate NaN.
__device__ __forceinline__ float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

__device__ __forceinline__ float part(const float4& v, int c) { return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w; }

// What an aggregation reads of an input and its logarithm, and its initial value.
template <int AGGREGATION> __device__ __forceinline__ float read(float x, float log) {
    return AGGREGATION == SUM ? x : AGGREGATION == EXP_LOG ? log : x - 1.0f;
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
        return w - rate * divide(first, fmaf(root(second), scale, epsilon));
    }
};

// Updates the parameters of number k by the gradient of their effective weight; returns the next effective weight.
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

// Parts of the matrix of a gate.
struct Plain {
    static constexpr int aggregation = SUM, map = FREE, sparsity = NO_SPARSITY;
};
