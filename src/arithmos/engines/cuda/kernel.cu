// One thread block trains one run: forward, backward, Adam and the judge, for a chunk of iterations.
//
// An iteration has two halves with a barrier after each. In the first a thread draws an observation, takes it through the
// network and back, and leaves in shared memory the inputs, the deltas of the first layer and the gradient terms of the
// others. In the second it owns inputs, gathers the gradients of their weights over the batch, and makes Adam's step.
#include "judge.cuh"

// Layout of the block's shared memory.
struct Shared {
    float* batch;       // [i, PITCH], then perhaps their logarithms
    float* deltas;      // [DELTAS, TILE]
    float* weights;     // effective: matrices as [o, stride], then gates
    float* parameters;  // raw, in the order of the network
    float* first;       // Adam's moments, unless in registers
    float* second;
    float* gradients;   // sums over the tiles of a batch, of weights, then of terms; unless there is one tile
    float* partial;     // [warp, TERMS]
    double* scratch;    // [warp]
};

__device__ __forceinline__ Shared share(float* memory) {
    return {memory + BATCH_AT,  memory + DELTAS_AT,    memory + WEIGHTS_AT, memory + PARAMETERS_AT,
            memory + FIRST_AT - SHARED_FROM, memory + SECOND_AT - SHARED_FROM,   memory + GRADIENTS_AT, memory + PARTIAL_AT,
            reinterpret_cast<double*>(memory + SCRATCH_AT)};
}

// Sums of inputs as the task has them, in float64; integers have the same sums of numbers of [1, 2) at a fraction of the
// cost, from the 23 bits that differ.
template <bool BITS> struct Adding {
    using Sum = double;
    static __device__ __forceinline__ Sum term(float x) { return x; }
    static __device__ __forceinline__ double value(Sum sum, int) { return sum; }
};

template <> struct Adding<true> {
    using Sum = u32;
    static __device__ __forceinline__ Sum term(float x) { return (u32)__float_as_int(x) - 0x3f800000u; }
    static __device__ __forceinline__ double value(Sum sum, int count) { return count + sum * 0x1p-23; }
};

__device__ constexpr bool bits_suffice() {
    for (int k = 0; k < SUBSETS; ++k)
        if (subset_length(k) > MOST_BITS) return false;
    return RANGE == UNIT;
}

__device__ __forceinline__ double operate(int operation, double a, double b) {
    return operation == MUL ? a * b : operation == DIV ? a / b : operation == ADD ? a + b : a - b;
}

// The operation on the subset sums of observation b; the SPLIT threads of an observation share the work.
__device__ __forceinline__ float arithmetic_target(const Settings& c, const float* batch, const int (&begin)[SUBSETS], int b,
                                                   int split) {
    using Inputs = Adding<bits_suffice()>;
    double target = 0.0;
#pragma unroll
    for (int k = 0; k < SUBSETS; ++k) {
        typename Inputs::Sum sums[4] = {};
        const float* x = batch + begin[k] * PITCH + b;
#pragma unroll
        for (int i = 0; i < subset_length(k); i += SPLIT) {
            if (SPLIT == 1 || i + split < subset_length(k)) sums[i / SPLIT % 4] += Inputs::term(x[(i + split) * PITCH]);
        }
        typename Inputs::Sum joined = (sums[0] + sums[1]) + (sums[2] + sums[3]);
#pragma unroll
        for (int offset = 32 / SPLIT; offset < 32; offset *= 2) joined += __shfl_xor_sync(ALL_LANES, joined, offset);
        const double sum = Inputs::value(joined, subset_length(k));
        if (k == 0)
            target = c.operation == ROOT ? sqrt(sum) : c.operation == SQUARED ? sum * sum : sum;
        else if (c.operation != ROOT && c.operation != SQUARED)
            target = operate(c.operation, target, sum);
    }
    return (float)target;
}

