// Mathematics of the generated code: elements, groups of four, reductions.
#pragma once

constexpr int PITCH = TILE + 4;  // of a batch row in shared memory: 16-byte reads down a column have no bank conflicts
constexpr int PLANE = 4 * COLUMNS * PITCH;  // from an input of the batch to what is kept beside it

#define LOWEST __int_as_float(0xff800000)
#define NOT_A_NUMBER __int_as_float(0x7fc00000)

// The logarithm of a finite number above 1e-38 to one unit in the last place, in two thirds of the instructions of
// logf: the exponent is taken off so that 1 + f is within a third of 1, and log(1 + f) = f + f^2 P(f).
__device__ __forceinline__ float finite_log(float a) {
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
// count as zero: no divisor that is used here is that small, and no root that matters.
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
__device__ __forceinline__ float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

// Comparisons, unlike fminf and fmaxf, propagate NaN.
__device__ __forceinline__ float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
__device__ __forceinline__ float smaller(float a, float b) { return a != a || a < b ? a : b; }
__device__ __forceinline__ float larger(float a, float b) { return a != a || a > b ? a : b; }

// Reductions.
__device__ __forceinline__ float sum_of(float a, float b) { return a + b; }
__device__ __forceinline__ float prod_of(float a, float b) { return a * b; }
__device__ __forceinline__ float max_of(float a, float b) { return larger(a, b); }

template <class Join> __device__ __forceinline__ float join_chains(const float (&chain)[CHAINS], Join join) {
    if constexpr (CHAINS == 1) return chain[0];
    if constexpr (CHAINS == 2) return join(chain[0], chain[1]);
    return join(join(chain[0], chain[1]), join(chain[CHAINS - 2], chain[CHAINS - 1]));
}

// Groups of four.
__device__ __forceinline__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }
__device__ __forceinline__ float part(const float4& v, int c) { return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w; }

template <class Lane> __device__ __forceinline__ float4 each(Lane lane) {
    return make_float4(lane(0), lane(1), lane(2), lane(3));
}

// Turns four factors of a product into the gradient times the product of the others. `rows` holds the gradient times
// the product, to be divided by a factor, and `zeros` further on the gradient of a factor of zero.
__device__ __forceinline__ void divide_by_factors(float (&factor)[4], const float* rows, int zeros) {
    const float4 d = load4(rows);
    if ((factor[0] * factor[1]) * (factor[2] * factor[3]) != 0.0f) {
#pragma unroll
        for (int c = 0; c < 4; ++c) factor[c] = divide(part(d, c), factor[c]);
    } else {
#pragma unroll
        for (int c = 0; c < 4; ++c) factor[c] = factor[c] == 0.0f ? rows[zeros + c] : divide(part(d, c), factor[c]);
    }
}

// One step of Adam or RMSprop, as a value of one iteration.
struct Adam {
    float rate, scale, gain1, beta2, gain2, epsilon;

    __device__ __forceinline__ Adam times(float factor) const {
        return {factor * rate, scale, gain1, beta2, gain2, epsilon};
    }

    __device__ __forceinline__ float operator()(float w, float gradient, float& first, float& second) const {
        if constexpr (RMSPROP) {
            second = fmaf(beta2, second, gain2 * gradient * gradient);
            return w - rate * divide(gradient, root(second) + epsilon);
        }
        first = fmaf(gain1, gradient - first, first);
        second = fmaf(beta2, second, gain2 * gradient * gradient);
        return w - rate * divide(first, fmaf(root(second), scale, epsilon));
    }
};

struct Strength {
    Adam adam;
    float lambda;
    float penalties[PENALTIES + 1];
};

// The strength of a penalty at step t: ten times as much every so often, up to the most.
__device__ __forceinline__ float penalty_at(u32 t, double strength, double most, u32 every, i64 after) {
    if ((i64)t <= after) return 0.0f;
    for (u32 left = t / every; left && strength < most; --left) strength *= 10.0;
    return (float)(strength < most ? strength : most);
}

// The gradient with that of the sum of magnitudes, or of the distance from the magnitude up to which a pull acts.
__device__ __forceinline__ float with_l1(float gradient, float w, float strength) { return gradient + strength * sign(w); }
__device__ __forceinline__ float with_pull(float gradient, float w, float strength) {
    return fabsf(w) <= PULLED ? gradient - strength * sign(w) : gradient;
}

// The factor that leaves a gradient with at most this norm.
__device__ __forceinline__ float norm_factor(double squares, float most) {
    const float factor = most / ((float)sqrt(squares) + NORM_EPSILON);
    return factor < 1.0f ? factor : 1.0f;
}

// The gradient with that of the sparsity regularizer, while that has any strength.
__device__ __forceinline__ float with_penalty(float gradient, float penalty, const Strength& at) {
    return at.lambda > 0.0f ? gradient + penalty : gradient;
}
