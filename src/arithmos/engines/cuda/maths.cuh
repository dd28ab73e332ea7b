// Mathematics of the generated code: elements, groups of four, reductions.
#pragma once

// From an observation to the next in shared memory: an odd number of groups of four, so that 16-byte accesses of
// neighbours have no bank conflicts.
constexpr int PITCH = 4 * (COLUMNS | 1);
constexpr int PLANE = TILE * PITCH;  // from the inputs of the batch to what is kept beside them

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

// The same for a number from [1, 4) in two thirds of that: the inverse of a number nearby and its logarithm are in a
// table of one row of shared memory for each octave, so that f is within a sixteenth of 0.
struct NearLog {
    float inverse, log;
};

__device__ __forceinline__ NearLog near_log_entry(int place) {
    const float low = place < 16 ? 2.0f + place * 0.125f : place * 0.0625f, half = place < 16 ? 0.0625f : 0.03125f;
    const float inverse = place == 16 ? 1.0f : 1.0f / (low + half);  // of 1 itself, so that logarithms near 0 are exact
    return {inverse, (float)-log((double)inverse)};
}

__device__ __forceinline__ float near_log(const NearLog* table, float a) {
    const u32 offset = ((u32)__float_as_int(a) & 31u << 19) >> 16;  // of the entry, in bytes
    const NearLog entry = *reinterpret_cast<const NearLog*>(reinterpret_cast<const char*>(table) + offset);
    const float f = fmaf(a, entry.inverse, -1.0f);
    float p = 1.884112301e-1f;
    p = fmaf(p, f, -2.500368111e-1f);
    p = fmaf(p, f, 3.333432611e-1f);
    p = fmaf(p, f, -5.000000126e-1f);
    return fmaf(f * f, p, f) + entry.log;
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

// Powers of 1 and -1 are rounded once, as on the cpu engine: weights stay there only if their gradient is 0.
__device__ __forceinline__ float power(float x, float y) {
    return y == 1.0f ? x : y == -1.0f ? 1.0f / x : powf(x, y);
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

// Groups of four.
__device__ __forceinline__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }
__device__ __forceinline__ float part(const float4& v, int c) { return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w; }

template <class Lane> __device__ __forceinline__ float4 each(Lane lane) {
    return make_float4(lane(0), lane(1), lane(2), lane(3));
}

// Neighbouring values, read as many at a time as their places allow.
template <int COUNT> __device__ __forceinline__ void load(const float* from, float (&to)[COUNT]) {
    constexpr int WIDE = COUNT % ROW_ALIGN ? 1 : ROW_ALIGN;
#pragma unroll
    for (int k = 0; k < COUNT; k += WIDE) {
        if constexpr (WIDE == 4) {
            const float4 v = load4(from + k);
            to[k] = v.x, to[k + 1] = v.y, to[k + 2] = v.z, to[k + 3] = v.w;
        } else if constexpr (WIDE == 2) {
            const float2 v = *reinterpret_cast<const float2*>(from + k);
            to[k] = v.x, to[k + 1] = v.y;
        } else {
            to[k] = from[k];
        }
    }
}

// A thread's part of a tile in the second half: which observations it takes for a group of four inputs, and where its
// sums go. Where a network has few sums, the parts of a group are runs of observations, in threads that need not be
// neighbours; each leaves its sums in the inputs that no other thread reads.
constexpr int PART = TILE / PARTS, LONGER = TILE % PARTS;  // observations of a part; so many parts have one more

__device__ constexpr int part_begin(int part) { return part * PART + (part < LONGER ? part : LONGER); }

struct Consecutive {
    float* inputs;  // of its first observation
    int begin;
    bool longer;

    __device__ __forceinline__ Consecutive(float* batch, int j, int part)
        : inputs(batch + part_begin(part) * PITCH + 4 * j), begin(part_begin(part)), longer(part < LONGER) {}

    template <class Row> __device__ __forceinline__ void each(Row row) const {
#pragma unroll GATHER_UNROLL
        for (int q = 0; q < PART; ++q) row(begin + q);
        if (LONGER > 0 && longer) row(begin + PART);
    }

    __device__ __forceinline__ float total(const float (&sum)[4], int place) const {
        *reinterpret_cast<float4*>(inputs + place * PITCH) = make_float4(sum[0], sum[1], sum[2], sum[3]);
        return 0.0f;  // the sum of all parts is collected later
    }
};

// The sum over the parts of an input's group.
__device__ __forceinline__ float collected(const float* batch, int i, int place) {
    float total = 0.0f;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) total += batch[(part_begin(part) + place) * PITCH + i];
    return total;
}

// Where a network has many sums, the parts are neighbours, which exchange theirs: of each input's in one of the first
// four threads, its number the part's. The observations of eight neighbours are in different banks.
struct Interleaved {
    int part;

    template <class Row> __device__ __forceinline__ void each(Row row) const {
#pragma unroll GATHER_UNROLL
        for (int q = 0; q < PART; ++q) row(PARTS == 4 ? q / 2 * 8 + 2 * part + q % 2 : q * PARTS + part);
    }

    __device__ __forceinline__ float total(const float (&sum)[4], int) const {
        const bool odd = part & 1, upper = part & 2;
        float low = odd ? sum[1] : sum[0], high = odd ? sum[3] : sum[2];
        low += __shfl_xor_sync(ALL_LANES, odd ? sum[0] : sum[1], 1);
        high += __shfl_xor_sync(ALL_LANES, odd ? sum[2] : sum[3], 1);
        float total = upper ? high : low;
        total += __shfl_xor_sync(ALL_LANES, upper ? low : high, 2);
#pragma unroll
        for (int offset = 4; offset < PARTS; offset *= 2) total += __shfl_xor_sync(ALL_LANES, total, offset);
        return total;
    }
};

// Turns four factors of a product into the product of the others, times a gradient: `scaled` is the gradient times the
// product, to be divided by a factor. If the product is 0, `scaled` is what a factor gets that is 0 alone.
__device__ __forceinline__ void divide_by_factors(float (&factor)[4], float scaled, bool zero) {
#pragma unroll
    for (int c = 0; c < 4; ++c)
        factor[c] = !zero ? divide(scaled, factor[c]) : factor[c] == 0.0f ? scaled : 0.0f;
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
