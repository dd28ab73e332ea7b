// One thread block trains one run: forward, backward, Adam and the judge, for a chunk of iterations. The block of a small
// network is a single warp: each thread has several observations, all of the network in registers, and no second half.
//
// An iteration has two halves with a barrier after each. In the first a thread draws an observation, takes it through the
// network and back, and leaves in shared memory the inputs, the deltas of the first layer and the gradient terms of the
// others. In the second some threads share four inputs, gather the gradients of their weights over the batch, and make
// Adam's step.
// The code of the units is generated, and stands before this.
#include "judge.cuh"

// Sums of inputs as the task has them, in float64; integers have the same sums of numbers of [1, 2) at a fraction of the
// cost, from the 23 bits that differ.
template <bool BITS> struct Adding {
    using Sum = double;
    static __device__ __forceinline__ Sum term(float x) { return x; }
    static __device__ __forceinline__ double value(Sum sum, int) { return sum; }
};

template <> struct Adding<true> {
    using Sum = u32;
    static __device__ __forceinline__ Sum term(float x) { return (u32)__float_as_int(x); }
    static __device__ __forceinline__ double value(Sum sum, int count) {
        return count + (sum - count * 0x3f800000u) * 0x1p-23;
    }
};

__device__ constexpr bool bits_suffice() {
    for (int k = 0; k < SUBSETS; ++k)
        if (subset_length(k) > MOST_BITS) return false;
    return RANGE == UNIT;
}

__device__ __forceinline__ double operate(double a, double b) {
    return OPERATION == MUL ? a * b : OPERATION == DIV ? a / b : OPERATION == ADD ? a + b : a - b;
}

// The operation on the subset sums of an observation; SHARING threads of it share the work.
__device__ __forceinline__ float arithmetic_target(const float* x, const int (&begin)[SUBSETS], int split) {
    using Inputs = Adding<bits_suffice()>;
    constexpr int SHARING = OWN / GROUP;
    constexpr int OPERANDS = OPERATION == ROOT || OPERATION == SQUARED || OPERATION == RECIPROCAL ? 1 : SUBSETS;
    double target = 0.0;
#pragma unroll
    for (int k = 0; k < OPERANDS; ++k) {
        typename Inputs::Sum sums[4] = {};
        const int length = subset_length(k);
#if SMALL
#pragma unroll
        for (int i = 0; i < length; ++i) sums[i % 4] += Inputs::term(x[begin[k] + i]);
#else
        const int before = begin[k] % 4;  // inputs of the first group that do not count
        const float* from = x + (begin[k] - before);
#pragma unroll
        for (int p = 0; p < length + 3 && p < 4 * COLUMNS; p += 4 * SHARING) {
            const int at = p + 4 * split;
            if (p + 4 * SHARING > length && at >= before + length) break;
            const float4 four = load4(from + at);
#pragma unroll
            for (int lane = 0; lane < 4; ++lane) {
                const int i = at + lane - before;
                const bool inside = (p > 0 || i >= 0) && (p + 4 * SHARING <= length || i < length);
                if (inside) sums[lane] += Inputs::term(part(four, lane));
            }
        }
#endif
        typename Inputs::Sum joined = (sums[0] + sums[1]) + (sums[2] + sums[3]);
#pragma unroll
        for (int offset = GROUP; offset < OWN; offset *= 2) joined += __shfl_xor_sync(ALL_LANES, joined, offset);
        const double sum = Inputs::value(joined, length);
        if (k == 0)
            target = OPERATION == ROOT         ? sqrt(sum)
                     : OPERATION == SQUARED    ? sum * sum
                     : OPERATION == RECIPROCAL ? 1.0 / sum
                                               : sum;
        else
            target = operate(target, sum);
    }
    return (float)target;
}

// An observation's numbers, in groups of four. A small network has the first products of columns once for all.
struct Numbers {
    Stream stream;
    const Settings* c;
    const Wide* columns;

    __device__ __forceinline__ float4 operator()(int j) const {
        const Words words = SMALL ? stream(columns[j]) : stream(j);
        return make_float4(number<RANGE>(words.a, c->width, c->low), number<RANGE>(words.b, c->width, c->low),
                           number<RANGE>(words.c, c->width, c->low), number<RANGE>(words.d, c->width, c->low));
    }
};

struct NumbersOfRow {
    const float4* from;

    __device__ __forceinline__ float4 operator()(int j) const { return from[j]; }
};