// Draws observation b of a tile at step t, and takes it through the network and back.
__device__ __forceinline__ float first_half(const Settings& c, const Shared& s, const int (&begin)[SUBSETS], u32 seed, u32 t,
                                            int tile) {
    constexpr int GROUP = 32 / SPLIT;  // observations of a warp
    const int b = warp_id() * GROUP + lane_id() % GROUP, split = lane_id() / GROUP;
    const u32 row = tile * TILE + b;
    Sums sums;
    float target[OUTPUTS];
    const auto keep = [&](int j, const float4& x, int from) {
        float* at = s.batch + from + 4 * j * PITCH + b;
#pragma unroll
        for (int k = 0; k < 4; ++k) at[k * PITCH] = part(x, k);
        return x;
    };
    const auto keep_logs = [&](int j, const float4& x) { return KEEP_LOGS ? keep(j, log4(x), LOGS) : log4(x); };
    if constexpr (RANGE == ROWS) {
        const u32 chosen = wide(Stream(seed, ROWS_STREAM, row, t)(0).a, c.row_count).high;
        const float4* from = c.rows + (i64)chosen * COLUMNS;
        aggregate_tile<0, SPLIT>(s.weights, split, [&](int j) { return keep(j, from[j], 0); }, keep_logs, sums);
#pragma unroll
        for (int o = 0; o < OUTPUTS; ++o) target[o] = c.rows_t[(i64)chosen * OUTPUTS + o];
    } else {
        const Stream stream(seed, TRAIN_STREAM, row, t);
        const auto draw = [&](int j) {
            const Words words = stream(j);
            return keep(j, make_float4(number<RANGE>(words.a, c.width, c.low), number<RANGE>(words.b, c.width, c.low),
                                       number<RANGE>(words.c, c.width, c.low), number<RANGE>(words.d, c.width, c.low)), 0);
        };
        aggregate_tile<0, SPLIT>(s.weights, split, draw, keep_logs, sums);
        if constexpr (SPLIT > 1) __syncwarp();
        target[0] = arithmetic_target(c, s.batch, begin, b, split);
    }
    const auto again = [&](int j, int from) {
        const float* x = s.batch + from + 4 * j * PITCH + b;
        return make_float4(x[0], x[PITCH], x[2 * PITCH], x[3 * PITCH]);
    };
    aggregate_rest<OUT_TILE, SPLIT>(
        s.weights, split, [&](int j) { return again(j, 0); },
        [&](int j, const float4& x) { return KEEP_LOGS ? again(j, LOGS) : log4(x); }, sums);
    join_split(sums);

    float z[First::out], dz[First::out], terms[TERMS + 1] = {};
    complete(sums, s.parameters, z);
    const bool taken = BATCH % TILE == 0 || row < BATCH;
    Observation at = {s.weights, s.parameters, target, taken ? 2.0f / ((float)BATCH * OUTPUTS) : 0.0f, terms, 0.0f};
    if constexpr (LAYERS == 1 && First::gated) {
#pragma unroll
        for (int o = 0; o < OUTPUTS; ++o) at.gate += sums.gate[o];
    }
    tail<1>(at, z, dz);
    wide_backward(at, sums, dz, s.batch, s.deltas, b, SPLIT == 1 || split == 0);

#pragma unroll
    for (int k = 0; k < TERMS; k += 32) {
        constexpr int COUNT = TERMS < 32 ? TERMS : 32;
        float some[COUNT + 1];
#pragma unroll
        for (int n = 0; n < COUNT; ++n) some[n] = k + n < TERMS && (SPLIT == 1 || split == 0) ? terms[k + n] : 0.0f;
        const int number = warp_totals<COUNT>(some);
        if (number >= 0 && k + number < TERMS) s.partial[warp_id() * TERMS + k + number] = some[0];
    }
    return taken && (SPLIT == 1 || split == 0) ? at.gate : 0.0f;
}

// Adam's moments of the two parameters behind an effective weight.
struct Moments {
    float *first0, *second0, *first1, *second1;
    __device__ __forceinline__ float& first(int which) const { return which ? *first1 : *first0; }
    __device__ __forceinline__ float& second(int which) const { return which ? *second1 : *second0; }
};

