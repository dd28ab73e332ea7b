// The layers after the first: few inputs, all of one observation in the registers of its thread.
#pragma once
#include "leaf.cuh"

// Where a thread leaves the gradients of its observation, and what it needs to find them.
struct Observation {
    const float* weights;     // effective, in shared memory
    const float* parameters;  // raw, for the biases
    const float* target;      // [o], in registers
    float scale;              // 2 / (batch * outputs), or 0 for a place that no observation takes
    float* terms;             // [TERMS] of this observation, in registers
    float gate;               // sum over the outputs of the last layer's gate
};

template <class Leaf, int IN> struct SmallLeaf {
    static __device__ __forceinline__ float aggregate(const float* w, const float (&x)[IN], const float (&logs)[IN]) {
        float sum = start<Leaf::aggregation>();
#pragma unroll
        for (int i = 0; i < IN; ++i)
            sum = step<Leaf::aggregation>(sum, w[i], Leaf::aggregation == EXP_LOG ? logs[i] : read<Leaf::aggregation>(x[i]));
        return finish<Leaf::aggregation>(sum);
    }

    // `dz` is the gradient of the aggregated value z. Adds to the gradients of x, of the logarithms, of the weights.
    static __device__ __forceinline__ void backward(const float* w, const float (&x)[IN], const float (&logs)[IN], float z,
                                                    float dz, float (&dx)[IN], float (&dlogs)[IN], float* dw) {
        if constexpr (Leaf::aggregation == PRODUCT) {
            float before[IN], after = dz;
            before[0] = 1.0f;
#pragma unroll
            for (int i = 1; i < IN; ++i) before[i] = before[i - 1] * fmaf(w[i - 1], x[i - 1] - 1.0f, 1.0f);
#pragma unroll
            for (int i = IN - 1; i >= 0; --i) {
                const float others = before[i] * after;
                dw[i] += others * (x[i] - 1.0f);
                dx[i] = fmaf(others, w[i], dx[i]);
                after *= fmaf(w[i], x[i] - 1.0f, 1.0f);
            }
        } else {
            const float d = Leaf::aggregation == EXP_LOG ? dz * z : dz;
            float(&dr)[IN] = Leaf::aggregation == EXP_LOG ? dlogs : dx;
#pragma unroll
            for (int i = 0; i < IN; ++i) {
                dw[i] = fmaf(d, Leaf::aggregation == EXP_LOG ? logs[i] : x[i], dw[i]);
                dr[i] = fmaf(d, w[i], dr[i]);
            }
        }
    }
};

template <class Leaf> __device__ __forceinline__ float with_bias(float z, const float* parameters, int o) {
    return Leaf::bias ? z + parameters[Leaf::b + o] : z;
}

// The last layer's outputs y from the outputs x of layer N - 1. Returns the sum of the gates if the last layer has any.
template <int N> __device__ __forceinline__ void tail_forward(const Observation& at, const float (&x)[Layer<N>::in],
                                                              float (&y)[OUTPUTS]) {
    using L = Layer<N>;
    using Add = typename L::Add;
    using Mul = typename L::Mul;
    float logs[L::in], z[L::out];
#pragma unroll
    for (int i = 0; i < L::in; ++i) logs[i] = L::takes_logs ? logarithm(x[i]) : 0.0f;
#pragma unroll
    for (int o = 0; o < L::out; ++o) {
        const float* w = at.weights + Add::e + o * L::stride;
        z[o] = activate<Add::activation>(with_bias<Add>(SmallLeaf<Add, L::in>::aggregate(w, x, logs), at.parameters, o));
        if constexpr (L::gated) {
            const float* v = at.weights + Mul::e + o * L::stride;
            const float m =
                activate<Mul::activation>(with_bias<Mul>(SmallLeaf<Mul, L::in>::aggregate(v, x, logs), at.parameters, o));
            const float g = sigmoid(SmallLeaf<Plain, L::in>::aggregate(at.weights + L::gate_e + o * L::stride, x, logs));
            z[o] = g * z[o] + (1.0f - g) * m;
        }
    }
    if constexpr (N == LAYERS - 1) {
#pragma unroll
        for (int o = 0; o < OUTPUTS; ++o) y[o] = z[o];
    } else {
        tail_forward<N + 1>(at, z, y);
    }
}