// The place in a tile of the observation n of those that this thread reduces.
__device__ __forceinline__ int place(int n) { return (warp_id() * EACH + n) * GROUP + lane_id() % GROUP; }

// Inputs of some of those observations, each with what `draw` returns for it.
template <class Draw>
__device__ __forceinline__ auto drawn(const Shared& s, u32 seed, u32 t, int tile, int from, Draw draw) {
    Inputs<Drawn<decltype(draw(0))>> inputs;
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
        const int b = place(from + k);
        inputs.of[k] = {draw(from + k), s.batch + b * PITCH, seed, (u32)(tile * TILE + b), t};
    }
    return inputs;
}

__device__ __forceinline__ u32 chosen_row(const Settings& c, u32 seed, u32 row, u32 t) {
    return wide(Stream(seed, ROWS_STREAM, row, t)(0).a, c.row_count).high;
}

// Draws observations of a tile at step t, takes them through the network and back, and leaves the sums of their terms
// over the warp. Returns whether a product over the inputs is 0 for one of the warp.
//
// In a small network a thread has its own observations, one after the other. Otherwise SPLIT threads share EACH
// observations, so that a weight that one reads serves all of them; then they exchange sums, and go on with one each.
__device__ __forceinline__ bool first_half(const Settings& c, const Shared& s, const int (&begin)[SUBSETS],
                                           const Row (&rows)[EACH], u32 seed, u32 t, int tile, float loss) {
    const int lane = lane_id();
    const Step step(seed, t);
    const auto row_at = [&](int n) { return SMALL || TILES == 1 ? rows[n] : Row(tile * TILE + place(n), TRAIN_STREAM); };
    Wide columns[SMALL ? COLUMNS : 1];
    if constexpr (SMALL) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) columns[j] = step.column(j);
    }
    const auto numbers = [&](int n) { return Numbers{Stream(step, row_at(n)), &c, columns}; };
    const auto chosen = [&](int n) { return chosen_row(c, seed, tile * TILE + place(n), t); };
    const auto numbers_of_row = [&](int n) { return NumbersOfRow{c.rows + (i64)chosen(n) * COLUMNS}; };

    TrainingSums sums[MINE][1];
    bool taken = true, zeros = false;
    const bool leaves = SMALL || lane % OWN < GROUP;
    float target[MINE][OUTPUTS], terms[TERMS + 1] = {};
#pragma unroll
    for (int n = 0; n < MINE; ++n) {
        const int split = lane / GROUP, own = SMALL ? n : lane / OWN;
        if constexpr (RANGE == ROWS)
            reduce<0, SPLIT>(s.weights, s.parameters, split, drawn(s, seed, t, tile, n, numbers_of_row).of, sums[n]);
        else
            reduce<0, SPLIT>(s.weights, s.parameters, split, drawn(s, seed, t, tile, n, numbers).of, sums[n]);
        Inputs<Kept> kept;
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) kept.of[k] = {s.batch + place(n + k) * PITCH};
        reduce_rest<OUT_TILE, SPLIT>(s.weights, s.parameters, split, kept.of, sums[n]);
        if constexpr (SPLIT > 1) __syncwarp();
        if constexpr (RANGE == ROWS) {
#pragma unroll
            for (int o = 0; o < OUTPUTS; ++o) target[n][o] = c.rows_t[(i64)chosen(own) * OUTPUTS + o];
        } else {
            target[n][0] = arithmetic_target(s.batch + place(own) * PITCH, begin, lane % OWN / GROUP);
        }
    }
#pragma unroll
    for (int n = 0; n < MINE; ++n) {
        const int b = place(SMALL ? n : lane / OWN);
        const u32 row = tile * TILE + b;
        taken = BATCH % TILE == 0 || row < BATCH;
        const float scale = taken ? 2.0f / ((float)BATCH * OUTPUTS) * loss : 0.0f;
        if (!SMALL || taken)
            zeros |= train_observation(sums[n][0], s.weights, s.parameters, s.batch, target[n],
                                       {b, seed, row, t, scale, taken, leaves}, terms, s.deltas, s.zeros);
    }
    const bool counts = SMALL || (taken && leaves);

