// The layers after the first: few inputs, all of one observation in the registers of its thread.
#pragma once
#include "leaf.cuh"

// Gradients of a thread's observation, and what it needs to compute them.
struct Observation {
    const float* weights;     // effective, in shared memory
    const float* parameters;  // raw, for the biases
    const float* target;      // [o], in registers
    float scale;              // 2 / (batch * outputs), or 0 for a position without an observation
    float* terms;             // [TERMS] of this observation, in registers
    float gate;               // sum over the outputs of the last layer's gate
};

template <class Leaf, int IN> struct SmallLeaf {
    static __device__ __forceinline__ float aggregate(const float* w, const float (&x)[IN], const float (&logs)[IN]) {
        float sum = start<Leaf::aggregation>();
#pragma unroll
        for (int i = 0; i < IN; ++i)
            sum = step<Leaf::aggregation>(sum, w[i], read<Leaf::aggregation>(x[i], logs[i]));
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

// The network's outputs y from the outputs x of layer N - 1.
template <int N, int IN>
__device__ __forceinline__ void tail_forward(const Observation& at, const float (&x)[IN], float (&y)[OUTPUTS]) {
    if constexpr (N == LAYERS) {
#pragma unroll
        for (int o = 0; o < IN; ++o) y[o] = x[o];
    } else {
        using L = Layer<N>;
        using Add = typename L::Add;
        using Mul = typename L::Mul;
        float logs[IN], z[L::out];
#pragma unroll
        for (int i = 0; i < IN; ++i) logs[i] = L::takes_logs ? logarithm(x[i]) : 0.0f;
#pragma unroll
        for (int o = 0; o < L::out; ++o) {
            const int at_o = o * L::stride;
            const float add = SmallLeaf<Add, IN>::aggregate(at.weights + Add::e + at_o, x, logs);
            z[o] = activate<Add::activation>(with_bias<Add>(add, at.parameters, o));
            if constexpr (L::gated) {
                const float mul = SmallLeaf<Mul, IN>::aggregate(at.weights + Mul::e + at_o, x, logs);
                const float m = activate<Mul::activation>(with_bias<Mul>(mul, at.parameters, o));
                const float g = sigmoid(SmallLeaf<Plain, IN>::aggregate(at.weights + L::gate_e + at_o, x, logs));
                z[o] = g * z[o] + (1.0f - g) * m;
            }
        }
        tail_forward<N + 1>(at, z, y);
    }
}

// Forward from the outputs x of layer N - 1 to the loss and back to their gradient dx; leaves the terms of the layers.
template <int N, int IN>
__device__ __forceinline__ void tail(Observation& at, const float (&x)[IN], float (&dx)[IN]) {
    if constexpr (N == LAYERS) {
#pragma unroll
        for (int o = 0; o < IN; ++o) dx[o] = at.scale * (x[o] - at.target[o]);
    } else {
        using L = Layer<N>;
        using Add = typename L::Add;
        using Mul = typename L::Mul;
        float logs[IN], dlogs[IN];
        float add[L::out], mul[L::out], gate[L::out], z[L::out], dz[L::out];
#pragma unroll
        for (int i = 0; i < IN; ++i) {
            logs[i] = L::takes_logs ? logarithm(x[i]) : 0.0f;
            dx[i] = dlogs[i] = 0.0f;
        }
#pragma unroll
        for (int o = 0; o < L::out; ++o) {
            const int at_o = o * L::stride;
            add[o] = SmallLeaf<Add, IN>::aggregate(at.weights + Add::e + at_o, x, logs);
            z[o] = activate<Add::activation>(with_bias<Add>(add[o], at.parameters, o));
            if constexpr (L::gated) {
                mul[o] = SmallLeaf<Mul, IN>::aggregate(at.weights + Mul::e + at_o, x, logs);
                gate[o] = sigmoid(SmallLeaf<Plain, IN>::aggregate(at.weights + L::gate_e + at_o, x, logs));
                const float m = activate<Mul::activation>(with_bias<Mul>(mul[o], at.parameters, o));
                z[o] = gate[o] * z[o] + (1.0f - gate[o]) * m;
                if constexpr (N == LAYERS - 1) at.gate += gate[o];
            }
        }
        tail<N + 1>(at, z, dz);
#pragma unroll
        for (int o = 0; o < L::out; ++o) {
            const int at_o = o * L::stride, term = o * IN;
            const float za = with_bias<Add>(add[o], at.parameters, o);
            float da = dz[o];
            if constexpr (L::gated) {
                const float zm = with_bias<Mul>(mul[o], at.parameters, o), g = gate[o];
                const float dg = dz[o] * (activate<Add::activation>(za) - activate<Mul::activation>(zm)) * g * (1.0f - g);
                const float dm = dz[o] * (1.0f - g) * slope<Mul::activation>(zm);
                da *= g;
                SmallLeaf<Plain, IN>::backward(at.weights + L::gate_e + at_o, x, logs, 0.0f, dg, dx, dlogs,
                                               at.terms + L::gate_term + term);
                SmallLeaf<Mul, IN>::backward(at.weights + Mul::e + at_o, x, logs, mul[o], dm, dx, dlogs,
                                             at.terms + Mul::term + term);
                if constexpr (Mul::bias) at.terms[Mul::bias_term + o] += dm;
            }
            da *= slope<Add::activation>(za);
            SmallLeaf<Add, IN>::backward(at.weights + Add::e + at_o, x, logs, add[o], da, dx, dlogs,
                                         at.terms + Add::term + term);
            if constexpr (Add::bias) at.terms[Add::bias_term + o] += da;
        }
        if constexpr (L::takes_logs) {
#pragma unroll
            for (int i = 0; i < IN; ++i) dx[i] += divide(dlogs[i] * sign(x[i]), fabsf(x[i]) + EPSILON);
        }
    }
}