// Forward from the outputs x of layer N - 1 to the loss and back to their gradient dx; leaves the terms of the layers.
template <int N>
__device__ __forceinline__ void tail(Observation& at, const float (&x)[Layer<N>::in], float (&dx)[Layer<N>::in]) {
    using L = Layer<N>;
    using Add = typename L::Add;
    using Mul = typename L::Mul;
    float logs[L::in], dlogs[L::in];
    float add[L::out], mul[L::out], gate[L::out], z[L::out], dz[L::out];
#pragma unroll
    for (int i = 0; i < L::in; ++i) {
        logs[i] = L::takes_logs ? logarithm(x[i]) : 0.0f;
        dx[i] = dlogs[i] = 0.0f;
    }
#pragma unroll
    for (int o = 0; o < L::out; ++o) {
        add[o] = SmallLeaf<Add, L::in>::aggregate(at.weights + Add::e + o * L::stride, x, logs);
        z[o] = activate<Add::activation>(with_bias<Add>(add[o], at.parameters, o));
        if constexpr (L::gated) {
            mul[o] = SmallLeaf<Mul, L::in>::aggregate(at.weights + Mul::e + o * L::stride, x, logs);
            gate[o] = sigmoid(SmallLeaf<Plain, L::in>::aggregate(at.weights + L::gate_e + o * L::stride, x, logs));
            const float m = activate<Mul::activation>(with_bias<Mul>(mul[o], at.parameters, o));
            z[o] = gate[o] * z[o] + (1.0f - gate[o]) * m;
            if constexpr (N == LAYERS - 1) at.gate += gate[o];
        }
    }
    if constexpr (N == LAYERS - 1) {
#pragma unroll
        for (int o = 0; o < L::out; ++o) dz[o] = at.scale * (z[o] - at.target[o]);
    } else {
        tail<N + 1>(at, z, dz);
    }
#pragma unroll
    for (int o = 0; o < L::out; ++o) {
        float da = dz[o];
        const float za = with_bias<Add>(add[o], at.parameters, o);
        if constexpr (L::gated) {
            const float zm = with_bias<Mul>(mul[o], at.parameters, o), g = gate[o];
            const float dg = dz[o] * (activate<Add::activation>(za) - activate<Mul::activation>(zm)) * g * (1.0f - g);
            const float dm = dz[o] * (1.0f - g) * slope<Mul::activation>(zm);
            da *= g;
            SmallLeaf<Plain, L::in>::backward(at.weights + L::gate_e + o * L::stride, x, logs, 0.0f, dg, dx, dlogs,
                                              at.terms + L::gate_term + o * L::in);
            SmallLeaf<Mul, L::in>::backward(at.weights + Mul::e + o * L::stride, x, logs, mul[o], dm, dx, dlogs,
                                            at.terms + Mul::term + o * L::in);
            if constexpr (Mul::bias) at.terms[Mul::bias_term + o] += dm;
        }
        da *= slope<Add::activation>(za);
        SmallLeaf<Add, L::in>::backward(at.weights + Add::e + o * L::stride, x, logs, add[o], da, dx, dlogs,
                                        at.terms + Add::term + o * L::in);
        if constexpr (Add::bias) at.terms[Add::bias_term + o] += da;
    }
    if constexpr (L::takes_logs) {
#pragma unroll
        for (int i = 0; i < L::in; ++i) dx[i] += dlogs[i] * sign(x[i]) / (fabsf(x[i]) + EPSILON);
    }
}