#pragma unroll
    for (int k = 0; k < TERMS; k += 32) {
        constexpr int COUNT = TERMS < 32 ? TERMS : 32;
        float some[COUNT + 1];
#pragma unroll
        for (int n = 0; n < COUNT; ++n) some[n] = k + n < TERMS && counts ? terms[k + n] : 0.0f;
        const int number = warp_totals<COUNT>(some);
        if (number >= 0 && k + number < TERMS) s.partial[warp_id() * TERMS + k + number] = some[0];
    }
    return zeros;
}

#if !SMALL
// Gradients over a part of the batch. Products that are 0 are rare: what they need is not in the way of the others.
template <int FROM, class Part>
__device__ __noinline__ PartSums gather_zeros(float* memory, int j, const Part own, PartSums sums) {
    const Shared s = share(memory);
    gather<FROM, true>(s.weights, s.parameters, s.batch, s.deltas, s.zeros, j, own, sums);
    return sums;
}

template <int FROM, class Part>
__device__ __forceinline__ void gather_part(const Shared& s, bool zeros, int j, const Part& own, PartSums& sums) {
    if (ZERO_COUNT > 0 && zeros)
        sums = gather_zeros<FROM>(s.batch - BATCH_AT, j, own, sums);
    else
        gather<FROM, false>(s.weights, s.parameters, s.batch, s.deltas, s.zeros, j, own, sums);
}

// The second half of an iteration for the outputs from FROM on of a group of inputs whose parts are neighbours.
template <int FROM>
__device__ __forceinline__ void second_half(const Shared& s, Owned& owned, bool zeros, int j, int tile, const Strength& at) {
    if constexpr (FROM < OUT) {
        constexpr int COUNT = OUT - FROM < OUT_TILE ? OUT - FROM : OUT_TILE;
        const int part = lane_id() % PARTS, i = 4 * j + part;
        PartSums sums = {};
        gather_part<FROM>(s, zeros, j < COLUMNS ? j : COLUMNS - 1, Interleaved{part}, sums);
        const Gradients gradient = join<FROM>(Interleaved{part}, sums);
        if (part < 4 && i < INPUTS) {
            descend_weights<FROM, COUNT>(s, owned, i, tile, gradient, at);
            if constexpr (FROM == 0) descend_input(s, owned, i, tile, gradient, at);
        }
        second_half<FROM + OUT_TILE>(s, owned, zeros, j, tile, at);
    }
}

// The same for all inputs, whose parts may be anywhere in the block, and are joined after the last tile.
__device__ __forceinline__ void second_half(const Shared& s, Owned& owned, bool zeros, int tile, const Strength& at,
                                            PartSums& sums) {
    if (threadIdx.x < PARTS * COLUMNS) {
        const int j = threadIdx.x % COLUMNS;
        const Consecutive own(s.batch, j, threadIdx.x / COLUMNS);
        gather_part<0>(s, zeros, j, own, sums);
        if (tile == TILES - 1) join<0>(own, sums);
    }
    if (tile < TILES - 1) return;
    sync();
    Gradients gradient;
    for (int i = threadIdx.x; i < INPUTS; i += THREADS) {
        collect(s.batch, i, gradient);
        descend_weights<0, OUT>(s, owned, i, tile, gradient, at);
        descend_input(s, owned, i, tile, gradient, at);
        if (INPUTS <= THREADS) break;
    }
}
#endif

// The sum of the gate of the last layer over the observations of a tile that this thread answers for.
__device__ __noinline__ float judged_gate(float* memory, int tile) {
    const Shared s = share(memory);
    float gates = 0.0f;
    for (int b = threadIdx.x; b < TILE && tile * TILE + b < BATCH; b += THREADS) {
        JudgingSums sums[1];
        float y[OUTPUTS];
        const Kept inputs[1] = {{s.batch + b * PITCH}};
        reduce_rest<0, 1>(s.weights, s.parameters, 0, inputs, sums);
        gates += judge_observation(sums[0], s.weights, s.parameters, y);
    }
    return gates;
}