// Moments of the weights that meet a thread's input, in registers where they are few.
struct Owned {
    float first[OWNED + 1], second[OWNED + 1];
};

template <class Leaf> constexpr int PARAMETERS_OF = Leaf::map == TANH_SIGMOID ? 2 : 1;
constexpr int OWNED_ADD = PARAMETERS_OF<Add>;
constexpr int OWNED_MUL = First::gated && !First::shared ? PARAMETERS_OF<Mul> : 0;
constexpr int OWNED_EACH = OWNED_ADD + OWNED_MUL + (First::gated ? 1 : 0);

template <int W, int M> __device__ __forceinline__ Moments moments_of(const Shared& s, Owned& owned, int k, int place) {
    if constexpr (OWNED > 0)
        return {owned.first + place, owned.second + place, owned.first + place + 1, owned.second + place + 1};
    return {s.first + W + k, s.second + W + k, s.first + M + k, s.second + M + k};
}

template <class L> constexpr float MEAN = 1.0f / (L::in * L::out);

struct Strength {
    Adam adam;
    float lambda;
};

// Gradient summed over tiles; true when it is complete.
__device__ __forceinline__ bool whole(const Shared& s, int place, int tile, float& gradient) {
    if constexpr (TILES == 1) return true;
    if (tile > 0) gradient += s.gradients[place];
    s.gradients[place] = gradient;
    return tile == TILES - 1;
}

// The second half of an iteration for the outputs from FROM on of the thread's input i.
template <int FROM>
__device__ __forceinline__ void second_half(const Shared& s, Owned& owned, int i, int share, bool owner, int tile,
                                            const Strength& at) {
    if constexpr (FROM < First::out) {
        constexpr int COUNT = First::out - FROM < OUT_TILE ? First::out - FROM : OUT_TILE;
        Gradients gradient;
        gather<FROM>(s.weights, s.batch, s.deltas, i, share, gradient);
        if (owner) {
#pragma unroll
            for (int n = 0; n < COUNT; ++n) {
                const int o = FROM + n, k = o * First::in + i, e = o * First::stride + i, place = o * OWNED_EACH;
                if (whole(s, Add::e + e, tile, gradient.add[n]))
                    s.weights[Add::e + e] = descend<Add>(s.parameters, k, gradient.add[n], at.lambda * MEAN<First>,
                                                         at.adam, moments_of<Add::w, Add::m>(s, owned, k, place));
                if constexpr (First::gated && !First::shared) {
                    if (whole(s, Mul::e + e, tile, gradient.mul[n]))
                        s.weights[Mul::e + e] =
                            descend<Mul>(s.parameters, k, gradient.mul[n], at.lambda * MEAN<First>, at.adam,
                                         moments_of<Mul::w, Mul::m>(s, owned, k, place + OWNED_ADD));
                }
                if constexpr (First::gated) {
                    if (whole(s, First::gate_e + e, tile, gradient.gate[n])) {
                        float& g = s.parameters[First::gate + k];
                        const Moments m =
                            moments_of<First::gate, First::gate>(s, owned, k, place + OWNED_ADD + OWNED_MUL);
                        s.weights[First::gate_e + e] = g = at.adam(g, gradient.gate[n], m.first(0), m.second(0));
                    }
                }
            }
        }
        second_half<FROM + OUT_TILE>(s, owned, i, share, owner, tile, at);
    }
}

__device__ __forceinline__ bool term_total(const Shared& s, int term, int tile, float& gradient) {
    gradient = 0.0f;
    for (int warp = 0; warp < WARPS; ++warp) gradient += s.partial[warp * TERMS + term];
    return whole(s, EFFECTIVE + term, tile, gradient);
}

// Update of a plain parameter: a bias or gate.
__device__ __forceinline__ float plain_step(const Shared& s, int p, float gradient, const Adam& adam) {
    return s.parameters[p] = adam(s.parameters[p], gradient, s.first[p], s.second[p]);
}

