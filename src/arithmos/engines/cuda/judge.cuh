// Records: errors on the two fixed sets, sparsity, the best record so far, the first step that solved the task.
#pragma once
#include "inputs.cuh"

// Mean squared error over a fixed set; every thread gets it.
__device__ __noinline__ float mean_squared_error(const float4* inputs, const float* targets, int rows, float* memory) {
    const Shared s = share(memory);
    double total = 0.0;
    for (int row = threadIdx.x; row < rows; row += THREADS) {
        JudgingSums sums[1];
        float y[OUTPUTS];
        const Fixed observation[1] = {{inputs, rows, row}};
        reduce_rest<0, 1>(s.weights, s.parameters, 0, observation, sums);
        judge_observation(sums[0], s.weights, s.parameters, y);
#pragma unroll
        for (int o = 0; o < OUTPUTS; ++o) {
            const double error = y[o] - targets[(i64)row * OUTPUTS + o];
            total += error * error;
        }
    }
    return (float)(block_sum(total, s.scratch) / ((double)rows * OUTPUTS));
}

__device__ __forceinline__ bool has_nan(const float* parameters) {
    bool nan = false;
    for (int p = threadIdx.x; p < PARAMETERS; p += THREADS) nan |= parameters[p] != parameters[p];
    return __syncthreads_or(nan);
}

// One record at the current step; true if it is the best so far.
__device__ __noinline__ bool record(const Settings& c, int slot, u32 t, float* memory) {
    const Shared s = share(memory);
    const int set = c.sets[slot];
    const float validation = mean_squared_error(
        c.validation, c.validation_t + (i64)set * c.validation_rows * OUTPUTS, c.validation_rows, memory);
    const float test = mean_squared_error(c.test, c.test_t + (i64)set * c.test_rows * OUTPUTS, c.test_rows, memory);
    const float sparsity = WEIGHED ? (float)block_max(sparsity_share(s), s.scratch) : NOT_A_NUMBER;

    float* errors = c.errors + (i64)slot * ERRORS;
    i64* counts = c.counts + (i64)slot * (SOLVED + c.threshold_count);
    // The record of t = 0 counts only until there is another; NaN, the initial value, until there is any.
    const float best = errors[BEST_VALIDATION];
    const bool improved = best != best || validation < best || (counts[BEST_STEP] == 0 && validation == validation);
    sync();  // all have read what the first thread now writes
    if (threadIdx.x == 0) {
        const i64 index = counts[RECORDS]++;
        errors[END_VALIDATION] = validation;
        errors[END_TEST] = test;
        errors[END_SPARSITY] = sparsity;
        if (improved) {
            counts[BEST_STEP] = t;
            errors[BEST_VALIDATION] = validation;
            errors[BEST_TEST] = test;
            errors[BEST_SPARSITY] = sparsity;
        }
        for (u32 k = 0; k < c.threshold_count; ++k) {
            if (counts[SOLVED + k] == NEVER && (double)test < c.thresholds[k]) counts[SOLVED + k] = t;
        }
        const i64 kept = counts[CURVE];
        if (kept < c.curve_length && c.curve_records[kept] == index) {
            float* point = c.curve + ((i64)slot * c.curve_length + kept) * 3;
            point[0] = validation;
            point[1] = test;
            point[2] = sparsity;
            counts[CURVE] = kept + 1;
        }
    }
    if (improved) {
        for (int p = threadIdx.x; p < PARAMETERS; p += THREADS) c.best[(i64)slot * PARAMETERS + p] = s.parameters[p];
    }
    return improved;
}