__device__ __forceinline__ float lambda_at(const Settings& c, u32 t) {
    const float ramp = ((float)((i64)t - c.ramp_start) - c.ramp_offset) * c.ramp_slope;
    return c.strength * (ramp < 0.0f ? 0.0f : ramp > 1.0f ? 1.0f : ramp);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    train(const __grid_constant__ Settings c, const int* slots, i64 chunk) {
    extern __shared__ float4 memory[];
    float* const base = reinterpret_cast<float*>(memory);
    const Shared s = share(base);
    const int slot = slots[blockIdx.x];
    i64* counts = c.counts + (i64)slot * (SOLVED + c.threshold_count);
    const i64 home = (i64)slot * PARAMETERS;
    if (counts[ENDED] != RUNNING) return;

    for (int e = threadIdx.x; e < STORED; e += THREADS) s.weights[e] = 0.0f;
    for (int k = threadIdx.x; k < CONSTANTS; k += THREADS) s.parameters[PARAMETERS + k] = c.constants[(i64)slot * CONSTANTS + k];
    for (int p = threadIdx.x; p < PARAMETERS; p += THREADS) {
        s.parameters[p] = c.parameters[home + p];
        if (p >= SHARED_FROM) {
            s.first[p] = c.first[home + p];
            s.second[p] = c.second[home + p];
        }
    }
    const int own = SPREAD ? threadIdx.x : 4 * (threadIdx.x / PARTS) + threadIdx.x % PARTS;
    const bool owner = own < INPUTS && (SPREAD || threadIdx.x % PARTS < 4);
    Owned owned = {};
    if (OWNED > 0 && owner) {
        each_owned(own, [&](int p, int at) {
            owned.first[at] = c.first[home + p];
            owned.second[at] = c.second[home + p];
        });
    }
    const u32 seed = c.seeds[slot];
    const i64 from = counts[STEP], whole_run = c.iterations + 1;
    if constexpr (LOGS) {
        NearLog* table = reinterpret_cast<NearLog*>(base + LOGS_AT);
        for (int k = threadIdx.x; k < 32; k += THREADS) table[k] = near_log_entry(k);
    }
    sync();
    prepare(s);
    sync();

    int begin[SUBSETS];
#pragma unroll
    for (int k = 0; k < SUBSETS; ++k) begin[k] = c.subsets[slot * SUBSETS + k];
    const u32 count = (u32)(chunk < whole_run - from ? chunk : whole_run - from);
    u32 t = (u32)from, left = count;
    u32 wait = t % c.every == 0 ? 0 : c.every - t % c.every;
    int ended = RUNNING;
    const float loss = SCALED_LOSS ? c.loss_scales[slot] : 1.0f;
    float validation = PENALTIES > 0 ? c.errors[(i64)slot * ERRORS + END_VALIDATION] : 0.0f;

    Row rows[EACH];  // where a thread has the same ones at every step
#pragma unroll
    for (int n = 0; n < EACH; ++n) rows[n] = Row(place(n), TRAIN_STREAM);
    for (; left; --left, ++t, --wait) {
        bool improved = false;
        if (wait == 0) {
            wait = c.every;
            if (has_nan(s.parameters)) {
                ended = MET_NAN;
                break;
            }
            improved = record(c, slot, t, base);
            if constexpr (PENALTIES > 0) {
                sync();
                validation = c.errors[(i64)slot * ERRORS + END_VALIDATION];
            }
        }
        const float2 corrections = c.adam[t < c.adam_steps ? t : c.adam_steps - 1];
        Strength at = {{corrections.x, corrections.y, c.gain1, c.beta2, c.gain2, c.epsilon}, lambda_at(c, t)};
        penalize(at, t, validation);
        double gates = 0.0;
#if !SMALL
        PartSums sums = {};
#endif
        for (int tile = 0; tile < TILES; ++tile) {
            const bool zeros = sync_any<(ZERO_COUNT > 0)>(first_half(c, s, begin, rows, seed, t, tile, loss));
            if (GATED && improved) gates += block_sum(judged_gate(base, tile), s.scratch);
#if !SMALL
            if constexpr (SPREAD) {
                second_half(s, owned, zeros, tile, at, sums);
            } else {
                for (int j = threadIdx.x / PARTS; j - lane_id() / PARTS < COLUMNS; j += THREADS / PARTS) {
                    second_half<0>(s, owned, zeros, j, tile, at);
                    if (COLUMNS * PARTS <= THREADS) break;
                }
            }
#endif
            descend_terms(s, tile, at);
            sync();
        }
        if constexpr (STAGED) finish(s, at);
        if (GATED && improved && threadIdx.x == 0)
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
        each_owned(own, [&](int p, int at) {
            c.first[home + p] = owned.first[at];
            c.second[home + p] = owned.second[at];
        });
    }
    // The host reads counts while the next chunk runs, and what belongs to an ended run as soon as they say so.
    __threadfence_system();
    sync();
    if (threadIdx.x == 0) {
        counts[STEP] = from + (count - left);
        counts[ENDED] = ended;
    }
}