template <class Leaf> __device__ __forceinline__ void bias_step(const Shared& s, int o, int tile, const Strength& at) {
    float gradient;
    if constexpr (Leaf::bias) {
        if (term_total(s, Leaf::bias_term + o, tile, gradient)) plain_step(s, Leaf::b + o, gradient, at.adam);
    }
}

template <class L, class Leaf>
__device__ __forceinline__ void matrix_step(const Shared& s, int k, int tile, const Strength& at) {
    float gradient;
    if (term_total(s, Leaf::term + k, tile, gradient)) {
        const Moments moments = {s.first + Leaf::w + k, s.second + Leaf::w + k, s.first + Leaf::m + k, s.second + Leaf::m + k};
        s.weights[Leaf::e + k / L::in * L::stride + k % L::in] =
            descend<Leaf>(s.parameters, k, gradient, at.lambda * MEAN<L>, at.adam, moments);
    }
}

// The parameters of layer N and the layers after it, and the first layer's biases: few, so the last threads take them,
// which in the first layer have least to do.
template <int N> __device__ __forceinline__ void tail_steps(const Shared& s, int tile, const Strength& at) {
    if constexpr (N < LAYERS) {
        using L = Layer<N>;
        const int from_end = THREADS - 1 - threadIdx.x;
        for (int o = from_end; o < L::out; o += THREADS) {
            bias_step<typename L::Add>(s, o, tile, at);
            if constexpr (L::gated && !L::shared) bias_step<typename L::Mul>(s, o, tile, at);
        }
        if constexpr (N > 0) {
            for (int k = from_end; k < L::in * L::out; k += THREADS) {
                matrix_step<L, typename L::Add>(s, k, tile, at);
                if constexpr (L::gated && !L::shared) matrix_step<L, typename L::Mul>(s, k, tile, at);
                if constexpr (L::gated) {
                    float gradient;
                    if (term_total(s, L::gate_term + k, tile, gradient))
                        s.weights[L::gate_e + k / L::in * L::stride + k % L::in] =
                            plain_step(s, L::gate + k, gradient, at.adam);
                }
            }
        }
        tail_steps<N + 1>(s, tile, at);
    }
}

// Effective weights from raw parameters, at the start of a chunk.
template <int N> __device__ __forceinline__ void prepare(const Shared& s) {
    if constexpr (N < LAYERS) {
        using L = Layer<N>;
        for (int k = threadIdx.x; k < L::in * L::out; k += THREADS) {
            const int e = k / L::in * L::stride + k % L::in;
            s.weights[L::Add::e + e] = effective<typename L::Add>(s.parameters, k);
            if constexpr (L::gated) {
                if constexpr (!L::shared) s.weights[L::Mul::e + e] = effective<typename L::Mul>(s.parameters, k);
                s.weights[L::gate_e + e] = s.parameters[L::gate + k];
            }
        }
        prepare<N + 1>(s);
    }
}

// Moves the moments of the thread's input between registers and shared memory's home in global memory.
template <class Move> __device__ __forceinline__ void each_owned(int i, Move move) {
#pragma unroll
    for (int o = 0; o < First::out; ++o) {
        const int k = o * First::in + i, place = o * OWNED_EACH;
        move(Add::w + k, place);
        if constexpr (OWNED_ADD == 2) move(Add::m + k, place + 1);
        if constexpr (OWNED_MUL > 0) move(Mul::w + k, place + OWNED_ADD);
        if constexpr (OWNED_MUL == 2) move(Mul::m + k, place + OWNED_ADD + 1);
        if constexpr (First::gated) move(First::gate + k, place + OWNED_ADD + OWNED_MUL);
    }
}

__device__ __forceinline__ float lambda_at(const Settings& c, u32 t) {
    const float ramp = ((float)((i64)t - c.ramp_start) - c.ramp_offset) * c.ramp_slope;
    return c.strength * (ramp < 0.0f ? 0.0f : ramp > 1.0f ? 1.0f : ramp);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    train(const __grid_constant__ Settings c, const int* slots, i64 chunk) {
    extern __shared__ float4 memory[];
    const Shared s = share(reinterpret_cast<float*>(memory));
    const int slot = slots[blockIdx.x];
    i64* counts = c.counts + (i64)slot * (SOLVED + c.threshold_count);
    const i64 home = (i64)slot * PARAMETERS;
    if (counts[ENDED] != RUNNING) return;

    for (int e = threadIdx.x; e < EFFECTIVE; e += THREADS) s.weights[e] = 0.0f;
    for (int p = threadIdx.x; p < PARAMETERS; p += THREADS) {
        s.parameters[p] = c.parameters[home + p];
        if (p >= SHARED_FROM) {
            s.first[p] = c.first[home + p];
            s.second[p] = c.second[home + p];
        }
    }
    const int place = threadIdx.x / PARTS, share_of = threadIdx.x % PARTS;
    const bool owner = place < INPUTS && share_of == 0;
    Owned owned = {};
    if (OWNED > 0 && owner) {
        each_owned(place, [&](int p, int at) {
            owned.first[at] = c.first[home + p];
            owned.second[at] = c.second[home + p];
        });
    }
    __syncthreads();
    prepare<0>(s);
    __syncthreads();

    int begin[SUBSETS];
#pragma unroll
    for (int k = 0; k < SUBSETS; ++k) begin[k] = c.subsets[slot * SUBSETS + k];
    const u32 seed = c.seeds[slot];
    const i64 from = counts[STEP], whole_run = c.iterations + 1;
    const u32 count = (u32)(chunk < whole_run - from ? chunk : whole_run - from);
    u32 t = (u32)from, left = count;
    u32 wait = t % c.every == 0 ? 0 : c.every - t % c.every;
    int ended = RUNNING;

    for (; left; --left, ++t, --wait) {
        bool improved = false;
        if (wait == 0) {
            wait = c.every;
            if (has_nan(s.parameters)) {
                ended = MET_NAN;
                break;
            }
            improved = record(c, slot, t, s.weights, s.parameters, s.scratch);
        }
        const float2 corrections = c.adam[t < c.adam_steps ? t : c.adam_steps - 1];
        const Strength at = {{corrections.x, corrections.y, c.gain1, c.beta2, c.gain2, c.epsilon}, lambda_at(c, t)};
        double gates = 0.0;
        for (int tile = 0; tile < TILES; ++tile) {
            const float gate = first_half(c, s, begin, seed, t, tile);
            if (Layer<LAYERS - 1>::gated && improved) gates += block_sum(gate, s.scratch);
            __syncthreads();
            if constexpr (PARTS > 1) {  // all lanes take part in the exchange
                second_half<0>(s, owned, place < INPUTS ? place : INPUTS - 1, share_of, owner, tile, at);
            } else {
                for (int i = place; i < INPUTS; i += THREADS) second_half<0>(s, owned, i, 0, true, tile, at);
            }
            tail_steps<0>(s, tile, at);
            __syncthreads();
        }
        if (Layer<LAYERS - 1>::gated && improved && threadIdx.x == 0)
            c.errors[(i64)slot * ERRORS + BEST_GATE] = (float)(gates / ((double)BATCH * OUTPUTS));
    }
    if (ended == RUNNING && from + count == whole_run) ended = has_nan(s.parameters) ? MET_NAN : FINISHED;

    for (int p = threadIdx.x; p < PARAMETERS; p += THREADS) {
        c.parameters[home + p] = s.parameters[p];
        if (p >= SHARED_FROM) {
            c.first[home + p] = s.first[p];
            c.second[home + p] = s.second[p];
        }
    }
    if (OWNED > 0 && owner) {
        each_owned(place, [&](int p, int at) {
            c.first[home + p] = owned.first[at];
            c.second[home + p] = owned.second[at];
        });
    }
    if (threadIdx.x == 0) {
        counts[STEP] = from + (count - left);
        counts[ENDED] = ended;
    }
}
